# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Action identify_payload: identifies the payload from joint states over a given time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import PayloadEstimate, PayloadIdentifier
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.sample_filter import SampleFilter
from dynamics_ros.multibody.large_robots import check_size
from dynamics_ros.nodes.context import RobotComponent
from dynamics_ros.nodes.services import WatchAction
from dynamics_ros.parameters.dynamics import (
    DynamicsParameters,
    IdentificationParameters,
    PayloadParameters,
)
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import header
from dynamics_ros.wire.services import fill_payload
from dynamics_ros_msgs.action import IdentifyPayload

VELOCITY_NOISE = 0.01
"""Noise of velocities [rad/s or m/s]; a difference between two samples is an outlier from about ten
times this."""


class PayloadWatch:
    """Records joint states for a duration and identifies the whole payload from them.

    Attributes:
        identifier: identification of the payload, with the model of the robot without payload.
    """

    def __init__(
        self, robot: Robot, frame: str, values: IdentificationParameters, duration: float
    ) -> None:
        """Start without samples.

        Args:
            robot: the current robot.
            frame: frame to which the payload is fixed.
            values: settings of efforts and friction.
            duration: duration of the recording [s].

        Raises:
            DynamicsRosError: the robot is too large, or the values do not fit it.
        """
        check_size(robot)
        bare, effort = robot.with_payload(None), values.effort
        noise = per_velocity(bare, effort.noise, 'effort.noise')
        self.identifier = PayloadIdentifier(
            bare,
            frame,
            effort_model=effort_model(bare, effort, values.friction),
            effort_noise=noise,
            effort_sampling=effort.sampling,
        )
        self._samples: SampleFilter = SampleFilter(
            bare,
            velocity_noise=VELOCITY_NOISE,
            effort_noise=noise,
            effort_scale=per_velocity(bare, effort.scale, 'effort.scale', base=1.0),
        )
        self._duration = duration

    def add(self, state: RobotState) -> None:
        """Record a state, unless it is stale or lacks velocities or efforts."""
        if state.effort_missing or state.velocity_missing or state.stale:
            return
        for one in self._samples.take(state, merged=state.ages is not None):
            self.identifier.add(one.time, one.q, one.v, one.effort)

    def ended(self, elapsed: float) -> bool:
        """Return whether the duration has passed."""
        return elapsed >= self._duration

    def estimate(self) -> PayloadEstimate:
        """Return the estimated payload.

        Raises:
            DynamicsRosError: the samples are insufficient.
        """
        return self.identifier.estimate()


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
        """Return the recorder for a goal, after checking the goal."""
        robot = self.context.required_robot()
        if robot.model.loops:
            raise InvalidArgumentError('frame', 'the robot has closed loops', 'a robot without')
        frame = robot.tool_frame
        if request.frame:
            frame = self.context.names.required_frame(robot, request.frame, 'frame')
        values = self._settings()
        duration = self.checked_duration(request.duration, values.duration)
        if request.empty:
            expected = 'false: calibrate_robot WITHOUT WITH --load FRAME compares two runs'
            raise InvalidArgumentError('empty', 'true', expected)
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
