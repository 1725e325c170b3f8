# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From joint states at 1 kHz to the torques of impedance_controller_node, in separate processes."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections import deque
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
"""Joint states a second."""

PATIENCE = 60.0
"""s until a process that does nothing is given up."""

DRAWN = 10
"""Last states, whose answers may be on their way when the joint states end."""

READY = 100
"""Commands after which the node is taken for ready."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Round trips of an arm that is held, and states without an answer."""
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print('control: part node needs rclpy')
        return
    if options.robot not in USUAL.name:
        return
    minutes = 0.05 if options.quick else options.soak
    with tempfile.TemporaryDirectory() as folder:
        latencies, lost = _measured(USUAL, Path(folder), 60.0 * minutes)
    case = f'joint state to torques at 1 kHz, {minutes:g} min'
    goal = Goal(1000.0, of='value')
    yield _record(f'{case}, p50', np.percentile(latencies, 50.0), 'us')
    yield _record(f'{case}, p99', np.percentile(latencies, 99.0), 'us', goal)
    yield _record(f'{case}, longest', latencies.max(), 'us')
    yield _record(f'{case}, not answered', lost, '', Goal(0.0, of='value'))


def _record(case: str, value: Any, unit: str, goal: Goal | None = None) -> Record:
    return Record('control', case, USUAL.name, float(value), unit, goal=goal)


def answers(sent: Sequence[int], came: Sequence[int]) -> tuple[NDArray[np.float64], int]:
    """Round trips of states that are answered in their order, and how many are not answered.

    A command says not which state it answers: each is taken for the oldest one that has none yet.
    One that finds none is no answer; the node sends such where joint states come late.
    A state that is passed over shifts all later ones, so round trips are upper bounds.

    Args:
        sent: times of states [ns], ascending.
        came: times of commands [ns], ascending.

    Returns:
        (n) from each state to its answer [ns]; NaN of the states without one.
    """
    waiting: deque[int] = deque()
    trips, later = np.full(len(sent), np.nan), 0
    for at in came:
        while later < len(sent) and sent[later] <= at:
            waiting.append(later)
            later += 1
        if waiting:
            state = waiting.popleft()
            trips[state] = at - sent[state]
    return trips, int(np.isnan(trips).sum())


def _measured(subject: Subject, folder: Path, seconds: float) -> tuple[NDArray[np.float64], int]:
    """Round trips [us] of the states of so many seconds, and how many were not answered."""
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import QoSProfile

    from benchmarks.ros_meter import start, type_of
    from benchmarks.ros_source import write_turn
    from dynamics_ros.nodes.app.executor import make_executor

    write_turn(folder, subject.turn())
    stamps = folder / 'stamps'
    rclpy.init()
    node, executor = Node('benchmark_meter'), make_executor()
    executor.add_node(node)
    came: list[int] = []
    qos = QoSProfile(depth=5000)
    node.create_subscription(
        type_of(KIND), TOPIC, lambda _: came.append(time.monotonic_ns()), qos, raw=True
    )
    try:
        with _controller(subject, folder):
            # First until the node answers, which has to read a description and to compile.
            source = start('ros_source', str(folder), str(RATE), str(PATIENCE), str(stamps))
            while len(came) < READY and source.poll() is None:
                _spin(executor, 0.05)
            assert source.poll() is None, 'the node answers no joint states'
            source.kill()
            source.wait()
            came.clear()
            arguments = (str(folder), str(RATE), str(seconds), str(stamps))
            source = start('ros_source', *arguments, piped=True)
            while not stamps.exists():
                assert source.poll() is None
                _spin(executor, 0.2)
            _spin(executor, 0.5)
            source.communicate('\n', timeout=PATIENCE)
    finally:
        node.destroy_node()
        executor.shutdown()
        rclpy.shutdown()
    sent = np.fromfile(stamps, dtype=np.int64)
    trips, _ = answers(sent, came)
    measured = trips[-round(seconds * RATE) : -DRAWN]
    return 1e-3 * measured[np.isfinite(measured)], int(np.isnan(measured).sum())


def _spin(executor: Any, seconds: float) -> None:
    from rclpy.task import Future

    executor.spin_until_future_complete(Future(), timeout_sec=seconds)


@contextmanager
def _controller(subject: Subject, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The node, which holds the tool where it is."""
    import yaml
    from ament_index_python.packages import get_package_prefix

    from benchmarks.ros_bench import ended
    from benchmarks.ros_meter import launched

    parameters: Mapping[str, Any] = {
        'robot_description': subject.urdf,
        'command_joints': list(subject.model.joint_names),
        'frame': subject.frames[0],
        'autostart': True,
    }
    file = folder / 'parameters.yaml'
    file.write_text(yaml.safe_dump({NODE: {'ros__parameters': parameters}}))
    program = Path(get_package_prefix('dynamics_ros')) / 'lib/dynamics_ros' / NODE
    arguments = ('--ros-args', '--log-level', 'error', '--params-file', str(file))
    with ended(launched([str(program), *arguments])) as process:
        yield process
