# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Latency from joint states at 1 kHz to torques of impedance_controller_node, between processes.

Two pendulums beside the arm, which do not move its tool, swing with the count of the states. The
torques that carry them are proportional to their angles, so a command identifies its state.
"""

from __future__ import annotations

import argparse
import bisect
import gc
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.records import Goal, Record
from benchmarks.ros_subjects import USUAL, Subject

NODE = 'impedance_controller_node'
TOPIC = f'/{NODE}/joint_commands'
KIND = 'std_msgs/Float64MultiArray'

RATE = 1000.0
"""Rate of the joint states [Hz]."""

TIMEOUT = 60.0
"""Timeout for a process that does nothing [s]."""

DRAWN = 10
"""Number of last states that are excluded, because their answers may arrive too late."""

COUNTERS = 'counter_cosine', 'counter_sine'
"""Names of the pendulum joints that count states."""

MIN_COMMANDS = 100
"""Number of commands after which the node counts as ready."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Round trips of an arm that is held, and number of states without an answer."""
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print('control: part node needs rclpy')
        return
    if options.robot not in USUAL.name:
        return
    minutes = 0.05 if options.quick else options.soak
    with tempfile.TemporaryDirectory() as folder:
        latencies, lost = _round_trips(USUAL, Path(folder), 60.0 * minutes)
    case = f'joint state to torques at 1 kHz, {minutes:g} min'
    goal = Goal(1000.0, of='value')
    yield _record(f'{case}, p50', np.percentile(latencies, 50.0), 'us')
    yield _record(f'{case}, p99', np.percentile(latencies, 99.0), 'us', goal)
    yield _record(f'{case}, longest', latencies.max(), 'us')
    yield _record(f'{case}, not answered', lost, '', Goal(0.0, of='value'))


def _record(case: str, value: Any, unit: str, goal: Goal | None = None) -> Record:
    return Record('control', case, USUAL.name, float(value), unit, goal=goal)


def answers(
    sent: Sequence[int], came: Sequence[tuple[int, int]], cycle: int
) -> tuple[NDArray[np.float64], int]:
    """Round trips of states, and number of states without an answer.

    Args:
        sent: times of states [ns], ascending.
        came: times of commands [ns], and the number in its cycle of the state that each answers.
            The first of several commands counts; the node sends more if joint states are late.
        cycle: number of states in a cycle; answers have to arrive within a cycle.

    Returns:
        (n) time from each state to its answer [ns], NaN without an answer; number of such states.
    """
    trips = np.full(len(sent), np.nan)
    for at, number in came:
        newest = bisect.bisect_right(sent, at) - 1
        state = newest - (newest - number) % cycle
        if state >= 0 and np.isnan(trips[state]):
            trips[state] = at - sent[state]
    return trips, int(np.isnan(trips).sum())


def with_counters(urdf: str, root: str) -> str:
    """A description with two additional pendulums at its root link."""
    parts = [
        f'''<joint name="{name}" type="continuous"><parent link="{root}"/><child link="{name}_rod"/>
        <axis xyz="1 0 0"/><limit effort="10" velocity="1e6"/></joint>
        <link name="{name}_rod"><inertial><origin xyz="0 0 -0.1"/>
        <mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
        </inertial></link>'''
        for name in COUNTERS
    ]
    begin, end, rest = urdf.rpartition('</robot>')
    return begin + ''.join(parts) + end + rest


def _round_trips(subject: Subject, folder: Path, seconds: float) -> tuple[NDArray[np.float64], int]:
    """Round trips [us], and number of states without an answer."""
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import QoSProfile

    from benchmarks.ros_meter import start, type_of
    from benchmarks.ros_source import CYCLE, number_of, write_counters, write_turn
    from dynamics_ros.nodes.process import make_executor

    joints = list(subject.model.joint_names) + list(COUNTERS)
    turn = subject.turn()
    ((_, states),) = turn[0]
    for name in COUNTERS:
        states.name.append(name)
        for values in (states.position, states.velocity, states.effort):
            values.append(0.0)
    write_turn(folder, turn)
    write_counters(folder, states, COUNTERS)
    stamps = folder / 'stamps'
    rclpy.init()
    node, executor = Node('benchmark_meter'), make_executor()
    executor.add_node(node)
    came: list[tuple[int, bytes]] = []
    qos = QoSProfile(depth=5000)
    node.create_subscription(
        type_of(KIND), TOPIC, lambda data: came.append((time.monotonic_ns(), data)), qos, raw=True
    )
    try:
        with _controller(subject, joints, folder):
            # Wait for the first answers, because the node reads a description and compiles first.
            source = start('ros_source', str(folder), str(RATE), str(TIMEOUT), str(stamps))
            while len(came) < MIN_COMMANDS and source.poll() is None:
                _spin(executor, 0.05)
            assert source.poll() is None, 'the node answers no joint states'
            source.kill()
            source.wait()
            came.clear()
            # A garbage collection of this process would appear in round trips.
            gc.collect()
            gc.freeze()
            arguments = (str(folder), str(RATE), str(seconds), str(stamps))
            source = start('ros_source', *arguments, piped=True)
            while not stamps.exists():
                assert source.poll() is None
                _spin(executor, 0.2)
            _spin(executor, 0.5)
            source.communicate('\n', timeout=TIMEOUT)
    finally:
        node.destroy_node()
        executor.shutdown()
        rclpy.shutdown()
    sent = np.fromfile(stamps, dtype=np.int64)
    # The counters are the last joints, and torques are at the end of the message.
    told = [(at, number_of(*np.frombuffer(data[-16:], dtype=np.float64))) for at, data in came]
    trips, _ = answers(sent.tolist(), told, CYCLE)
    measured = trips[-round(seconds * RATE) : -DRAWN]
    return 1e-3 * measured[np.isfinite(measured)], int(np.isnan(measured).sum())


def _spin(executor: Any, seconds: float) -> None:
    from rclpy.task import Future

    executor.spin_until_future_complete(Future(), timeout_sec=seconds)


@contextmanager
def _controller(
    subject: Subject, joints: list[str], folder: Path
) -> Iterator[subprocess.Popen[str]]:
    """Context with the node, which holds the tool at its pose."""
    import yaml
    from ament_index_python.packages import get_package_prefix

    from benchmarks.ros_bench import ended
    from benchmarks.ros_meter import launched

    parameters: Mapping[str, Any] = {
        'robot_description': with_counters(subject.urdf, subject.model.root_frame),
        'command_joints': joints,
        'frame': subject.frames[0],
        # The pendulums have no springs and dampers: only gravity tells which state is answered.
        'posture': {
            name: [value] * (len(joints) - len(COUNTERS)) + [0.0] * len(COUNTERS)
            for name, value in (('stiffness', 5.0), ('damping', 2.0))
        },
        'autostart': True,
    }
    file = folder / 'parameters.yaml'
    file.write_text(yaml.safe_dump({NODE: {'ros__parameters': parameters}}))
    program = Path(get_package_prefix('dynamics_ros')) / 'lib/dynamics_ros' / NODE
    arguments = ('--ros-args', '--log-level', 'error', '--params-file', str(file))
    with ended(launched([str(program), *arguments])) as process:
        yield process
