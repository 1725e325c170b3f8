# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""docs/security.md and docs/interfaces.md promise nothing that has no test.

Each paragraph and point of their prose has a line here: words of it, and the tests that hold the
package to it. Whoever adds a promise adds its test, and a line. What topics, services, actions and
parameters there are (the tables) test_interfaces_document.py compares with running nodes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from security_promises import NO_PROMISE, SECURITY

TESTS = Path(__file__).parents[1]
DOCUMENTS = TESTS.parent / 'docs'

INTERFACES = {
    'the nodes subscribe to the topic of that name instead of': (
        'test_gravity_torques_follow_and_what_makes_no_sense_is_refused',
    ),
    'lists the inputs and outputs of every node of this package.': (
        'test_the_composed_process_has_the_topics_of_all_three_nodes',
        'test_one_name_for_three_nodes_is_refused_by_name',
    ),
    'Names are relative (`joint_states`) or private': (
        'test_two_robots_in_two_namespaces_keep_apart',
        'test_publishers_and_subscribers_of_either_reliability_are_served',
    ),
    'of each output at start, for example': (
        'test_publishers_and_subscribers_of_either_reliability_are_served',
        'test_an_output_takes_its_quality_of_service_from_parameters',
    ),
    'The log contains each of these once, and inputs': (
        'test_degrees_for_radians',
        'test_a_robot_without_inertias',
    ),
    'with the exceptions in their sections': NO_PROMISE,
    'several publishers at the newest stamp that all of them have reached': (
        'test_two_drivers_are_felt_like_one',
        'test_of_lost_and_swapped_messages_every_whole_state_is_answered',
    ),
    'A node that waits distinguishes joints that no message names': (
        'test_missing_refused_and_not_finite_are_three_reasons',
    ),
    'The codes of `reason`, for programs': (
        'test_a_sentence_without_reason_has_no_cure_and_every_cure_has_a_reason',
        'test_it_stops_at_once_when_a_position_is_not_finite',
    ),
    'A request that comes before the first robot description': (
        'test_requests_right_after_the_start_wait_for_the_robot_and_its_state',
        'test_a_request_waits_no_longer_than_its_time_limit',
    ),
    'The parameter `loops` names frames that a mechanism holds together': (
        'test_a_state_that_opens_a_loop_is_told_with_the_figure_and_not_used',
        'test_loops_and_passive_joints_are_parameters',
    ),
    '`contact_node` and the nodes that command a robot do not know loops': (
        'test_contact_node_does_not_take_forces_of_loops_for_contacts',
        'test_loops_follow_the_robot_through_changes',
    ),
    'A solution closes the `loops` of the robot': ('test_inverse_kinematics_closes_the_loops',),
    'For a robot with `loops` the torques are those of the joints with motors': (
        'test_gravity_torques_are_those_of_the_motors',
        'test_services_of_dynamics_know_the_loops',
    ),
    'Each node publishes one status': (
        'test_each_node_tells_its_diagnostics',
        'test_a_node_without_joint_states_says_who_publishes_them',
    ),
    'Of an incompatible quality of service the log has a warning': (
        'test_a_node_without_a_robot_says_who_publishes_descriptions',
        'test_an_output_of_the_node_itself_that_cannot_be_made_takes_no_other_with_it',
    ),
    'Values of the status, beside those': NO_PROMISE,
    'All can be set while running, except': (
        'test_a_value_that_means_nothing_is_refused',
        'test_a_wrong_parameter_at_start_ends_in_one_clear_line',
    ),
    'has all of them at their defaults': (
        'test_the_file_of_all_parameters_has_them_all_at_their_defaults',
    ),
    'it accepts whole numbers for floating-point parameters': (
        'test_what_is_dumped_is_loaded_and_changes_nothing',
        'test_a_value_is_taken_in_the_type_of_its_parameter',
    ),
    'Every response except those of std_srvs has `result`': (
        'test_every_response_begins_with_a_result',
        'test_a_state_of_some_joints_is_completed_by_the_latest',
    ),
    '`~/compute_inverse_kinematics` interprets a request as follows': NO_PROMISE,
    'The target may be given in any frame of the model': (
        'test_a_target_may_be_given_in_a_frame_of_the_robot',
        'test_a_target_in_a_frame_of_another_robot_comes_through_tf',
    ),
    'The time limit includes its fraction': (
        'test_a_time_limit_holds_with_its_fraction_and_zero_is_the_parameter',
        'test_searches_that_have_waited_past_their_limit_say_so',
    ),
    '`avoid_collisions` heeds': (
        'test_solutions_keep_apart_from_obstacles_and_links',
        'test_an_arm_stops_before_an_obstacle_and_goes_on_when_it_is_removed',
    ),
    'Further frames with their own targets': (
        'test_several_frames_are_brought_to_their_targets_at_once',
        'test_locked_joints_stay_at_their_seed',
    ),
    '`compute_fk` and `compute_ik` exist if': (
        'test_nobody_is_offered_services_of_move_group_unasked',
        'test_without_moveit_msgs_there_is_nothing_to_offer',
    ),
    'An empty `robot_state` means the latest joint state': (
        'test_ik_brings_the_end_of_the_group_to_the_pose',
        'test_what_ik_cannot_answer_gets_the_code_that_moveit_has_for_it',
    ),
    'The `message` field describes the error': (
        'test_what_ik_cannot_answer_gets_the_code_that_moveit_has_for_it',
    ),
    'Efforts along a trajectory contain gravity': (
        'test_the_service_fills_efforts_and_what_is_missing',
        'test_bad_trajectories_are_refused_by_name',
    ),
    'The node is managed ("Managed nodes" below), but only with respect': (
        'test_without_command_joints_dynamics_node_cannot_be_configured',
        'test_gravity_commands_come_while_the_node_is_active',
        'test_gravity_commands_that_cannot_be_computed_end_as_by_deactivation',
    ),
    'Nodes that command a robot are managed nodes': (
        'test_a_servo_commands_only_between_activation_and_deactivation',
    ),
    'With the parameter `autostart` the node makes both transitions': (
        'test_what_commands_the_robot_starts_by_itself_unless_told_otherwise',
    ),
    '`configure` fails if parameters do not fit each other': (
        'test_what_does_not_fit_is_no_configuration_and_says_why',
        'test_a_transition_that_goes_wrong_ends_unconfigured',
    ),
    '`~/calibrate` records `duration` seconds of motion': (
        'test_what_is_found_takes_force_is_written_and_can_be_undone',
        'test_feedback_says_what_is_missing_and_a_goal_can_be_cancelled',
    ),
    'torques of moving joints deviate by far more than configured': (
        'test_friction_that_is_not_stated_is_told_until_it_is_gone',
        'test_the_message_says_so_and_what_is_known_survives_a_change_of_the_robot',
    ),
    'The node needs effort and a stamp in every joint state': (
        'test_an_effort_that_is_no_number_silences_it_with_the_reason_and_it_recovers',
    ),
    'With `wrist_sensor.topic`, the topic of a force-torque sensor': (
        'test_the_wrench_of_the_environment_is_published_in_the_sensors_axes',
        'test_load_bias_and_sign_are_identified_and_become_parameters',
    ),
    'Joint states without efforts then leave': (
        'test_without_efforts_the_sensor_alone_shows_contacts',
    ),
    'the node publishes `odom` itself': (
        'test_a_walk_is_published_as_odometry_and_gives_the_node_its_base',
    ),
    'runs the same estimators on a recording': (
        'test_the_node_says_the_same_of_the_same_messages',
    ),
    'The node moves a frame by velocities, poses or a wrench': (
        'test_it_is_quiet_until_it_is_told_something',
    ),
    'The node stops when the newest command is older': (
        'test_it_stops_when_commands_cease_and_says_nothing_more',
        'test_a_servo_follows_nothing_that_was_sent_while_it_stood_still',
    ),
    'Every motion ends with a ramp of commands': (
        'test_what_ends_a_motion_ends_it_by_a_ramp',
        'test_what_would_take_too_long_is_steeper',
    ),
    'A frame of tf is lost when its transform is older': (
        'test_it_stops_when_tf_is_lost_and_goes_on_when_it_is_back',
    ),
    'A joint state in which the position of a commanded joint is not finite': (
        'test_it_stops_at_once_when_a_position_is_not_finite',
    ),
    'A command that is not finite, has no unit quaternion': (
        'test_what_ends_a_motion_ends_it_by_a_ramp',
        'test_a_frame_that_nobody_knows_halts_it_with_the_reason',
        'test_a_quaternion_that_is_not_of_unit_length_is_refused',
    ),
    'A twist beyond `speed.linear` or `speed.angular` is scaled': (
        'test_a_twist_beyond_the_largest_speed_is_scaled_and_told',
        'test_a_joint_without_any_limit_of_speed_is_not_commanded',
    ),
    'If a speed or acceleration limit is active': (
        'test_no_limit_is_passed_however_long_it_is_led_there',
    ),
    'From the condition number `singularity.slow_condition` on': (
        'test_it_slows_down_towards_a_singularity_and_stops_before_it',
    ),
    'With `admittance.wrench_topic` the node also subscribes': (
        'test_a_push_moves_the_tool_with_the_force_over_the_damping',
        'test_a_fault_ends_the_motion_by_a_stop_that_is_sent',
        'test_a_start_is_refused_with_its_reason',
        'test_while_the_switch_is_held_other_commands_are_ignored',
        'test_a_switch_that_is_held_during_a_pause_does_not_move_the_arm_after_it',
    ),
    'Every command continues from the previous one': (
        'test_states_that_do_not_follow_stop_it_within_the_range_of_every_joint',
        'test_short_motions_on_frozen_states_do_not_add_up',
    ),
    'While another node publishes on the topic of the commands': (
        'test_beside_another_publisher_of_commands_it_is_activated_only_if_allowed',
        'test_after_a_node_was_killed_the_next_one_waits_for_the_end_of_its_lease',
    ),
    'While the node is active, `gravity` changes by 2 m/s^2 per second': (
        'test_a_wrong_gravity_moves_the_arm_slowly',
        'test_gravity_commands_follow_another_gravity_gradually',
    ),
    'While active, the node rejects `friction_compensation`': (
        'test_a_parameter_that_nobody_can_mean_is_refused_by_name',
    ),
    'To use the node with a ros2_control arm': NO_PROMISE,
    'The node makes a frame of an arm behave like a spring': (
        'test_a_push_moves_the_tool_which_comes_back',
        'test_without_joints_of_the_controller_it_is_no_configuration',
    ),
    'Active limits follow: near a singularity': (
        'test_an_arm_with_few_joints_is_quiet_where_it_loses_no_direction',
    ),
    'After activation at rest, the arm stays in place': (
        'test_an_arm_at_rest_stays_when_it_is_taken_over',
        'test_it_goes_where_it_is_told_within_speed_and_torque_rate',
    ),
    'A target that is older than `command_timeout` by its arrival': (
        'test_an_arm_on_springs_follows_nothing_that_was_sent_while_its_node_stood_still',
        'test_the_tool_goes_to_a_pose_and_is_held_when_that_is_told_no_more',
    ),
    'A commanded joint without an effort limit': (
        'test_a_joint_whose_torque_nothing_bounds_is_not_commanded',
    ),
    '`~/status` names other publishers on the topic of its commands': (
        'test_who_else_commands_or_leads_the_arm_is_told',
    ),
    'With `collision.reaction` other than none at start': (
        'test_a_collision_is_reacted_to_until_it_is_acknowledged',
        'test_the_joint_state_that_tells_a_collision_is_answered_by_the_reaction',
    ),
    'When deactivated, and on SIGINT, SIGTERM or SIGHUP': (
        'test_deactivation_in_motion_brakes_and_leaves_what_carries_the_arm',
        'test_a_signal_ends_the_process_after_the_arm_has_been_braked',
    ),
    'To connect the node to a ros2_control arm': NO_PROMISE,
    'The node simulates a robot that moves slowly': (
        'test_a_push_is_felt_in_the_joints_and_told_at_its_very_stamps',
        'test_without_motion_the_robot_stands_still',
    ),
    'Parameters: `robot_description`, `robot_description_file`': NO_PROMISE,
    'With `root_joint` floating, MuJoCo simulates the robot': (
        'test_feet_of_the_truth_carry_the_robot_and_contact_node_feels_them',
        'test_odometry_has_the_stamps_of_joint_states_and_the_base_on_its_feet',
    ),
}

CONTROL = {
    'Contact with a stiffness k is stable if D > k T': (
        'test_the_required_damping_is_enough_for_every_mass_and_delay',
        'test_a_damping_that_is_too_small_for_the_environment_is_a_warning_with_one_that_is_not',
    ),
    'Torque rates apply in the time of the machine': (
        'test_torques_after_a_standstill_keep_to_their_rate_in_real_time',
    ),
    'above `guiding.speed` and `guiding.angular_speed` it is braked': (
        'test_a_tool_that_is_led_is_held_back_beyond_its_speed',
        'test_a_wrench_with_nothing_to_press_on_moves_the_tool_little_faster_than_targets',
    ),
    'further reasons to brake': (
        'test_an_angle_that_its_driver_wraps_is_no_jump_of_a_continuous_joint',
        'test_an_angle_that_its_driver_wraps_is_no_deviation',
    ),
    'and of a joint that is not reported': (
        'test_a_joint_that_is_told_of_no_more_brakes_the_arm',
        'test_joint_states_that_are_too_rare_for_springs_brake_the_arm',
    ),
    'From the first wrong sample on, the node brakes': (
        'test_an_arm_with_wrong_joint_states_is_braked',
        'test_frozen_joint_states_brake_the_arm_and_then_deactivate_the_node',
    ),
    'before it adopts another robot description': (
        'test_a_robot_that_it_cannot_use_is_met_by_a_stop_and_named',
    ),
    'A collision while the arm brakes does not change the braking': (
        'test_a_collision_while_the_arm_brakes_changes_nothing',
        'test_deactivation_ends_a_reflex_for_good',
    ),
    'From two missing joint states on': (
        'test_each_fault_ends_in_its_state_with_bounded_torques',
        'test_braking_ends_a_motion_with_and_without_samples',
    ),
}

PROMISES = {'security.md': SECURITY, 'interfaces.md': INTERFACES, 'control.md': CONTROL}


def prose(document: str) -> list[str]:
    """The paragraphs and points, each in one line; no headings, tables or code."""
    found = []
    for block in re.split(r'\n\s*\n', (DOCUMENTS / document).read_text(encoding='utf-8')):
        if re.match(r'#|\||    |```', block):
            continue
        found += [' '.join(point.split()) for point in re.split(r'^- ', block, flags=re.MULTILINE)]
    return [point for point in found if point]


def text(document: str) -> str:
    """All of a document in one line."""
    return ' '.join((DOCUMENTS / document).read_text(encoding='utf-8').split())


@pytest.mark.parametrize('document', ['security.md', 'interfaces.md'])
def test_every_paragraph_has_its_tests(document):
    words = PROMISES[document]
    bare = [point for point in prose(document) if not any(word in point for word in words)]
    assert not bare, 'no line in test_promises.py for: ' + '\n'.join(bare)


@pytest.mark.parametrize('document', PROMISES)
def test_every_line_is_of_the_document(document):
    gone = [words for words in PROMISES[document] if words not in text(document)]
    assert not gone, f'not in docs/{document} any more: {gone}'


def test_every_test_is_there():
    sources = (path.read_text(encoding='utf-8') for path in TESTS.rglob('test_*.py'))
    there = {
        name for text in sources for name in re.findall(r'^ *def (test_\w+)', text, re.MULTILINE)
    }
    told = {name for words in PROMISES.values() for names in words.values() for name in names}
    assert told <= there
