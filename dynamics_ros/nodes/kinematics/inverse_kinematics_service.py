# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Service compute_inverse_kinematics: converts requests to searches and results to responses."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.app.worker import Worker
from dynamics_ros.nodes.reporting.results import TransformError, failure, success
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.nodes.robot.transforms import Transforms
from dynamics_ros.nodes.services.request_state import requested_state
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.requests.frame_names import check_count
from dynamics_ros.requests.search import Outcome, Search, SearchError, Target
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    Array,
    duration_message,
    float_sequence,
    pose_matrix,
    quaternion_is_zero,
    seconds,
)
from dynamics_ros.wire.requests import search_options
from dynamics_ros.wire.responses import joint_positions

TF_TIMEOUT = 0.5
"""Time that a request waits for tf to provide a frame outside of the model [s]."""


class InverseKinematicsService:
    """Service of inverse kinematics; blocks the executor's thread for ``search.QUICK`` at most."""

    def __init__(self, component: RobotComponent[KinematicsParameters]) -> None:
        self._component, self._context = component, component.context
        self._transforms = Transforms(component.node)
        self._lookups = Worker('transforms')

    async def answer(self, request: Any, response: Any) -> None:
        """Search for the solutions of a request and fill the response."""
        context = self._context
        seed = requested_state(context, request.seed, request.base_pose, argument='seed')
        robot = seed.robot
        defaults = self._component.values.inverse_kinematics
        timeout = defaults.time_limit(seconds(request.timeout))
        tolerances = defaults.position_tolerance, defaults.rotation_tolerance
        assert context.buffer is not None, 'a seed requires a buffer'
        options, several_options = search_options(request, *tolerances, context.buffer, seed.q)
        if len(request.other_frames) != len(request.other_targets):
            problem = f'{len(request.other_targets)} for {len(request.other_frames)} other_frames'
            raise InvalidArgumentError('other_targets', problem, 'one for each')
        check_count(robot, len(request.other_frames), 'other_frames')
        asked = [(request.target, request.frame, 'target', 'frame')]
        others = zip(request.other_targets, request.other_frames, strict=True)
        for i, (pose, frame) in enumerate(others):
            asked.append((pose, frame, f'other_targets[{i}]', f'other_frames[{i}]'))
        targets = [
            await self.target(robot, pose, frame, request.position_only, *names)
            for pose, frame, *names in asked
        ]
        search = Search(
            targets=tuple(targets),
            seed=seed.q,
            count=max(request.max_solutions, 1),
            approximate=request.approximate,
            timeout=timeout,
            options=options,
            several_options=several_options,
        )
        outcome = await self.find(robot, search)
        best = outcome.results[0]
        response.position_error = best.position_error
        response.rotation_error = best.rotation_error
        response.iterations = sum(result.iterations for result in outcome.results)
        response.elapsed = duration_message(outcome.seconds)
        if best.success or request.approximate:
            response.solution = joint_positions(robot, seed.stamp, best.q)
        if not best.success:
            response.result = failure(SearchError.of(best))
            return
        response.solutions = [
            joint_positions(robot, seed.stamp, found.q) for found in outcome.results
        ]
        response.limit_margins = float_sequence(np.array(outcome.limit_margins))
        response.manipulabilities = float_sequence(np.array(outcome.manipulabilities))
        response.result = success()

    async def find(self, robot: Robot, search: Search) -> Outcome:
        """Run a search: here if it is quick, otherwise in the thread of searches."""
        context = self._context
        outcome = search.quick(robot)
        if outcome is None:
            worker = context.searches
            outcome = await context.compute(
                robot, search.kernels(), lambda owner: search.run(owner, worker.free_since), worker
            )
        return outcome

    async def target(
        self,
        robot: Robot,
        message: PoseStamped,
        frame: str,
        position_only: bool = False,
        name: str = 'target',
        frame_name: str = 'frame',
    ) -> Target:
        """Return the target of a frame in a request.

        Args:
            robot: the robot.
            message: target pose.
            frame: name of the frame to move, with prefix.
            position_only: whether the orientation may be missing.
            name, frame_name: names of the fields in the request, for errors.

        Raises:
            DynamicsRosError: the pose is invalid, or a frame is unknown.
        """
        known = self._context.names.required_frame(robot, frame, frame_name)
        pose = message.pose
        if position_only and quaternion_is_zero(pose.orientation):
            pose.orientation.w = 1.0
        matrix = pose_matrix(pose, f'{name}.pose')
        located, carrier = await self.locate(
            robot, message.header.frame_id, f'{name}.header.frame_id'
        )
        return Target(known, located @ matrix, carrier)

    async def locate(self, robot: Robot, frame_id: str, name: str) -> tuple[Array, str]:
        """Locate the frame of a target.

        Args:
            robot: the robot.
            frame_id: frame of the model or of tf; '' is the root frame.
            name: name of the field in the request, for errors.

        Returns:
            Its constant pose (4, 4) in a frame of the model, and the name of that, '' for the root.

        Raises:
            TransformError: the frame is unknown to model and tf.
        """
        if frame_id in ('', robot.root_frame, self._context.root_frame_id()):
            return np.eye(4), ''
        carrier = self._context.names.frame_of(frame_id)
        if carrier in robot.frame_names:
            return np.eye(4), carrier
        try:
            return await self._from_tf(robot, frame_id), ''
        except TransformError as error:
            raise TransformError(f'{name}: unknown frame {frame_id!r}: {error}') from None

    async def _from_tf(self, robot: Robot, frame_id: str) -> Array:
        """Return the pose (4, 4) of a frame of tf in the root frame."""
        root = self._context.root_frame_id()
        self._transforms.subscribe()
        try:
            return self._transforms.pose(root, frame_id)
        except TransformError:
            # It may arrive soon, because the node subscribes to tf only at the first request.
            wait = partial(self._transforms.pose, root, frame_id, TF_TIMEOUT)
            return await self._context.compute(robot, (), lambda _: wait(), self._lookups)
