# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Services and actions of a node: their states, responses, refusals and recordings."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from geometry_msgs.msg import Pose, Twist, WrenchStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoStateError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.context import RobotComponent, RobotContext
from dynamics_ros.nodes.reporting import failure, steady_timer, success
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import Array, numbers
from dynamics_ros.wire.services import RequestedState
from dynamics_ros.wire.services import requested_state as completed_state
from dynamics_ros_msgs.msg import Result


async def requested_state(
    context: RobotContext,
    state: JointState,
    base_pose: Pose,
    base_twist: Twist | None = None,
    argument: str = 'state',
    limit: float = 0.0,
) -> RequestedState:
    """Return the state of a request; wait for the first robot and state that it needs.

    Other arguments and errors as of ``wire.services.requested_state``.

    Args:
        limit: longest time to wait [s]; 0: ``FIRST_INPUT_TIMEOUT``.
    """
    inputs, given = context.inputs, (state, base_pose, base_twist, argument)
    if context.built is None:
        await context.first_robot(limit)
    assert inputs.buffer is not None, 'a robot has a buffer'
    try:
        return completed_state(inputs.buffer, inputs.latest, *given)
    except NoStateError:
        await context.first_state(limit)
        return completed_state(inputs.buffer, inputs.latest, *given)


def external_wrenches(
    context: RobotContext, robot: Robot, messages: Sequence[WrenchStamped]
) -> dict[str, Array]:
    """Return the sum of the given wrenches (6) for each frame, expressed in and at that frame."""
    wrenches: dict[str, Array] = {}
    for i, message in enumerate(messages):
        frame_id, argument = message.header.frame_id, f'external_wrenches[{i}]'
        frame = context.names.required_frame(robot, frame_id, argument)
        wrench = numbers(message.wrench, f'{argument}.wrench')
        wrenches[frame] = wrenches[frame] + wrench if frame in wrenches else wrench
    # Sorted, so that each set of frames needs only one kernel.
    return dict(sorted(wrenches.items()))


# All clients share one history. With the default depth of ten, requests are lost once a few clients
# call at the same time, and so are responses to a client on a busy machine.
SERVICE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)

Handler = Callable[[Any, Any], Awaitable[None]]


def serve(node: Node, kind: Any, name: str, handler: Handler) -> None:
    """Create a service whose response has a field ``result``.

    Args:
        node: the node; a ``GuardedNode`` turns errors of the handler into responses.
        kind: service type.
        name: service name.
        handler: coroutine function that fills the response, or raises an error. If it does not set
            ``response.result``, the result is a success.
    """

    async def answer(request: Any, response: Any) -> Any:
        await handler(request, response)
        if response.result.code == Result.FAILURE and not response.result.message:
            response.result = success()
        return response

    node.create_service(kind, name, answer, qos_profile=SERVICE_QOS)


CHECK_PERIOD = 0.1
"""Period of the checks for the end of a recording and for cancellation [s]."""

FEEDBACK_PERIOD = 1.0
"""Period of the feedback [s]."""

MAX_DURATION = 600.0
"""Longest duration that a goal may ask for [s]."""

ROBOT_CHANGED = 'the robot, its payload or gravity was changed during the watch'

Estimate = TypeVar('Estimate')
Estimated = TypeVar('Estimated', covariant=True)


class Watcher(Protocol[Estimated]):
    """Interface of the recorder and estimator of one goal."""

    def add(self, state: RobotState) -> None:
        """Record a state."""

    def ended(self, elapsed: float) -> bool:
        """Return whether the recording is complete after ``elapsed`` seconds.

        Raises:
            DynamicsRosError: the recording cannot succeed any more.
        """

    def estimate(self) -> Estimated:
        """Return the estimate from the recorded states; called in a thread.

        Raises:
            DynamicsRosError: the states are insufficient.
        """


@dataclass
class _Watch(Generic[Estimate]):
    """Recording of the active goal; ``begin`` and last feedback by the monotonic clock [s]."""

    handle: Any
    robot: Robot
    watcher: Watcher[Estimate]
    begin: float
    finished: Future[None]
    reported: float
    problem: DynamicsRosError | None = None

    def end(self, problem: DynamicsRosError | None = None) -> None:
        """End the recording, unless it has already ended."""
        if not self.finished.done():
            self.problem = problem
            self.finished.set_result(None)


class WatchAction(ABC, Generic[Estimate]):
    """Action that records joint states for one goal at a time and computes an estimate.

    A recording ends when it is complete, when the goal is cancelled, or when the robot changes.

    Attributes:
        kind: type of the action; its result message has a field ``result``.
        name: name of the action below the name of the node.
        context: the robot and its state.
        component: component to which the action belongs.
    """

    kind: ClassVar[Any]
    name: ClassVar[str]

    def __init__(self, component: RobotComponent[Any]) -> None:
        node = component.node
        self.component, self.context = component, component.context
        self._busy = False
        self._watch: _Watch[Estimate] | None = None
        self._timer = steady_timer(node, CHECK_PERIOD, self._tick)
        self._timer.cancel()
        self._server = ActionServer(
            node,
            self.kind,
            f'~/{self.name}',
            self._execute,
            goal_callback=self._answer_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    @staticmethod
    def checked_duration(requested: float, default: float, least: float = 0.0) -> float:
        """Return the duration of a goal [s]; 0 asks for the default.

        Raises:
            InvalidArgumentError: it is not positive, shorter than ``least``, or too long.
        """
        duration = requested or default
        if not (duration > 0.0 and least <= duration <= MAX_DURATION):
            allowed = f'{least:g} to {MAX_DURATION:g} s'
            raise InvalidArgumentError('duration', f'{duration:g} s', allowed)
        return duration

    @abstractmethod
    def begin(self, request: Any) -> Watcher[Estimate]:
        """Return the recorder for a goal.

        Raises:
            DynamicsRosError: the goal is invalid.
        """

    @abstractmethod
    def feedback(self, watcher: Any, elapsed: float) -> Any:
        """Return the feedback message after ``elapsed`` seconds; called in a thread."""

    @abstractmethod
    async def finish(self, estimate: Estimate, request: Any, result: Any) -> None:
        """Fill the result, and apply the estimate if the goal asks for it.

        Raises:
            DynamicsRosError: the estimate cannot be applied.
        """

    def update(self, state: RobotState) -> None:
        """Record a state if a goal is active."""
        watch = self._watch
        if watch is not None and not self._changed(watch):
            watch.watcher.add(state)

    def _answer_goal(self, _goal: Any) -> GoalResponse:
        """Accept one goal at a time; log a rejection, since actions cannot return the reason."""
        if self._busy:
            text = f'{self.name}: rejected, another goal is worked on'
            self.component.node.get_logger().warning(text)
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        try:
            return await self._run_goal(handle)
        finally:
            self._busy = False

    async def _run_goal(self, handle: Any) -> Any:
        result = self.kind.Result()
        try:
            await self.context.first_robot()
            estimate, watch = None, self._start_watch(handle)
            try:
                await watch.finished
            finally:
                self._timer.cancel()
                self._watch = None
            if not handle.is_cancel_requested:
                if watch.problem is not None:
                    raise watch.problem
                # In a thread, because kernels may be compiled and a recording has many samples.
                searches = self.context.searches
                estimate = await self.context.submit(searches, watch.watcher.estimate)
            if handle.is_cancel_requested:
                result.result.message = 'cancelled'
                handle.canceled()
                return result
            if self._changed(watch):
                raise DynamicsRosError(ROBOT_CHANGED)
            assert estimate is not None
            await self.finish(estimate, handle.request, result)
        except Exception as error:
            if not isinstance(error, DynamicsRosError):
                self.component.faults.report(self.name, error)
            result.result = failure(error)
            handle.abort()
            return result
        result.result = success()
        handle.succeed()
        return result

    def _start_watch(self, handle: Any) -> _Watch[Estimate]:
        robot = self.context.required_robot()
        watcher = self.begin(handle.request)
        now = time.monotonic()
        finished: Future[None] = Future(executor=self.context.executor)
        self._watch = _Watch(handle, robot, watcher, now, finished, now)
        self._timer.reset()
        return self._watch

    def _changed(self, watch: _Watch[Estimate]) -> bool:
        """Return whether the robot, its payload or gravity has changed; then end the recording."""
        changed = self.context.robot is not watch.robot
        if changed:
            watch.end(DynamicsRosError(ROBOT_CHANGED))
        return changed

    def _tick(self) -> None:
        watch = self._watch
        if watch is None or self._changed(watch) or watch.finished.done():
            return
        now = time.monotonic()
        try:
            if watch.handle.is_cancel_requested or watch.watcher.ended(now - watch.begin):
                watch.end()
                return
        except DynamicsRosError as error:
            watch.end(error)
            return
        if now - watch.reported >= FEEDBACK_PERIOD:
            watch.reported = now
            feedback = partial(self.feedback, watch.watcher, now - watch.begin)
            future = self.context.submit(self.context.searches, feedback)
            future.add_done_callback(lambda done: self._report(watch, done))

    def _report(self, watch: _Watch[Estimate], done: Future[Any]) -> None:
        error = done.exception()
        if error is not None:
            self.component.faults.report(self.name, error)
        elif not watch.finished.done():
            watch.handle.publish_feedback(done.result())
