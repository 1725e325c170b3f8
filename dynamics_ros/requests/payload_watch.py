# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states that are watched for a while for what the robot holds."""

from __future__ import annotations

from dynamics_ros.estimation import PayloadEstimate, PayloadIdentifier
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.sample_filter import SampleFilter
from dynamics_ros.multibody.large_robots import check_size
from dynamics_ros.parameters.dynamics import IdentificationParameters
from dynamics_ros.robot import Robot

VELOCITY_NOISE = 0.01
"""rad/s or m/s: what a velocity differs by from one sample to the next is no outlier below some
ten times that."""


class PayloadWatch:
    """Takes samples for so many seconds, of a robot as if it held nothing yet.

    Attributes:
        identifier: of the payload.
    """

    def __init__(
        self, robot: Robot, frame: str, values: IdentificationParameters, duration: float
    ) -> None:
        """Begin without samples.

        Args:
            robot: the robot in force.
            frame: that the payload is at.
            values: how efforts are read.
            duration: of the watch [s].

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
        """Take a state in, unless it lacks something."""
        if state.effort_missing or state.velocity_missing or state.stale:
            return
        for one in self._samples.take(state, merged=state.ages is not None):
            self.identifier.add(one.time, one.q, one.v, one.effort)

    def ended(self, elapsed: float) -> bool:
        """Whether the time is over."""
        return elapsed >= self._duration

    def estimate(self) -> PayloadEstimate:
        """What the robot holds.

        Raises:
            DynamicsRosError: the samples do not tell.
        """
        return self.identifier.estimate()
