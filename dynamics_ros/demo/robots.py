# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstrated robots: an arm whose tool is pushed, and a quadruped that stands and is pushed.

The quadruped is that of the PyPI package example-robot-data, simulated in MuJoCo.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError, meant
from dynamics_ros.model import build_model
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot
from dynamics_ros.simulation import Actuators, comfortable_posture, gentle_push, require_simulable

from .screen import Cell, View

if TYPE_CHECKING:  # benchmarks and tests use this file without ROS
    from .client import Client

Array = NDArray[np.float64]

ANYMAL = 'anymal'
NEEDED = 'mujoco example-robot-data'
"""Names of the Python packages that the quadruped needs."""

FEET, FOOT_RADIUS, BASE = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT'), 0.031, 'base'
STANCE = {
    f'{leg}_{joint}': sign * angle
    for leg, sign in (('LF', 1.0), ('RF', 1.0), ('LH', -1.0), ('RH', -1.0))
    for joint, angle in (('HFE', 0.6), ('KFE', -1.2))
}
"""Joint positions of the standing quadruped [rad]; 0 for other joints."""

MIN_SAMPLES = 10

_SHARE_OF_WEIGHT = 0.15  # of the push of the quadruped
_LENGTH = 0.3  # m, lever arm of the wrench estimate
_DEFAULT_THRESHOLD = 0.02  # Nm per N, default of wrench.singular_threshold
_SHARE_OF_LEVER = 0.05  # largest ratio of the threshold to the shortest lever
_MIN_TORQUE = 1e-6  # Nm, least joint torque of a push that can be shown
_SHARE_OF_PUSH = 0.3  # ratio of the contact threshold of a joint to its torque by the push
_SHARE_OF_LARGEST = 0.03  # least ratio of that threshold to the largest torque of a joint


class Comparison(NamedTuple):
    """Comparison of a push with its estimate.

    Attributes:
        true, estimated: mean forces [N].
        compared: what ``error`` compares.
        error: median error [%].
        detected: whether the contact was detected.
        contact: description of the contact.
    """

    true: float
    estimated: float
    compared: str
    error: float
    detected: bool
    contact: str


class Demonstrated(ABC):
    """A robot with a push that its nodes estimate.

    Attributes:
        robot: the robot.
        simulator: parameters of robot_simulator beside the description.
        nodes: parameters of each node.
        frame: frame that is pushed.
        force: force (3) of the push, in root axes [N].
        settling: time after the start until estimates are steady [s].
    """

    robot: Robot
    simulator: dict[str, Any]
    nodes: dict[str, Any]
    frame: str
    force: Array
    settling = 0.0

    @abstractmethod
    def subscribe(self, client: Client) -> None:
        """Subscribe to the outputs and to the true values of the simulator."""

    @abstractmethod
    def compare(self, began: int, first: int, last: int) -> Comparison | None:
        """Compare the estimate with the truth.

        Args:
            began: stamp before the push [ns].
            first, last: stamps during the steady state of the push.

        Returns:
            The comparison; None with fewer than ``MIN_SAMPLES`` messages.
        """

    @abstractmethod
    def view(self) -> View:
        """Return what the screen shows now."""


class Arm(Demonstrated):
    """An arm, whose tool is pushed in the middle of a slow motion.

    Contact thresholds are relative to the push. Threshold and noise of the wrench estimate are
    relative to the size of the robot: a small arm has short levers, and its simulated sensors have
    no noise.

    Attributes:
        posture: centre (n) of the motion.
    """

    def __init__(self, urdf: str) -> None:
        """Choose tool, posture and push of a robot.

        Raises:
            ModelError: the description is invalid, or the robot cannot be simulated or pushed.
        """
        description = read_urdf(urdf)
        self.robot = robot = Robot(build_model(description))
        require_simulable(robot)
        self.frame = tool = tool_frame(description)
        self.posture = comfortable_posture(robot, tool)
        actuators = Actuators.for_robot(robot, self.posture, tool)
        self.force = gentle_push(robot, actuators, self.posture, tool)
        J = robot.jacobian(self.posture, tool)
        torques = np.abs(J[:3].T @ self.force)
        largest = float(torques.max())
        if not largest > _MIN_TORQUE:
            reason = 'no joint feels a force at its origin: a link farther from the axes would do'
            raise ModelError(f'link {tool!r}', reason)
        self._observable = int(np.linalg.matrix_rank(J, tol=1e-6)) == 6
        thresholds = np.maximum(_SHARE_OF_PUSH * torques, _SHARE_OF_LARGEST * largest)
        weights = np.array([1.0, 1.0, 1.0, _LENGTH, _LENGTH, _LENGTH])
        levers = np.linalg.svd(J * weights[:, None], compute_uv=False)
        shortest = float(levers[levers > 1e-6 * levers[0]][-1])
        contact = {
            'frames': [tool],
            'thresholds': {'contact': thresholds.tolist(), 'collision': [math.inf]},
            'wrench': {'singular_threshold': min(_DEFAULT_THRESHOLD, _SHARE_OF_LEVER * shortest)},
            'effort': {'noise': [max(min(0.1, 0.01 * largest), 1e-6)]},
        }
        self.simulator = {}
        self.nodes = {'kinematics_node': {'frames': [tool]}, 'contact_node': contact}

    def subscribe(self, client: Client) -> None:
        """Subscribe to joints, gravity torques, tool pose, contact, and the true wrench."""
        from geometry_msgs.msg import PoseStamped, WrenchStamped
        from sensor_msgs.msg import JointState

        from dynamics_ros.wire.conversions import topic_names
        from dynamics_ros_msgs.msg import ContactState

        tool = topic_names([self.frame])[self.frame]
        self._joint_states = client.subscribe('/joint_states', JointState)
        self._pose = client.subscribe(f'/kinematics_node/{tool}/pose', PoseStamped)
        self._gravity = client.subscribe('/dynamics_node/gravity_torques', JointState)
        self._wrench = client.subscribe(f'/contact_node/{tool}/wrench', WrenchStamped)
        self._contact = client.subscribe('/contact_node/contact_state', ContactState)
        self._truth = client.subscribe('/robot_simulator/ground_truth/wrench', WrenchStamped)

    def compare(self, began: int, first: int, last: int) -> Comparison | None:
        """Compare forces at the tool; joint torques if these do not determine the force."""
        truth, wrenches = self._truth.between(began, last), self._wrench.between(first, last)
        states = self._joint_states.between(first, last)
        stamps = [t for t in wrenches if t in truth and t in states]
        if len(stamps) < MIN_SAMPLES:
            return None
        true = np.array([_wrench(truth[t]) for t in stamps])
        estimated = np.array([_wrench(wrenches[t]) for t in stamps])
        compared, a, b = 'force', true[:, :3], estimated[:, :3]
        if not self._observable:
            compared = 'joint torques'
            J = [
                self.robot.jacobian(self._in_order(states[t], 'position'), self.frame, 'local')
                for t in stamps
            ]
            a, b = (np.einsum('tij,ti->tj', J, x) for x in (true, estimated))
        touched = {t: x.link for t, x in self._contact.between(began, last).items() if x.state}
        pushed = min(t for t, wrench in truth.items() if np.any(_wrench(wrench)))
        contact = 'no contact was detected'
        if touched:
            delay = (min(touched) - pushed) * 1e-6
            contact = f'contact after {delay:.0f} ms at {touched[max(touched)] or "no known link"}'
        sizes = [float(np.linalg.norm(x[:, :3], axis=1).mean()) for x in (true, estimated)]
        error = median_error(a, b)
        return Comparison(sizes[0], sizes[1], compared, error, bool(touched), contact)

    def view(self) -> View:
        """Joints with their torques, and the push beside its estimate."""
        robot, state = self.robot, self._joint_states.latest
        gravity, contact, pose = self._gravity.latest, self._contact.latest, self._pose.latest
        unknown = np.full(robot.nv, math.nan)
        external = {}
        if contact is not None:
            pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
            external = dict(zip(contact.joint_names, map(Cell._make, pairs), strict=True))
        q = unknown if state is None else self._in_order(state, 'position')
        tau = unknown if gravity is None else self._in_order(gravity, 'effort')
        rows = [
            (name, (Cell(q[i]), Cell(tau[i], limit), external.get(name, Cell(math.nan))))
            for i, (name, limit) in enumerate(
                zip(robot.joint_names, robot.effort_limits, strict=True)
            )
        ]
        forces = {
            name: 0.0 if message is None else float(np.linalg.norm(_wrench(message)[:3]))
            for name, message in (('push', self._truth.latest), ('estimated', self._wrench.latest))
        }
        at = pose and pose.pose.position
        where = '-' if at is None else ' '.join(f'{x + 0.0:.3f}' for x in (at.x, at.y, at.z))
        place = f', contact at {contact.link}' if contact and contact.state else ''
        largest = float(np.nanmax(np.abs(tau), initial=0.0))
        return View(
            f'{robot.name}, {self.frame} at {where} m{place}',
            ('joint', 'position', 'gravity', 'external'),
            rows,
            forces,
            f'tool {where} m, gravity {largest:.3g} Nm, '
            f'force {forces["estimated"]:.2f} of {forces["push"]:.2f} N',
        )

    def _in_order(self, message: Any, field: str) -> Array:
        """Values (n) of a joint state in the joint order of the robot."""
        values = dict(zip(message.name, getattr(message, field), strict=True))
        return np.array([values[name] for name in self.robot.joint_names])


class Quadruped(Demonstrated):
    """A standing quadruped, whose base is pushed and whose foot forces are estimated."""

    frame = BASE
    settling = 2.5

    def __init__(self, urdf: str) -> None:
        """Prepare stance and push."""
        self.robot = Robot(build_model(read_urdf(urdf), 'floating'))
        common: dict[str, Any] = {'root_joint': 'floating'}
        posture = [float(STANCE.get(joint, 0.0)) for joint in self.robot.joint_names]
        feet = {'feet': list(FEET), 'foot_radius': FOOT_RADIUS, 'posture': posture}
        self.simulator = {**common, **feet}
        contact = {**common, 'feet': {'frames': list(FEET)}, 'location': {'enabled': False}}
        self.nodes = {'kinematics_node': common, 'dynamics_node': common, 'contact_node': contact}
        self._weight = 9.81 * float(self.robot.total_mass)
        self.force = _SHARE_OF_WEIGHT * self._weight * np.array([0.3, 0.3, -0.9])

    def subscribe(self, client: Client) -> None:
        """Subscribe to estimated and true forces of the feet."""
        from dynamics_ros_msgs.msg import FootContacts

        truth = '/robot_simulator/ground_truth/foot_contacts'
        self._estimate = client.subscribe('/contact_node/foot_contacts', FootContacts)
        self._truth = client.subscribe(truth, FootContacts)

    def compare(self, began: int, first: int, last: int) -> Comparison | None:
        """Compare vertical forces; the forces of the observer do not contain a push at the base."""
        truth, estimates = self._truth.between(first, last), self._estimate.between(first, last)
        stamps = [t for t in estimates if t in truth]
        if len(stamps) < MIN_SAMPLES:
            return None
        true = np.array([[x.z for x in truth[t].forces] for t in stamps])
        estimated = np.array([[x.z for x in estimates[t].constraint_forces] for t in stamps])
        sums = [float(x.sum(axis=1).mean()) for x in (true, estimated)]
        standing = sum(estimates[stamps[-1]].in_contact)
        text = f'{standing} of {len(FEET)} feet in contact'
        error = median_error(true, estimated)
        return Comparison(sums[0], sums[1], 'vertical foot forces', error, standing > 0, text)

    def view(self) -> View:
        """Vertical forces of the feet beside the simulated ones."""
        estimate, truth = self._estimate.latest, self._truth.latest
        rows: list[tuple[str, list[Cell]]] = []
        stand: list[str] = []
        share = self._weight / len(FEET)
        for i, foot in enumerate(FEET if estimate and truth else ()):
            forces = (estimate.forces[i], estimate.constraint_forces[i], truth.forces[i])
            rows.append((foot, [Cell(force.z, 2.0 * share) for force in forces]))
            stand += [foot] if estimate.in_contact[i] else []
        sums = np.sum([[cell.value for cell in cells] for _, cells in rows], axis=0).tolist()
        on_feet = dict(zip(('estimated', 'simulated'), sums[1:], strict=True)) if rows else {}
        text = f'in contact: {", ".join(stand) or "no foot"}'
        numbers = ', '.join(f'{name} {value:.0f} N' for name, value in on_feet.items())
        return View(
            f'{self.robot.name}, {text}',
            ('foot, N', 'observer', 'constraints', 'simulated'),
            rows,
            on_feet,
            f'{text}; on all feet {numbers}',
        )


def median_error(true: Array, estimated: Array) -> float:
    """Median of |estimated - true| / |true| over rows (t, k) [%]."""
    errors = np.linalg.norm(estimated - true, axis=1) / np.linalg.norm(true, axis=1)
    return 100.0 * float(np.median(errors))


def _wrench(message: Any) -> Array:
    force, torque = message.wrench.force, message.wrench.torque
    return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def robots_folder() -> Path:
    """Path of the folder ``robots`` of the installed example-robot-data.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    for entry in sys.path:
        for prefix in ('cmeel.prefix/', ''):
            folder = Path(entry) / f'{prefix}share/example-robot-data/robots'
            if folder.is_dir():
                return folder
    raise FileNotFoundError('example-robot-data: install it with "pip install example-robot-data"')


def read_description(robot: str | None) -> str:
    """URDF text of a file, which may be xacro, or of the quadruped; None: the package's arm.

    Raises:
        ModelError: the file cannot be read or expanded, or a required package is not installed.
    """
    from ament_index_python.packages import get_package_share_directory

    if robot == ANYMAL:
        try:
            path = robots_folder() / 'anymal_b_simple_description/robots/anymal.urdf'
        except FileNotFoundError:
            path = None
        if path is None or find_spec('mujoco') is None:
            cure = f'{sys.executable} -m pip install {NEEDED}'
            raise ModelError(f'robot {robot!r}', f'takes packages that are not installed: {cure}')
        return path.read_text(encoding='utf-8')
    if robot and robot.isidentifier() and not Path(robot).exists():
        reason = f'neither a file nor {ANYMAL!r}{meant(robot, [ANYMAL])}'
        raise ModelError(f'robot {robot!r}', reason)
    own = Path(get_package_share_directory('dynamics_ros'), 'urdf', 'seven_joint_arm.urdf')
    return read_description_file(robot or own)
