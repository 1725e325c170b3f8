# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Services and actions of a node: their states, responses, refusals and recordings."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from geometry_msgs.msg import Pose, Twist, WrenchStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoStateError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.context import Component, RobotContext
from dynamics_ros.nodes.reporting import failure
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import Array, numbers
from dynamics_ros.wire.services import RequestedState
from dynamics_ros.wire.services import requested_state as completed_state
from dynamics_ros_msgs.action import IdentifyPayload
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


async def state_of(context: RobotContext, request: Any) -> RequestedState:
    """Return the state of a request with fields ``state`` and ``base_pose``, as above."""
    twist = getattr(request, 'base_twist', None)
    return await requested_state(context, request.state, request.base_pose, twist)


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
            response.result = Result(code=Result.SUCCESS)
        return response

    node.create_service(kind, name, answer, qos_profile=SERVICE_QOS)


FEEDBACK_PERIOD = 1.0
"""Period of the feedback [s]."""

MAX_DURATION = 600.0
"""Longest duration that a goal may ask for [s]."""

ROBOT_CHANGED = 'the robot, its payload or gravity was changed during the watch'

Estimate = TypeVar('Estimate')


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

    def __init__(self, component: Component[Any]) -> None:
        node = component.node
        self.component, self.context = component, component.context
        self._busy = False
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
    def begin(self, request: Any) -> Any:
        """Return the recorder for a goal, with the methods of ``LoadWatch``.

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

    def _answer_goal(self, _goal: Any) -> GoalResponse:
        """Accept one goal at a time; log a rejection, since actions cannot return the reason."""
        if self._busy:
            text = f'{self.name}: rejected, another goal is worked on'
            self.component.node.get_logger().warning(text)
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        result = self.kind.Result()
        try:
            await self.context.first_robot()
            estimate = await self._estimate(handle)
            if estimate is None:
                result.result.message = 'cancelled'
                handle.canceled()
                return result
            await self.finish(estimate, handle.request, result)
            result.result = Result(code=Result.SUCCESS)
            handle.succeed()
        except Exception as error:
            if not isinstance(error, DynamicsRosError):
                self.component.faults.report(self.name, error)
            result.result = failure(error)
            handle.abort()
        finally:
            self._busy = False
        return result

    async def _estimate(self, handle: Any) -> Estimate | None:
        """Record states for a goal and return the estimate; None if the goal is cancelled.

        Raises:
            DynamicsRosError: the robot has changed, or the states are insufficient.
        """
        threads, robot = self.context.threads, self.context.required_robot()
        watcher, begin = self.begin(handle.request), time.monotonic()

        def elapsed() -> float:
            return time.monotonic() - begin

        def is_over() -> bool:
            over = handle.is_cancel_requested or self.context.robot is not robot
            return over or watcher.ended(elapsed())

        watchers = self.context.watchers
        watchers[watcher.add] = robot
        try:
            while not is_over():
                await threads.until(is_over, FEEDBACK_PERIOD)
                if not is_over():
                    # Not awaited: searches for others may be in its way.
                    threads.run(self._report(handle, watcher, elapsed()))
        finally:
            del watchers[watcher.add]
        if handle.is_cancel_requested:
            return None
        if self.context.robot is robot:
            # In a thread, because kernels may be compiled and a recording has many samples.
            estimate = await threads.submit(threads.builder, watcher.estimate)
            if handle.is_cancel_requested:
                return None
        if self.context.robot is not robot:
            raise DynamicsRosError(ROBOT_CHANGED)
        return estimate

    async def _report(self, handle: Any, watcher: Any, elapsed: float) -> None:
        threads = self.context.threads
        try:
            compute = partial(self.feedback, watcher, elapsed)
            feedback = await threads.submit(threads.builder, compute)
            if watcher.add in self.context.watchers:
                handle.publish_feedback(feedback)
        except Exception as error:
            self.component.faults.report(self.name, error)


@dataclass(frozen=True)
class LoadWatch(Generic[Estimate]):
    """Identifies a load from what is recorded for a duration.

    Attributes:
        identifier: the identification.
        add: adds a state to it, unless the state is unsuitable.
        duration: duration of the recording [s].
    """

    identifier: Any
    add: Callable[[RobotState], None]
    duration: float

    def ended(self, elapsed: float) -> bool:
        """Return whether the recording is complete after ``elapsed`` seconds; may raise."""
        return elapsed >= self.duration

    def estimate(self) -> Estimate:
        """Return the estimate; called in a thread.

        Raises:
            DynamicsRosError: what was recorded is insufficient.
        """
        estimate: Estimate = self.identifier.estimate()
        return estimate


class LoadAction(WatchAction[Estimate]):
    """Action that identifies a load."""

    kind = IdentifyPayload

    def feedback(self, watcher: LoadWatch[Estimate], elapsed: float) -> Any:
        """Return the number of samples and postures and, once identifiable, the mass."""
        mass = deviation = math.nan
        with suppress(DynamicsRosError):  # not identifiable yet
            found: Any = watcher.estimate()
            payload = getattr(found, 'payload', found)
            mass, deviation = payload.mass, payload.mass_deviation
        return IdentifyPayload.Feedback(
            elapsed=elapsed,
            samples=watcher.identifier.samples,
            postures=watcher.identifier.postures,
            mass=mass,
            mass_deviation=deviation,
        )
