# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Services of inverse kinematics, and those with the interface of MoveIt: requests to searches."""

from __future__ import annotations

import time
from array import array
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from sensor_msgs.msg import JointState

from dynamics_ros.collision import Collisions
from dynamics_ros.errors import (
    DynamicsRosError,
    InvalidArgumentError,
    NoStateError,
    StaleStateError,
)
from dynamics_ros.nodes.context import Component, KernelKey
from dynamics_ros.nodes.load import Transforms
from dynamics_ros.nodes.obstacles import Obstacles
from dynamics_ros.nodes.reporting import SearchError, TransformError, failure
from dynamics_ros.nodes.robot_request import check_count
from dynamics_ros.nodes.services import SERVICE_QOS, requested_state
from dynamics_ros.parameters.kinematics import MAX_TIMEOUT, KinematicsParameters
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Transform
from dynamics_ros.wire.conversions import (
    Array,
    duration_message,
    message_type,
    pose_matrix,
    pose_stamped,
    raw_numbers,
    seconds,
)
from dynamics_ros.wire.services import NOT_GIVEN, RequestedState, fill_positions, search_options
from dynamics_ros_msgs.srv import ComputeInverseKinematics

if TYPE_CHECKING:
    from dynamics_ros.inverse_kinematics import InverseKinematicsResult


MAX_BLOCKING_TIME = 0.002
"""Maximum time of a search in the executor's thread [s]. Most searches succeed from the seed in
less; in another thread they would take longer, because they share the interpreter."""

MAX_SOLUTIONS = 64

MIN_TIME_SHARE = 0.1
"""A search is not started if waiting for other searches has left less than this share of its
time limit."""

_solved: WeakKeyDictionary[Robot, set[tuple[str, ...]]] = WeakKeyDictionary()
"""Sets of frames of previous searches, for which the solver is already prepared."""


def warm_up(robot: Robot, frame: str) -> None:
    """Run a search for a frame once, so that the solver is prepared for it."""
    q = robot.neutral()
    robot.inverse_kinematics(robot.forward_kinematics(q, frame), frame, q)
    _solved.setdefault(robot, set()).add((frame,))


Target = tuple[str, Array]
"""Frame to move, and its target pose (4, 4) in the root frame."""

Outcome = tuple[list['InverseKinematicsResult'], float]
"""Solutions, the nearest to the seed first, or one result without success; and the duration [s]."""


TF_TIMEOUT = 0.5
"""Time that a request waits for tf to provide a frame outside of the model [s]."""


class InverseKinematicsService:
    """Service of inverse kinematics; blocks the executor for ``MAX_BLOCKING_TIME`` at most."""

    def __init__(
        self, component: Component[KinematicsParameters], default_frame: Callable[[], str]
    ) -> None:
        """Prepare the service; ``default_frame`` returns the frame of requests without one."""
        self._component, self._context = component, component.context
        self._default_frame = default_frame
        self._transforms = Transforms(component.node)
        self._obstacles = Obstacles(component.node, component.context)
        self._free_since = 0.0  # end of the last search in the other thread

    async def answer(self, request: Any, response: Any) -> None:
        """Search for the solutions of a request and fill the response."""
        context, limit = self._context, seconds(request.timeout)
        defaults = self._component.values.inverse_kinematics
        timeout = defaults.time_limit(limit)
        seed = await requested_state(
            context, request.seed, request.base_pose, argument='seed', limit=limit
        )
        robot, stamp, buffer = seed.robot, seed.stamp, context.inputs.buffer
        assert buffer is not None, 'a seed requires a buffer'
        options = search_options(request, buffer, seed.q)
        if request.avoid_collisions:
            options['collisions'] = await self.collisions(robot)
        targets = await self._targets(seed, request)
        count = max(request.max_solutions, 1)
        results, elapsed = await self._find(robot, targets, seed.q, timeout, options, count)
        best = results[0]
        response.position_error = best.position_error
        response.rotation_error = best.rotation_error
        response.iterations = sum([result.iterations for result in results])
        response.elapsed = duration_message(elapsed)
        if best.success or request.approximate:
            fill_positions(response.solution, robot, stamp, best.q)
        if not best.success:
            response.result = failure(SearchError.of(best))
            return
        solutions = [response.solution, *(JointState() for _ in results[1:])]
        for message, result in zip(solutions[1:], results[1:], strict=True):
            fill_positions(message, robot, stamp, result.q)
        response.solutions = solutions
        response.limit_margins = array('d', [result.limit_margin for result in results])
        response.manipulabilities = array('d', [result.manipulability for result in results])

    async def _targets(self, seed: RequestedState, request: Any) -> list[Target]:
        """Return the targets of a request; a frame '' is the default frame.

        Raises:
            DynamicsRosError: a pose is invalid, or a frame is unknown.
        """
        poses, frames, names = request.other_targets, request.other_frames, self._context.names
        if len(frames) != len(poses):
            problem = f'{len(poses)} for {len(frames)} other_frames'
            raise InvalidArgumentError('other_targets', problem, 'one for each')
        check_count(seed.robot, len(frames), 'other_frames')
        if '' in frames:
            argument = f'other_frames[{frames.index("")}]'
            raise InvalidArgumentError(argument, 'empty', 'a frame')
        given = [('target', request.target, 'frame', request.frame)]
        for i, (message, frame) in enumerate(zip(poses, frames, strict=True)):
            given.append((f'other_targets[{i}]', message, f'other_frames[{i}]', frame))
        targets: list[Target] = []
        for name, message, argument, frame in given:
            if request.position_only and not any(raw_numbers(message.pose.orientation)):
                message.pose.orientation.w = 1.0
            moved = self._default_frame()
            if frame:
                moved = names.required_frame(seed.robot, frame, argument)
            matrix = pose_matrix(message.pose, f'{name}.pose')
            if frame_id := message.header.frame_id:
                located = await self.locate(seed, frame_id, f'{name}.header.frame_id')
                matrix = located @ matrix
            targets.append((moved, matrix))
        return targets

    async def collisions(self, robot: Robot) -> Collisions:
        """Return the links and obstacles that a solution keeps apart.

        Raises:
            DynamicsRosError: coal is not installed, shapes cannot be read, or an obstacle is wrong.
        """
        context, margin = self._context, self._component.values.collision_margin
        assert context.built is not None, 'there is a robot'
        description = context.built.description
        links = self._obstacles.known_links(robot, description, margin)
        if links is None:
            read = partial(self._obstacles.links, robot, description, margin)
            links = await context.compute(robot, (), read, takes_long=True)
        return self._obstacles.around(links)

    async def _find(
        self,
        robot: Robot,
        targets: Sequence[Target],
        seed: Array,
        timeout: float,
        options: dict[str, Any],
        count: int = 1,
    ) -> Outcome:
        """Search: here if it succeeds at once, otherwise in the thread of requests.

        Args:
            robot: the robot.
            targets: targets of one or several frames.
            seed: configuration from which the search starts (nq).
            timeout: time limit, including the time spent waiting for other searches [s].
            options: further options of ``Robot.all_inverse_kinematics``.
            count: maximum number of solutions.

        Raises:
            SearchError: other searches have used up the time limit.
        """
        received, frames = time.monotonic(), tuple([frame for frame, _ in targets])
        goal: tuple[Any, Any] = targets[0][1], frames[0]
        if targets[1:]:
            goal = np.array([pose for _, pose in targets]), frames
        jacobians = [('jacobian', frame, 'local_world_aligned') for frame in frames]
        kernels = frozenset([*jacobians, *[('forward_kinematics', frame) for frame in frames]])
        prepared = frames in _solved.get(robot, ()) and robot.has_kernels(kernels)
        of_one = {key: x for key, x in options.items() if key != 'min_separation'}

        def search(limit: float, count: int) -> Outcome:
            first = robot.inverse_kinematics(*goal, seed, timeout=limit, **of_one)
            results, elapsed = [first], first.elapsed
            _solved.setdefault(robot, set()).add(frames)
            if count > 1 and first.success:
                left = max(limit - elapsed, MIN_TIME_SHARE * limit)
                given = {'max_solutions': min(count, MAX_SOLUTIONS), 'timeout': left, **options}
                found = robot.all_inverse_kinematics(*goal, seed, **given)
                results, elapsed = list(found) or results, elapsed + found.elapsed
            for result in results if first.success else ():
                _ = result.manipulability  # computed here, where its kernel may be compiled
            return results, elapsed

        def search_in_turn() -> Outcome:
            # Time spent waiting for other searches counts towards the limit, not compilation or the
            # delays of a busy machine before the search.
            remaining = timeout - (max(self._free_since - received, 0.0) if prepared else 0.0)
            if remaining < MIN_TIME_SHARE * timeout:
                text = f'other searches have taken all of its {timeout:g} s; ask again'
                raise SearchError('timed_out', text)
            try:
                return search(remaining, count)
            finally:
                if prepared:  # else it was compiled, which is no search that others wait for
                    self._free_since = time.monotonic()

        if prepared and count == 1 and not robot.model.loops:
            outcome = search(min(MAX_BLOCKING_TIME, timeout), 1)
            if outcome[0][0].success:
                return outcome
        compute, compiles = self._context.compute, not prepared
        return await compute(robot, kernels, search_in_turn, takes_long=True, compiles=compiles)

    async def locate(self, state: RequestedState, frame_id: str, name: str) -> Array:
        """Return the pose (4, 4) of the frame of a request in the root frame.

        Args:
            state: state at which frames of the robot are evaluated.
            frame_id: frame of the model or of tf; '' is the root frame.
            name: name of the field in the request, for errors.

        Raises:
            TransformError: the frame is unknown to model and tf.
        """
        robot, frame = state.robot, self._context.names.frame_of(frame_id)
        if frame_id in ('', robot.root_frame, self._context.root_frame_id()):
            return np.eye(4)
        if frame in robot.frame_names:
            keys: list[KernelKey] = [('forward_kinematics', frame)]
            return await self._context.compute(
                robot, keys, lambda: robot.forward_kinematics(state.q, frame)
            )
        root, transforms = self._context.root_frame_id(), self._transforms
        with suppress(TransformError):
            return transforms.pose(root, frame_id)
        # It may arrive soon, because the node subscribes to tf only at the first request.
        await self._context.threads.wait(lambda: transforms.knows(root, frame_id), TF_TIMEOUT)
        try:
            return transforms.pose(root, frame_id)
        except TransformError as error:
            raise TransformError(f'{name}: unknown frame {frame_id!r}: {error}') from None


class Code(IntEnum):
    """Codes of moveit_msgs/MoveItErrorCodes that the services return."""

    SUCCESS = 1
    FAILURE = 99999
    INVALID_GOAL_CONSTRAINTS = -16
    INVALID_ROBOT_STATE = -17
    INVALID_LINK_NAME = -18
    FRAME_TRANSFORM_FAILURE = -21
    COLLISION_CHECKING_UNAVAILABLE = -22
    ROBOT_STATE_STALE = -23
    NO_IK_SOLUTION = -31


CODES: dict[type[DynamicsRosError] | str, Code] = {
    'constraints': Code.INVALID_GOAL_CONSTRAINTS,
    'robot_state': Code.INVALID_ROBOT_STATE,
    'avoid_collisions': Code.COLLISION_CHECKING_UNAVAILABLE,
    'seed': Code.INVALID_ROBOT_STATE,
    **dict.fromkeys(
        ('fk_link_names', 'ik_link_names', 'frame', 'other_frames'), Code.INVALID_LINK_NAME
    ),
    NoStateError: Code.INVALID_ROBOT_STATE,
    SearchError: Code.NO_IK_SOLUTION,
    TransformError: Code.FRAME_TRANSFORM_FAILURE,
    StaleStateError: Code.ROBOT_STATE_STALE,
}
"""Code of each invalid field of a request, and of each other class of errors."""


def code_of(error: Exception) -> Code:
    """Return the code of MoveIt for an error."""
    key: Any = type(error)
    if isinstance(error, InvalidArgumentError):
        key = error.argument.partition('.')[0].partition('[')[0]
    return CODES.get(key, Code.FAILURE)


class MoveItServices:
    """Services compute_fk and compute_ik for one group: the chain to the configured frame."""

    def __init__(
        self, component: Component[KinematicsParameters], searches: InverseKinematicsService
    ) -> None:
        """Prepare the services, of which that of inverse kinematics uses ``searches``."""
        self._component, self._context = component, component.context
        self._searches = searches

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
        return await self._answer(self._forward_kinematics(request, response), response)

    async def inverse_kinematics(self, request: Any, response: Any) -> Any:
        """Answer GetPositionIK: joint positions for poses of links."""
        return await self._answer(self._inverse_kinematics(request.ik_request, response), response)

    async def _answer(self, filled: Awaitable[None], response: Any) -> Any:
        """Fill a response, and its code; that of an error tells what is wrong."""
        error_code = response.error_code
        error_code.val, error_code.message = int(Code.SUCCESS), ''
        try:
            await filled
        except Exception as error:
            if not isinstance(error, DynamicsRosError):
                self._component.faults.report('a MoveIt service', error)
            error_code.val, error_code.message = int(code_of(error)), str(error)
        return response

    async def _forward_kinematics(self, request: Any, response: Any) -> None:
        context, given = self._context, _joints(request.robot_state)
        state = await requested_state(context, given, NOT_GIVEN, argument='robot_state.joint_state')
        robot, links = state.robot, request.fk_link_names
        check_count(robot, len(links), 'fk_link_names')
        if not links:
            raise InvalidArgumentError('fk_link_names', 'empty', 'a link')
        frames = [context.names.required_frame(robot, link, 'fk_link_names') for link in links]
        frame_id = request.header.frame_id
        located = await self._searches.locate(state, frame_id, 'header.frame_id')
        poses = await context.compute(
            robot,
            [('forward_kinematics', frame) for frame in frames],
            lambda: [robot.forward_kinematics(state.q, frame) for frame in frames],
        )
        header_frame = frame_id or context.root_frame_id()
        to_frame = Transform.from_array(located).inverse().array()
        for link, pose in zip(links, poses, strict=True):
            response.pose_stamped.append(pose_stamped(state.stamp, header_frame, to_frame @ pose))
            response.fk_link_names.append(link)

    async def _inverse_kinematics(self, request: Any, response: Any) -> None:
        """Answer by the service of this package."""
        kinds = 'joint', 'position', 'orientation', 'visibility'
        if given := [kind for kind in kinds if getattr(request.constraints, f'{kind}_constraints')]:
            raise InvalidArgumentError('constraints', f'{" and ".join(given)} constraints', 'none')
        poses = list(request.pose_stamped_vector) or [request.pose_stamped]
        several = request.pose_stamped_vector and request.ik_link_names
        links = list(several or [request.ik_link_name])
        if len(links) != len(poses):
            problem = f'{len(links)} for {len(poses)} poses'
            raise InvalidArgumentError('ik_link_names', problem, 'one for each')
        if len(links) > 1 and not all(links):
            raise InvalidArgumentError('ik_link_names', 'an empty name', 'a link for each pose')
        asked, answer = ComputeInverseKinematics.Request(), ComputeInverseKinematics.Response()
        asked.target, *asked.other_targets = poses
        asked.frame, *asked.other_frames = links
        asked.seed, asked.avoid_collisions = _joints(request.robot_state), request.avoid_collisions
        limit = min(seconds(request.timeout), MAX_TIMEOUT)
        asked.timeout = duration_message(limit)
        if request.avoid_collisions:
            robot = await self._context.first_robot(limit)
            try:
                await self._searches.collisions(robot)
            except DynamicsRosError as error:
                raise InvalidArgumentError('avoid_collisions', str(error), 'false') from None
        await self._searches.answer(asked, answer)
        if answer.result.message:
            raise SearchError('unreachable', answer.result.message)
        answer.solution.header.frame_id = self._context.root_frame_id()
        response.solution.joint_state = answer.solution


def _joints(state: Any) -> JointState:
    """Return the joint state of a robot state of MoveIt."""
    if state.multi_dof_joint_state.joint_names:
        name = 'robot_state.multi_dof_joint_state'
        raise InvalidArgumentError(name, 'not supported', 'none')
    joints: JointState = state.joint_state
    return joints
