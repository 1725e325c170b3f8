# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_ros_viewer: serves a web page with the robot and the outputs of the nodes."""

from __future__ import annotations

import math
import sys
import time
import webbrowser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from ipaddress import ip_address
from threading import Timer
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Point, Vector3
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.model import build_model
from dynamics_ros.model.collision_geometry import by_reason, read_visual_geometry
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.parameters import ParameterSet, check_undeclared
from dynamics_ros.nodes.process import Application, run
from dynamics_ros.nodes.robot_request import Description, description_path, read_description_of
from dynamics_ros.page.bars import Bar
from dynamics_ros.page.bones import details, missing_shapes
from dynamics_ros.parameters.contact import ArrowParameters
from dynamics_ros.parameters.robot import DescriptionParameters, fixed
from dynamics_ros.reasons import KEY
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import numbers
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

if TYPE_CHECKING:
    from dynamics_ros.page.scene import Scene

NAME = 'dynamics_ros_viewer'

FARTHEST = 1e6
"""N or m: browsers compute in single precision."""

STATES = {
    ContactState.NONE: ('no contact', (0.6, 0.6, 0.6)),
    ContactState.CONTACT: ('contact', (1.0, 0.7, 0.1)),
    ContactState.COLLISION: ('collision', (0.9, 0.2, 0.2)),
}
"""Text and colour of the arrows for each contact state."""

POINT_COLOR = (0.85, 0.1, 0.5)
POINT_DIAMETER, ARROW_DIAMETER = 0.025, 0.02
CONTACT_POINT = 'contact point'

SHORTEST = 0.005
"""Length below which an arrow is not drawn [m]."""

LEVELS = {
    DiagnosticStatus.WARN: 'warning',
    DiagnosticStatus.ERROR: 'error',
    DiagnosticStatus.STALE: 'stale',
}

START_OF_BROWSER = 1.0
"""Time from the start of the node to opening the page in a browser [s]."""

CONTACT, GRAVITY = 'contact_node/contact_state', 'dynamics_node/gravity_torques'
ESTIMATE = 'dynamics_ros_msgs/msg/ExternalWrench'
SEARCH_PERIOD = 1.0
"""Time between two searches for topics of wrench estimates [s]."""

SILENT_SECONDS = 2.0
"""Time without joint states after which the sliders move the robot [s]."""


@dataclass(frozen=True)
class ViewerParameters(DescriptionParameters):
    """Parameters of the viewer; all are read-only after the start."""

    host: str = fixed(
        '127.0.0.1',
        'Address of the page: this machine only. 0.0.0.0: all networks, for everybody there',
    )
    port: int = fixed(
        0,
        'Port of the page. 0: 8080, or the next free one when it is taken',
        minimum=0,
        maximum=65535,
    )
    open: bool = fixed(False, 'Open the page in a browser')
    rate: float = fixed(20.0, 'Pictures per second', unit='Hz', minimum=0.1, maximum=100.0)
    robot_description: str = fixed('', 'URDF as XML text. Empty: robot_description_file')
    frame_prefix: str = fixed('', 'Before every frame of messages, as of the nodes', is_frame=True)
    force_scale: float = fixed(
        ArrowParameters.force_scale,
        'Length of an arrow per force, as markers.force_scale of contact_node',
        unit='m/N',
        minimum=1e-6,
    )


class Viewer:
    """Shows the latest message of each topic on the page, at its own rate.

    An arrow ends at the point where its force acts, and moves along with its contact frame.

    Attributes:
        contact: the latest valid contact state, or None.
        requests: the buttons that call services, on a page for this machine only.
    """

    def __init__(self, node: Node, scene: Scene, values: ViewerParameters) -> None:
        """Create the subscriptions and the controls of the page.

        Raises:
            ModelError: the description in the parameters is invalid.
        """
        from dynamics_ros.page.explorer import Explorer

        from .requests import Requests

        self.node, self.scene, self._values = node, scene, values
        self._contact_node = node.resolve_topic_name(CONTACT).rpartition('/')[0]
        self.explorer = Explorer(scene)
        self.contact: ContactState | None = None
        self.requests: Requests | None = None
        if is_local(values.host):  # on a public page visitors cannot call services
            self.requests = Requests(node, scene, self.explorer, self._contact_node)
        self._wrenches: dict[str, ExternalWrench] = {}
        self._estimate_topics: set[str] = set()
        self._statuses: dict[str, DiagnosticStatus] = {}
        self._problem = self._missing = ''
        self._last_joint_state, self._last_search = -math.inf, 0.0
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        file = description_path(values)
        if values.robot_description:
            self._show(values.robot_description)
        elif file is not None:
            self._show_description(read_description_of(file, values.robot_description_arguments))
        else:
            node.create_subscription(
                String, 'robot_description', lambda message: self.show(message.data), latched
            )
        newest = QoSProfile(depth=1, reliability=qos_profile_sensor_data.reliability)
        subscribe = node.create_subscription
        subscribe(JointState, 'joint_states', self._on_joint_state, newest)
        subscribe(ContactState, CONTACT, self.keep_contact, 10)
        subscribe(JointState, GRAVITY, self._on_gravity, newest)
        subscribe(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        # Steady clock: the page is also drawn while simulation time stands still or has not begun.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / values.rate, self.draw, clock=steady)

    def start(self, _executor: Executor) -> None:
        """Log the address of the page, and a warning if other machines can open it."""
        address, host = f'http://localhost:{self.scene.port}', self._values.host
        if self._values.open:
            opening = Timer(START_OF_BROWSER, webbrowser.open, (address,))
            opening.daemon = True
            opening.start()
        if is_local(host):
            self.node.get_logger().info(f'the page is at {address}')
        else:
            self.node.get_logger().warning(
                f'the page is at port {self.scene.port} of {host} for everybody who reaches '
                'that address, unencrypted and without a password'
            )

    def end(self) -> None:
        """Stop the page."""

    def show(self, urdf: str) -> None:
        """Display the robot of a description; if it is invalid, keep the current robot."""
        try:
            self._show(urdf)
        except DynamicsRosError as error:
            self._problem = f'robot_description refused: {error}'
            self.node.get_logger().warning(self._problem)

    def _show(self, urdf: str) -> None:
        # A description from a topic is parsed as text: it must not name a file to read or expand.
        self._show_description(Description(parse_urdf(urdf), urdf))

    def _show_description(self, description: Description) -> None:
        robot = Robot(build_model(description.robot))
        # Without URDF, links are shown as bones.
        urdf = description.urdf or '<robot name=""/>'
        visuals, missing = read_visual_geometry(urdf, description.folder)
        for problem in by_reason(missing):
            self.node.get_logger().warning(f'not shown: {problem}')
        self._problem, self._missing = '', missing_shapes(missing)
        self.explorer.show(robot, visuals, robot.tool_frame)

    def draw(self) -> None:
        """Update the page."""
        now = time.monotonic()
        if now > self._last_search + SEARCH_PERIOD:
            self._last_search = now
            self._find_estimates()
            if self.requests is not None:
                self.requests.update()
        with self.scene.together():
            if now > self._last_joint_state + SILENT_SECONDS:
                self.explorer.release()
            if self.explorer.shown:
                self._draw_outputs()
            self.explorer.update()
        self.explorer.say(self._summary())

    def keep_wrench(self, message: ExternalWrench) -> None:
        """Store an estimate for the next picture if it can be drawn."""
        if _is_drawable(message.wrench.force) and _is_drawable(message.reference_point):
            self._wrenches[message.frame] = message

    def keep_contact(self, message: ContactState) -> None:
        """Store a contact state for the next picture, unless its lists or its point are invalid."""
        counts = len(message.external_torques), len(message.contact_thresholds)
        fits = counts == (len(message.joint_names),) * 2
        if fits and (_is_drawable(message.point) or not message.point_known):
            self.contact = message

    def _draw_outputs(self) -> None:
        """Draw forces and the contact point, and set the external torques of the bars."""
        contact, color = self.contact, STATES[ContactState.NONE][1]
        if contact is not None:
            _, color = STATES.get(contact.state, ('', color))
            frame = contact.point_frame_id.removeprefix(self._values.frame_prefix)
            if contact.point_known and self.explorer.frame_pose(frame) is not None:
                point = numbers(contact.point, 'point')
                self.scene.draw_sphere(CONTACT_POINT, frame, point, POINT_DIAMETER, POINT_COLOR)
            else:
                self.scene.remove(CONTACT_POINT)
            pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
            bars = map(Bar._make, pairs)
            self.explorer.external = dict(zip(contact.joint_names, bars, strict=True))
        for message in self._wrenches.values():
            self._draw_wrench(message, color)

    def _draw_wrench(self, message: ExternalWrench, color: tuple[float, float, float]) -> None:
        """Draw a force in its contact frame."""
        frame, name, axes = message.frame, f'force at {message.frame}', message.header.frame_id
        own = self.explorer.frame_pose(axes.removeprefix(self._values.frame_prefix))
        carrier = self.explorer.frame_pose(frame)
        if own is not None and carrier is not None:
            X = np.linalg.inv(carrier) @ own  # of the axes of the message in the contact frame
            tip = X[:3, :3] @ numbers(message.reference_point, 'point') + X[:3, 3]
            force = X[:3, :3] @ numbers(message.wrench.force, 'force')
            points = np.array([tip - self._values.force_scale * force, tip])
            if np.linalg.norm(points[1] - points[0]) > SHORTEST:
                self.scene.draw_arrow(name, frame, points, ARROW_DIAMETER, color)
                return
        self.scene.remove(name)

    def _find_estimates(self) -> None:
        """Subscribe to the wrench estimates of contact_node, whose topics contain frame names."""
        for topic, kinds in self.node.get_topic_names_and_types():
            ours = topic.startswith(f'{self._contact_node}/') and ESTIMATE in kinds
            if ours and topic not in self._estimate_topics:
                self._estimate_topics.add(topic)
                self.node.create_subscription(ExternalWrench, topic, self.keep_wrench, 10)

    def _summary(self) -> str:
        """Summary in HTML: contact, nodes without problems in one line, and problems."""
        statuses, touched, contact = self._statuses.values(), '', self.contact
        well = sorted(node_of(one.name) for one in statuses if one.level == DiagnosticStatus.OK)
        if contact is not None:
            where = f' at {escape(contact.link)}' if contact.link and contact.state else ''
            latched = ', latched until reset' if contact.collision_latched else ''
            touched = f'<b>{STATES.get(contact.state, ("",))[0]}</b>{where}{latched}'
        lines = (
            '' if self.explorer.shown else 'waiting for robot_description',
            touched,
            details(self._problem),
            self._missing,
            f'ok: {escape(", ".join(well))}' if well else '',
            *problems(statuses),
        )
        return ''.join(f'<div>{line}</div>' for line in lines if line)

    def _on_joint_state(self, message: JointState) -> None:
        if len(message.name) == len(message.position):
            pairs = zip(message.name, message.position, strict=True)
            self._last_joint_state = time.monotonic()
            self.explorer.follow({name: value for name, value in pairs if math.isfinite(value)})

    def _on_gravity(self, message: JointState) -> None:
        if len(message.name) == len(message.effort):
            self.explorer.gravity = dict(zip(message.name, message.effort, strict=True))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._statuses[status.name] = status


def _is_drawable(vector: Vector3 | Point) -> bool:
    """Whether all coordinates are finite and not too large."""
    return bool(np.all(np.abs((vector.x, vector.y, vector.z)) <= FARTHEST))


def node_of(status: str) -> str:
    """Name of the node of a status."""
    return status.partition(':')[0]


def problems(statuses: Iterable[DiagnosticStatus]) -> list[str]:
    """HTML lines of statuses that are not ok: one line for a cause, with the nodes that it stops.

    Nodes with the same reason code and the same joints or frames wait for the same cause.
    """
    groups: dict[tuple[bytes, str], list[DiagnosticStatus]] = {}
    for status in sorted(statuses, key=lambda one: one.name):
        if status.level != DiagnosticStatus.OK:
            reason = next((x.value for x in status.values if x.key == KEY), status.message)
            groups.setdefault((status.level, reason), []).append(status)
    lines = []
    for (level, _), alike in groups.items():
        nodes = ', '.join(node_of(one.name) for one in alike)
        texts = dict.fromkeys(one.message.removeprefix('publishing; ') for one in alike)
        head = f'<b>{LEVELS.get(level, "status")}</b> of {escape(nodes)}'
        lines.append(f'{head}: {details("; ".join(texts))}')
    return lines


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
    scene = Scene(values.host, values.port, 'dynamics_ros', exact=bool(values.port))
    return Application([node], Viewer(node, scene, values))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the node; ``--open`` sets the parameter ``open``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if '--open' in given:
        given = [*(one for one in given if one != '--open'), '--ros-args', '-p', 'open:=true']
    run(build, given)


if __name__ == '__main__':
    main()
