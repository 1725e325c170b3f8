# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Action of a joint_trajectory_controller for the simulated robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from dynamics_ros.control import JointMotion
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, printable
from dynamics_ros.simulation import SimulatedRobot
from dynamics_ros.wire.conversions import motion_of

TOLERANCE = 0.02
"""Maximum distance of a joint from the end of its trajectory [rad or m]."""


@dataclass
class _ActiveTrajectory:
    """Trajectory that is being followed, until simulated time ``end`` [ns]."""

    handle: Any
    end: int
    finished: Future[None]
    goal_positions: np.ndarray


class TrajectoryServer:
    """Action server that follows one trajectory; a new goal replaces it, as in a controller."""

    def __init__(self, node: Node, simulated: SimulatedRobot) -> None:
        self._node, self._simulated = node, simulated
        self._active: _ActiveTrajectory | None = None
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            '~/follow_joint_trajectory',
            self._execute,
            goal_callback=self._answer_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def tick(self) -> None:
        """Check whether the trajectory has ended or was cancelled; called after simulated steps."""
        active = self._active
        if active is None or active.finished.done():
            return
        if active.handle.is_cancel_requested or self._simulated.time >= active.end:
            active.finished.set_result(None)

    def _answer_goal(self, goal: Any) -> GoalResponse:
        try:
            self._motion(goal)
        except DynamicsRosError as error:
            self._node.get_logger().warning(f'trajectory refused: {printable(str(error))}')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        before = self._active
        if before is not None and not before.finished.done():
            before.finished.set_result(None)
        motion = self._motion(handle.request)
        goal_positions = self._simulated.follow_trajectory(
            motion.names, motion.time, motion.q, motion.v
        )
        end = self._simulated.time + round(1e9 * motion.time[-1])
        finished: Future[None] = Future(executor=self._node.executor)
        active = self._active = _ActiveTrajectory(handle, end, finished, goal_positions)
        await finished
        result = FollowJointTrajectory.Result()
        if self._active is not active:
            result.error_string = 'another trajectory has come'
            result.error_code = result.INVALID_GOAL
            handle.abort()
            return result
        self._active = None
        if handle.is_cancel_requested:
            self._simulated.stand()
            handle.canceled()
            return result
        distance = float(np.abs(self._simulated.joints - goal_positions).max())
        if distance > TOLERANCE:
            result.error_code = result.GOAL_TOLERANCE_VIOLATED
            result.error_string = f'{distance:.3f} rad or m away from the end'
            handle.abort()
            return result
        handle.succeed()
        return result

    def _motion(self, goal: Any) -> JointMotion:
        """Return the motion of a goal.

        Raises:
            InvalidArgumentError: its points are inconsistent or do not fit the robot.
        """
        motion = motion_of(goal.trajectory)
        joints = self._simulated.robot.joint_names
        if sorted(motion.names) != sorted(joints):
            raise InvalidArgumentError('joint_names', ', '.join(motion.names), ', '.join(joints))
        return motion
