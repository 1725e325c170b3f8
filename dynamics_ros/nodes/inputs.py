# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states and odometry: subscriptions, backlog, merging into states, and what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from math import inf, isfinite
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from dynamics_ros.errors import NoStateError, StaleStateError
from dynamics_ros.estimation.samples.doubts import InputCheck, unknown_joints
from dynamics_ros.estimation.samples.reports import RefusedMessage
from dynamics_ros.estimation.samples.robot_state import RobotState, describe_not_finite
from dynamics_ros.estimation.samples.state_buffer import NOT_FINITE, ODOMETRY, StateBuffer
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.nodes.rclpy_private import lost_messages, take_waiting
from dynamics_ros.nodes.reporting import CauseLog, age
from dynamics_ros.nodes.robot_request import Built
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Explanation, Names, Reason
from dynamics_ros.wire.cdr import JointStateReader, MalformedMessageError, OdometryReader

# Best effort, as for sensor data. The depth is one second at 1 kHz, more than the 512 messages that
# Fast DDS keeps in shared memory for a suspended process, so the queue loses nothing of these.
JOINT_STATE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT
)
ODOMETRY_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=100, reliability=ReliabilityPolicy.BEST_EFFORT
)
OVERRIDABLE = QoSOverridingOptions(
    (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)
)

BACK_TO_BACK_GAP = 40e-6
"""Maximum time from the end of one callback to the next for a message that was waiting [s]."""

MIN_ALLOWANCE = 0.01
"""Time that is always granted to messages that waited, and between two checks for them [s]."""

MAX_ALLOWANCE = 0.2
"""Maximum time for messages that waited [s]: enough for the states of half a second at 1 kHz."""

MAX_MERGED = 100
"""Maximum number of waiting messages that are merged without outputs before the newest; older ones
are dropped, because the newest becomes older while they are merged."""


class JointStateInput:
    """Subscription that passes joint states on in order, and says which need no outputs.

    Messages that waited get outputs for ``MIN_ALLOWANCE`` or, if it is longer, an allowance,
    which they consume, and which time without a backlog restores. After a pause of the machine all
    of them therefore get outputs, and a node that is too slow soon computes those of the newest.

    Attributes:
        superseded: number of messages that were merged or dropped without outputs, because newer
            ones were waiting.
        max_allowance: maximum allowance [s].
    """

    def __init__(
        self, node: Node, kind: Any, topic: str, pass_on: Callable[[bytes, bool], None]
    ) -> None:
        """Subscribe to a topic of joint states.

        Args:
            node: the node.
            kind: type of the messages.
            topic: name of the topic.
            pass_on: called with a serialized message, and whether to publish outputs for it.
        """
        self.superseded, self.max_allowance = 0, MAX_ALLOWANCE
        self._allowance = self._checked = self._last_end = 0.0
        self._pass_on = pass_on
        self._subscription = node.create_subscription(
            kind,
            topic,
            self._on_message,
            JOINT_STATE_QOS,
            qos_overriding_options=OVERRIDABLE,
            raw=True,
        )
        # Takes the waiting messages out of the queue; the executor tolerates that they are gone.
        max_count = max(JOINT_STATE_QOS.depth, self._subscription.qos_profile.depth)
        self._waiting = partial(take_waiting, self._subscription, max_count)

    def _on_message(self, message: bytes) -> None:
        start = time.monotonic()
        was_waiting = start - self._last_end < BACK_TO_BACK_GAP
        checks = was_waiting or start - self._checked > MIN_ALLOWANCE
        if checks and (queued := self._waiting()):
            self._pass_on_queue([message, *queued], start)
        else:
            if checks and not was_waiting:
                restored = self._allowance + start - self._checked
                self._allowance, self._checked = min(restored, self.max_allowance), start
            self._pass_on(message, True)
        self._last_end = time.monotonic()

    def _pass_on_queue(self, messages: list[bytes], start: float) -> None:
        """Pass on messages that have waited; older ones get outputs until a deadline."""
        *older, newest = messages
        deadline = start + max(self._allowance, MIN_ALLOWANCE)
        for left, message in zip(range(len(older), 0, -1), older, strict=True):
            answer = time.monotonic() < deadline
            self.superseded += not answer
            if answer or left <= MAX_MERGED:
                self._pass_on(message, answer)
        now = self._checked = time.monotonic()
        self._allowance = max(self._allowance - (now - start), 0.0)
        self._pass_on(newest, True)

    def process_waiting(self) -> None:
        """Pass on all waiting messages; for callers that cannot return to the executor first."""
        if waiting := self._waiting():
            self._pass_on_queue(waiting, time.monotonic())

    def lost(self) -> int | None:
        """Return how many messages did not reach the queue; None if the middleware counts none."""
        return lost_messages(self._subscription)


CHECK_PERIOD = 0.2
"""Period between two queries of the ROS graph for a topic [s]."""


def waiting_for(
    buffer: StateBuffer, topic: str, received_any: bool, describe: Callable[[str], Explanation]
) -> Explanation:
    """Return a message that says what is missing for a first state and who publishes it.

    Args:
        buffer: latest data of the robot's joints.
        topic: topic of the joint states.
        received_any: whether any joint state has arrived, for whatever robot.
        describe: returns a description of the publishers of a topic.
    """
    if buffer.unreachable:
        names = ', '.join(buffer.unreachable)
        return Explanation(
            Reason.JOINTS_UNSUPPORTED,
            f'joints of several coordinates do not come by joint_states; lock them: {names}',
        )
    missing = buffer.missing()
    if not (buffer.robot.nv or missing):
        text = 'the robot has no joint that moves, so that no joint state is about it'
        return Explanation(Reason.NO_MOVING_JOINT, text)
    if not missing:
        return Explanation(Reason.WAITING_FOR_STATES, 'the next joint state')
    problems: list[str] = []
    joints = [name for name in missing if name != ODOMETRY]
    if joints:
        source = describe(topic)
        reason, why = _why_missing(buffer, joints, received_any)
        if source.reason in (Reason.NO_PUBLISHER, Reason.INCOMPATIBLE_PUBLISHER):
            reason = source.reason
        problems.append(Explanation(reason, f'{source}, {why}'))
    if ODOMETRY in missing:
        problems.append(describe('odom'))
    text = Explanation.joined(problems)
    return Explanation(text.reason, f'waiting for {", ".join(missing)}: {text}')


def _why_missing(buffer: StateBuffer, joints: list[str], received_any: bool) -> tuple[Reason, str]:
    """Return why messages gave no positions of some joints: missing, refused or not finite."""
    if not received_any:
        return Reason.WAITING_FOR_STATES, 'no message so far'
    joints_of: dict[str, list[str]] = {}
    for name in joints:
        joints_of.setdefault(buffer.unusable.get(name, ''), []).append(name)
    reason, parts = Reason.JOINTS_MISSING, []
    for cause, names in joints_of.items():
        listed = ', '.join(names)
        if not cause:
            which = 'their positions' if names == joints else f'the positions of {listed}'
            # Whose joint states malformed bytes were cannot be read.
            unreadable = ''
            if buffer.refused[MALFORMED]:
                unreadable = f', or were {MALFORMED}'
                if reason is Reason.JOINTS_MISSING:
                    reason = Reason.MESSAGES_REFUSED
            parts.append(f'messages so far lack {which}{unreadable}')
            if buffer.passive is not None:
                parts.append('the loops leave none or several within the limits')
        elif cause == NOT_FINITE:
            reason = Reason.POSITION_NOT_FINITE
            parts.append(f'position of {listed} not finite')
        else:
            if reason is Reason.JOINTS_MISSING:
                reason = Reason.MESSAGES_REFUSED
            parts.append(f'messages with {listed} were refused: {cause}')
    if unknown := unknown_joints(buffer.robot, buffer):
        reason = Reason.UNKNOWN_JOINTS if reason is Reason.JOINTS_MISSING else reason
        parts.append(unknown)
    return reason, '; '.join(parts)


MALFORMED = 'malformed bytes'
"""Cause of refused messages that cannot be read, in ``StateBuffer.refused``."""


class RobotInputs:
    """Subscriptions to joint states and odometry, which are merged into robot states.

    Attributes:
        buffer: latest data of each joint and of the base; None without a robot.
        state: latest complete state, or None.
        topic: topic of the joint states before namespaces and remapping.
        incoming: subscription to it.
        rate: mean rate of joint states of this robot between the last two calls of
            ``update_statistics`` [Hz].
        received_any: whether any joint state has arrived, for whatever robot.
        doubts: warnings about implausible inputs, such as degrees instead of radians.
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
        self.rate, self._count = 0.0, 0
        self._last, self._counted_since = -inf, time.monotonic()
        self._clock: Any = node.get_clock()
        self._simulated, self._stamp = self._clock.ros_time_is_active, 0
        self._dropped = 0  # number of messages that were too old before the latest state
        self.received_any, self._heard = False, 0.0
        self._unreadable = False  # whether the last message was malformed
        self._described: dict[str, tuple[float, Explanation]] = {}
        self.doubts = InputCheck(node.get_logger().warning)
        self._problems = CauseLog(node)
        self.topic = parameters.values.joint_state_topic
        reader = JointStateReader(self.topic)
        self._read = reader.read
        self.incoming = JointStateInput(node, reader.kind, self.topic, self._on_joint_state)
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
        buffer = StateBuffer(built.robot, built.request.parameters.locked_joints.names, timeout)
        if before is not None:
            buffer.adopt(before)
        if before is None or built.robot.joint_names != before.robot.joint_names:
            self.doubts.forget()
        self._root_link = built.robot.model.frames[0].name
        # Poses of the base wait in another queue. With a large backlog, many old joint states would
        # all be combined with the same pose.
        self.incoming.max_allowance = MIN_ALLOWANCE if buffer.has_base else MAX_ALLOWANCE
        self.buffer, self.state = buffer, buffer.state()

    def _on_joint_state(self, message: bytes, answer: bool) -> None:
        self.received_any, buffer, self._heard = True, self.buffer, time.monotonic()
        if buffer is None:
            return
        try:
            values = self._read(message)
            self._unreadable = False
            if not buffer.update(values):
                return
        except MalformedMessageError as error:
            self._unreadable = True
            malformed = RefusedMessage(MALFORMED, Names((), str(error)))
            buffer.refused[malformed.kind] += 1
            self._warn_refused(self.topic, malformed)
            return
        except RefusedMessage as refusal:
            self._warn_refused(self.topic, refusal)
            return
        self._tick()
        if buffer.unusable and (not_finite := describe_not_finite(buffer.not_finite)):
            self._problems.add(Explanation(not_finite.reason, not_finite, f' on {self.topic}'))
            if buffer.fault:
                self._on_change()
        state = buffer.due_state()
        if state is None and answer and self._outputs_pending:
            # The newest of the waiting messages does not complete a state, but an earlier one did.
            state = self.state
        self._pass_on(state, answer)

    def _tick(self) -> None:
        """Count a joint state of this robot."""
        self._count, self._last = self._count + 1, time.monotonic()
        if self._simulated:
            self._stamp = self._clock.now().nanoseconds

    def _pass_on(self, state: RobotState | None, answer: bool = True) -> None:
        """Pass a new state on; do nothing for None, when a message has not completed a state."""
        if state is None:
            return
        first = self.state is None
        self.state, self._outputs_pending = state, not answer
        self._on_state(state, answer)
        if self.buffer is not None:
            self._dropped = self.buffer.timeline.dropped
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
        if buffer.base_frame_id != frame_before:
            self._on_frame()
        if not buffer.joint_names:
            # For a body without joints, the pose of the base is the complete state.
            self._tick()
            self._pass_on(buffer.due_state())

    def _warn_refused(self, topic: str, refusal: RefusedMessage) -> None:
        text, begin = refusal.explanation, f'message on {topic} refused: '
        self._problems.add(Explanation(text.reason, begin, text))
        self._on_change()

    def update_statistics(self) -> None:
        """Update ``rate`` and check the latest joint states; called once a second."""
        now, self._simulated = time.monotonic(), self._clock.ros_time_is_active
        self._problems.update()
        self.rate = self._count / max(now - self._counted_since, 1e-9)
        self._count, self._counted_since = 0, now
        if self.buffer is not None:
            self.doubts.update(self.buffer.robot, self.buffer, self.state)

    def age(self) -> float:
        """Return the time since the last joint state of this robot [s]; infinite before it."""
        return time.monotonic() - self._last

    def latest(self) -> RobotState:
        """Return the latest state for a service; a base without odometry is at the identity.

        Raises:
            NoStateError: there is no robot, or no complete state has arrived yet.
            StaleStateError: the latest state is older than ``state_timeout``.
        """
        state = None if self.buffer is None else self.buffer.state(base_required=False)
        if state is None:
            raise NoStateError(self.waiting_for())
        limit, old = self._parameters.values.state_timeout, self.age()
        if self._simulated:
            old = age(self._clock.now().nanoseconds, self._stamp) if isfinite(old) else inf
        if limit and old > limit and not self.immobile:
            text = f'{old:.1f} s old' if isfinite(old) else 'of before the clock was reset'
            raise StaleStateError(f'the latest joint state is {text}; state_timeout is {limit:g} s')
        return state

    @property
    def complete(self) -> bool:
        """Whether requests can get a state; a base without odometry is at the identity."""
        return self.buffer is not None and self.buffer.state(base_required=False) is not None

    @property
    def immobile(self) -> bool:
        """Whether the robot has no moving joint and no moving base, so it needs no joint state."""
        return self.buffer is not None and not (self.buffer.robot.nv or self.buffer.missing())

    def waiting_for(self) -> Explanation:
        """Return a message that says what is missing for a first state and who publishes it."""
        if self.buffer is None:
            source = self.describe_publishers('robot_description')
            text = f'no robot_description has been received yet: {source}'
            return Explanation(Reason.WAITING_FOR_DESCRIPTION, text)
        return waiting_for(self.buffer, self.topic, self.received_any, self.describe_publishers)

    def describe_publishers(self, topic: str) -> Explanation:
        """Return how many publishers a topic has, with another code if none can be received.

        The graph is queried once per ``CHECK_PERIOD``, however many messages are refused.

        Args:
            topic: name as in the subscription; the text has the remapped full name.
        """
        node, now = self._node, time.monotonic()
        if topic in self._described and now < self._described[topic][0]:
            return self._described[topic][1]
        name, found = node.resolve_topic_name(topic), node.get_publishers_info_by_topic(topic)
        types, own = {info.topic_type for info in found}, (node.get_namespace(), node.get_name())
        subscriptions = node.get_subscriptions_info_by_topic(topic)
        ours = {x.topic_type for x in subscriptions if (x.node_namespace, x.node_name) == own}
        reason, number = Reason.WAITING_FOR_STATES, f'{len(found)} publisher'
        if not found:
            reason, number = Reason.NO_PUBLISHER, 'no publisher'
        elif len(found) > 1:
            number += 's'
        if found and ours and not types & ours:
            reason = Reason.INCOMPATIBLE_PUBLISHER
            number += f' of {", ".join(sorted(types))}, not {", ".join(sorted(ours))}'
        text = Explanation(reason, f'{name} has {number}')
        self._described[topic] = now + CHECK_PERIOD, text
        return text

    def describe_stopped(self) -> Explanation:
        """Return a message that names the input that has stopped, with its publishers.

        Or why the messages that still come give no states.
        """
        buffer = self.buffer
        joints = buffer is None or buffer.joint_names
        arrives = time.monotonic() - self._heard < CHECK_PERIOD
        if buffer is not None and buffer.unusable and arrives:
            reason, text = _why_missing(buffer, list(buffer.unusable), True)
            return Explanation(reason, f'{self.topic}: {text}')
        if self._unreadable and arrives:
            return Explanation(Reason.MESSAGES_REFUSED, f'{self.topic}: {MALFORMED}')
        if buffer is not None and buffer.timeline.dropped > self._dropped:
            text = f'stamps on {self.topic} are older than those before'
            return Explanation(Reason.STAMPS_OLD, text)
        name = self.topic if joints else 'odom'
        text = f'{name} have stopped coming: {self.describe_publishers(name)}'
        return Explanation(Reason.STATES_STOPPED, text)
