# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What docs/security.md promises, and the tests that hold the package to it."""

from __future__ import annotations

NO_PROMISE = ()
"""In place of tests: a heading of what follows, or how to use it."""

SECURITY = {
    'Two mechanisms protect the nodes': NO_PROMISE,
    'XML without document types or entities, at most 50 MB': (
        'test_name_the_element_and_the_reason',
        'test_beyond_the_bounds_is_refused_at_once',
    ),
    'must be regular files of at most 64 MB': (
        'test_a_pipe_or_an_endless_or_large_file_is_no_description',
        'test_that_are_pipes_or_large_are_not_read',
    ),
    'is only expanded from a file that a user or a launch file names': (
        'test_name_the_element_and_the_reason',
        'test_names_a_package_that_is_nowhere_and_the_cure_once',
    ),
    'are at most 1e30 in size where no narrower range is stated': (
        'test_of_a_search_are_bounded',
        'test_of_a_model_are_bounded',
    ),
    'by nodes and tools get their name when they are complete': (
        'test_a_full_disk',
        'test_a_process_that_ends_while_it_writes',
    ),
    'squared joint depths in the tree': (
        'test_what_is_large_is_a_long_chain',
        'test_gravity_goes_on_and_what_is_too_large_is_refused_with_a_reason',
    ),
    'bytes that are not a message, wrong lengths, repeated names': (
        'test_malformed_bytes_on_any_topic_are_counted_and_the_node_goes_on',
        'test_joint_states_that_cannot_be_right_are_counted_and_change_nothing',
    ),
    'of more than 1000 parameters or wrenches': (
        'test_services_of_every_node_answer_two_megabytes',
        'test_a_hundred_thousand_entries_are_refused_and_outputs_go_on',
    ),
    'may name a file for the node to write': (
        'test_parameters_are_written_only_where_they_overwrite_nothing_else',
        'test_a_goal_that_cannot_be_is_aborted_at_once',
    ),
    'with negative seconds, or a second or more in nanoseconds, is ignored': (
        'test_a_clock_that_is_no_time_is_ignored_and_counted',
    ),
    'no callback of a node raises, for any input': (
        'test_nodes_outlive_whatever_is_sent_and_are_right_again',
        'test_hostile_fields_of_every_service_are_answered',
    ),
    'from outside, such as names of joints, frames and parameters, are made printable': (
        'test_what_comes_from_outside_becomes_one_printable_line',
        'test_no_text_from_outside_forges_a_line_of_a_log',
    ),
    'tests replace the robot of running nodes and send them invalid': (
        'test_robots_are_replaced_while_all_outputs_are_computed',
        'test_nonsense_in_odometry_and_the_clock_is_refused',
    ),
    'They are loaded only if folder and file belong to this user': (
        'test_a_folder_that_others_can_write',
        'test_a_file_that_somebody_else_could_have_written',
    ),
    'is served on this machine only': (
        'test_by_default_only_this_machine_reaches_the_page',
        'test_a_page_for_all_networks_is_warned_of',
    ),
    'Each is either rejected with a reason within a second': (
        'test_a_description_is_refused_with_a_reason_or_understood',
        'test_bytes_are_refused_or_read_as_the_middleware_reads_them',
    ),
    'allows only what is needed': (
        'test_all_that_nodes_do_is_allowed',
        'test_only_the_leader_leads',
    ),
    'in the environment. `dynamics_ros_viewer` starts in': (
        'test_the_simulator_and_the_viewer_run_in_their_enclaves',
    ),
    'The policy depends on node names.': (
        'test_a_node_that_is_not_allowed_to_be_says_so_and_ends',
    ),
    'Everything that running nodes publish': (
        'test_all_that_nodes_do_is_allowed',
        'test_only_the_robot_says_where_its_joints_are',
    ),
    'Other tests enable security': NO_PROMISE,
    'Participants without keys, or with keys of another authority': (
        'test_who_does_not_have_the_keys_gets_nowhere',
    ),
    'The operator receives the outputs': (
        'test_the_operator_may_not_move_the_robot_nor_say_where_it_is',
        'test_the_operator_sets_parameters_and_reaches_the_action',
    ),
    'and can neither command the robot nor set parameters': (
        'test_the_leader_leads_and_may_do_nothing_else',
    ),
    'The robot calls no service.': (
        'test_the_robot_may_not_call',
        'test_permissions_that_somebody_edited_are_worth_nothing',
    ),
    'After each of these tests the nodes still run': (
        'test_who_does_not_have_the_keys_gets_nowhere',
    ),
    'These tests need a middleware that is built with security.': NO_PROMISE,
}
