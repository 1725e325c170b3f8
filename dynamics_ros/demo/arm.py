# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of an arm: watch the nodes, push, call services, compare with the simulator."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
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

from .demonstration import Demonstration
from .processes import Children
from .screen import Cell, View

Array = NDArray[np.float64]

PUSH_TOLERANCE = 5.0
"""Tolerance of the estimated push in steady state [%]."""

JOINT_STATES, GRAVITY = '/joint_states', '/dynamics_node/gravity_torques'
CONTACT, TRUTH = '/contact_node/contact_state', '/robot_simulator/ground_truth'

_TOLERANCE = 1e-6  # m, rad, and Nm or the ratio to a larger torque: rounding gives 1e-15
_SOLUTION_TOLERANCE = 1e-3  # m and rad; that of inverse kinematics itself is 1e-5
_MIN_RATE = 50.0  # joint states per second, below which the machine is too slow
_MAX_DETECTION_TIME = 500.0  # ms, from the beginning of a push to its detection
_BEFORE = 400_000_000  # ns before the push in which no contact may be reported
_SETTLED = 0.4  # share of the push after which it is in steady state
_EDGE = 50_000_000  # ns excluded at the end of the push

_QUIET, _PUSH = 0.1, 0.35  # shares of a round: before the push, and of the push
_MAX_PUSH_DURATION = 4.0  # s
_PAUSE = 0.3  # s, after the push and between the service calls
_MIN_TORQUE = 1e-6  # Nm, least joint torque of a push that can be shown
_SHARES_OF_PUSH = 0.3, 0.03  # contact threshold of a joint over its own and the largest torque
_SEARCH_TIMEOUT = 5.0  # s, timeout of a search, which the service allows at most


class Subject:
    """A robot with its tool, its posture and a suitable push.

    Attributes:
        robot: the robot.
        reference: the same robot without compiled kernels, for the true poses and torques.
        tool: frame that is observed and pushed.
        posture: centre (n) of the simulated motion.
        force: force (3) of the push, in root axes [N].
        torques: magnitudes (n) of the joint torques of the push in the posture.
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
        self.torques = np.abs(robot.jacobian(self.posture, tool)[:3].T @ self.force)
        if not self.torques.max() > _MIN_TORQUE:
            reason = 'no joint feels a force at its origin: a link farther from the axes would do'
            raise ModelError(f'link {tool!r}', reason)
        self.reference = Robot(robot.model, backend='python')

    def node_parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """Parameters of each node; the description reaches the nodes by its topic.

        Contact thresholds are relative to the push, and so is the noise of the wrench estimate: the
        torques of a small arm are small, and its simulated sensors have no noise.
        """
        largest = float(self.torques.max())
        own, common = _SHARES_OF_PUSH
        thresholds = np.maximum(own * self.torques, common * largest)
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
    |J^T (estimated - true)| / |J^T true| in steady state, because several wrenches may have the
    same joint torques; its delay counts from its first joint state.
    """

    rows = (
        ('joint states', '{joint_state_rate_hz:.0f} a second'),
        ('pose of {tool}', 'off by {pose_error_m:.0e} m, {pose_error_rad:.0e} rad at most'),
        ('gravity torques', 'off by {gravity_torque_error_nm:.0e} Nm at most'),
        ('push {rounds} at {tool}', '{push_true_n:.2f} N, estimated {push_estimated_n:.2f} N'),
        ('', 'joint torques off by {push_error_percent:.2f} %'),
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
        self.require(not robot.massless_bodies, robot.model.doubt)
        tool = topic_names([subject.tool])[subject.tool]
        self.pose, self.wrench = f'/kinematics_node/{tool}/pose', f'/contact_node/{tool}/wrench'
        self.true_pose, self.true_wrench = f'{TRUTH}/pose', f'{TRUTH}/wrench'

    def connect(self) -> None:
        """Subscribe to the outputs and the ground truth."""
        # Positions and velocities (2, n), torques (n), poses (4, 4), wrenches (6) at the tool.
        self.subscribe(JOINT_STATES, JointState, lambda x: self._in_order(x, 'position velocity'))
        self.subscribe(GRAVITY, JointState, lambda x: self._in_order(x, 'effort')[0])
        self.subscribe(CONTACT, ContactState)
        for topic in (self.pose, self.true_pose):
            self.subscribe(topic, PoseStamped, lambda x: pose_matrix(x.pose, 'pose'))
        for topic in (self.wrench, self.true_wrench):
            self.subscribe(topic, WrenchStamped, lambda x: numbers(x.wrench, 'wrench'))
        kinematics, dynamics = '/kinematics_node/compute_inverse', '/dynamics_node/compute_inverse'
        self._solve = self.service(ComputeInverseKinematics, f'{kinematics}_kinematics')
        self._inverse_dynamics = self.service(ComputeInverseDynamics, f'{dynamics}_dynamics')

    def round(self, duration: float) -> None:
        """Push the tool, then call inverse kinematics and inverse dynamics."""
        began = time.monotonic()
        self.watch(_QUIET * duration)
        quiet, seconds = self.newest(JOINT_STATES), min(_PUSH * duration, _MAX_PUSH_DURATION)
        self.push(self._subject.tool, self._subject.force, seconds)
        self.watch(seconds + _PAUSE)
        self.wait_until(quiet + round((seconds + _PAUSE) * 1e9))
        self.check_push(quiet, seconds)
        self._call_services()
        self.watch(began + duration - time.monotonic())

        count = sum(t > self.first for t in list(self.messages[JOINT_STATES]))
        rate = self.figures['joint_state_rate_hz'] = count / (time.monotonic() - began)
        if rate < _MIN_RATE:
            self.figures['late'].append(f'only {rate:.0f} joint states a second')
        self.check_poses()
        self.check_gravity()

    def _call_services(self) -> None:
        subject, names = self._subject, list(self._subject.robot.joint_names)
        target = subject.reference.forward_kinematics(subject.target(), subject.tool)
        now = self.node.get_clock().now().to_msg()
        request = ComputeInverseKinematics.Request(
            frame=subject.tool,
            target=pose_stamped(now, subject.robot.root_frame, target),
            timeout=duration_message(_SEARCH_TIMEOUT),
        )
        response, self.figures['inverse_kinematics_ms'] = self.call(self._solve, request)
        if response is not None:
            self.check_solution(target, self._in_order(response.solution, 'position')[0])
        self.watch(_PAUSE)
        q, v = self.latest(JOINT_STATES)
        a = np.random.default_rng(self.figures['rounds']).uniform(-1.0, 1.0, len(names))
        state = joint_state(now, names, position=q, velocity=v)
        request = ComputeInverseDynamics.Request(
            state=state, acceleration_names=names, accelerations=a.tolist()
        )
        response, self.figures['inverse_dynamics_ms'] = self.call(self._inverse_dynamics, request)
        if response is not None:
            tau = self._in_order(response.torques, 'effort')[0]
            truth = subject.reference.inverse_dynamics(q, v, a)
            self.check_torques('inverse dynamics', tau, truth)

    def check_poses(self) -> None:
        """Compare the published poses with those of the simulator."""
        samples = self.matched(self.pose, self.true_pose, first=self.first, most=1000)
        if self.are_enough('pose', samples):
            m, rad = np.max([pose_error(A, B) for _, A, B in samples], axis=0).tolist()
            failure = 'the pose is off by {pose_error_m:.1e} m, {pose_error_rad:.1e} rad'
            self.check(failure, _TOLERANCE, {'pose_error_m': m, 'pose_error_rad': rad})

    def check_gravity(self) -> None:
        """Compare the published gravity torques with those of kernels in plain Python."""
        # Few, because the true torques of a state take a millisecond.
        samples = self.matched(GRAVITY, JOINT_STATES, first=self.first, most=50)
        if self.are_enough('gravity torque', samples):
            truth = [self._subject.reference.gravity(q) for *_, (q, _) in samples]
            self.check_torques('gravity torque', [tau for _, tau, _ in samples], truth)

    def check_push(self, quiet: int, duration: float) -> None:
        """Detection and estimate of a push after the stamp ``quiet`` [ns], of a duration [s]."""
        pushed = [t for t, wrench in self.matched(self.true_wrench, first=quiet) if wrench.any()]
        if not pushed:
            self.require(False, 'the simulator did not push', estimate=True)
            return
        began, end = pushed[0], min(pushed[0] + round(duration * 1e9), pushed[-1]) - _EDGE
        steady = began + round(_SETTLED * duration * 1e9)
        self._check_wrench(steady, end)
        contacts = self.matched(CONTACT, first=quiet - _BEFORE, last=end)
        touched = [t for t, contact in contacts if contact.state != ContactState.NONE]
        early = sum(t < began for t in touched)
        failure = f'{early} messages report a contact before the push'
        self.require(not early, failure, estimate=True)
        delay = next(((t - began) * 1e-6 for t in touched if t >= began), None)
        failure = f'the push was not detected within {_MAX_DETECTION_TIME:g} ms'
        figures = {'push_detected_after_ms': delay}
        self.check(failure, _MAX_DETECTION_TIME, figures, estimate=True)
        link = next((contact.link for t, contact in reversed(contacts) if t >= steady), None)
        self.figures['contact_link'] = link

    def _check_wrench(self, first: int, last: int) -> None:
        """Compare the estimated wrench with the true one, between two stamps [ns]."""
        topics = self.wrench, self.true_wrench, JOINT_STATES
        samples = self.matched(*topics, first=first, last=last, most=200)
        if not self.are_enough('push', samples):
            return
        _, estimated, true, states = map(np.array, zip(*samples, strict=True))
        # In the axes of the tool, as the wrenches are.
        J = self._subject.reference.jacobian(states[:, 0], self._subject.tool, 'local')
        off, of = (
            np.linalg.norm(np.einsum('tij,ti->tj', J, x), axis=1) for x in (estimated - true, true)
        )
        for name, wrenches in (('push_true_n', true), ('push_estimated_n', estimated)):
            self.figures[name] = float(np.linalg.norm(wrenches[:, :3], axis=1).mean())
        failure = 'joint torques of the estimated push are off by {push_error_percent:.1f} %'
        figures = {'push_error_percent': 100.0 * float(np.median(off / of))}
        self.check(failure, PUSH_TOLERANCE, figures, estimate=True)

    def check_solution(self, target: Array, q: Array) -> None:
        """Check a solution q (n) for a target (4, 4) by forward kinematics in plain Python."""
        robot, tool = self._subject.robot, self._subject.tool
        m, rad = pose_error(self._subject.reference.forward_kinematics(q, tool), target)
        inside = bool(np.all((q >= robot.lower_limits - 1e-9) & (q <= robot.upper_limits + 1e-9)))
        self.require(inside, 'inverse kinematics leaves the joint limits')
        close = max(m, rad) <= _SOLUTION_TOLERANCE
        self.require(close, f'inverse kinematics misses by {m:.1e} m, {rad:.1e} rad')
        self.figures.update(
            inverse_kinematics_success=inside and close, inverse_kinematics_error_m=m
        )

    def check_torques(self, what: str, torques: Any, truth: Any) -> None:
        """Set the largest error of torques; more than ``_TOLERANCE`` is a failure."""
        error = float(np.max(np.abs(np.subtract(torques, truth))))
        allowed = _TOLERANCE * max(1.0, float(np.max(np.abs(truth))))
        figures = {f'{what.replace(" ", "_")}_error_nm': error}
        self.check(f'{what}: off by {error:.1e} Nm', allowed, figures)

    def _in_order(self, message: JointState, fields: str) -> Array:
        """Fields (m, n) of a message in the joint order of the robot."""
        order = [message.name.index(name) for name in self._subject.robot.joint_names]
        return np.array([getattr(message, field) for field in fields.split()])[:, order]

    def view(self) -> View:
        """Joints with their torques, and the push beside its estimate."""
        robot, tool = self._subject.robot, self._subject.tool
        (q, _), tau, pose = map(self.latest, (JOINT_STATES, GRAVITY, self.pose))
        contact = self.latest(CONTACT)
        pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
        external = dict(zip(contact.joint_names, map(Cell._make, pairs), strict=True))
        joints = zip(robot.joint_names, q, tau, robot.effort_limits, strict=True)
        rows = [
            (name, (Cell(x), Cell(torque, limit), external.get(name, Cell(math.nan))))
            for name, x, torque, limit in joints
        ]
        topics = {'push': self.true_wrench, 'estimated': self.wrench}
        sizes = {x: float(np.linalg.norm(self.latest(topics[x])[:3])) for x in topics}
        place = f', contact at {contact.link}' if contact.state != ContactState.NONE else ''
        where = ' '.join(f'{x:.3f}' for x in pose[:3, 3] + 0.0)
        title = f'{robot.name}, {tool} at {where} m, gravity up to {np.abs(tau).max():.3g} Nm'
        head = 'joint; rad, Nm', 'position', 'gravity', 'external'
        return View(title + place, head, rows, sizes)


def pose_error(A: Array, B: Array) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two poses (4, 4).

    The angle follows from |A - B| = 2 sqrt(2) sin(angle / 2); the arc cosine of the trace would
    resolve it to 1e-8 only.
    """
    chord = float(np.linalg.norm(A[:3, :3] - B[:3, :3])) / (2.0 * math.sqrt(2.0))
    return float(np.linalg.norm(A[:3, 3] - B[:3, 3])), 2.0 * math.asin(min(chord, 1.0))
