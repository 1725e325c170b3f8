# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Collisions in nodes: the shapes of the description, and the obstacles of ~/obstacles."""

from __future__ import annotations

from importlib import import_module

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from visualization_msgs.msg import MarkerArray

from dynamics_ros.collision import Collisions, Obstacle
from dynamics_ros.errors import DynamicsRosError, ModelError
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.robot_request import Description
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import deserialized
from dynamics_ros.wire.markers import read_obstacles

OBSTACLES_QOS = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


MAX_BYTES = 1 << 18
"""Maximum size of a message; larger ones are not deserialized, which would hold up commands."""


class Obstacles:
    """Links of the robot, and obstacles around it from the topic ~/obstacles.

    After a message that is refused, the obstacles before it remain.
    """

    def __init__(self, node: Node, context: RobotContext) -> None:
        """Subscribe to the topic."""
        self._node, self._context = node, context
        self._refused = ''
        self._obstacles: dict[str, Obstacle] = {}
        self._early: list[bytes] = []
        self._links: tuple[object, Collisions] | None = None
        self._unfit = ''
        self._scene: tuple[Collisions, object, Collisions] | None = None
        node.create_subscription(MarkerArray, '~/obstacles', self._take, OBSTACLES_QOS, raw=True)

    @property
    def problem(self) -> str:
        """Why the last message was refused or does not fit the robot; '' if there is no reason."""
        return self._refused or self._unfit

    def links(self, robot: Robot, description: Description, margin: float) -> Collisions:
        """Return the shapes of links, and the pairs of them that may collide.

        Raises:
            ModelError: coal is not installed, or shapes are missing or cannot be read.
        """
        known = self.known_links(robot, description, margin)
        if known is not None:
            return known
        if not description.urdf:
            raise ModelError('collisions', 'are read from URDF only, not from MJCF or SDF')
        import_module('scipy.spatial')  # not when the first mesh comes, beside commands
        links = Collisions(robot, description.urdf, margin=margin, folder=description.folder)
        self._links = (description.urdf, description.folder, margin), links
        return links

    def known_links(
        self, robot: Robot, description: Description, margin: float
    ) -> Collisions | None:
        """Return the last links, if at most masses have changed since then; else None."""
        if self._links is None:
            return None
        key, links = self._links
        before, model = links.robot.model, robot.model
        if key != (description.urdf, description.folder, margin):
            return None
        if before.joints is not model.joints or before.frames is not model.frames:
            return None
        if links.robot is not robot:
            links = links.with_masses_of(robot)
            self._links = key, links
        return links

    def around(self, links: Collisions) -> Collisions:
        """Return the links with the present obstacles.

        Raises:
            DynamicsRosError: the last message was refused, or an obstacle is wrong.
        """
        scene = self.accepted(links)
        if self.problem:
            raise DynamicsRosError(self.problem)
        return scene

    def accepted(self, links: Collisions) -> Collisions:
        """Return the links with the obstacles of the last message that was not refused.

        Called while there is a robot. Obstacles that are wrong for this robot are left out, which
        ``problem`` says.
        """
        early, self._early = self._early, []
        for message in early:
            self._read(message)
        obstacles = self._obstacles
        if self._scene is None or self._scene[0] is not links or self._scene[1] is not obstacles:
            self._unfit, scene = '', links
            try:
                scene = links.with_obstacles(obstacles)
            except DynamicsRosError as error:
                self._unfit = str(error)
            self._scene = links, obstacles, scene
        return self._scene[2]

    def _take(self, message: bytes) -> None:
        # Kept until the first use, when there is a robot; one that is too large is refused at once.
        waits = self._scene is None or self._context.robot is None
        if waits and len(message) <= MAX_BYTES:
            self._early = [*self._early, message][-OBSTACLES_QOS.depth :]
        else:
            self._read(message)

    def _read(self, message: bytes) -> None:
        try:
            markers = deserialized(message, MarkerArray, MAX_BYTES).markers
            self._obstacles = read_obstacles(markers, self._obstacles, self._frame_of)
            self._refused = ''
        except DynamicsRosError as error:
            self._refused = f'~/obstacles refused: {error}'
            self._node.get_logger().error(self._refused, throttle_duration_sec=5.0)

    def _frame_of(self, frame_id: str) -> str:
        """Return the link of a frame_id; '' for the root frame."""
        if frame_id in ('', self._context.root_frame_id()):
            return ''
        robot, names = self._context.required_robot(), self._context.names
        if names.frame_of(frame_id) == robot.root_frame:
            return ''
        return names.required_frame(robot, frame_id, 'header.frame_id')
