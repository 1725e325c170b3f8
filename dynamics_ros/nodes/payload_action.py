# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Action identify_payload: identifies the payload from joint states over a given time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import PayloadEstimate, PayloadIdentifier
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.sample_filter import SampleFilter
from dynamics_ros.multibody.large_robots import check_size
from dynamics_ros.nodes.context import RobotComponent
from dynamics_ros.nodes.robot_request import RobotRequest
from dynamics_ros.nodes.services import WatchAction
from dynamics_ros.parameters.dynamics import (
    NO_PAYLOAD,
    DynamicsParameters,
    IdentificationParameters,
    PayloadParameters,
)
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import header
from dynamics_ros.wire.services import fill_payload, payload_feedback
from dynamics_ros_msgs.action import IdentifyPayload

if TYPE_CHECKING:
    from dynamics_ros.calibration.in_motion import EmptyRun, EmptyRunWatch, LoadedRunWatch


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


Subject = tuple[RobotRequest, IdentificationParameters]
"""What an empty run is valid for: a robot, and the meaning of its efforts."""


class PayloadAction(WatchAction['PayloadEstimate | EmptyRun']):
    """Identifies the whole payload, with the model of the robot without payload.

    A run without the payload, which a goal with ``empty`` records, is kept until the robot, gravity
    or the meaning of efforts changes. Later goals subtract what it shows of the robot.
    """

    kind, name = IdentifyPayload, 'identify_payload'

    def __init__(
        self,
        component: RobotComponent[DynamicsParameters],
        apply: Callable[[PayloadParameters], Awaitable[None]],
    ) -> None:
        """Create the action; ``apply`` applies a payload to the robot."""
        super().__init__(component)
        self._settings, self._apply = lambda: component.values.identification, apply
        self._empty: tuple[Subject, EmptyRun] | None = None
        self._begun: Subject | None = None
        self._subtracts = False

    @staticmethod
    def load() -> None:
        """Import the modules of empty runs, which would slow down the start of the node."""
        import_module('dynamics_ros.calibration.in_motion')

    def begin(self, request: Any) -> PayloadWatch | EmptyRunWatch | LoadedRunWatch:
        """Return the recorder for a goal, after checking the goal."""
        robot = self.context.required_robot()
        if robot.model.loops:
            raise InvalidArgumentError('frame', 'the robot has closed loops', 'a robot without')
        frame = robot.tool_frame
        if request.frame:
            frame = self.context.names.required_frame(robot, request.frame, 'frame')
        values = self._settings()
        duration = self.checked_duration(request.duration, values.duration)
        if request.empty and request.apply:
            raise InvalidArgumentError('apply', 'true for a run without the payload', 'false')
        self._begun, empty = self._subject(), self._valid_empty_run()
        self._subtracts = empty is not None and not request.empty
        if not request.empty and empty is None:
            return PayloadWatch(robot, frame, values, duration)
        from dynamics_ros.calibration.in_motion import EmptyRunWatch, LoadedRunWatch

        if request.empty or empty is None:
            return EmptyRunWatch(robot, values, duration)
        return LoadedRunWatch(empty, frame, values, duration)

    def feedback(
        self, watcher: PayloadWatch | EmptyRunWatch | LoadedRunWatch, elapsed: float
    ) -> Any:
        """Return the number of samples and, once identifiable, the mass.

        A comparison with an empty run takes too long for an estimate in between.
        """
        if not isinstance(watcher, PayloadWatch):
            return payload_feedback(elapsed, watcher.recorder.count)
        try:
            estimate = watcher.estimate()
        except DynamicsRosError:
            estimate = None
        identifier = watcher.identifier
        return payload_feedback(elapsed, identifier.samples, identifier.postures, estimate)

    async def finish(self, estimate: PayloadEstimate | EmptyRun, request: Any, result: Any) -> None:
        """Keep an empty run; or fill the result, and apply the payload if the goal asks for it."""
        subject = self._subject()
        if subject != self._begun:
            raise DynamicsRosError('identification.* was changed during the watch')
        if not isinstance(estimate, PayloadEstimate):
            self._empty = subject, estimate
            result.samples = len(estimate.samples.time)
            return
        frame_id = self.context.names.frame_id_of(estimate.frame)
        fill_payload(result, estimate, header(self.context.now(), frame_id))
        result.empty_run_used = self._subtracts
        if request.apply:
            payload = estimate.frame, estimate.mass, estimate.center_of_mass, estimate.inertia
            await self._apply(PayloadParameters.of(*payload))

    def _subject(self) -> Subject:
        built = self.context.built
        assert built is not None
        request = replace(built.request, payload=NO_PAYLOAD, largest_payload=0.0)
        return request, replace(self._settings(), duration=1.0)

    def _valid_empty_run(self) -> EmptyRun | None:
        """The kept empty run; it is forgotten if it is of another robot or of other efforts."""
        if self._empty is not None and self._empty[0] != self._subject():
            self._empty = None
            text = f'{self.name}: the run without payload was of another robot, gravity or efforts'
            self.component.node.get_logger().warning(f'{text}; it is forgotten')
        return self._empty[1] if self._empty is not None else None
