# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node is that leads a robot to targets: managed, with ~/pause, and alive without input."""

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
from dynamics_ros.nodes.app.managed import ManagedNode
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.output.status import Status
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.reporting.clocks import steady_timer
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.transforms import Transforms

from .rivals import Rivals
from .targets import Frames, Target

# The newest command alone counts, and comes from whatever a joystick driver is.
COMMAND_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)


class CommanderSettings(Protocol):
    """Parameters that such a node has in any case."""

    @property
    def autostart(self) -> bool:
        """Whether it is active at start."""

    @property
    def rate(self) -> float:
        """Of its timer [Hz]."""

    @property
    def transform_timeout(self) -> float:
        """Age of transforms that is accepted [s]."""


class CommandTopic(Protocol):
    """Where commands go."""

    output: Output

    def close(self) -> None:
        """Take the topic away."""


Settings = TypeVar('Settings', bound=CommanderSettings)
Sent = TypeVar('Sent', bound=CommandTopic)
State = TypeVar('State', bound=Status)


class Commander(Component, Generic[Settings, Sent, State]):
    """Leads a robot to targets, while its node is active and not paused.

    Attributes:
        context: whose robot it is.
        parameters: of the node.
        frames: that targets are given in.
        standstill: whether the process was held up.
        state: where the robot is; None before the first state of the robot in force.
        paused: whether ~/pause has it follow nothing.
        commands: where they go; None while the node is not configured.
        status: the topic ~/status.
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
        self.commands: Sent | None = None
        self.status = status
        self._rivals = Rivals(node)
        self._target_topics: list[str] = []
        self._managed = node
        self._tick_time = 0.0

    def listen(self, kinds: Iterable[type[Target]]) -> None:
        """Take targets of these kinds, requests and time, from now on."""
        node = self._managed
        for kind in kinds:
            taken = partial(self._on_target, kind)
            topic = f'~/{kind.name}'
            heard = node.create_subscription(kind.message, topic, taken, COMMAND_QOS, raw=True)
            self._target_topics.append(heard.topic_name)
        node.create_service(SetBool, '~/pause', self._on_pause)
        # Steady: a simulated clock that stands still must not leave the robot moving.
        self._timer = steady_timer(node, self.period, self._on_timer)
        node.manage(self, self._on_lifecycle)

    def start(self) -> None:
        """Be active at once, if that is asked for."""
        self._managed.begin(self.parameters.values.autostart)

    def end(self) -> None:
        """Have the robot at rest before the process ends."""
        self._managed.end()

    @property
    def active(self) -> bool:
        """Whether commands may be sent."""
        return self._managed.active

    @property
    def rivals(self) -> str:
        """Who else commands or leads the robot that this node moves; '' for nobody."""
        if self.commands is None or not self.active:
            return ''
        return self._rivals.told(self.commands.output.topic, self._target_topics)

    @property
    def lifecycle(self) -> str:
        """State of the managed node."""
        return self._managed.lifecycle

    @property
    def period(self) -> float:
        """Of the timer [s]."""
        return 1.0 / self.parameters.values.rate

    def inactive(self) -> str:
        """That the node is not active, and why; '' where it is."""
        if self.active:
            return ''
        refusal = self._managed.refusal
        return f'{self.lifecycle}: {refusal}' if refusal else self.lifecycle

    # --- what one of them does ------------------------------------------------------------------

    @abstractmethod
    def take(self, kind: Any, data: bytes, state: RobotState) -> None:
        """Follow a target of a kind, given in bytes, from where the robot is."""

    @abstractmethod
    def pause(self) -> None:
        """Come to rest: ~/pause has been called."""

    @abstractmethod
    def tick(self, now: float, elapsed: float) -> None:
        """Do what is due.

        Args:
            now: by the steady clock [s].
            elapsed: since the last time [s].
        """

    @abstractmethod
    def tell_lifecycle(self) -> None:
        """Say that the state of the managed node is another one."""

    @abstractmethod
    def configure(self) -> None:
        """Have the topic of the commands.

        Raises:
            DynamicsRosError: why that cannot be.
        """

    @abstractmethod
    def activate(self) -> None:
        """Command from now on."""

    @abstractmethod
    def deactivate(self) -> None:
        """Command nothing more; what moves has been sent its whole way to rest on return."""

    def cleanup(self) -> None:
        """Take the topic of the commands away."""
        if self.commands is not None:
            self.commands.close()
            self.commands = None

    # --- what each of them tells ----------------------------------------------------------------

    def outputs(self) -> list[Output]:
        """Commands and status."""
        return [*([self.commands.output] if self.commands else []), self.status.output]

    def details(self) -> dict[str, str]:
        """What it is doing."""
        return {self.status.subject: self.status.said, 'lifecycle': self.lifecycle}

    # --- called by rclpy ------------------------------------------------------------------------

    def _on_target(self, kind: Any, data: bytes) -> None:
        if self.state is not None and self.active and not self.paused:
            self.take(kind, data, self.state)

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
            return  # timers that were held up fire in a burst
        self._tick_time = now
        self.tick(now, elapsed)

    def _on_lifecycle(self) -> None:
        self.tell_lifecycle()
        self.context.tell_change()
