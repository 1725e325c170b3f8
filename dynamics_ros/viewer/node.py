# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_ros_viewer: a page on localhost with the robot and the markers of the nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.model import build_model
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.model.visual_geometry import read_visual_geometry
from dynamics_ros.nodes.app.executor import Application, run
from dynamics_ros.nodes.app.guarded_node import GuardedNode
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.parameters.undeclared import refuse_undeclared
from dynamics_ros.robot import Robot
from dynamics_ros.settings import parameter
from dynamics_ros.wire.conversions import pose_matrix, vector_array
from dynamics_ros_msgs.msg import ContactState

if TYPE_CHECKING:
    from .posed import PosedRobot
    from .scene import Color, Scene

NAME = 'dynamics_ros_viewer'

STATES = {
    ContactState.NONE: 'no contact',
    ContactState.CONTACT: 'contact',
    ContactState.COLLISION: 'collision',
}

LEVELS = {
    DiagnosticStatus.OK: 'ok',
    DiagnosticStatus.WARN: '**warning**',
    DiagnosticStatus.ERROR: '**error**',
    DiagnosticStatus.STALE: '**stale**',
}


@dataclass(frozen=True)
class ViewerParameters:
    """Parameters of the viewer; all are fixed at start."""

    host: str = parameter(
        '127.0.0.1',
        'Address of the page: this machine only. 0.0.0.0: all networks, for everybody there',
        read_only=True,
    )
    port: int = parameter(
        8080,
        'Port of the page; the next free one when it is taken',
        minimum=1024,
        maximum=65535,
        read_only=True,
    )
    rate: float = parameter(
        20.0, 'Pictures per second', unit='Hz', minimum=0.1, maximum=100.0, read_only=True
    )
    robot_description: str = parameter(
        '', 'URDF as XML text. Empty: wait for the topic', read_only=True
    )
    frame_prefix: str = parameter(
        '', 'Before every frame of the robot in markers, as of the nodes', read_only=True
    )
    marker_topics: tuple[str, ...] = parameter(
        ('kinematics_node/markers', 'contact_node/markers'),
        'Topics of visualization_msgs/MarkerArray',
        read_only=True,
    )
    contact_topic: str = parameter(
        'contact_node/contact_state', 'Topic of dynamics_ros_msgs/ContactState', read_only=True
    )


class Viewer:
    """Draws what the topics say, at a rate of its own: the newest message of each counts."""

    def __init__(self, node: Node, scene: Scene, values: ViewerParameters) -> None:
        self.node = node
        self.scene = scene
        self._host = values.host
        self._frame_prefix = values.frame_prefix
        self._refused: set[str] = set()
        self._drawn: set[str] = set()
        self._posed: PosedRobot | None = None
        self._moved: dict[str, float] = {}
        self._markers: dict[str, Marker] = {}
        self._contact: ContactState | None = None
        self._lines: dict[str, str] = {}
        self._problem = ''
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        if values.robot_description:
            self._show(values.robot_description)
        else:
            node.create_subscription(
                String, 'robot_description', lambda message: self.show(message.data), latched
            )
        newest = QoSProfile(depth=1, reliability=qos_profile_sensor_data.reliability)
        node.create_subscription(JointState, 'joint_states', self._on_joint_state, newest)
        for topic in values.marker_topics:
            node.create_subscription(MarkerArray, topic, self._on_markers(topic), 10)
        node.create_subscription(ContactState, values.contact_topic, self._on_contact, 10)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        # Steady: pictures go on while a simulation stands still, or has not begun.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / values.rate, self.draw, clock=steady)

    def start(self, _executor: Executor) -> None:
        """Say where the page is, and who can see it."""
        if is_local(self._host):
            self.node.get_logger().info(f'the page is at http://localhost:{self.scene.port}')
        else:
            self.node.get_logger().warning(
                f'the page is at port {self.scene.port} of {self._host} for everybody who reaches '
                'that address, unencrypted and without a password'
            )

    def end(self) -> None:
        """Nothing is left to send."""

    def show(self, urdf: str) -> None:
        """Show another robot; a description that cannot be read leaves the old one."""
        try:
            self._show(urdf)
        except DynamicsRosError as error:
            self._problem = f'robot_description refused: {error}'
            self.node.get_logger().warning(self._problem)

    def _show(self, urdf: str) -> None:
        # Text alone: what a topic says must not name a file to read or expand.
        robot = Robot(build_model(parse_urdf(urdf)))
        visuals, missing = read_visual_geometry(urdf)
        for problem in missing:
            self.node.get_logger().warning(f'not shown: {problem}')
        self._problem = ''
        from .posed import PosedRobot

        self._posed = PosedRobot(self.scene, robot, visuals)

    def draw(self) -> None:
        """Bring the page up to date."""
        moved, self._moved = self._moved, {}
        markers, self._markers = self._markers, {}
        with self.scene.together():
            if moved and self._posed is not None:
                self._posed.move(moved)
            for name, marker in markers.items():
                try:
                    self._draw_marker(name, marker)
                except DynamicsRosError as error:
                    self._refuse(name, error)
        self.scene.show_text(self._summary())

    def _summary(self) -> str:
        lines = []
        if self._problem:
            lines.append(self._problem)
        if self._posed is None:
            lines.append('waiting for robot_description')
        else:
            lines.append(f'**{self._posed.robot.name}**')
        contact = self._contact
        if contact is not None:
            state = STATES.get(contact.state, '')
            where = f' at {contact.link}' if contact.link and contact.state else ''
            latched = ', latched until reset' if contact.collision_latched else ''
            lines.append(f'**{state}**{where}{latched}')
        return '\n\n'.join([*lines, *(self._lines[name] for name in sorted(self._lines))])

    def _refuse(self, name: str, error: DynamicsRosError) -> None:
        """Leave a marker out; said once, as markers come again and again."""
        self.scene.remove(name)
        if name not in self._refused:
            self._refused.add(name)
            self.node.get_logger().warning(f'not shown: marker {name}: {error}')

    def _draw_marker(self, name: str, marker: Marker) -> None:
        if marker.action != Marker.ADD:
            self.scene.remove(name)
            self._drawn.discard(name)
            return
        self._drawn.add(name)
        frame = marker.header.frame_id.removeprefix(self._frame_prefix)
        X = self._posed.frame_pose(frame) if self._posed is not None else None
        if X is None:
            return
        X = X @ pose_matrix(marker.pose, 'marker.pose')
        points = np.array([vector_array(point, 'point') for point in marker.points]).reshape(-1, 3)
        points = points @ X[:3, :3].T + X[:3, 3]
        color = _color(marker.color)
        if marker.type == Marker.ARROW and len(points) == 2:
            self.scene.show_arrow(name, points, color, marker.scale.x)
        elif marker.type == Marker.LINE_LIST and len(points) >= 2:
            colors = [_color(one) for one in marker.colors[::2]] or [color] * (len(points) // 2)
            self.scene.show_lines(name, points.reshape(-1, 2, 3), colors, marker.scale.x)
        elif marker.type == Marker.SPHERE:
            self.scene.show_sphere(name, X[:3, 3], marker.scale.x, color)
        elif marker.type == Marker.TEXT_VIEW_FACING:
            self.scene.show_label(name, X[:3, 3], marker.text)

    def _on_joint_state(self, message: JointState) -> None:
        if len(message.name) == len(message.position):
            finite = np.isfinite(message.position)
            self._moved.update(
                (name, value)
                for name, value, known in zip(message.name, message.position, finite, strict=True)
                if known
            )

    def _on_markers(self, topic: str) -> Callable[[MarkerArray], None]:
        def keep(message: MarkerArray) -> None:
            for marker in message.markers:
                space = f'{topic}/{marker.ns}/'
                if marker.action == Marker.DELETEALL:
                    gone = space if marker.ns else f'{topic}/'
                    for name in self._drawn | set(self._markers):
                        if name.startswith(gone):
                            self._markers[name] = marker
                else:
                    self._markers[f'{space}{marker.id}'] = marker

        return keep

    def _on_contact(self, message: ContactState) -> None:
        self._contact = message

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            level = LEVELS.get(status.level, '')
            self._lines[status.name] = f'{status.name}: {level}, {status.message}'


def is_local(host: str) -> bool:
    """Whether a page that is served on this address is seen on this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == 'localhost'


def _color(color: object) -> Color:
    red, green, blue = (float(getattr(color, name)) for name in 'rgb')
    return red, green, blue


def build() -> Application:
    """The viewer.

    Raises:
        InvalidArgumentError: the page cannot be served, or what draws it is not installed.
        ModelError: the parameter robot_description is no robot.
    """
    node = GuardedNode(NAME)
    values = ParameterSet(node, ViewerParameters).values
    refuse_undeclared([node])
    try:
        from .scene import Scene
    except ImportError as missing:
        raise InvalidArgumentError(
            NAME, f'{missing.name} is not installed', 'pip install viser'
        ) from missing
    try:
        scene = Scene(values.host, values.port, 'dynamics_ros')
    except OSError as error:
        raise InvalidArgumentError('host', str(error), 'an address of this machine') from error
    viewer = Viewer(node, scene, values)
    return Application([node], viewer)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the node."""
    run(build, arguments)


if __name__ == '__main__':
    main(sys.argv[1:])
