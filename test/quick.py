# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`scripts/test --quick`: an answer within two minutes, from every room that needs no ROS.

Of each file the first tests, of each test the first set of parameters, without those that are slow
or costly or start nodes; rooms take turns, file by file. Two processors with nothing else to do run
all of them. On a busy machine, what has not begun after two minutes is skipped; the summary says
how much.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

HERE = Path(__file__).parent

SECONDS = 110.0
"""After which no test begins, counted from here: with the end of the last one it is two minutes."""

_BEGAN = time.monotonic()

NODES = re.compile(r'\b(ros_harness|rclpy|importorskip\(.rclpy)\b')
"""What a file names that starts nodes, or waits for the middleware."""

PER_FILE = 2
"""Tests of a file: all that are not slow need several minutes of processor time."""

COSTLY = {
    'algorithms/test_derivatives_of_algorithms.py': ('test_forward_dynamics_derivatives',),
    'algorithms/test_derivatives_of_motion.py': (
        'test_dynamics_in_contact',
        'test_forward_dynamics_under_wrenches',
        'test_hybrid_dynamics',
    ),
    'commanding/test_arm_settings.py': (
        'test_a_joint_beyond_the_share_of_its_speed_ends_what_the_arm_does',
    ),
    'control/test_control_impedance.py': (
        'test_a_tool_yields_as_its_stiffness_says_in_any_axes',
        'test_exported_c_answers_numbers_that_are_none_with_bounded_torques',
        'test_exported_c_computes_what_the_kernel_computes',
    ),
    'control/test_control_stop.py': (
        'test_an_arm_that_no_hand_leads_any_longer_stays_where_it_was_left',
    ),
    'control/test_control_pushes.py': ('test_a_motion_does_not_grow_when_the_push_has_ended',),
    'estimation/test_estimation_location.py': (
        'test_behind_six_joints_the_point_is_found_where_the_line_of_action_enters',
        'test_most_pushes_on_links_behind_three_joints_or_more_are_put_on_the_right_link',
    ),
    'estimation/test_estimation_payload.py': (
        'test_with_noise_the_errors_are_those_that_are_stated',
    ),
    'estimation/test_estimation_observer.py': ('test_motion_and_friction_alone_are_no_contact',),
    'estimation/test_friction_adaptation.py': (
        'test_friction_that_is_less_than_told_is_learned_and_no_longer_felt',
    ),
    'export/test_export.py': ('test_it_computes_what_the_robot_computes',),
    'export/test_export_ros2_control.py': (),
    'export/test_export_ros2_control_controller.py': (
        'test_a_state_that_is_none_is_answered_by_the_torques_that_carry_it',
    ),
    'export/test_export_ros2_control_modes.py': (),
    'export/test_export_ros2_control_stops.py': (),
    'identification/test_payload.py': (
        'test_gains_are_found_although_masses_are_not_as_described',
        'test_runs_in_the_other_order_or_without_a_load_are_told',
        'test_the_command_tells_gains_and_uses_them',
        'test_the_command_adds_the_payload',
    ),
    'identification/test_free_motion.py': (
        'test_a_payload_and_gravity_that_efforts_leave_out_count',
    ),
    'identification/test_identify.py': ('test_a_person_is_told_in_every_output',),
    'inspect/test_inspect.py': ('test_the_documentation_shows_what_is_printed',),
    'inverse_kinematics/test_inverse_kinematics_analytic.py': (
        'test_a_random_arm_is_recognized_and_the_positions_of_a_pose_are_found_again',
    ),
    'inverse_kinematics/test_inverse_kinematics_by_hand.py': (
        'test_a_step_is_damped_least_squares',
    ),
    'kernels/test_kernels.py': ('test_expressions_fold_and_share',),
    'kernels/test_named_calls.py': (
        'test_every_kind_of_call_outlives_what_is_collected_around_it',
        'test_a_forked_process_compiles_what_it_needs',
    ),
    'kernels/test_disk_cache.py': ('test_a_second_process_neither_traces_nor_prints',),
    'model/test_composition.py': (
        'test_a_robot_with_a_tool_is_the_description_of_both',
        'test_locked_joints_are_constants',
    ),
    'multibody/test_adjustable.py': (
        'test_a_change_compiles_nothing_and_leaves_the_robot_before_alone',
    ),
    'multibody/test_frames_and_parameters.py': (
        'test_are_those_of_the_kernel',
        'test_batches_lists_and_given_arrays',
        'test_wrong_arguments_are_named',
    ),
    'project/test_documentation_python.py': ('test_the_python_of_a_document_runs',),
    'project/test_notebooks.py': ('test_a_notebook_runs_and_shows_what_is_kept_in_it',),
    'simulation/test_mujoco_world.py': ('test_it_stands_and_its_feet_carry_its_weight',),
}
"""Tests of more than a second of processor time, by file below test/, which the next ones replace.

A file without names has none that are not costly.
"""

SLOW_ROOMS = ('benchmarks', 'demo', 'launching', 'security')


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--quick', action='store_true', help='an answer within two minutes')


def pytest_configure(config: pytest.Config) -> None:
    """Show dots: where rooms take turns, every test would have a line of its own."""
    if config.getoption('--quick'):
        config.option.verbose = config.option.verbose or -1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over files, which take long to import, of which no test would be kept."""
    if not config.getoption('--quick') or not collection_path.match('test_*.py'):
        return None
    return _room(collection_path) in SLOW_ROOMS or _starts_nodes(collection_path) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is quick, and have the rooms take turns."""
    if not config.getoption('--quick'):
        return
    rooms: dict[str, dict[Path, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    seen: set[str] = set()
    of_file: Counter[Path] = Counter()
    for item in items:
        test = item.nodeid.partition('[')[0]
        full = of_file[item.path] >= PER_FILE
        if test not in seen and not full and not _is_costly(item):
            seen.add(test)
            of_file[item.path] += 1
            rooms[_room(item.path)][item.path].append(item)
    # A file at once: its fixtures are made once.
    in_turn = zip_longest(*(files.values() for files in rooms.values()), fillvalue=())
    kept = [item for turn in in_turn for file in turn for item in file]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test when the time is over."""
    if item.config.getoption('--quick') and time.monotonic() > _BEGAN + SECONDS:
        pytest.skip('two minutes are over')


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Nothing run is no answer: a machine may be too busy to read all files in two minutes."""
    if session.config.getoption('--quick') and exitstatus == pytest.ExitCode.OK:
        reporter = session.config.pluginmanager.get_plugin('terminalreporter')
        if reporter is not None and not reporter.stats.get('passed'):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def _is_costly(item: pytest.Item) -> bool:
    names = COSTLY.get(str(item.path.relative_to(HERE)))
    own = names is not None and (not names or item.name.partition('[')[0] in names)
    return own or item.get_closest_marker('slow') is not None


def _room(file: Path) -> str:
    return file.relative_to(HERE).parts[0]


@cache
def _starts_nodes(file: Path) -> bool:
    return bool(NODES.search(file.read_text()))
