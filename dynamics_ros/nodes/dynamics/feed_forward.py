# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward efforts of trajectories: ~/compute_trajectory_efforts, and a relay of topics."""

from __future__ import annotations

from typing import Any

from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.control import JointMotion
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.nodes.services.serving import serve
from dynamics_ros.parameters.dynamics import DynamicsParameters
from dynamics_ros.requests.trajectory_efforts import KERNELS, Efforts, efforts_of
from dynamics_ros.wire.trajectories import fill_efforts, motion_of, violation_message
from dynamics_ros_msgs.srv import ComputeTrajectoryEfforts


class TrajectoryEfforts:
    """Fills the efforts of trajectories, by a service or a relay from one topic to another.

    Attributes:
        output: publisher of ~/joint_trajectory_with_efforts.
        status: result of the last trajectory of the relay, for diagnostics.
    """

    def __init__(self, component: RobotComponent[DynamicsParameters]) -> None:
        node, self._component = component.node, component
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
        response.violations = [violation_message(violation) for violation in violations]

    def _on_trajectory(self, message: JointTrajectory) -> None:
        assert self._component.context.executor is not None, 'the executor has called this callback'
        self._received += 1
        self._component.context.executor.create_task(self._relay(message, self._received))

    async def _relay(self, message: JointTrajectory, number: int) -> None:
        try:
            # An empty trajectory asks a controller to stop, which needs no efforts.
            if message.points:
                motion = motion_of(message)
                efforts, violations = await self._compute(motion)
                if violations and self._component.values.feed_forward.refuse_beyond_limits:
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
            self._component.node.get_logger().warning(
                f'trajectory refused: {error}', throttle_duration_sec=1.0
            )
        self._component.context.notify_change()

    async def _compute(self, motion: JointMotion) -> Efforts:
        context, settings = self._component.context, self._component.values.feed_forward
        robot = context.required_robot()
        q = robot.neutral()
        if set(motion.names) < set(robot.joint_v_indices):
            q = context.latest_state().q
        return await context.compute(
            robot,
            KERNELS,
            lambda owner: efforts_of(owner, motion, q, settings),
            context.searches,
        )
