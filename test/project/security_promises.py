# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What docs/security.md promises, and the tests that hold the package to it."""

from __future__ import annotations

NO_PROMISE = ()
"""In place of tests: a heading of what follows, or how to use it."""

SECURITY = {
    'Two mechanisms protect the nodes': NO_PROMISE,
    'XML without document types or entities, at most 50 MB': (
        'test_urdf.py::test_name_the_element_and_the_reason',
        'test_urdf.py::test_beyond_the_bounds_is_refused_at_once',
        'test_urdf.py::test_elements_are_counted_while_they_are_read',
        'test_nodes_composed.py::'
        'test_a_bad_description_is_refused_with_its_reason_and_the_old_one_kept',
    ),
    'must be regular files of at most 64 MB': (
        'test_description_files.py::test_a_pipe_or_an_endless_or_large_file_is_no_description',
        'test_collision_geometry.py::test_that_are_pipes_or_large_are_not_read',
        'test_collision_geometry.py::test_in_archives_are_not_read',
        'test_collision_geometry.py::test_outside_of_a_package_are_refused',
        'test_damaged_recordings.py::test_is_refused_before_it_is_whole',
        'test_damaged_recordings.py::test_a_pipe_is_no_recording',
    ),
    'is only expanded from a file that a user or a launch file names': (
        'test_urdf.py::test_name_the_element_and_the_reason',
        'test_description_files.py::test_names_a_package_that_is_nowhere_and_the_cure_once',
    ),
    'are at most 1e30 in size where no narrower range is stated': (
        'test_description_files.py::test_of_a_search_are_bounded',
        'test_description_files.py::test_of_a_model_are_bounded',
        'test_description_files.py::test_of_the_inertia_of_a_payload_are_those_of_a_body',
    ),
    'by nodes and tools get their name when they are complete': (
        'test_whole_files.py::test_a_full_disk',
        'test_whole_files.py::test_a_process_that_ends_while_it_writes',
        'test_whole_files.py::test_no_other_file_opens_for_writing',
    ),
    'squared joint depths in the tree': (
        'test_robot.py::test_what_is_large_is_a_long_chain',
        'test_nodes_large_robots.py::'
        'test_gravity_goes_on_and_what_is_too_large_is_refused_with_a_reason',
    ),
    'bytes that are not a message, wrong lengths, repeated names': (
        'test_nodes_malformed_bytes.py::'
        'test_malformed_bytes_on_any_topic_are_counted_and_the_node_goes_on',
        'test_nodes_state.py::test_a_message_that_cannot_be_right_is_refused_whole_and_counted',
        'test_nodes_dynamics.py::'
        'test_joint_states_that_cannot_be_right_are_counted_and_change_nothing',
    ),
    'of more than 1 MiB, and requests about parameters': (
        'test_nodes_serving.py::'
        'test_a_request_larger_than_any_robot_is_refused_before_anything_is_computed',
        'test_nodes_outsiders.py::test_a_hundred_thousand_entries_are_refused_and_outputs_go_on',
        'test_nodes_outsiders.py::test_values_of_no_type_are_refused_with_a_reason_however_many',
    ),
    'may name a file for the node to write': (
        'test_free_motion.py::test_parameters_are_written_only_where_they_overwrite_nothing_else',
        'test_nodes_calibrate.py::test_a_goal_that_cannot_be_is_aborted_at_once',
    ),
    'with negative seconds, or a second or more in nanoseconds, is ignored': (
        'test_nodes_outsiders.py::test_a_clock_that_is_no_time_is_ignored_and_counted',
    ),
    'no callback of a node raises, for any input': (
        'test_fuzz_messages.py::test_nodes_outlive_whatever_is_sent_and_are_right_again',
        'test_nodes_storms.py::test_a_thousand_bad_calls_get_a_thousand_reasons',
    ),
    'from outside, such as names of joints, frames and parameters, are made printable': (
        'test_nodes_log.py::test_what_comes_from_outside_becomes_one_printable_line',
        'test_nodes_log.py::test_no_text_from_outside_forges_a_line_of_a_log',
        'test_nodes_log.py::test_odometry_in_a_frame_of_a_megabyte_is_refused',
    ),
    'tests replace the robot of running nodes and send them invalid': (
        'test_nodes_perturbed.py::test_robots_are_replaced_while_all_outputs_are_computed',
        'test_nodes_perturbed.py::test_nonsense_in_odometry_and_the_clock_is_refused',
        'test_nodes_perturbed.py::test_nonsense_about_parameters_is_answered',
    ),
    'They are loaded only if folder and file belong to this user': (
        'test_disk_cache.py::test_a_folder_that_others_can_write',
        'test_disk_cache.py::test_a_file_that_others_can_write',
        'test_disk_cache.py::test_what_belongs_to_another_user',
        'test_disk_cache.py::test_a_link_in_the_place_of_the_file',
        'test_disk_cache.py::test_a_damaged_file',
        'test_disk_cache.py::test_only_the_owner_may_look',
        'test_disk_cache.py::test_off',
        'test_whole_files.py::test_in_a_read_only_home_ros_logs_elsewhere_and_nothing_is_cached',
    ),
    'is served on this machine only': (
        'test_viewer_host.py::test_by_default_only_this_machine_reaches_the_page',
        'test_viewer_host.py::test_a_page_for_all_networks_is_warned_of',
        'test_viewer_markers.py::test_the_page_calls_no_services',
    ),
    'Each is either rejected with a reason within a second': (
        'test_fuzz_descriptions.py::test_a_description_is_refused_with_a_reason_or_understood',
        'test_fuzz_messages.py::test_messages_are_refused_or_taken_as_they_are',
        'test_fuzz_messages.py::test_bytes_are_refused_or_read_as_the_middleware_reads_them',
    ),
    'allows only what is needed': (
        'test_security.py::test_all_that_nodes_do_is_allowed',
        'test_security.py::test_only_the_leader_leads',
    ),
    'in the environment. `dynamics_ros_viewer` starts in': (
        'test_security_enclave.py::test_the_simulator_and_the_viewer_run_in_their_enclaves',
    ),
    'The policy depends on node names.': (
        'test_security_enclave.py::test_a_node_that_is_not_allowed_to_be_says_so_and_ends',
        'test_security_enclave.py::test_an_output_that_is_not_allowed_is_named_and_the_others_come',
    ),
    'Everything that running nodes publish': (
        'test_security.py::test_all_that_nodes_do_is_allowed',
        'test_security.py::test_only_the_robot_says_where_its_joints_are',
    ),
    'Other tests enable security': NO_PROMISE,
    'Participants without keys, or with keys of another authority': (
        'test_security_enclave.py::test_who_does_not_have_the_keys_gets_nowhere',
    ),
    'The operator receives the outputs': (
        'test_security_enclave.py::test_the_operator_may_not_move_the_robot_nor_say_where_it_is',
        'test_security_enclave.py::test_the_operator_sets_parameters_and_reaches_the_action',
    ),
    'and can neither command the robot nor set parameters': (
        'test_security_enclave.py::test_the_leader_leads_and_may_do_nothing_else',
    ),
    'The robot calls no service.': (
        'test_security_enclave.py::test_the_robot_may_not_call',
        'test_security_enclave.py::test_permissions_that_somebody_edited_are_worth_nothing',
    ),
    'After each of these tests the nodes still run': (
        'test_security_enclave.py::test_who_does_not_have_the_keys_gets_nowhere',
    ),
    'These tests need a middleware that is built with security.': NO_PROMISE,
}
