# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states and odometry: the state that they make, and what is missing for one."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import isfinite

from nav_msgs.msg import Odometry
from rclpy.node import Node

from dynamics_ros.estimation.samples.backlog import MAX_ALLOWANCE, MIN_ALLOWANCE
from dynamics_ros.estimation.samples.doubts import JointStateCheck, unknown_joints
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.resolution import RefusedMessage
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import ODOMETRY, StateBuffer
from dynamics_ros.nodes.input.joint_state_input import ODOMETRY_QOS, OVERRIDABLE, JointStateInput
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.reporting.clocks import NodeTime
from dynamics_ros.nodes.reporting.meter import Meter
from dynamics_ros.nodes.reporting.rate_limits import RateLimit
from dynamics_ros.nodes.reporting.results import NoStateError, StaleStateError
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.requests.robot_request import Built
from dynamics_ros.wire.cdr import MalformedMessageError
from dynamics_ros.wire.odometry import OdometryReader

from .publishers import Publishers

WARNING_RATE = 0.2
"""Most warnings a second about messages that are refused; diagnostics counts them all."""


class RobotInputs:
    """One subscription to joint states and one to odometry, merged into states of the robot.

    Attributes:
        buffer: what is known of the robot in force; None without one.
        state: the latest complete state, or None.
        incoming: joint states as they come in.
        joint_states: rate and age of those of this robot.
        rate: of these in the last second [Hz].
        heard: whether any has come, of whatever robot.
        without_robot: how many came before there was a robot.
        doubts: what joint states say that is probably not meant.
        publishers: who publishes what the node subscribes to.
    """

    def __init__(
        self,
        node: Node,
        parameters: ParameterSet[RobotParameters],
        take: Callable[[RobotState, bool], None],
        base_told: Callable[[], None],
        tell: Callable[[], None],
    ) -> None:
        """Subscribe.

        Args:
            node: has the subscriptions.
            parameters: of the robot.
            take: takes a new state, and whether it is to be answered; else newer ones wait.
            base_told: called when odometry has been taken.
            tell: called whenever diagnostics may have something else to say.
        """
        self._node, self._parameters = node, parameters
        self._take, self._base_told, self._tell = take, base_told, tell
        self._root_link = ''
        self.buffer: StateBuffer | None = None
        self.state: RobotState | None = None
        self._owed = False
        self.joint_states = Meter(NodeTime(node))
        self.rate = 0.0
        self.heard = False
        self.without_robot = 0
        self.doubts = JointStateCheck(node.get_logger().warning)
        self.publishers = Publishers(node)
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
        """Go on with another robot, of which is known what was known of joints of the same name."""
        before = self.buffer
        timeout = self._parameters.values.joint_timeout
        buffer = StateBuffer(built.robot, built.request.locked_names, timeout)
        if before is not None:
            buffer.adopt(before)
        if before is None or built.robot.joint_names != before.robot.joint_names:
            self.doubts.forget()
        self._root_link = built.root_link
        # The poses of a base wait elsewhere: old joint states would be answered with one of them.
        self.incoming.backlog.maximum = MIN_ALLOWANCE if buffer.has_base else MAX_ALLOWANCE
        self.buffer, self.state = buffer, buffer.state()

    def _on_joint_state(self, message: JointValues, answer: bool) -> None:
        self.heard, buffer = True, self.buffer
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
        if state is None and answer and self._owed:
            # The newest of those that waited completes none, one before it did.
            state = self.state
        self._new(state, answer)

    def _refuse_bytes(self, error: MalformedMessageError) -> None:
        self.heard = True
        refusal = RefusedMessage('malformed bytes', str(error))
        if self.buffer is not None:
            self.buffer.refused[refusal.kind] += 1
        self._warn_refused(self.incoming.topic, refusal)

    def _new(self, state: RobotState | None, answer: bool = True) -> None:
        """Hand a new state on; None where a message has completed none."""
        if state is None:
            return
        first = self.state is None
        self.state, self._owed = state, not answer
        self._take(state, answer)
        if first and self.buffer is not None:
            self.doubts.look(self.buffer.robot, self.buffer, state)
            self._tell()

    def _on_odometry(self, data: bytes) -> None:
        values, buffer = self._odometry.read(data), self.buffer
        if buffer is None or not buffer.has_base:
            return
        root, prefix = self._root_link, self._parameters.values.frame_prefix
        try:
            buffer.update_base(values, (root, f'{prefix}{root}'))
        except RefusedMessage as refusal:
            self._warn_refused('odom', refusal)
            return
        self._base_told()
        if not buffer.joint_names:
            # The pose is all there is to know of a body without joints.
            self.joint_states.tick(time.monotonic())
            self._new(buffer.due_state())

    def _warn_refused(self, topic: str, refusal: RefusedMessage) -> None:
        # Not rclpy's throttle: it looks up the caller's source for every message it drops.
        if self._warnings.passes(time.monotonic(), WARNING_RATE):
            self._node.get_logger().warning(f'message on {topic} refused: {refusal}')
        self._tell()

    def look(self) -> None:
        """Look at what has come since the last time; once a second."""
        self.rate = self.joint_states.take_rate()
        if self.buffer is not None:
            self.doubts.look(self.buffer.robot, self.buffer, self.state)

    def latest(self) -> RobotState:
        """The latest state, for a service; a moving base without odometry is at identity.

        There is a robot.

        Raises:
            NoStateError, StaleStateError: there is none to rely on.
        """
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
        """Whether there is a robot that nothing could be told about."""
        buffer = self.buffer
        return buffer is not None and not (buffer.missing() or buffer.robot.nv)

    def waiting_for(self) -> str:
        """What is missing for a first state, and who could tell it, in words."""
        buffer, publishers = self.buffer, self.publishers
        if buffer is None:
            return (
                f'no robot_description has been received yet: {publishers.of("robot_description")}'
            )
        if buffer.unreachable:
            names = ', '.join(buffer.unreachable)
            return f'joints of several coordinates do not come by joint_states; lock them: {names}'
        if self.immobile:
            return 'the robot has no joint that moves, so that no joint state is about it'
        missing = buffer.missing()
        if not missing:
            return 'the next joint state'
        reasons = []
        if any(name != ODOMETRY for name in missing):
            told = 'messages so far lack their positions' if self.heard else 'no message so far'
            if unknown := unknown_joints(buffer.robot, buffer):
                told = f'{told}; {unknown}'
            reasons.append(f'{publishers.of(self.incoming.topic)}, {told}')
        if ODOMETRY in missing:
            reasons.append(publishers.of('odom'))
        return f'waiting for {", ".join(missing)}: {"; ".join(reasons)}'

    def stopped(self) -> str:
        """What has stopped coming, and who could tell it, in words."""
        joints = self.buffer is None or self.buffer.joint_names
        name = self.incoming.topic if joints else 'odom'
        return f'{name} have stopped coming: {self.publishers.of(name)}'
