# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of an arm: watch the nodes, push, call services, compare with the simulator."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from dynamics_ros.errors import ModelError
from dynamics_ros.model import build_model
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot
from dynamics_ros.simulation import (
    Actuators,
    comfortable_posture,
    gentle_push,
    require_simulable,
)
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

from .demonstration import Demonstration, Track, matched
from .processes import Children
from .screen import Cell, View

Array = NDArray[np.float64]

PUSH_TOLERANCE = 5.0
"""Tolerance of the estimated force in steady state [%]."""

_POSE_TOLERANCE = 1e-6  # m and rad: rounding gives 1e-15, a wrong frame far more
_TORQUE_TOLERANCE = 1e-6  # relative to the largest torque if that exceeds 1 Nm, otherwise Nm
_SOLUTION_TOLERANCE = 1e-3  # m and rad; that of inverse kinematics itself is 1e-5
_MIN_RATE = 50.0  # joint states per second, below which the machine is too slow
_MAX_DETECTION_TIME = 500.0  # ms, from the beginning of a push to its detection
_BEFORE = 400_000_000  # ns before the push in which no contact may be reported
_SETTLED = 0.4  # share of the push after which it is in steady state
_EDGE = 50_000_000  # ns excluded at the end of the push
_MIN_SAMPLES = 10

_QUIET = 0.1  # share of a round before the push, in which no contact may be reported
_PUSH = 0.35  # share of a round that the push lasts
_MAX_PUSH_DURATION = 4.0  # s
_PAUSE = 0.3  # s, between the push and the service calls
_MIN_TORQUE = 1e-6  # Nm, least joint torque of a push that can be shown
_SHARE_OF_PUSH = 0.3  # ratio of the contact threshold of a joint to its torque by the push
_SHARE_OF_LARGEST = 0.03  # least ratio of that threshold to the largest torque of a joint
_SEARCH_TIMEOUT = 5.0  # s, timeout of a search, which the service allows at most


class Subject:
    """A robot with its tool, its posture and a suitable push.

    Attributes:
        robot: the robot.
        reference: the same robot without compiled kernels, for the true poses and torques.
        tool: frame that is observed and pushed.
        posture: centre (n) of the simulated motion.
        force: force (3) of the push, in root axes [N].
        observable: whether joint torques determine the whole wrench at the tool (six joints do).
    """

    def __init__(self, urdf: str) -> None:
        """Prepare the demonstration of a description.

        Raises:
            ModelError: the description is invalid, or the robot cannot be simulated or pushed.
        """
        description = read_urdf(urdf)
        self.robot = robot = Robot(build_model(description))
        require_simulable(robot)
        self.tool = tool = tool_frame(description)
        self.posture = comfortable_posture(robot, tool)
        actuators = Actuators.for_robot(robot, self.posture, tool)
        self.force = gentle_push(robot, actuators, self.posture, tool)
        J = robot.jacobian(self.posture, tool)
        if not np.abs(J[:3].T @ self.force).max() > _MIN_TORQUE:
            reason = 'no joint feels a force at its origin: a link farther from the axes would do'
            raise ModelError(f'link {tool!r}', reason)
        self.observable = int(np.linalg.matrix_rank(J, tol=1e-6)) == 6
        self.reference = Robot(robot.model, backend='python')

    def node_parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """Parameters of each node; the description reaches the nodes by its topic.

        Contact thresholds are relative to the push, and so is the noise of the wrench estimate: the
        torques of a small arm are small, and its simulated sensors have no noise.
        """
        J = self.robot.jacobian(self.posture, self.tool)
        torques = np.abs(J[:3].T @ self.force)
        largest = float(torques.max())
        thresholds = np.maximum(_SHARE_OF_PUSH * torques, _SHARE_OF_LARGEST * largest)
        contact = {
            'frames': [self.tool],
            'thresholds': {'contact': thresholds.tolist(), 'collision': [math.inf]},
            'effort': {'noise': [max(min(0.1, 0.01 * largest), 1e-6)]},
        }
        return {'kinematics_node': {'frames': [self.tool]}, 'contact_node': contact}

    def target(self) -> Array:
        """Target of inverse kinematics (n), away from the posture and within the limits."""
        robot = self.robot
        room = np.minimum(robot.upper_limits - self.posture, self.posture - robot.lower_limits)
        signs = np.where(np.arange(robot.nq) % 2, -1.0, 1.0)
        return np.asarray(self.posture + signs * np.minimum(0.2, 0.5 * room))


class ArmDemonstration(Demonstration):
    """Pushes a simulated arm and calls the services of the nodes.

    Errors of poses are relative to the simulator at the same stamp, those of torques and of inverse
    kinematics to kernels in plain Python. The error of a push is the median of
    |estimated - true| / |true| in steady state; its delay counts from its first joint state.
    """

    rows = (
        ('joint states', '{joint_state_rate_hz:.0f} a second'),
        ('pose of {tool}', 'off by {pose_error_m:.0e} m, {pose_error_rad:.0e} rad at most'),
        ('gravity torques', 'off by {gravity_torque_error_nm:.0e} Nm at most'),
        ('push {rounds} at {tool}', '{push_true_n:.2f} N, estimated {push_estimated_n:.2f} N'),
        ('', '{push_compared} off by {push_error_percent:.2f} %'),
        ('', 'detected after {push_detected_after_ms:.0f} ms at {contact_link!r}'),
        (
            'inverse kinematics, call {rounds}',
            'off by {inverse_kinematics_error_m:.0e} m, {inverse_kinematics_ms:.1f} ms',
        ),
        (
            'inverse dynamics, call {rounds}',
            'off by {inverse_dynamics_error_nm:.0e} Nm, {inverse_dynamics_ms:.1f} ms',
        ),
    )

    def __init__(self, urdf: str, running: Children, began: float) -> None:
        """Start the processes; the program was started at a time ``began`` [s, monotonic].

        Raises:
            ModelError: the description is invalid, or the robot cannot be simulated or pushed.
        """
        running.start('robot_simulator', {'robot_simulator': {'robot_description': urdf}})
        self._subject = subject = Subject(urdf)
        running.start('dynamics_ros', subject.node_parameters())
        robot = subject.robot
        super().__init__(running, began, robot=robot.name, joints=robot.nv, tool=subject.tool)
        self.report.require(not robot.massless_bodies, robot.model.doubt)
        self._rng = np.random.default_rng(0)

    def connect(self) -> None:
        """Subscribe to the outputs and the ground truth."""
        tool = topic_names([self._subject.tool])[self._subject.tool]
        contact, truth = '/contact_node', '/robot_simulator/ground_truth'
        watch = self.subscribe
        # Positions and velocities (2, n), poses (4, 4), torques (n), wrenches (6) at the tool.
        self.joint_states = watch('/joint_states', JointState, self._state)
        self.pose = watch(f'/kinematics_node/{tool}/pose', PoseStamped, _matrix)
        self.gravity = watch('/dynamics_node/gravity_torques', JointState, self._efforts)
        self.wrench = watch(f'{contact}/{tool}/wrench', WrenchStamped, _wrench)
        self.contact = watch(f'{contact}/contact_state', ContactState)
        self.true_pose = watch(f'{truth}/pose', PoseStamped, _matrix)
        self.true_wrench = watch(f'{truth}/wrench', WrenchStamped, _wrench)
        kinematics, dynamics = '/kinematics_node/compute_inverse', '/dynamics_node/compute_inverse'
        self._solve = self.service(ComputeInverseKinematics, f'{kinematics}_kinematics')
        self._inverse_dynamics = self.service(ComputeInverseDynamics, f'{dynamics}_dynamics')

    def round(self, duration: float) -> None:
        """Push the tool, then call inverse kinematics and inverse dynamics."""
        subject, figures = self._subject, self.current.figures
        began, count = time.monotonic(), self.joint_states.count
        figures['inverse_kinematics_success'] = None

        self.watch(_QUIET * duration)
        quiet, seconds = self.joint_states.newest, min(_PUSH * duration, _MAX_PUSH_DURATION)
        size = float(np.linalg.norm(subject.force))
        push = f'push {figures["rounds"]} at {subject.tool}'
        self.screen.event(f'{push}: {size:.2f} N for {seconds:.1f} s')
        self.push(subject.tool, subject.force, seconds)
        self.watch(seconds + _PAUSE)
        self.wait_until(quiet + round((seconds + _PAUSE) * 1e9))
        self.check_push(quiet, seconds)
        target = subject.reference.forward_kinematics(subject.target(), subject.tool)
        ask = ComputeInverseKinematics.Request(
            frame=subject.tool,
            target=pose_stamped(self._now(), subject.robot.root_frame, target),
            timeout=duration_message(_SEARCH_TIMEOUT),
        )
        answer, took = self.call('inverse kinematics', self._solve, ask)
        if answer is not None:
            figures['inverse_kinematics_ms'] = 1e3 * took
            q = self._in_order(answer.solution.name, answer.solution.position)
            self.check_solution(target, q)
        self.watch(_PAUSE)
        (q, v), a = self.joint_states.latest, self._rng.uniform(-1.0, 1.0, subject.robot.nv)
        names = list(subject.robot.joint_names)
        request = ComputeInverseDynamics.Request(
            state=joint_state(self._now(), names, position=q, velocity=v),
            acceleration_names=names,
            accelerations=a.tolist(),
        )
        response, took = self.call('inverse dynamics', self._inverse_dynamics, request)
        if response is not None:
            figures['inverse_dynamics_ms'] = 1e3 * took
            tau = self._in_order(response.torques.name, response.torques.effort)
            truth = subject.reference.inverse_dynamics(q, v, a)
            self.check_torques('inverse dynamics', 'inverse_dynamics_error_nm', tau, truth)
        self.watch(began + duration - time.monotonic())

        rate = (self.joint_states.count - count) / (time.monotonic() - began)
        figures['joint_state_rate_hz'] = rate
        if rate < _MIN_RATE:
            self.current.late['joint states'] = f'only {rate:.0f} a second'
        self.check_poses()
        self.check_gravity()

    def check_poses(self) -> None:
        """Compare the published poses with those of the simulator."""
        samples = matched(self.pose, self.true_pose, first=self.first, most=1000)
        if self._are_enough('pose', samples):
            m, rad = np.max([pose_error(A, B) for _, A, B in samples], axis=0).tolist()
            self.current.figures.update(pose_error_m=m, pose_error_rad=rad)
            fits = max(m, rad) <= _POSE_TOLERANCE
            self.current.require(fits, f'the pose is off by {m:.1e} m, {rad:.1e} rad')

    def check_gravity(self) -> None:
        """Compare the published gravity torques with those of kernels in plain Python."""
        # Few, because the true torques of a state take a millisecond.
        samples = matched(self.gravity, self.joint_states, first=self.first, most=50)
        if self._are_enough('gravity torques', samples):
            torques, states = zip(*(sample[1:] for sample in samples), strict=True)
            truth = [self._subject.reference.gravity(q) for q, _ in states]
            self.check_torques('gravity torques', 'gravity_torque_error_nm', torques, truth)

    def check_push(self, quiet: int, duration: float) -> None:
        """Detection and estimate of a push after the stamp ``quiet`` [ns], of a duration [s]."""
        truth = matched(self.true_wrench, first=quiet)
        pushed = [t for t, wrench in truth if np.any(wrench)]
        if not pushed:
            self.expect('push', False, 'the simulator did not push')
            return
        # The push began after ``calm``: its first messages may have been missed.
        calm = max((t for t, _ in truth if t < pushed[0]), default=quiet)
        began, end = pushed[0], min(pushed[0] + round(duration * 1e9), pushed[-1]) - _EDGE
        steady = began + round(_SETTLED * duration * 1e9)
        self._check_force(steady, end)
        contacts = matched(self.contact, first=quiet - _BEFORE, last=end)
        touched = [t for t, contact in contacts if contact.state != ContactState.NONE]
        early = sum(t <= calm for t in touched)
        self.expect('contact', not early, f'{early} messages report a contact before the push')
        delay = next(((t - began) * 1e-6 for t in touched if t >= began), None)
        failure = f'the push was not detected within {_MAX_DETECTION_TIME:g} ms'
        self.expect('contact', delay is not None and delay <= _MAX_DETECTION_TIME, failure)
        link = next((contact.link for t, contact in reversed(contacts) if t >= steady), None)
        self.current.figures.update(push_detected_after_ms=delay, contact_link=link)

    def _check_force(self, first: int, last: int) -> None:
        """Compare the estimated force with the true one, between two stamps [ns]."""
        tracks = self.wrench, self.true_wrench, self.true_pose, self.joint_states
        samples = matched(*tracks, first=first, last=last)
        if not self._are_enough('push', samples):
            return
        _, estimates, truths, poses, states = zip(*samples, strict=True)
        # From the axes of the tool to those of the root.
        estimated, true = (
            np.einsum('tij,tkj->tki', np.array(poses)[:, :3, :3], np.reshape(x, (-1, 2, 3)))
            for x in (estimates, truths)
        )
        compared, of = (estimated[:, 0], true[:, 0]), 'force'
        if not self._subject.observable:
            # Several wrenches have the same joint torques, so the torques are compared.
            of = 'joint torques'
            J = [self._subject.reference.jacobian(q, self._subject.tool) for q, _ in states]
            compared = tuple(
                np.einsum('tij,ti->tj', J, x.reshape(-1, 6)) for x in (estimated, true)
            )
        errors = np.linalg.norm(compared[0] - compared[1], axis=1)
        error = 100.0 * float(np.median(errors / np.linalg.norm(compared[1], axis=1)))
        sizes = [float(np.linalg.norm(x[:, 0].mean(axis=0))) for x in (true, estimated)]
        self.current.figures.update(
            push_true_n=sizes[0],
            push_estimated_n=sizes[1],
            push_compared=of,
            push_error_percent=error,
        )
        failure = f'the estimated push is off by {error:.1f} % ({of})'
        self.expect('push', error < PUSH_TOLERANCE, failure)

    def check_solution(self, target: Array, q: Array) -> None:
        """Check a solution q (n) for a target (4, 4) by forward kinematics in plain Python."""
        report, robot, tool = self.current, self._subject.robot, self._subject.tool
        m, rad = pose_error(self._subject.reference.forward_kinematics(q, tool), target)
        inside = bool(np.all((q >= robot.lower_limits - 1e-9) & (q <= robot.upper_limits + 1e-9)))
        report.require(inside, 'inverse kinematics leaves the joint limits')
        close = max(m, rad) <= _SOLUTION_TOLERANCE
        report.require(close, f'inverse kinematics misses by {m:.1e} m, {rad:.1e} rad')
        report.figures['inverse_kinematics_success'] = inside and close
        report.figures['inverse_kinematics_error_m'] = m

    def check_torques(self, what: str, figure: str, torques: Any, truth: Any) -> None:
        """Set the largest error of torques; more than ``_TORQUE_TOLERANCE`` is a failure."""
        error = float(np.max(np.abs(np.subtract(torques, truth))))
        self.current.figures[figure] = error
        allowed = _TORQUE_TOLERANCE * max(1.0, float(np.max(np.abs(truth))))
        self.current.require(error <= allowed, f'{what}: off by {error:.1e} Nm')

    def _are_enough(self, what: str, samples: Sequence[Any]) -> bool:
        enough = len(samples) >= _MIN_SAMPLES
        failure = f'{what}: {len(samples)} stamps with a true value, too few to compare'
        self.expect(what, enough, failure)
        return enough

    def _now(self) -> Any:
        return self.node.get_clock().now().to_msg()

    def _state(self, message: JointState) -> Array:
        values = message.position, message.velocity
        return np.array([self._in_order(message.name, x) for x in values])

    def _efforts(self, message: JointState) -> Array:
        return self._in_order(message.name, message.effort)

    def _in_order(self, names: list[str], values: Any) -> Array:
        """Values (n) of a message in the joint order of the robot."""
        given = dict(zip(names, values, strict=True))
        return np.array([given[name] for name in self._subject.robot.joint_names])

    def view(self) -> View:
        """Joints with their torques, and the push beside its estimate."""
        robot, tool = self._subject.robot, self._subject.tool

        def now(track: Track, *shape: int) -> Array:
            value = track.latest
            return np.full(shape, math.nan) if value is None else value

        (q, _), tau = now(self.joint_states, 2, robot.nv), now(self.gravity, robot.nv)
        contact = self.contact.latest or ContactState()
        pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
        external = dict(zip(contact.joint_names, map(Cell._make, pairs), strict=True))
        joints = zip(robot.joint_names, q, tau, robot.effort_limits, strict=True)
        rows = [
            (name, (Cell(x), Cell(torque, limit), external.get(name, Cell(math.nan))))
            for name, x, torque, limit in joints
        ]
        forces = {
            name: float(np.linalg.norm(np.nan_to_num(now(track, 6)[:3])))
            for name, track in (('push', self.true_wrench), ('estimated', self.wrench))
        }
        place = f', contact at {contact.link}' if contact.state != ContactState.NONE else ''
        where = ' '.join(f'{x:.3f}' for x in now(self.pose, 4, 4)[:3, 3] + 0.0)
        largest = np.abs(np.nan_to_num(tau)).max()
        title = f'{robot.name}, {tool} at {where} m, gravity up to {largest:.3g} Nm{place}'
        return View(title, ('joint', 'position', 'gravity', 'external'), rows, forces)


def pose_error(A: Array, B: Array) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two poses (4, 4).

    The angle follows from |A - B| = 2 sqrt(2) sin(angle / 2); the arc cosine of the trace would
    resolve it to 1e-8 only.
    """
    chord = float(np.linalg.norm(A[:3, :3] - B[:3, :3])) / (2.0 * math.sqrt(2.0))
    return float(np.linalg.norm(A[:3, 3] - B[:3, 3])), 2.0 * math.asin(min(chord, 1.0))


def _matrix(message: PoseStamped) -> Array:
    return pose_matrix(message.pose, 'pose')


def _wrench(message: WrenchStamped) -> Array:
    return numbers(message.wrench, 'wrench')
