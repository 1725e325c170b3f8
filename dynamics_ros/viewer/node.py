# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_ros_viewer: serves a web page with the robot and the outputs of the nodes."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.model import build_model
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.model.visual_geometry import read_visual_geometry
from dynamics_ros.nodes.app.executor import Application, run
from dynamics_ros.nodes.app.guarded_node import GuardedNode
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.parameters.undeclared import check_undeclared
from dynamics_ros.parameters.contact import ArrowParameters
from dynamics_ros.robot import Robot
from dynamics_ros.settings import parameter
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

if TYPE_CHECKING:
    from dynamics_ros.page.scene import Scene

NAME = 'dynamics_ros_viewer'

LEVELS = {
    DiagnosticStatus.WARN: '**warning**',
    DiagnosticStatus.ERROR: '**error**',
    DiagnosticStatus.STALE: '**stale**',
}

LONGEST_STATUS = 160
"""Characters of a status on the page, which has to leave room for the tabs below."""

ESTIMATE = 'dynamics_ros_msgs/msg/ExternalWrench'
SEARCH_PERIOD = 1.0
"""Time between two searches for topics of wrench estimates [s]."""

SILENT_SECONDS = 2.0
"""Time without joint states after which the sliders move the robot [s]."""


@dataclass(frozen=True)
class ViewerParameters:
    """Parameters of the viewer; all are read-only after the start."""

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
    gravity_topic: str = parameter(
        'dynamics_node/gravity_torques',
        'Topic of sensor_msgs/JointState, whose effort holds the robot at rest',
        read_only=True,
    )
    simulator: str = parameter(
        'robot_simulator', 'Node whose service apply_wrench pushes the robot', read_only=True
    )
    force_scale: float = parameter(
        ArrowParameters.force_scale,
        'Length of an arrow per force, as markers.force_scale of contact_node',
        unit='m/N',
        minimum=1e-6,
        read_only=True,
    )
    recordings: str = parameter(
        '', 'Folder of recordings. Empty: the one that the viewer is started in', read_only=True
    )


class Viewer:
    """Shows the latest message of each topic on the page, at its own rate."""

    def __init__(self, node: Node, scene: Scene, values: ViewerParameters) -> None:
        """Create the subscriptions and the controls of the page.

        Raises:
            ModelError: the parameter robot_description is invalid.
        """
        from dynamics_ros.page.explorer import Explorer

        from .forces import Forces
        from .marker_drawing import MarkerDrawing
        from .requests import Requests
        from .tape import Tape

        self.node, self.scene = node, scene
        self._host = values.host
        contact = node.resolve_topic_name(values.contact_topic).rpartition('/')[0]
        self.explorer = Explorer(scene)
        self._forces = Forces(scene, self.explorer.tabs, values.force_scale, values.frame_prefix)
        self._requests = Requests(
            node,
            scene,
            self.explorer.tabs,
            (contact, values.simulator),
            lambda: self.explorer.frame,
        )
        self._kinds: dict[str, type] = {}
        self._handlers: dict[str, Callable[[Any], None]] = {}
        recordings = Path(values.recordings).expanduser().absolute()
        self._tape = Tape(scene, self.explorer.tabs, recordings, self._kinds)
        if not is_local(values.host):  # on a public page visitors cannot call services or record
            self._requests.tab.remove()
            self._tape.tab.remove()
        self._markers = MarkerDrawing(scene, values.frame_prefix, node.get_logger())
        self._estimates = f'{contact}/'
        self._levels: dict[str, tuple[bytes, str]] = {}
        self._problem = ''
        self._last_joint_state = -math.inf
        self._last_search = 0.0
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        if values.robot_description:
            self._show(values.robot_description)
        else:
            node.create_subscription(
                String, 'robot_description', lambda message: self.show(message.data), latched
            )
        newest = QoSProfile(depth=1, reliability=qos_profile_sensor_data.reliability)
        self._subscribe(JointState, 'joint_states', self._on_joint_state, newest)
        for topic in values.marker_topics:
            self._subscribe(MarkerArray, topic, partial(self._markers.keep, topic), 10)
        self._subscribe(ContactState, values.contact_topic, self._forces.keep_contact, 10)
        self._subscribe(JointState, values.gravity_topic, self._on_gravity, newest)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        # Steady clock: the page is also drawn while simulation time stands still or has not begun.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / values.rate, self.draw, clock=steady)

    def start(self, _executor: Executor) -> None:
        """Log the address of the page, and a warning if other machines can open it."""
        if is_local(self._host):
            self.node.get_logger().info(f'the page is at http://localhost:{self.scene.port}')
        else:
            self.node.get_logger().warning(
                f'the page is at port {self.scene.port} of {self._host} for everybody who reaches '
                'that address, unencrypted and without a password'
            )

    def end(self) -> None:
        """Finish a running recording."""
        self._tape.close()

    def show(self, urdf: str) -> None:
        """Display the robot of a description; if it is invalid, keep the current robot."""
        try:
            self._show(urdf)
        except DynamicsRosError as error:
            self._problem = f'robot_description refused: {error}'
            self.node.get_logger().warning(self._problem)

    def _show(self, urdf: str) -> None:
        # A description from a topic is parsed as text: it must not name a file to read or expand.
        description = parse_urdf(urdf)
        robot = Robot(build_model(description))
        visuals, missing = read_visual_geometry(urdf)
        for problem in missing:
            self.node.get_logger().warning(f'not shown: {problem}')
        self._problem = ''
        self.explorer.show(robot, visuals, tool_frame(description))

    def draw(self) -> None:
        """Update the page."""
        now = time.monotonic()
        if now > self._last_search + SEARCH_PERIOD:
            self._last_search = now
            self._find_estimates()
        for topic, message in self._tape.due():
            self._handlers[topic](message)
        with self.scene.together():
            if now > self._last_joint_state + SILENT_SECONDS:
                self.explorer.release()
            self._markers.draw(self.explorer.posed)
            if self.explorer.posed is not None:
                self._forces.draw(self.explorer.posed, self.explorer)
            self.explorer.update()
        self.explorer.say(self._summary())

    def _subscribe(self, kind: type, topic: str, handler: Callable[[Any], None], qos: Any) -> None:
        """Subscribe to a topic that is shown, recorded and replayed."""
        name = self.node.resolve_topic_name(topic)
        self._kinds[name], self._handlers[name] = kind, handler

        def received(message: Any) -> None:
            if not self._tape.playing:
                self._tape.keep(name, message)
                handler(message)

        self.node.create_subscription(kind, topic, received, qos)

    def _find_estimates(self) -> None:
        """Subscribe to the wrench estimates of contact_node, whose topics contain frame names."""
        for topic, kinds in self.node.get_topic_names_and_types():
            ours = topic.startswith(self._estimates) and ESTIMATE in kinds
            if ours and topic not in self._handlers:
                self._subscribe(ExternalWrench, topic, self._forces.keep_wrench, 10)

    def _summary(self) -> str:
        """Summary in Markdown: robot, contact, nodes without problems in one line, and problems."""
        posed = self.explorer.posed
        lines = [self._problem] if self._problem else []
        lines.append(
            'waiting for robot_description' if posed is None else f'**{posed.robot.name}**'
        )
        lines.append(self._forces.summary())
        well = [n for n, (level, _) in self._levels.items() if level == DiagnosticStatus.OK]
        if well:
            lines.append(f'ok: {", ".join(sorted(name.partition(":")[0] for name in well))}')
        for name in sorted(self._levels.keys() - set(well)):
            level, message = self._levels[name]
            lines.append(f'{name}: {LEVELS.get(level, "")}, {shortened(message)}')
        return '\n\n'.join(line for line in lines if line)

    def _on_joint_state(self, message: JointState) -> None:
        if len(message.name) == len(message.position):
            finite = np.isfinite(message.position)
            moved = {
                name: value
                for name, value, known in zip(message.name, message.position, finite, strict=True)
                if known
            }
            stamp = message.header.stamp
            self._last_joint_state = time.monotonic()
            self.explorer.follow(moved, stamp.sec + 1e-9 * stamp.nanosec)

    def _on_gravity(self, message: JointState) -> None:
        if len(message.name) == len(message.effort):
            torques = dict(zip(message.name, message.effort, strict=True))
            self.explorer.set_torques(torques, None)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._levels[status.name] = status.level, status.message


def shortened(status: str) -> str:
    """Return a status with at most ``LONGEST_STATUS`` characters, and who prints the rest."""
    if len(status) <= LONGEST_STATUS:
        return status
    end = ' ... (doctor prints all)'
    return status[: LONGEST_STATUS - len(end)].rsplit(' ', 1)[0] + end


def is_local(host: str) -> bool:
    """Whether only this machine can open a page that is served on an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name
        return host == 'localhost'


def build() -> Application:
    """Create the viewer node.

    Raises:
        InvalidArgumentError: the page cannot be served, or viser is not installed.
        ModelError: the parameter robot_description is invalid.
    """
    node = GuardedNode(NAME)
    values = ParameterSet(node, ViewerParameters).values
    check_undeclared([node])
    try:
        from dynamics_ros.page.scene import Scene
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
