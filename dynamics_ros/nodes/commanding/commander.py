# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of components that move a robot to targets: lifecycle, ~/pause, timer and status."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_srvs.srv import SetBool

from dynamics_ros.commanding.standstill import Standstill
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.context import Component, RobotContext
from dynamics_ros.nodes.lifecycle import ManagedNode, other_publishers
from dynamics_ros.nodes.load import Transforms
from dynamics_ros.nodes.outputs import Output, Status
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.nodes.reporting import steady_timer
from dynamics_ros.reasons import ACTION, Explanation, reason_of

from .targets import Frames, Target

# Only the newest command counts. Best effort matches publishers of either reliability.
COMMAND_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)


CHECK_PERIOD = 0.5
"""Period between two queries for other publishers while the node is active [s]."""


class CommanderSettings(Protocol):
    """Parameters that every commanding node has."""

    @property
    def allow_other_publishers(self) -> bool:
        """Whether other nodes may publish on the topic of the commands at activation."""

    @property
    def autostart(self) -> bool:
        """Whether the node configures and activates itself at start."""

    @property
    def rate(self) -> float:
        """Rate of the timer [Hz]."""

    @property
    def transform_timeout(self) -> float:
        """Maximum age of transforms [s]."""


class CommandTopic(Protocol):
    """Topic of the commands to a controller."""

    output: Output

    def close(self) -> None:
        """Destroy the publisher."""


Settings = TypeVar('Settings', bound=CommanderSettings)
Topic = TypeVar('Topic', bound=CommandTopic)
State = TypeVar('State', bound=Status)


class Commander(Component, Generic[Settings, Topic, State]):
    """Component that moves a robot to targets while its node is active and not paused.

    Attributes:
        context: context of the robot.
        parameters: parameters of the node.
        frames: finds the frames in which targets are given.
        standstill: detects stalls of the process.
        state: latest state of the robot; None before the first state of the current robot.
        paused: whether ~/pause has been called, so that targets are ignored.
        commands: topic of the commands; None while the node is not configured.
        status: topic ~/status.
    """

    def __init__(
        self, node: ManagedNode, context: RobotContext, settings: type[Settings], status: State
    ) -> None:
        super().__init__(node)
        self.context = context
        self.parameters = ParameterSet(node, settings)
        self.frames = Frames(
            context, Transforms(node), lambda: self.parameters.values.transform_timeout
        )
        self.standstill = Standstill()
        self.state: RobotState | None = None
        self.paused = False
        self.commands: Topic | None = None
        self.status = status
        self._next_check, self._other_publishers = 0.0, ''
        self._target_topics: list[str] = []
        self._managed = node
        self._tick_time = 0.0

    def subscribe_targets(self, kinds: Iterable[type[Target]]) -> None:
        """Create the subscriptions to targets of these types, the timer and the services."""
        node = self._managed
        for kind in kinds:
            callback = partial(self._on_target, kind)
            topic = f'~/{kind.name}'
            subscription = node.create_subscription(
                kind.message, topic, callback, COMMAND_QOS, raw=True
            )
            self._target_topics.append(subscription.topic_name)
        node.create_service(SetBool, '~/pause', self._on_pause)
        # A steady timer, so that a stopped simulated clock does not leave the robot moving.
        self._timer = steady_timer(node, self.period, self._on_timer)
        node.manage(self, self._on_lifecycle)

    def start(self) -> None:
        """Configure and activate the node if ``autostart`` is set."""
        self._managed.begin(self.parameters.values.autostart)

    def end(self) -> None:
        """Bring the robot to rest before the process ends."""
        self._managed.end()

    @property
    def active(self) -> bool:
        """Whether commands may be sent."""
        return self._managed.active

    @property
    def sends_torques(self) -> bool:
        """Whether torques that depend on gravity and payload move the robot now."""
        return self.uses_masses and self.active

    @property
    def other_publishers(self) -> str:
        """Other publishers of commands or targets, between which a robot would alternate.

        At most ``CHECK_PERIOD`` old; '' if there are none. It is no reason to stop, because an
        inactive controller may have a publisher without using it.
        """
        if self.commands is None or not self.active:
            return ''
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + CHECK_PERIOD
            topics = [(self.commands.output.topic, 0), *((x, 1) for x in self._target_topics)]
            others = []
            for topic, expected in topics:
                names = other_publishers(self._managed, topic)
                extra = len(names) - expected
                if extra > 0:
                    count = 'another publisher' if extra == 1 else f'{extra} other publishers'
                    others.append(f'{count} on {topic}: {", ".join(names)}')
            self._other_publishers = '; '.join(others)
        return self._other_publishers

    @property
    def exclusive_topic(self) -> str:
        """Topic on which no other node may publish at activation; '' if there is none."""
        if self.commands is None or self.parameters.values.allow_other_publishers:
            return ''
        return self.commands.output.topic

    @property
    def lifecycle(self) -> str:
        """Lifecycle state of the node."""
        return self._managed.lifecycle

    @property
    def period(self) -> float:
        """Period of the timer [s]."""
        return 1.0 / self.parameters.values.rate

    def inactive(self) -> Explanation:
        """Return the lifecycle state and its reason; empty if the node is active."""
        return self._managed.inactive()

    # --- methods of subclasses ------------------------------------------------------------------

    @abstractmethod
    def follow_target(self, kind: Any, data: bytes, state: RobotState) -> None:
        """Follow a new target from the current state.

        Args:
            kind: type of the target.
            data: serialized message.
            state: latest state of the robot.
        """

    @abstractmethod
    def pause(self) -> None:
        """Come to rest; called by the service ~/pause, both to pause and to resume."""

    @abstractmethod
    def tick(self, now: float, elapsed: float) -> None:
        """Do periodic work; called by the timer.

        Args:
            now: time of the steady clock [s].
            elapsed: time since the previous call [s].
        """

    @abstractmethod
    def report_lifecycle(self) -> None:
        """Report a change of the lifecycle state."""

    @abstractmethod
    def configure(self) -> None:
        """Create the topic of the commands.

        Raises:
            DynamicsRosError: the parameters are invalid.
        """

    @abstractmethod
    def activate(self) -> None:
        """Begin to send commands."""

    @abstractmethod
    def deactivate(self) -> None:
        """Stop; before it returns, all commands that bring the robot to rest have been sent."""

    def cleanup(self) -> None:
        """Destroy the topic of the commands."""
        if self.commands is not None:
            self.commands.close()
            self.commands = None

    # --- outputs and diagnostics ----------------------------------------------------------------

    def outputs(self) -> list[Output]:
        """Return the publishers of commands and status."""
        return [*([self.commands.output] if self.commands else []), self.status.output]

    def details(self) -> dict[str, str]:
        """Return the status and the lifecycle state."""
        action = reason_of(self.status.text).value
        return {
            self.status.subject: self.status.text,
            ACTION: action,
            'lifecycle': self.lifecycle,
        }

    # --- called by rclpy ------------------------------------------------------------------------

    def _on_target(self, kind: Any, data: bytes) -> None:
        if self.state is not None and self.active and not self.paused:
            self.follow_target(kind, data, self.state)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.paused = bool(request.data)
        self.pause()
        response.success = True
        response.message = 'paused' if self.paused else 'resumed: waiting for a command'
        return response

    def _on_timer(self) -> None:
        self.standstill.look()
        now = time.monotonic()
        elapsed = now - self._tick_time
        if elapsed < 0.5 * self.period:
            return  # after a stall, timers fire in a burst
        self._tick_time = now
        self.tick(now, elapsed)

    def _on_lifecycle(self) -> None:
        self.report_lifecycle()
        self.context.notify_change()
