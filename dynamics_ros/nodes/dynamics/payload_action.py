# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Action identify_payload: identifies the payload from joint states over a given time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import PayloadEstimate
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.nodes.services.watch_action import MAX_DURATION, WatchAction
from dynamics_ros.parameters.dynamics import DynamicsParameters, PayloadParameters
from dynamics_ros.requests.payload_watch import PayloadWatch
from dynamics_ros.wire.conversions import header
from dynamics_ros.wire.responses import fill_payload
from dynamics_ros_msgs.action import IdentifyPayload


class PayloadAction(WatchAction[PayloadEstimate]):
    """Identifies the whole payload, with the model of the robot without payload."""

    kind, name = IdentifyPayload, 'identify_payload'

    def __init__(
        self,
        component: RobotComponent[DynamicsParameters],
        apply: Callable[[PayloadParameters], Awaitable[None]],
    ) -> None:
        """Create the action; ``apply`` applies a payload to the robot."""
        super().__init__(component)
        self._settings, self._apply = lambda: component.values.identification, apply

    def begin(self, request: Any) -> PayloadWatch:
        """Return the identification for a goal, after checking the goal."""
        robot, built = self.context.required_robot(), self.context.built
        assert built is not None
        frame = built.default_frame
        if request.frame:
            frame = self.context.names.required_frame(robot, request.frame, 'frame')
        values = self._settings()
        duration = request.duration or values.duration
        if not 0.0 < duration <= MAX_DURATION:
            raise InvalidArgumentError('duration', f'{duration:g} s', f'0 to {MAX_DURATION:g} s')
        return PayloadWatch(robot, frame, values, duration)

    def feedback(self, watcher: PayloadWatch, elapsed: float) -> Any:
        """Return the number of samples and, once identifiable, the mass."""
        try:
            estimate = watcher.estimate()
        except DynamicsRosError:
            estimate = None
        return IdentifyPayload.Feedback(
            elapsed=elapsed,
            samples=watcher.identifier.samples,
            postures=watcher.identifier.postures,
            mass=estimate.mass if estimate else np.nan,
            mass_deviation=estimate.mass_deviation if estimate else np.nan,
        )

    async def finish(self, estimate: PayloadEstimate, request: Any, result: Any) -> None:
        """Fill the result, and apply the payload if the goal asks for it."""
        frame_id = self.context.names.frame_id_of(estimate.frame)
        fill_payload(result, estimate, header(self.context.now(), frame_id))
        if request.apply:
            payload = estimate.frame, estimate.mass, estimate.center_of_mass, estimate.inertia
            await self._apply(PayloadParameters.of(*payload))
