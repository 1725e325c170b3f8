# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Input of joint states and odometry: merges messages into robot states and reports what lacks."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import isfinite

from nav_msgs.msg import Odometry
from rclpy.node import Node

from dynamics_ros.errors import NoStateError, StaleStateError
from dynamics_ros.estimation.samples.backlog import MAX_ALLOWANCE, MIN_ALLOWANCE
from dynamics_ros.estimation.samples.doubts import InputCheck
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.resolution import RefusedMessage
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.nodes.input.joint_state_input import ODOMETRY_QOS, OVERRIDABLE, JointStateInput
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.reporting.clocks import NodeTime
from dynamics_ros.nodes.reporting.meter import Meter
from dynamics_ros.nodes.reporting.rate_limits import RateLimit
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.requests.robot_request import Built
from dynamics_ros.requests.waiting import is_immobile, waiting_for
from dynamics_ros.wire.cdr import MalformedMessageError
from dynamics_ros.wire.odometry import OdometryReader

from .publishers import Publishers

WARNING_RATE = 0.2
"""Maximum rate of warnings about refused messages [Hz]; diagnostics counts all of them."""


class RobotInputs:
    """Subscriptions to joint states and odometry, which are merged into robot states.

    Attributes:
        buffer: latest data of each joint and of the base; None without a robot.
        state: latest complete state, or None.
        incoming: subscription to joint states.
        joint_states: rate and age of the joint states of this robot.
        rate: mean rate of these between the last two calls of ``update_statistics`` [Hz].
        received_any: whether any joint state has arrived, for whatever robot.
        without_robot: number of joint states that arrived before there was a robot.
        doubts: warnings about implausible inputs, such as degrees instead of radians.
        publishers: publishers of the topics that the node subscribes to, for diagnostics.
    """

    def __init__(
        self,
        node: Node,
        parameters: ParameterSet[RobotParameters],
        on_state: Callable[[RobotState, bool], None],
        on_frame: Callable[[], None],
        on_change: Callable[[], None],
    ) -> None:
        """Subscribe to joint states and odometry.

        Args:
            node: node of the subscriptions.
            parameters: parameters of the robot.
            on_state: called with each new state, and whether to publish outputs for it; False if
                newer messages are waiting.
            on_frame: called when the frame of the odometry has changed.
            on_change: called whenever the diagnostics may have changed.
        """
        self._node, self._parameters = node, parameters
        self._on_state, self._on_frame, self._on_change = on_state, on_frame, on_change
        self._root_link = ''
        self.buffer: StateBuffer | None = None
        self.state: RobotState | None = None
        self._outputs_pending = False
        self.joint_states = Meter(NodeTime(node))
        self.rate = 0.0
        self.received_any = False
        self.without_robot = 0
        self.publishers = Publishers(node)
        self.doubts = InputCheck(
            node.get_logger().warning,
            lambda: self.publishers.describe(self.incoming.topic),
        )
        self._warnings = RateLimit()
        self.incoming = JointStateInput(
            node, self._on_joint_state, self._refuse_bytes, parameters.values.joint_state_topic
        )
        self._odometry = OdometryReader()
        node.create_subscription(
            Odometry,
            'odom',
            self._on_odometry,
            ODOMETRY_QOS,
            qos_overriding_options=OVERRIDABLE,
            raw=True,
        )

    def adopt(self, built: Built) -> None:
        """Switch to another robot, and keep the data of joints with the same name."""
        before = self.buffer
        timeout = self._parameters.values.joint_timeout
        buffer = StateBuffer(built.robot, built.request.locked_names, timeout)
        if before is not None:
            buffer.adopt(before)
        if before is None or built.robot.joint_names != before.robot.joint_names:
            self.doubts.forget()
        self._root_link = built.root_link
        # Poses of the base wait in another queue. With a large backlog, many old joint states would
        # all be combined with the same pose.
        self.incoming.backlog.maximum = MIN_ALLOWANCE if buffer.has_base else MAX_ALLOWANCE
        self.buffer, self.state = buffer, buffer.state()

    def _on_joint_state(self, message: JointValues, answer: bool) -> None:
        self.received_any, buffer = True, self.buffer
        if buffer is None:
            self.without_robot += 1
            return
        try:
            if not buffer.update(message):
                return
        except RefusedMessage as refusal:
            self._warn_refused(self.incoming.topic, refusal)
            return
        self.joint_states.tick(time.monotonic())
        state = buffer.due_state()
        if state is None and answer and self._outputs_pending:
            # The newest of the waiting messages does not complete a state, but an earlier one did.
            state = self.state
        self._pass_on(state, answer)

    def _refuse_bytes(self, error: MalformedMessageError) -> None:
        self.received_any = True
        refusal = RefusedMessage('malformed bytes', str(error))
        if self.buffer is not None:
            self.buffer.refused[refusal.kind] += 1
        self._warn_refused(self.incoming.topic, refusal)

    def _pass_on(self, state: RobotState | None, answer: bool = True) -> None:
        """Pass a new state on; do nothing for None, when a message has not completed a state."""
        if state is None:
            return
        self.doubts.jumps.record(state)
        first = self.state is None
        self.state, self._outputs_pending = state, not answer
        self._on_state(state, answer)
        if first and self.buffer is not None:
            self.doubts.update(self.buffer.robot, self.buffer, state)
            self._on_change()

    def _on_odometry(self, data: bytes) -> None:
        values, buffer = self._odometry.read(data), self.buffer
        if buffer is None or not buffer.has_base:
            return
        root, prefix = self._root_link, self._parameters.values.frame_prefix
        frame_before = buffer.base_frame_id
        try:
            buffer.update_base(values, (root, f'{prefix}{root}'))
        except RefusedMessage as refusal:
            self._warn_refused('odom', refusal)
            return
        sample = buffer.timeline.base.newest()
        if sample is not None:
            self.doubts.twists.record(sample)
        if buffer.base_frame_id != frame_before:
            self._on_frame()
        if not buffer.joint_names:
            # For a body without joints, the pose of the base is the complete state.
            self.joint_states.tick(time.monotonic())
            self._pass_on(buffer.due_state())

    def _warn_refused(self, topic: str, refusal: RefusedMessage) -> None:
        # The throttle of rclpy looks up the caller's source for every message that it drops.
        if self._warnings.passes(time.monotonic(), WARNING_RATE):
            self._node.get_logger().warning(f'message on {topic} refused: {refusal}')
        self._on_change()

    def update_statistics(self) -> None:
        """Update ``rate`` and check the latest joint states; called once a second."""
        self.rate = self.joint_states.take_rate()
        if self.buffer is not None:
            self.doubts.update(self.buffer.robot, self.buffer, self.state)

    def latest(self) -> RobotState:
        """Return the latest state, as ``RobotContext.latest_state`` does; requires a robot."""
        assert self.buffer is not None
        state = self.buffer.state(base_required=False)
        if state is None:
            raise NoStateError(self.waiting_for())
        age = 0.0 if self.immobile else self.joint_states.simulated_age()
        limit = self._parameters.values.state_timeout
        if limit and age > limit:
            old = f'{age:.1f} s old' if isfinite(age) else 'of before the clock was reset'
            raise StaleStateError(f'the latest joint state is {old}; state_timeout is {limit:g} s')
        return state

    @property
    def immobile(self) -> bool:
        """Whether the robot has no moving joint and no moving base, so it needs no joint state."""
        return self.buffer is not None and is_immobile(self.buffer)

    def waiting_for(self) -> str:
        """Return a message that says what is missing for a first state and who publishes it."""
        buffer, publishers = self.buffer, self.publishers
        if buffer is None:
            source = publishers.describe('robot_description')
            return f'no robot_description has been received yet: {source}'
        return waiting_for(buffer, self.incoming.topic, self.received_any, publishers.describe)

    def describe_stopped(self) -> str:
        """Return a message that names the input that has stopped, with its publishers."""
        joints = self.buffer is None or self.buffer.joint_names
        name = self.incoming.topic if joints else 'odom'
        return f'{name} have stopped coming: {self.publishers.describe(name)}'
