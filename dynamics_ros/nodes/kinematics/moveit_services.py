# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Services compute_fk and compute_ik with the interface of MoveIt, enabled by a parameter.

Requests and responses are accessed by field names, so that only ``offer`` needs the package
moveit_msgs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dynamics_ros.errors import (
    DynamicsRosError,
    InvalidArgumentError,
    NoStateError,
    StaleStateError,
    UnknownFrameError,
)
from dynamics_ros.nodes.reporting.results import TransformError
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.nodes.services.request_state import requested_state
from dynamics_ros.nodes.services.serving import SERVICE_QOS
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.requests.frame_names import check_count
from dynamics_ros.requests.kernel_twin import kernel
from dynamics_ros.requests.moveit import Code, MoveItError, check_supported, requested_targets
from dynamics_ros.requests.search import Search, SearchError
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Transform
from dynamics_ros.wire.conversions import pose_stamped, seconds
from dynamics_ros.wire.optional_messages import message_type
from dynamics_ros.wire.requests import NOT_GIVEN, RequestedState
from dynamics_ros.wire.responses import joint_positions

from .inverse_kinematics_service import InverseKinematicsService

CODES = {
    SearchError: Code.NO_IK_SOLUTION,
    TransformError: Code.FRAME_TRANSFORM_FAILURE,
    StaleStateError: Code.ROBOT_STATE_STALE,
}
"""Code of each error class other than MoveItError, which has a code of its own."""


class MoveItServices:
    """Services compute_fk and compute_ik for one group: the chain to the configured frame."""

    def __init__(
        self,
        component: RobotComponent[KinematicsParameters],
        searches: InverseKinematicsService,
        tip: Callable[[], str],
    ) -> None:
        """Prepare the services; ``tip`` returns the end of the group, or raises without one."""
        self._component, self._context = component, component.context
        self._searches, self._tip = searches, tip

    def offer(self) -> None:
        """Create the services.

        Raises:
            InvalidArgumentError: moveit_msgs is not installed.
        """
        for type_name, name, handler in (
            ('GetPositionFK', 'compute_fk', self.forward_kinematics),
            ('GetPositionIK', 'compute_ik', self.inverse_kinematics),
        ):
            kind = message_type(
                f'moveit_msgs/srv/{type_name}', 'moveit_services', 'false without it'
            )
            self._component.node.create_service(kind, name, handler, qos_profile=SERVICE_QOS)

    async def forward_kinematics(self, request: Any, response: Any) -> Any:
        """Answer GetPositionFK: poses of links."""
        return await self._answer(self._forward_kinematics, request, response)

    async def inverse_kinematics(self, request: Any, response: Any) -> Any:
        """Answer GetPositionIK: joint positions for poses of links."""
        return await self._answer(self._inverse_kinematics, request.ik_request, response)

    async def _answer(
        self, handler: Callable[[Any, Any], Awaitable[None]], request: Any, response: Any
    ) -> Any:
        try:
            await handler(request, response)
            error_code, text = Code.SUCCESS, ''
        except MoveItError as error:
            error_code, text = error.code, str(error)
        except Exception as error:
            if not isinstance(error, DynamicsRosError):
                self._component.faults.report('a MoveIt service', error)
            codes = (code for kind, code in CODES.items() if isinstance(error, kind))
            error_code, text = next(codes, Code.FAILURE), str(error)
        response.error_code.val = int(error_code)
        if hasattr(response.error_code, 'message'):  # from Iron on
            response.error_code.message = text
        elif text:
            self._component.node.get_logger().warning(f'refused: {text}', throttle_duration_sec=5.0)
        return response

    async def _forward_kinematics(self, request: Any, response: Any) -> None:
        state = self._state(request.robot_state)
        robot = state.robot
        check_count(robot, len(request.fk_link_names), 'fk_link_names')
        links = [self._link(robot, name) for name in request.fk_link_names]
        if not links:
            raise MoveItError(Code.INVALID_LINK_NAME, 'fk_link_names: empty; expected a link')
        frame_id = request.header.frame_id
        located, carrier = await self._searches.locate(robot, frame_id, 'header.frame_id')
        names = [*links, *([carrier] if carrier else [])]
        poses = await self._context.compute(
            robot,
            [kernel('forward_kinematics', name) for name in names],
            lambda owner: [owner.forward_kinematics(state.q, name) for name in names],
        )
        if carrier:
            located = poses.pop()
        header_frame = frame_id or self._context.root_frame_id()
        to_frame = Transform.from_array(located).inverse().array()
        for link, pose in zip(request.fk_link_names, poses, strict=True):
            response.pose_stamped.append(pose_stamped(state.stamp, header_frame, to_frame @ pose))
            response.fk_link_names.append(link)

    async def _inverse_kinematics(self, request: Any, response: Any) -> None:
        values = self._component.values
        check_supported(request, values)
        seed = self._state(request.robot_state)
        robot = seed.robot
        check_count(robot, len(request.pose_stamped_vector), 'pose_stamped_vector')
        targets = [
            await self._searches.target(robot, pose, self._link(robot, link), name=name)
            for link, pose, name in requested_targets(request, self._tip)
        ]
        defaults = values.inverse_kinematics
        search = Search(
            targets=tuple(targets),
            seed=seed.q,
            count=1,
            approximate=False,
            timeout=defaults.time_limit(min(seconds(request.timeout), defaults.max_timeout)),
            options={
                'position_tolerance': defaults.position_tolerance,
                'rotation_tolerance': defaults.rotation_tolerance,
            },
        )
        outcome = await self._searches.find(robot, search)
        best = outcome.results[0]
        if not best.success:
            raise SearchError.of(best)
        response.solution.joint_state = joint_positions(robot, seed.stamp, best.q)
        response.solution.joint_state.header.frame_id = self._context.root_frame_id()

    def _state(self, message: Any) -> RequestedState:
        if message.multi_dof_joint_state.joint_names:
            text = 'robot_state.multi_dof_joint_state: not supported; expected none'
            raise MoveItError(Code.INVALID_ROBOT_STATE, text)
        try:
            return requested_state(
                self._context, message.joint_state, NOT_GIVEN, argument='robot_state.joint_state'
            )
        except (NoStateError, InvalidArgumentError) as error:
            raise MoveItError(Code.INVALID_ROBOT_STATE, str(error)) from None

    def _link(self, robot: Robot, name: str) -> str:
        try:
            return self._context.names.required_frame(robot, name, 'link')
        except UnknownFrameError as error:
            raise MoveItError(Code.INVALID_LINK_NAME, str(error)) from None
