"""The action identify_payload: watches joint states for a while, then says what the robot holds."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import PayloadEstimate, PayloadIdentifier
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.multibody.large_robots import check_size
from dynamics_ros.nodes.reporting.results import FaultLog, failure, success
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.services.request_state import required_frame
from dynamics_ros.parameters.dynamics import IdentificationParameters, PayloadParameters
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import header, inertia_message
from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import Payload

TICK = 0.1
"""s between looks at the clock and at a request to cancel."""

FEEDBACK = 1.0
"""s between feedbacks."""

LONGEST = 600.0
"""s."""

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""ixx ixy ixz iyy iyz izz."""


@dataclass
class _Watch:
    """A goal that is being worked on.

    Attributes:
        handle: of the action server.
        robot: that was in force when it began.
        identifier: takes the samples.
        begin, end: of the watch, on the monotonic clock [s].
        over: done when the watch is.
        reported: time of the last feedback.
        problem: why it cannot go on; '' while it can.
    """

    handle: Any
    robot: Robot
    identifier: PayloadIdentifier
    begin: float
    end: float
    over: Future[None]
    reported: float
    problem: str = ''


class PayloadAction:
    """One goal at a time; what the robot holds is looked for as if it held nothing yet."""

    def __init__(
        self,
        node: Node,
        context: RobotContext,
        settings: Callable[[], IdentificationParameters],
        apply: Callable[[PayloadParameters], Awaitable[None]],
        faults: FaultLog,
    ) -> None:
        """Offer the action.

        Args:
            node: the node.
            context: the robot and its state.
            settings: the parameters in force.
            apply: puts a payload in force.
            faults: where unforeseen errors go.
        """
        self._context = context
        self._settings = settings
        self._apply = apply
        self._faults = faults
        self._node = node
        self._busy = False
        self._watch: _Watch | None = None
        self._timer = node.create_timer(
            TICK, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._timer.cancel()
        self._server = ActionServer(
            node,
            IdentifyPayload,
            '~/identify_payload',
            self._execute,
            goal_callback=self._answer_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def _answer_goal(self, _goal: Any) -> GoalResponse:
        """Accept one goal at a time; why it is rejected the log tells, actions cannot."""
        if self._busy:
            self._node.get_logger().warning('identify_payload: rejected, another goal is worked on')
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    @property
    def watching(self) -> bool:
        """Whether states are taken in."""
        return self._watch is not None

    def update(self, state: RobotState) -> None:
        """Take a state in while a goal is worked on."""
        watch = self._watch
        if watch is None or state.effort_missing or state.velocity_missing or state.stale:
            return
        if self._context.robot is not watch.robot:
            # The samples so far are of another model, or of other gravity.
            watch.problem = 'the robot, its payload or gravity was changed during the watch'
            if not watch.over.done():
                watch.over.set_result(None)
            return
        watch.identifier.add(state.time, state.q, state.v, state.effort)

    async def _execute(self, handle: Any) -> Any:
        try:
            return await self._worked_on(handle)
        finally:
            self._busy = False

    async def _worked_on(self, handle: Any) -> Any:
        result = IdentifyPayload.Result()
        try:
            estimate = await self._identified(handle)
            if estimate is None:
                result.result.message = 'cancelled'
                handle.canceled()
                return result
            self._fill(result, estimate)
            if handle.request.apply:
                await self._apply(_request_of(estimate))
        except Exception as error:
            if not isinstance(error, DynamicsRosError):
                self._faults.report('identify_payload', error)
            result.result = failure(error)
            handle.abort()
            return result
        result.result = success()
        handle.succeed()
        return result

    async def _identified(self, handle: Any) -> PayloadEstimate | None:
        """What is found; None when the goal has been cancelled."""
        watch = self._begin(handle)
        try:
            await watch.over
        finally:
            self._timer.cancel()
            self._watch = None
        if handle.is_cancel_requested:
            return None
        if watch.problem:
            raise DynamicsRosError(watch.problem)
        # In the thread: kernels may have to be made, and a long watch has many samples.
        executor = self._context.executor
        assert executor is not None
        return await self._context.searches.submit(executor, watch.identifier.estimate)

    def _begin(self, handle: Any) -> _Watch:
        robot, values = self._context.required_robot(), self._settings()
        check_size(robot)
        built = self._context.built
        assert built is not None
        frame = built.default_frame
        if handle.request.frame:
            frame = required_frame(self._context, robot, handle.request.frame, 'frame')
        duration = handle.request.duration or values.duration
        if not 0.0 < duration <= LONGEST:
            raise InvalidArgumentError('duration', f'{duration:g} s', f'0 to {LONGEST:g} s')
        bare = robot.with_payload(None)
        noise = per_velocity(bare, values.effort.noise, 'effort.noise')
        identifier = PayloadIdentifier(
            bare,
            frame,
            effort_model=effort_model(bare, values.effort, values.friction),
            effort_noise=noise,
            effort_sampling=values.effort.sampling,
        )
        now = time.monotonic()
        over: Future[None] = Future(executor=self._context.executor)
        self._watch = _Watch(handle, robot, identifier, now, now + duration, over, now)
        self._timer.reset()
        return self._watch

    def _tick(self) -> None:
        watch = self._watch
        if watch is None or watch.over.done():
            return
        now = time.monotonic()
        if now >= watch.end or watch.handle.is_cancel_requested:
            watch.over.set_result(None)
        elif now - watch.reported >= FEEDBACK:
            watch.reported = now
            assert self._context.executor is not None
            soon = self._context.searches.submit(self._context.executor, watch.identifier.estimate)
            soon.add_done_callback(lambda done: self._report(watch, done))

    def _report(self, watch: _Watch, done: Future[PayloadEstimate]) -> None:
        """Tell how far it is, with what the samples so far say."""
        error = done.exception()
        if error is not None and not isinstance(error, DynamicsRosError):
            self._faults.report('identify_payload', error)
        estimate = None if error is not None else done.result()
        if watch.over.done():
            return
        watch.handle.publish_feedback(
            IdentifyPayload.Feedback(
                elapsed=time.monotonic() - watch.begin,
                samples=watch.identifier.samples,
                postures=watch.identifier.postures,
                mass=estimate.mass if estimate else np.nan,
                mass_deviation=estimate.mass_deviation if estimate else np.nan,
            )
        )

    def _fill(self, result: Any, estimate: PayloadEstimate) -> None:
        frame_id = self._context.frame_id(estimate.frame)
        result.payload = Payload(
            header=header(self._context.now(), frame_id),
            inertia=inertia_message(
                estimate.mass, estimate.center_of_mass.tolist(), estimate.inertia
            ),
        )
        result.mass_deviation = estimate.mass_deviation
        result.com_deviation = estimate.center_of_mass_deviation
        result.inertia_deviation = np.array([estimate.inertia_deviation[ij] for ij in UPPER])
        result.mass_observable = estimate.mass_observable
        result.com_observable = estimate.center_of_mass_observable.tolist()
        result.inertia_observable = [bool(estimate.inertia_observable[ij]) for ij in UPPER]
        result.residual = estimate.residual
        result.samples = estimate.samples


def _request_of(estimate: PayloadEstimate) -> PayloadParameters:
    return PayloadParameters.of(
        estimate.frame, estimate.mass, estimate.center_of_mass, estimate.inertia
    )
