# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recording of joint states for the identification of a payload."""

from __future__ import annotations

from dynamics_ros.estimation import PayloadEstimate, PayloadIdentifier
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.sample_filter import SampleFilter
from dynamics_ros.multibody.large_robots import check_size
from dynamics_ros.parameters.dynamics import IdentificationParameters
from dynamics_ros.robot import Robot

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
        self._samples: SampleFilter[RobotState] = SampleFilter(
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
