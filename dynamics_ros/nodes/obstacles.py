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
from dynamics_ros.wire.markers import read_obstacles

OBSTACLES_QOS = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


def links_of(robot: Robot, description: Description, margin: float) -> Collisions:
    """Return the shapes of a description's links, and the pairs of them that may collide.

    Raises:
        ModelError: coal is not installed, or shapes are missing or cannot be read.
    """
    if not description.urdf:
        raise ModelError('collisions', 'are read from URDF only, not from MJCF or SDF')
    import_module('scipy.spatial')  # not when the first mesh comes, in the thread of commands
    return Collisions(robot, description.urdf, margin=margin, folder=description.folder)


class Obstacles:
    """Obstacles around the robot, from the topic ~/obstacles.

    Attributes:
        problem: why the last message was refused; the obstacles before it remain. '' if it was not.
    """

    def __init__(self, node: Node, context: RobotContext) -> None:
        """Subscribe to the topic."""
        self._node, self._context = node, context
        self.problem = ''
        self._obstacles: dict[str, Obstacle] = {}
        self._early: list[MarkerArray] = []
        self._scene: tuple[Collisions, dict[str, Obstacle], Collisions] | None = None
        node.create_subscription(MarkerArray, '~/obstacles', self._take, OBSTACLES_QOS)

    def around(self, links: Collisions) -> Collisions:
        """Return the links with the present obstacles; called while there is a robot.

        Raises:
            DynamicsRosError: the last message was refused, or an obstacle is wrong.
        """
        early, self._early = self._early, []
        for message in early:
            self._take(message)
        if self.problem:
            raise DynamicsRosError(self.problem)
        obstacles = self._obstacles
        if self._scene is None or self._scene[:2] != (links, obstacles):
            self._scene = links, obstacles, links.with_obstacles(obstacles)
        return self._scene[2]

    def _take(self, message: MarkerArray) -> None:
        if self._context.robot is None:
            self._early = [*self._early, message][-OBSTACLES_QOS.depth :]
            return
        try:
            self._obstacles = read_obstacles(message.markers, self._obstacles, self._frame_of)
            self.problem = ''
        except DynamicsRosError as error:
            self.problem = f'~/obstacles refused: {error}'
            self._node.get_logger().error(self.problem, throttle_duration_sec=5.0)

    def _frame_of(self, frame_id: str) -> str:
        """Return the link of a frame_id; '' for the root frame."""
        if frame_id in ('', self._context.root_frame_id()):
            return ''
        robot, names = self._context.required_robot(), self._context.names
        if names.frame_of(frame_id) == robot.root_frame:
            return ''
        return names.required_frame(robot, frame_id, 'header.frame_id')
