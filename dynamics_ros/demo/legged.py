# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of a legged robot: it stands and is pushed, and its foot forces are estimated."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from dynamics_ros.model import build_model
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import duration_message, nanoseconds, wrench_message
from dynamics_ros_msgs.msg import FootContacts
from dynamics_ros_msgs.srv import ApplyWrench

from .client import QOS
from .demonstration import spun
from .known_robots import LEGGED, legged_description
from .processes import ChildError, Children
from .tracks import Track

Array = NDArray[np.float64]

FORCE_TOLERANCE = 5.0
"""Largest RMS error of a vertical foot force, in percent of an even share of the weight."""

MIN_RIGHT_PERCENT = 99.0
"""Least percentage of samples in which contact_node is right about the feet in contact."""

_ROUND = 12.0  # s
_SETTLING = 2.5  # s, until the robot stands and the filters have settled after touch-down
_PUSH = 2.0  # s
_EDGE = 300_000_000  # ns after a push begins or ends, in which the delay of the observer dominates
_SHARE = 0.15  # share of the weight that the push has
_TIMEOUT = 120.0  # s
_LINE_PERIOD = 1.0  # s, between two lines of output


@dataclass
class LeggedReport:
    """Results; forces are vertical, and errors relative to an even share of the weight.

    Attributes:
        robot, joints, feet: name, number of joints, frames of the feet.
        weight_n: weight of the robot.
        samples: number of compared states.
        true_n, felt_n: true and estimated sum over the feet before the push.
        pushed_n: increase of the sum during the push, by constraint forces; the forces of the
            observer do not contain a push at the base.
        push_n: downward component of the push.
        observer_error_percent, constraint_error_percent: RMS errors of the two estimates.
        contact_right_percent: share of samples and feet with the right contact state.
        failures: failed checks.
    """

    robot: str
    joints: int
    feet: tuple[str, ...]
    weight_n: float
    samples: int = 0
    true_n: float | None = None
    felt_n: float | None = None
    pushed_n: float | None = None
    push_n: float = 0.0
    observer_error_percent: float | None = None
    constraint_error_percent: float | None = None
    contact_right_percent: float | None = None
    failures: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)

    def summary(self) -> str:
        """The figures for a person."""
        verdict = 'failed' if self.failures else 'all of it worked'
        share = 'of a foot, RMS'
        rows = (
            ('weight', f'{self.weight_n:.1f} N, on the feet {_number_text(self.true_n, "N")}'),
            ('felt by contact_node', _number_text(self.felt_n, 'N')),
            ('push downward', f'{self.push_n:.1f} N, felt {_number_text(self.pushed_n, "N")}'),
            (
                'force, by the observer',
                f'off by {_number_text(self.observer_error_percent, "%")} {share}',
            ),
            (
                'force, by constraints',
                f'off by {_number_text(self.constraint_error_percent, "%")} {share}',
            ),
            (
                'feet that stand',
                f'right in {_number_text(self.contact_right_percent, "%")} of {self.samples}',
            ),
        )
        lines = [f'  {name:24}{text}' for name, text in rows]
        return '\n'.join(['', f'{self.robot}, {self.joints} joints: {verdict}', *lines])


class LeggedClient:
    """Hears contact_node and the truth, and pushes."""

    def __init__(self, tick: Callable[[], None]) -> None:
        """Create the node; ``tick`` is called while waiting."""
        self.node = Node('dynamics_ros_demo')
        self._tick = tick
        self.states = self._subscribe('/joint_states', JointState)
        self.felt = self._subscribe('/contact_node/foot_contacts', FootContacts)
        self.truth = self._subscribe('/robot_simulator/ground_truth/foot_contacts', FootContacts)
        self._push = self.node.create_client(ApplyWrench, '/robot_simulator/apply_wrench')

    def ready(self) -> bool:
        """Whether all of it has come."""
        tracks = self.states, self.felt, self.truth
        return all(track.count for track in tracks) and self._push.service_is_ready()

    def push(self, frame: str, force: Array, duration: float) -> None:
        """Push a frame with a force (3) in root axes."""
        request = ApplyWrench.Request(
            frame=frame,
            wrench=wrench_message(np.concatenate([force, np.zeros(3)])),
            duration=duration_message(duration),
        )
        future = self._push.call_async(request)
        while not future.done():
            self._tick()
            time.sleep(0.01)

    def _subscribe(self, topic: str, kind: Any) -> Track[Any]:
        track: Track[Any] = Track()
        self.node.create_subscription(
            kind, topic, lambda message: track.add(nanoseconds(message.header.stamp), message), QOS
        )
        return track


def demonstrate_legged(name: str, running: Children, duration: float) -> LeggedReport:
    """Start the nodes for a robot of `LEGGED`, and check the estimates of its feet.

    Args:
        name: name of the robot.
        running: starts the processes.
        duration: duration [s]; infinite: until interrupted.

    Raises:
        ModelError: a required package is not installed.
        ChildError: a process has ended or sends no messages.
    """
    known, urdf = LEGGED[name], legged_description(name)
    robot = Robot(build_model(read_urdf(urdf), 'floating'))
    feet = list(known.feet)
    common = {'root_joint': 'floating'}
    posture = [float(known.stance.get(joint, 0.0)) for joint in robot.joint_names]
    own = {'feet': feet, 'foot_radius': known.foot_radius, 'posture': posture}
    simulator = {'robot_description': urdf, **common, **own}
    running.start('robot_simulator', {'robot_simulator': simulator})
    contact = {**common, 'feet': {'frames': feet}, 'location': {'enabled': False}}
    nodes = dict.fromkeys(('kinematics_node', 'dynamics_node'), common)
    running.start('dynamics_ros', {**nodes, 'contact_node': contact})
    weight = 9.81 * float(robot.total_mass)
    report = LeggedReport(robot.name, len(robot.joint_names), known.feet, weight)
    with spun(lambda: LeggedClient(running.check)) as client:
        _Course(client, running, report, known.base).run(duration)
    return report


class _Course:
    def __init__(
        self, client: LeggedClient, running: Children, report: LeggedReport, base: str
    ) -> None:
        self._client, self._running = client, running
        self._report, self._base = report, base
        self._began = time.monotonic()
        self._shown = 0.0

    def run(self, duration: float) -> None:
        client = self._client
        while not client.ready():
            self._running.check()
            if time.monotonic() - self._began > _TIMEOUT:
                raise ChildError(f'the feet are silent{self._running.last_words()}')
            time.sleep(0.02)
        end = time.monotonic() + duration
        self._watch(_SETTLING)
        while True:
            self._round(min(_ROUND, max(duration - _SETTLING, _PUSH + 2.0)))
            if time.monotonic() + 0.5 * _ROUND > end or self._report.failures:
                return

    def _round(self, duration: float) -> None:
        client, report = self._client, self._report
        first = client.truth.newest
        self._watch(max(duration - _PUSH - 1.0, 1.0))
        pushed = client.truth.newest
        force = _SHARE * report.weight_n * np.array([0.3, 0.3, -0.9])
        report.push_n = -float(force[2])
        self._print_line(f'push at {self._base}: {np.linalg.norm(force):.0f} N for {_PUSH:g} s')
        client.push(self._base, force, _PUSH)
        # A busy machine may push later, and simulate more slowly.
        over = client.truth.newest + round(1e9 * (_PUSH + 0.5))
        self._watch(_TIMEOUT, lambda: client.truth.newest > over)
        self._measure(first, pushed)

    def _watch(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end and not until():
            self._running.check()
            if now - self._shown >= _LINE_PERIOD:
                self._shown = now
                self._show()
            time.sleep(0.02)

    def _show(self) -> None:
        felt, truth = self._client.felt.latest, self._client.truth.latest
        assert felt is not None
        assert truth is not None
        parts = []
        for i, foot in enumerate(self._report.feet):
            stands = 'stands' if felt.in_contact[i] else 'swings'
            felt_n = f'{felt.forces[i].z:.0f}, {felt.constraint_forces[i].z:.0f}'
            parts.append(f'{foot} {felt_n} of {truth.forces[i].z:.0f} N, {stands}')
        self._print_line('; '.join(parts))

    def _print_line(self, text: str) -> None:
        print(f'{time.monotonic() - self._began:6.1f} s  {text}', flush=True)

    def _measure(self, first: int, pushed: int) -> None:
        """Fill the report from messages after a stamp [ns]; the push began after ``pushed``."""
        report = self._report
        rows: list[tuple[int, Array]] = []
        for stamp, felt, truth in self._client.felt.matched(self._client.truth, first):
            forces = [
                [vector.z for vector in vectors]
                for vectors in (truth.forces, felt.forces, felt.constraint_forces)
            ]
            stands = [list(truth.in_contact), list(felt.in_contact)]
            rows.append((stamp, np.array([*forces, *stands], dtype=float)))
        if len(rows) < 10:
            report.failures.append('contact_node and the truth have next to no stamps in common')
            return
        stamps = np.array([stamp for stamp, _ in rows])
        true, felt, held, stood, said = np.stack([values for _, values in rows], axis=1)
        share = report.weight_n / len(report.feet)
        more = true.sum(axis=1) > report.weight_n + 0.5 * report.push_n
        carried = more & (stamps > pushed)
        began = int(stamps[carried][0]) if carried.any() else pushed
        ended = began + round(1e9 * _PUSH)
        during = (stamps > began + _EDGE) & (stamps < ended - _EDGE) & carried.any()
        before = stamps < pushed
        settled = before | during | (stamps > ended + _EDGE)
        report.samples = int(settled.sum())
        report.true_n = float(true[before].sum(axis=1).mean())
        report.felt_n = float(felt[before].sum(axis=1).mean())
        if during.any():
            report.pushed_n = float(
                held[during].sum(axis=1).mean() - held[before].sum(axis=1).mean()
            )
        report.observer_error_percent = 100.0 * _rms(felt[before] - true[before]) / share
        report.constraint_error_percent = 100.0 * _rms(held[before] - true[before]) / share
        report.contact_right_percent = 100.0 * float((stood == said)[settled].mean())
        checks = (
            (abs(report.true_n - report.weight_n) < 0.02 * report.weight_n, 'it does not stand'),
            (report.observer_error_percent < FORCE_TOLERANCE, 'forces by the observer are off'),
            (report.constraint_error_percent < FORCE_TOLERANCE, 'forces by constraints are off'),
            (report.contact_right_percent > MIN_RIGHT_PERCENT, 'feet that stand are told wrongly'),
        )
        for good, failure in checks:
            if not good and failure not in report.failures:
                report.failures.append(failure)


def _rms(values: Array) -> float:
    return math.sqrt(float(np.mean(values**2)))


def _number_text(value: float | None, unit: str) -> str:
    return 'unknown' if value is None else f'{value:.1f} {unit}'
