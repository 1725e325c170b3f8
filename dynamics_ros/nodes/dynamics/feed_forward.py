# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward efforts of trajectories: ~/compute_trajectory_efforts, and a relay of topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.control import FeedForward, JointMotion, LimitViolation
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation.contact_estimators import effort_model
from dynamics_ros.estimation.contact_settings import EffortSettings
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.services.serving import serve
from dynamics_ros.parameters.dynamics import FeedForwardParameters
from dynamics_ros.requests.kernel_twin import kernel
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import Array, duration_message
from dynamics_ros.wire.trajectories import fill_efforts, motion_of
from dynamics_ros_msgs.msg import LimitViolation as LimitViolationMessage
from dynamics_ros_msgs.srv import ComputeTrajectoryEfforts

Answer = tuple[Array, tuple[LimitViolation, ...]]


class TrajectoryEfforts:
    """Fills the efforts of trajectories, by a service or a relay from one topic to another.

    Attributes:
        output: publisher of ~/joint_trajectory_with_efforts.
        status: result of the last trajectory of the relay, for diagnostics.
    """

    def __init__(
        self, node: Node, context: RobotContext, settings: Callable[[], FeedForwardParameters]
    ) -> None:
        self._node, self._context, self._settings = node, context, settings
        self.output = Output(node, JointTrajectory, '~/joint_trajectory_with_efforts')
        self.status = 'none so far'
        self._received = 0
        serve(node, ComputeTrajectoryEfforts, '~/compute_trajectory_efforts', self._on_request)
        node.create_subscription(JointTrajectory, '~/joint_trajectory', self._on_trajectory, 10)

    async def _on_request(self, request: Any, response: Any) -> None:
        motion = motion_of(request.trajectory)
        efforts, violations = await self._compute(motion)
        response.trajectory = request.trajectory
        fill_efforts(response.trajectory, motion, efforts)
        response.violations = [
            LimitViolationMessage(
                joint=violation.joint,
                quantity=violation.quantity,
                time_from_start=duration_message(violation.time),
                value=violation.value,
                limit=violation.limit,
            )
            for violation in violations
        ]

    def _on_trajectory(self, message: JointTrajectory) -> None:
        assert self._context.executor is not None, 'the executor has called this callback'
        self._received += 1
        self._context.executor.create_task(self._relay(message, self._received))

    async def _relay(self, message: JointTrajectory, number: int) -> None:
        try:
            # An empty trajectory asks a controller to stop, which needs no efforts.
            if message.points:
                motion = motion_of(message)
                efforts, violations = await self._compute(motion)
                if violations and self._settings().refuse_beyond_limits:
                    raise DynamicsRosError('; '.join(map(str, violations)))
                fill_efforts(message, motion, efforts)
            if number != self._received:
                # The controller would follow it instead of the newer one, which may be a stop.
                raise DynamicsRosError('a newer one came while its efforts were computed')
            self.output.publish(message)
            self.status = 'passed on'
        except DynamicsRosError as error:
            if number == self._received:
                self.status = f'refused: {error}'
            self._node.get_logger().warning(
                f'trajectory refused: {error}', throttle_duration_sec=1.0
            )
        self._context.notify_change()

    async def _compute(self, motion: JointMotion) -> Answer:
        context, settings = self._context, self._settings()
        robot = context.required_robot()
        q = robot.neutral()
        if set(motion.names) < set(robot.joint_v_indices):
            q = context.latest_state().q
        friction = effort_model(robot, EffortSettings(), settings.friction).friction_torque
        share = settings.friction_compensation

        def compute(owner: Robot) -> Answer:
            feed_forward = FeedForward(
                owner,
                q,
                lambda v, carried: share * friction(v, carried),
                with_gravity=not settings.robot_carries_itself,
            )
            return feed_forward.efforts(motion), feed_forward.violations(motion)

        kernels = [kernel('inverse_dynamics'), kernel('gravity')]
        return await context.compute(robot, kernels, compute, context.searches)
