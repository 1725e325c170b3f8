# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of an arm: watch the nodes, push, call services, compare with the simulator.

On an overloaded machine, messages are lost or late. An observer that missed joint states needs time
to settle again, and its estimates in the meantime are neither right nor wrong. So a wrong estimate,
or too few samples, is a failure only if no message of the round was missed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from dynamics_ros.wire.conversions import (
    duration_message,
    joint_state,
    numbers,
    pose_matrix,
    pose_stamped,
    topic_names,
)
from dynamics_ros_msgs.msg import ContactState
from dynamics_ros_msgs.srv import ComputeInverseDynamics, ComputeInverseKinematics

from .client import Client, ServiceError, Track, matched, spun
from .processes import Children
from .report import Report
from .screen import Cell, Screen, View, listed
from .subject import Subject

Array = NDArray[np.float64]
Answer = TypeVar('Answer')

PUSH_TOLERANCE = 5.0
"""Tolerance of the estimated force in steady state [%]."""

_POSE_TOLERANCE = 1e-6  # m and rad: rounding gives 1e-15, a wrong frame far more
_TORQUE_TOLERANCE = 1e-6  # relative to the largest torque if that exceeds 1 Nm, otherwise Nm
_SOLUTION_TOLERANCE = 1e-3  # m and rad; that of inverse kinematics itself is 1e-5
_MIN_RATE = 50.0  # joint states per second, below which the machine is too slow
_MAX_DETECTION_TIME = 500.0  # ms, from the beginning of a push to its detection
_MAX_GAP = 20_000_000  # ns, largest interval between two outputs; a tenth of that is usual
_BEFORE = 400_000_000  # ns before the push in which no contact may be reported
_SETTLED = 0.4  # share of the push after which it is in steady state
_EDGE = 50_000_000  # ns excluded at the end of the push
_MIN_SAMPLES = 10

_ROUND = 12.0  # s, duration of a round, if there are several
_QUIET = 0.1  # share of a round before the push, in which no contact may be reported
_PUSH = 0.35  # share of a round that the push lasts
_MAX_PUSH_DURATION = 4.0  # s
_PAUSE = 0.3  # s, between the push and the service calls
_SEARCH_TIMEOUT = 5.0  # s, timeout of a search, which the service allows at most


class State(NamedTuple):
    """Positions and velocities (n each) of a joint state, in the joint order of the robot."""

    q: Array
    v: Array


@dataclass(kw_only=True)
class ArmReport(Report):
    """Figures of one round; None if they were not determined."""

    rows = (
        ('joint states', '{0.joint_state_rate_hz:.0f} a second'),
        ('pose of {0.tool}', 'off by {0.pose_error_m:.0e} m, {0.pose_error_rad:.0e} rad at most'),
        ('gravity torques', 'off by {0.gravity_torque_error_nm:.0e} Nm at most'),
        (
            'push {0.rounds} at {0.tool}',
            '{0.push_true_n:.2f} N, estimated {0.push_estimated_n:.2f} N',
        ),
        ('', '{0.push_compared} off by {0.push_error_percent:.2f} %'),
        ('', 'detected after {0.push_detected_after_ms:.0f} ms at {0.contact_link!r}'),
        (
            'inverse kinematics, call {0.rounds}',
            'off by {0.inverse_kinematics_error_m:.0e} m, {0.inverse_kinematics_ms:.1f} ms',
        ),
        (
            'inverse dynamics, call {0.rounds}',
            'off by {0.inverse_dynamics_error_nm:.0e} Nm, {0.inverse_dynamics_ms:.1f} ms',
        ),
    )
    tool: str
    rounds: int = 1  # number of this round, its push and its calls
    startup_s: float | None = None  # from the start to the first message of every output
    joint_state_rate_hz: float | None = None
    pose_error_m: float | None = None  # largest, relative to the simulator at the same stamp
    pose_error_rad: float | None = None
    gravity_torque_error_nm: float | None = None  # to the gradient of the potential energy
    push_true_n: float | None = None  # magnitudes of the mean forces in steady state
    push_estimated_n: float | None = None
    push_error_percent: float | None = None  # median of |estimated - true| / |true|
    push_compared: str = 'force'  # 'joint torques' if they do not determine the force
    push_detected_after_ms: float | None = None  # from the first joint state of the push
    contact_link: str | None = None  # that contact_node reports at the end of the push
    inverse_kinematics_success: bool = False
    inverse_kinematics_error_m: float | None = None  # by kernels in plain Python
    inverse_kinematics_ms: float | None = None  # time of the call
    inverse_dynamics_error_nm: float | None = None  # to kernels in plain Python
    inverse_dynamics_ms: float | None = None  # time of the call

    def next(self) -> ArmReport:
        """Empty report of the next round, with the failures of this one and of earlier ones."""
        return ArmReport(
            robot=self.robot,
            joints=self.joints,
            tool=self.tool,
            rounds=self.rounds + 1,
            startup_s=self.startup_s,
            failures=list(self.failures),
        )


class Outputs:
    """Outputs of the nodes and ground truth of the simulator, and calls of the services."""

    def __init__(self, client: Client, subject: Subject) -> None:
        """Subscribe to the outputs."""
        self._client, self._subject = client, subject
        self._names = list(subject.robot.joint_names)
        tool = topic_names([subject.tool])[subject.tool]
        contact, truth = '/contact_node', '/robot_simulator/ground_truth'
        self.joint_states = client.subscribe('/joint_states', JointState, self._state)
        self.pose = client.subscribe(f'/kinematics_node/{tool}/pose', PoseStamped, _matrix)
        gravity = '/dynamics_node/gravity_torques'
        self.gravity = client.subscribe(gravity, JointState, self._efforts)
        self.wrench = client.subscribe(f'{contact}/{tool}/wrench', WrenchStamped, _wrench)
        state = f'{contact}/contact_state'
        self.contact: Track[ContactState] = client.subscribe(state, ContactState)
        self.true_pose = client.subscribe(f'{truth}/pose', PoseStamped, _matrix)
        self.true_wrench = client.subscribe(f'{truth}/wrench', WrenchStamped, _wrench)
        self._solve = client.service(
            ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics'
        )
        self._inverse_dynamics = client.service(
            ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics'
        )

    def tracks(self) -> list[Track[Any]]:
        """All stored topics."""
        return [x for x in vars(self).values() if isinstance(x, Track)]

    def inverse_kinematics(self, target: Array) -> tuple[Array, float]:
        """Joint positions (n) that bring the tool to a pose (4, 4), and the call time [s]."""
        stamp = self._client.node.get_clock().now().to_msg()
        request = ComputeInverseKinematics.Request(
            frame=self._subject.tool,
            target=pose_stamped(stamp, self._subject.robot.root_frame, target),
            timeout=duration_message(_SEARCH_TIMEOUT),
        )
        response, took = self._client.call(self._solve, request)
        return self._in_order(response.solution.name, response.solution.position), took

    def inverse_dynamics(self, state: State, a: Array) -> tuple[Array, float]:
        """Joint torques (n) for accelerations a (n) in a state, and the call time [s]."""
        stamp = self._client.node.get_clock().now().to_msg()
        request = ComputeInverseDynamics.Request(
            state=joint_state(stamp, self._names, position=state.q, velocity=state.v),
            acceleration_names=self._names,
            accelerations=a.tolist(),
        )
        response, took = self._client.call(self._inverse_dynamics, request)
        return self._in_order(response.torques.name, response.torques.effort), took

    def _state(self, message: JointState) -> State:
        return State(
            self._in_order(message.name, message.position),
            self._in_order(message.name, message.velocity),
        )

    def _efforts(self, message: JointState) -> Array:
        return self._in_order(message.name, message.effort)

    def _in_order(self, names: list[str], values: Any) -> Array:
        """Values (n) of a message in the joint order of the robot."""
        given = dict(zip(names, values, strict=True))
        return np.array([given[name] for name in self._names])


class Measures:
    """Fills a report with figures of the messages since the stamp ``first`` [ns]."""

    def __init__(self, report: ArmReport, outputs: Any, subject: Subject, first: int = 0) -> None:
        self._report, self._outputs, self._subject = report, outputs, subject
        self._first = first

    def poses(self) -> None:
        """Error of the published poses, relative to those of the simulator."""
        outputs = self._outputs
        samples = matched(outputs.pose, outputs.true_pose, first=self._first, most=1000)
        if self._are_enough('pose', samples):
            m, rad = np.max([pose_error(A, B) for _, A, B in samples], axis=0).tolist()
            self._report.pose_error_m, self._report.pose_error_rad = m, rad
            fits = max(m, rad) <= _POSE_TOLERANCE
            self._report.require(fits, f'the pose is off by {m:.1e} m, {rad:.1e} rad')

    def gravity(self) -> None:
        """Error of the published gravity torques, by kernels in plain Python."""
        outputs = self._outputs
        # Few, because the true torques of a state take a millisecond.
        samples = matched(outputs.gravity, outputs.joint_states, first=self._first, most=50)
        if self._are_enough('gravity torques', samples):
            truth = [self._subject.reference.gravity(state.q) for *_, state in samples]
            torques = [torques for _, torques, _ in samples]
            error = self._torque_error('gravity torques', torques, truth)
            self._report.gravity_torque_error_nm = error

    def push(self, quiet: int, duration: float) -> None:
        """Detection and estimate of a push after the stamp ``quiet`` [ns], of a duration [s]."""
        report, outputs = self._report, self._outputs
        truth = matched(outputs.true_wrench, first=quiet)
        pushed = [t for t, wrench in truth if np.any(wrench)]
        if not pushed:
            self._expect('push', False, 'the simulator did not push')
            return
        # The push began after ``calm``: its first messages may have been missed.
        calm = max((t for t, _ in truth if t < pushed[0]), default=quiet)
        began, end = pushed[0], min(pushed[0] + round(duration * 1e9), pushed[-1]) - _EDGE
        steady = began + round(_SETTLED * duration * 1e9)
        self._force(steady, end)
        contacts = matched(outputs.contact, first=quiet - _BEFORE, last=end)
        touched = [t for t, contact in contacts if contact.state != ContactState.NONE]
        early = sum(t <= calm for t in touched)
        self._expect('contact', not early, f'{early} messages report a contact before the push')
        delays = [(t - began) * 1e-6 for t in touched if t >= began]
        report.push_detected_after_ms = delays[0] if delays else None
        detected = bool(delays) and delays[0] <= _MAX_DETECTION_TIME
        failure = f'the push was not detected within {_MAX_DETECTION_TIME:g} ms'
        self._expect('contact', detected, failure)
        links = [contact.link for t, contact in contacts if t >= steady]
        report.contact_link = links[-1] if links else None

    def _force(self, first: int, last: int) -> None:
        report, outputs, subject = self._report, self._outputs, self._subject
        tracks = outputs.wrench, outputs.true_wrench, outputs.true_pose, outputs.joint_states
        samples = matched(*tracks, first=first, last=last)
        if not self._are_enough('push', samples):
            return
        true = np.array([in_root(true, pose) for _, _, true, pose, _ in samples])
        estimated = np.array([in_root(wrench, pose) for _, wrench, _, pose, _ in samples])
        report.push_true_n = float(np.linalg.norm(true[:, :3].mean(axis=0)))
        report.push_estimated_n = float(np.linalg.norm(estimated[:, :3].mean(axis=0)))
        if subject.observable:
            true, estimated = true[:, :3], estimated[:, :3]
        else:
            # Several wrenches have the same joint torques, so the torques are compared.
            report.push_compared = 'joint torques'
            J = [subject.reference.jacobian(state.q, subject.tool) for *_, state in samples]
            true, estimated = (np.einsum('tij,ti->tj', J, x) for x in (true, estimated))
        errors = np.linalg.norm(estimated - true, axis=1) / np.linalg.norm(true, axis=1)
        error = report.push_error_percent = 100.0 * float(np.median(errors))
        failure = f'the estimated push is off by {error:.1f} % ({report.push_compared})'
        self._expect('push', error < PUSH_TOLERANCE, failure)

    def inverse_kinematics(self, target: Array, q: Array, took: float) -> None:
        """Check a solution q (n) for a target (4, 4) by forward kinematics in plain Python."""
        report, robot, tool = self._report, self._subject.robot, self._subject.tool
        m, rad = pose_error(self._subject.reference.forward_kinematics(q, tool), target)
        report.inverse_kinematics_error_m, report.inverse_kinematics_ms = m, took * 1e3
        inside = bool(np.all((q >= robot.lower_limits - 1e-9) & (q <= robot.upper_limits + 1e-9)))
        report.require(inside, 'inverse kinematics leaves the joint limits')
        close = max(m, rad) <= _SOLUTION_TOLERANCE
        report.require(close, f'inverse kinematics misses by {m:.1e} m, {rad:.1e} rad')
        report.inverse_kinematics_success = inside and close

    def inverse_dynamics(self, truth: Array, torques: Array, took: float) -> None:
        """Compare torques (n) of the service with those of kernels in plain Python."""
        error = self._torque_error('inverse dynamics', [torques], [truth])
        self._report.inverse_dynamics_error_nm = error
        self._report.inverse_dynamics_ms = took * 1e3

    def _torque_error(self, what: str, torques: Sequence[Array], truth: Sequence[Array]) -> float:
        """Largest error; more than ``_TORQUE_TOLERANCE`` is a failure."""
        error = float(np.max(np.abs(np.subtract(torques, truth))))
        allowed = _TORQUE_TOLERANCE * max(1.0, float(np.max(np.abs(truth))))
        self._report.require(error <= allowed, f'{what}: off by {error:.1e} Nm')
        return error

    def _are_enough(self, what: str, samples: Sequence[Any]) -> bool:
        enough = len(samples) >= _MIN_SAMPLES
        failure = f'{what}: {len(samples)} stamps with a true value, too few to compare'
        self._expect(what, enough, failure)
        return enough

    def _expect(self, what: str, condition: bool, failure: str) -> None:
        """Note a failure, or a slow machine if messages were missed in this round."""
        if condition:
            return
        tracks = self._outputs.tracks()
        last = max(track.newest for track in tracks)
        if any(_misses_messages(track, self._first, last) for track in tracks):
            self._report.late[what] = f'{failure}; messages were missed'
        else:
            self._report.require(False, failure)


class ArmDemonstration:
    """Pushes a simulated arm and calls the services of the nodes in rounds, each with a report.

    Attributes:
        report: report of the last complete round; before that, of the current one.
        complete: whether a round is complete.
    """

    def __init__(self, urdf: str, running: Children, began: float) -> None:
        """Start the processes; the program was started at a time ``began`` [s, monotonic].

        Raises:
            ModelError: the description is invalid, or the robot cannot be simulated or pushed.
        """
        running.start('robot_simulator', {'robot_simulator': {'robot_description': urdf}})
        self._subject = Subject.of(urdf)
        running.start('dynamics_ros', self._subject.node_parameters())
        self._running, self._began = running, began
        robot = self._subject.robot
        self.report = ArmReport(robot=robot.name, joints=robot.nv, tool=self._subject.tool)
        self.report.require(not robot.massless_bodies, robot.model.doubt)
        self.complete = False
        self._rng = np.random.default_rng(0)

    def run(self, duration: float) -> None:
        """Run rounds for a duration [s] from the first outputs on; infinite: until interrupted.

        Raises:
            DemonstrationError: a process has ended or sends no messages.
        """
        rounds = 0 if math.isinf(duration) else max(1, round(duration / _ROUND))
        with spun(self._running) as client:
            outputs = Outputs(client, self._subject)
            client.wait_for(client.silent)
            self.report.startup_s = time.monotonic() - self._began
            with Screen(lambda: self._view(outputs)) as screen:
                client.show = screen.update
                screen.event(f'everything runs, {self.report.startup_s:.1f} s after the start')
                end = time.monotonic() + duration - 0.5 * _ROUND
                while not self.complete or time.monotonic() < end:
                    self._round(client, outputs, screen, duration / rounds if rounds else _ROUND)

    def _round(self, client: Client, outputs: Outputs, screen: Screen, duration: float) -> None:
        subject, report = self._subject, self.report
        if self.complete:
            report = report.next()
        measures = Measures(report, outputs, subject, first=outputs.joint_states.newest)
        began, count = time.monotonic(), outputs.joint_states.count

        client.watch(_QUIET * duration)
        quiet, seconds = outputs.joint_states.newest, min(_PUSH * duration, _MAX_PUSH_DURATION)
        size = float(np.linalg.norm(subject.force))
        text = f'{size:.2f} N, ({listed(subject.force)}) N, {seconds:.1f} s'
        screen.event(f'push {report.rounds} at {subject.tool}: {text}')
        ask(report, 'push', lambda: client.push(subject.tool, subject.force, seconds))
        client.watch(seconds + _PAUSE)
        # A slow machine simulates and estimates later.
        over = quiet + round((seconds + _PAUSE) * 1e9)
        client.wait_for(lambda: client.behind(over, outputs.tracks()))
        measures.push(quiet, seconds)
        if report.push_detected_after_ms is not None:
            link = f'at link {report.contact_link}' if report.contact_link else 'at no known link'
            screen.event(f'detected after {report.push_detected_after_ms:.0f} ms, {link}')
        if report.push_error_percent is not None:
            screen.event(
                f'estimated {report.push_estimated_n:.2f} N of {report.push_true_n:.2f} N, '
                f'{report.push_compared} off by {report.push_error_percent:.2f} %'
            )

        target = subject.reference.forward_kinematics(subject.target(), subject.tool)
        figure = 'inverse kinematics'
        if answer := ask(report, figure, lambda: outputs.inverse_kinematics(target)):
            measures.inverse_kinematics(target, *answer)
            screen.event(f'{figure} in {answer[1] * 1e3:.1f} ms: {listed(answer[0])}')
        client.watch(_PAUSE)
        state = outputs.joint_states.latest
        assert state is not None
        a = self._rng.uniform(-1.0, 1.0, size=subject.robot.nv)
        figure = 'inverse dynamics'
        if answer := ask(report, figure, lambda: outputs.inverse_dynamics(state, a)):
            truth = subject.reference.inverse_dynamics(state.q, state.v, a)
            measures.inverse_dynamics(truth, *answer)
            screen.event(f'{figure} in {answer[1] * 1e3:.1f} ms, Nm: {listed(answer[0])}')
        client.watch(began + duration - time.monotonic())

        seconds = time.monotonic() - began
        rate = report.joint_state_rate_hz = (outputs.joint_states.count - count) / seconds
        if rate < _MIN_RATE:
            report.late['joint states'] = f'only {rate:.0f} a second'
        measures.poses()
        measures.gravity()
        for figure, how in report.late.items():
            screen.event(f'this machine is too slow: {figure}, {how}')
        self.report, self.complete = report, True

    def _view(self, outputs: Outputs) -> View:
        """Joints with their torques, and the push beside its estimate."""
        robot, subject = self._subject.robot, self._subject
        state, gravity = outputs.joint_states.latest, outputs.gravity.latest
        contact: Any = outputs.contact.latest
        unknown = np.full(robot.nv, math.nan)
        external = {}
        if contact is not None:
            pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
            external = dict(zip(contact.joint_names, map(Cell._make, pairs), strict=True))
        q = unknown if state is None else state.q
        tau = unknown if gravity is None else gravity
        rows = [
            (name, (Cell(q[i]), Cell(tau[i], limit), external.get(name, Cell(math.nan))))
            for i, (name, limit) in enumerate(
                zip(robot.joint_names, robot.effort_limits, strict=True)
            )
        ]
        touched = contact is not None and contact.state != ContactState.NONE
        place = f', contact at {contact.link}' if contact and touched else ''
        forces = {
            name: 0.0 if wrench is None else float(np.linalg.norm(wrench[:3]))
            for name, wrench in (
                ('push', outputs.true_wrench.latest),
                ('estimated', outputs.wrench.latest),
            )
        }
        pose = outputs.pose.latest
        where = '-' if pose is None else ' '.join(f'{x:.3f}' for x in pose[:3, 3] + 0.0)
        largest = 0.0 if gravity is None else np.abs(gravity).max()
        return View(
            f'{robot.name}, {subject.tool} at {where} m{place}',
            ('joint', 'position', 'gravity', 'external'),
            rows,
            forces,
            f'tool {where} m, gravity {largest:.3g} Nm, '
            f'force {forces["estimated"]:.2f} of {forces["push"]:.2f} N',
        )


def ask(report: Report, figure: str, question: Callable[[], Answer]) -> Answer | None:
    """Response of a service; None if it failed, which is added to the report."""
    try:
        return question()
    except ServiceError as error:
        if error.late:
            report.late[figure] = str(error)
        else:
            report.require(False, str(error))
        return None


def _misses_messages(track: Track[Any], first: int, last: int) -> bool:
    """Whether there are gaps between the messages from one stamp to another [ns]."""
    stamps = [first, *sorted(t for t in track.stamps() if first < t < last), last]
    return any(later - earlier > _MAX_GAP for earlier, later in pairwise(stamps))


def pose_error(A: Array, B: Array) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two poses (4, 4).

    The angle follows from |A - B| = 2 sqrt(2) sin(angle / 2); the arc cosine of the trace would
    resolve it to 1e-8 only.
    """
    chord = float(np.linalg.norm(A[:3, :3] - B[:3, :3])) / (2.0 * math.sqrt(2.0))
    return float(np.linalg.norm(A[:3, 3] - B[:3, 3])), 2.0 * math.asin(min(chord, 1.0))


def in_root(wrench: Array, tool: Array) -> Array:
    """Wrench (6) in the axes of the tool, with pose (4, 4) in the root frame, in root axes."""
    R = tool[:3, :3]
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])


def _matrix(message: PoseStamped) -> Array:
    return pose_matrix(message.pose, 'pose')


def _wrench(message: WrenchStamped) -> Array:
    return numbers(message.wrench, 'wrench')
