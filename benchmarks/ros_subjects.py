# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots for the benchmark of the nodes, with their parameters and joint states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.descriptions import bare
from benchmarks.robots import urdf_path

PUSH = (0.0, 20.0, 10.0, 0.0, 0.0, 0.0)
"""Wrench of a contact at the first frame [N, Nm]."""

JOINT_STATES, ODOMETRY = 'joint_states', 'odom'

SLOW = ('kinematics_node/markers', 'contact_node/markers')
"""Topics with their own rate."""

COUNTED = 'dynamics_node/gravity_torques'
"""Counted topic: gravity torques follow every state, while estimates pause after gaps of stamps."""


@dataclass(frozen=True)
class Subject:
    """A robot with its parameters and joint states.

    Attributes:
        name: name in the tables.
        robot: a name of `benchmarks.robots.NAMED`.
        frames: frames whose pose and twist are published.
        contacts: contact frames.
        feet: frames of the feet; a robot with feet has a moving base.
        extra: names in joint_states that the robot does not have.
        publishers: number of publishers, each with a part of the joints.
        limit: goal of the ratio of processor time per message to that of the echo.
    """

    name: str
    robot: str
    frames: tuple[str, ...]
    contacts: tuple[str, ...]
    feet: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    publishers: int = 1
    limit: float = 1.5

    @cached_property
    def urdf(self) -> str:
        """URDF text."""
        return bare(urdf_path(self.robot))

    @property
    def root_joint(self) -> str:
        """Type of the root joint."""
        return 'floating' if self.feet else 'fixed'

    @property
    def timed(self) -> str:
        """Topic that is read: the estimate at the last contact frame."""
        return f'contact_node/{self.contacts[-1]}/estimate'

    def topics(self) -> dict[str, str]:
        """Topic to type of all outputs of our nodes."""
        contact = {
            f'contact_node/{frame}/{name}': kind
            for name, kind in (
                ('wrench', 'geometry_msgs/WrenchStamped'),
                ('estimate', 'dynamics_ros_msgs/ExternalWrench'),
            )
            for frame in self.contacts
        }
        kinematics = {
            f'kinematics_node/{frame}/{name}': kind
            for frame in self.frames
            for name, kind in (
                ('pose', 'geometry_msgs/PoseStamped'),
                ('twist', 'geometry_msgs/TwistStamped'),
            )
        }
        feet = {'contact_node/foot_contacts': 'dynamics_ros_msgs/FootContacts'}
        return {
            **kinematics,
            '/tf': 'tf2_msgs/TFMessage',
            COUNTED: 'sensor_msgs/JointState',
            'dynamics_node/gravity_commands': 'std_msgs/Float64MultiArray',
            'contact_node/external_torques': 'sensor_msgs/JointState',
            'contact_node/contact_state': 'dynamics_ros_msgs/ContactState',
            **(feet if self.feet else {}),
            **contact,
            **dict.fromkeys(SLOW, 'visualization_msgs/MarkerArray'),
        }

    def parameters(self) -> dict[str, dict[str, Any]]:
        """Parameters of each node."""
        every = {'robot_description': self.urdf, 'root_joint': self.root_joint}
        feet = {'feet': {'frames': list(self.feet)}} if self.feet else {}
        return {
            'kinematics_node': {**every, 'frames': list(self.frames), 'publish_tf': True},
            'dynamics_node': {
                **every,
                'command_joints': list(self.model.joint_names),
                'autostart': True,
            },
            'contact_node': {**every, 'frames': list(self.contacts), **feet},
        }

    @cached_property
    def model(self) -> Any:
        """The robot with the Python backend."""
        from dynamics_ros import Robot

        return Robot.from_urdf(self.urdf, root_joint=self.root_joint, backend='python')

    def posture(self) -> Any:
        """Configuration (nq): between the limits of an arm, or a stance."""
        robot = self.model
        if not self.feet:
            return 0.3 * robot.lower_limits.clip(-1.0) + 0.7 * robot.upper_limits.clip(max=1.0)
        q = robot.neutral()
        for name, index in zip(robot.joint_names, range(7, robot.nq), strict=True):
            sign = 1.0 if name[1] == 'F' else -1.0
            q[index] = {'HAA': 0.0, 'HFE': 0.6 * sign, 'KFE': -1.2 * sign}[name[-3:]]
        return q

    def efforts(self, *, pushed: bool = False) -> Any:
        """Efforts of the joints at rest; with feet, the ground carries a part of the weight.

        Args:
            pushed: whether there is a push at the first contact frame.
        """
        robot, q = self.model, self.posture()
        torques = robot.gravity(q)
        if pushed:
            torques = torques - robot.jacobian(q, self.contacts[0]).T @ PUSH
        if self.feet:
            jacobian = np.vstack([robot.jacobian(q, foot)[:3] for foot in self.feet])
            forces = np.linalg.lstsq(jacobian[:, :6].T, torques[:6], rcond=None)[0]
            torques = torques - jacobian.T @ forces
        return torques[robot.nv - len(robot.joint_names) :]

    def turn(self, *, pushed: bool = False) -> list[list[tuple[str, Any]]]:
        """Topics and messages of one state, for each publisher those with one stamp."""
        from sensor_msgs.msg import JointState

        state = self.joint_state(pushed=pushed)
        size = -(-len(state.name) // self.publishers)
        parts: list[list[tuple[str, Any]]] = []
        for begin in range(0, len(state.name), size):
            own = slice(begin, begin + size)
            part = JointState(
                name=state.name[own],
                position=state.position[own],
                velocity=state.velocity[own],
                effort=state.effort[own],
            )
            parts.append([(JOINT_STATES, part)])
        if self.feet:
            parts[0].insert(0, (ODOMETRY, _odometry()))
        return parts

    def joint_state(self, *, pushed: bool = False) -> Any:
        """Joint states of all joints in one message."""
        from sensor_msgs.msg import JointState

        names = list(self.model.joint_names)
        positions = self.posture()[self.model.nq - len(names) :].tolist()
        efforts = self.efforts(pushed=pushed).tolist()
        followers = self._followers(dict(zip(names, positions, strict=True)))
        more = [*followers, *((name, 0.0) for name in self.extra)]
        names += [name for name, _ in more]
        return JointState(
            name=names,
            position=[*positions, *(position for _, position in more)],
            velocity=[0.0] * len(names),
            effort=[*efforts, *([0.0] * len(more))],
        )

    def _followers(self, positions: dict[str, float]) -> Sequence[tuple[str, float]]:
        """Names and positions of mimic joints, which drivers report as well."""
        import xml.etree.ElementTree as ElementTree

        found = []
        for joint in ElementTree.fromstring(self.urdf).iter('joint'):
            leader = joint.find('mimic')
            if leader is not None:
                factor = float(leader.get('multiplier', '1'))
                offset = float(leader.get('offset', '0'))
                position = factor * positions[leader.get('joint', '')] + offset
                found.append((joint.get('name', ''), position))
        return found


def _odometry() -> Any:
    """Odometry of a base at rest at the origin."""
    from nav_msgs.msg import Odometry

    message = Odometry()
    message.header.frame_id = 'odom'
    message.pose.pose.orientation.w = 1.0
    return message


FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
HAND = ('link_eef',)
FINGERS = ('panda_hand_tcp',)

USUAL = Subject('xarm7', 'xarm7', HAND, HAND, limit=1.35)
"""The robot for which all parts are measured."""

SUBJECTS = (
    USUAL,
    Subject('panda', 'panda', FINGERS, FINGERS),
    Subject('panda, extra names', 'panda', FINGERS, FINGERS, extra=('lift', 'pan', 'tilt')),
    Subject('xarm7, two contacts', 'xarm7', HAND, ('link4', 'link_eef')),
    Subject('anymal', 'anymal', FEET, ('LF_FOOT',), FEET),
    Subject('xarm7, two publishers', 'xarm7', HAND, HAND, publishers=2),
)
"""One row of the tables for each."""
