# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of components that move a robot to targets, and the targets from other nodes."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from dynamics_ros.commanding.joint_states import StallDetector
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownFrameError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.lifecycle import CommandingComponent, ManagedNode, other_publishers
from dynamics_ros.nodes.load import Transforms
from dynamics_ros.nodes.outputs import Output
from dynamics_ros.nodes.reporting import TransformError, steady_timer
from dynamics_ros.parameters.robot import TargetParameters
from dynamics_ros.reasons import ACTION, FAULTS, KEY, Explanation, Reason, reason_of
from dynamics_ros.wire.cdr import Template, deserialized, packed_stamp
from dynamics_ros.wire.conversions import Array, diagnostic_status, numbers, pose_matrix

MAX_VALUE = 1e6
"""Largest number in a target [m/s, rad/s, m, N or Nm]; more is implausible and may overflow."""

MOTION = 'motion'
"""Place of the targets that move the robot, which replace each other."""

MAX_BYTES = 1 << 16
"""Maximum size of a target message [bytes]; its only text is the name of a frame."""


FramePose = Callable[..., Array]
"""Pose (4, 4) of a frame, as of ``Commander.frame_pose``."""


def check_size(argument: str, numbers: Array, largest: float = MAX_VALUE) -> None:
    """Check that no number of an array is implausibly large.

    Raises:
        InvalidArgumentError: the absolute value of a number is larger than ``largest``.
    """
    size = float(np.abs(numbers).max())
    if size > largest:
        raise InvalidArgumentError(argument, f'has {size:g}', f'numbers up to {largest:g}')


class TargetKind(NamedTuple):
    """Type of targets, from the topic ``~/NAME``.

    Attributes:
        name: name of the topic, also used in messages.
        message: type of the message.
        read: returns the values of a message with a name, given ``Commander.frame_pose`` and the
            configuration of the robot (nq); raises a DynamicsRosError if it is invalid or its frame
            is unknown.
        place: a target replaces the last one of its place.
    """

    name: str
    message: Any
    read: Callable[[str, Any, FramePose, Array], Array]
    place: str = MOTION


class Target(NamedTuple):
    """Target from a message.

    Attributes:
        kind: its type.
        values: the values that its type reads.
        frame_id: frame of the message; '' without header.
        sent: earliest time by the steady clock at which it may have been sent [s].
        waited: time from then to its reception [s], in which the process was held up.
    """

    kind: TargetKind
    values: Array
    frame_id: str
    sent: float
    waited: float

    def in_root_axes(self, frame_pose: FramePose, q: Array) -> Array:
        """Return a 6-vector in root axes, for the pose of its frame at q (nq).

        Raises:
            TransformError: tf no longer provides the frame.
        """
        R = frame_pose(self.frame_id, q)[:3, :3]
        return np.concatenate([R @ self.values[:3], R @ self.values[3:]])


def _vector(name: str, message: Any, frame_pose: FramePose, q: Array) -> Array:
    """Return a 6-vector, linear then angular, in its frame, which may move with the robot."""
    values = numbers(message, name)
    check_size(name, values)
    frame_pose(message.header.frame_id, q)
    return values


def _pose(name: str, message: Any, frame_pose: FramePose, q: Array) -> Array:
    """Return the pose (4, 4) in the root frame at reception, also for a moving frame."""
    pose = pose_matrix(message.pose, f'{name}.pose')
    check_size(f'{name}.pose.position', pose[:3, 3])
    pose = np.ascontiguousarray(frame_pose(message.header.frame_id, q) @ pose)
    check_size(f'{name}.pose in the root frame', pose[:3, 3])
    return pose


TWIST = TargetKind('twist_command', TwistStamped, _vector)
"""Velocity (6) of the tool [m/s, rad/s]."""

WRENCH = TargetKind('wrench_command', WrenchStamped, _vector, 'wrench')
"""Wrench (6) that the environment shall exert on the tool, at its origin [N, Nm]."""

POSE = TargetKind('pose_command', PoseStamped, _pose)
"""Pose (4, 4) of the tool in the root frame."""


class Targets:
    """Current targets, the last one received of each place, with checks of their age."""

    def __init__(self, frame_pose: FramePose, stalls: StallDetector) -> None:
        self._frame_pose, self._stalls = frame_pose, stalls
        self._current: dict[str, Target] = {}
        self._problems: dict[str, str] = {}

    def take(self, kind: TargetKind, data: bytes, q: Array) -> None:
        """Replace a target by that of a message, or by none if the message is invalid.

        Args:
            kind: type of the target.
            data: serialized message; rclpy would log an error for each malformed one.
            q: configuration of the robot (nq).
        """
        now, waited = time.monotonic(), self._stalls.waited()
        try:
            message = deserialized(data, kind.message, MAX_BYTES)
            values = kind.read(kind.name, message, self._frame_pose, q)
        except DynamicsRosError as error:
            self.refuse(kind, str(error))
            return
        frame_id = message.header.frame_id if hasattr(message, 'header') else ''
        self._current[kind.place] = Target(kind, values, frame_id, now - waited, waited)
        self._problems.pop(kind.place, None)

    def refuse(self, kind: TargetKind, why: str) -> None:
        """Remove the target of a type, which is refused."""
        self._current.pop(kind.place, None)
        text = f'{kind.name} refused: {why}'
        self._problems[kind.place] = Explanation(Reason.TARGET_REFUSED, text)

    def drop(self, problem: str, *places: str) -> None:
        """Remove the targets of places, by default those that move the robot, for a reason."""
        for place in places or (MOTION, WRENCH.place):
            self._current.pop(place, None)
            self._problems[place] = '' if place == WRENCH.place else problem

    @property
    def problem(self) -> Explanation:
        """Why targets were refused or ended; '' if there is no problem."""
        return Explanation.joined(self._problems.values())

    def of(self, place: str = MOTION) -> Target | None:
        """Return the target of a place, however old it is."""
        return self._current.get(place)

    def fresh(self, timeout: float, place: str = MOTION) -> Target | None:
        """Return a target, or None if it is older than ``timeout`` [s]; then it is removed."""
        target = self.of(place)
        if target is not None and self.age(place) > timeout:
            del self._current[place]
            if target.waited > timeout:
                held_up = f'while this process was held up, up to {target.waited:.1f} s ago'
                self.refuse(target.kind, f'it may have been sent {held_up}')
        return self.of(place)

    def age(self, place: str = MOTION) -> float:
        """Return the largest possible time since a target was sent [s]; inf without one."""
        target = self.of(place)
        return math.inf if target is None else time.monotonic() - target.sent


class ArrayCommands(Output):
    """Topic of commands, by default ~/joint_commands with one number for each joint."""

    def __init__(
        self, node: Node, kind: Any = Float64MultiArray, name: str = '~/joint_commands'
    ) -> None:
        super().__init__(node, kind, name)
        self._template: Template | None = None

    def filled(self, values: Array) -> Template:
        """Return the message of an array with values (n); the caller publishes it."""
        template = self._template
        if template is None or template.numbers[0].size != len(values):
            zeros = Float64MultiArray(data=[0.0] * len(values))
            template = self._template = Template(zeros, ('data',))
        template.numbers[0][:] = values
        return template

    def command(self, values: Array) -> None:
        """Publish an array (n)."""
        self.send(self.filled(values), packed_stamp(0))


# Only the newest command counts. Best effort matches publishers of either reliability.
COMMAND_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)


CHECK_PERIOD = 0.5
"""Period between two queries for other publishers while the node is active [s]."""


MAX_STEP = 0.1
"""Largest step of a simulated clock that counts as time that has passed [s]."""

STATUS_PERIOD = 0.1
"""Period of ~/status [s]; a change is published at once."""

OK_REASONS = frozenset(
    {
        *(Reason.WAITING_FOR_COMMAND, Reason.HOLDING, Reason.GUIDED, Reason.FOLLOWING),
        *(Reason.BRAKING, Reason.PAUSED, Reason.UNCONFIGURED, Reason.INACTIVE, Reason.FINALIZED),
    }
)
"""Codes of actions that indicate no problem."""

Settings = TypeVar('Settings', bound=TargetParameters)
Topic = TypeVar('Topic', bound=Output)
Prepared = TypeVar('Prepared', bound=Any)


class Commander(CommandingComponent[Settings, Topic], Generic[Settings, Topic, Prepared]):
    """Component that moves a robot to targets while its node is active and not paused.

    Attributes:
        targets: current targets.
        state: latest state of the robot; None before the first state of the current robot.
        paused: whether ~/pause has been called, so that targets are ignored.
        lived: time since the previous ``tick`` in which the robot may have reported [s]: none while
            this process or a simulated clock stands.
        subject: what ~/status describes, such as 'servo'.
    """

    subject: ClassVar[str]

    def __init__(self, node: ManagedNode, context: RobotContext, settings: type[Settings]) -> None:
        super().__init__(node, context, settings)
        self._transforms, self._stalls = Transforms(node), StallDetector()
        self.targets = Targets(self.frame_pose, self._stalls)
        self.state: RobotState | None = None
        self.paused = False
        self._prepared: Prepared | None = None
        self._status = Output(node, DiagnosticStatus, '~/status')
        self._reported = ''
        self._status_text, self._status_time = Explanation(Reason.OK, ''), 0.0
        self._next_check, self._other_publishers = 0.0, ''
        self._target_topics: list[str] = []
        self._tick_time, self._tick_stamp, self.lived = 0.0, 0, 0.0

    def subscribe_targets(self, kinds: Iterable[TargetKind]) -> None:
        """Create the subscriptions to targets of these types, the timer and the services."""
        for kind in kinds:
            self.subscribe(kind.message, f'~/{kind.name}', partial(self._on_target, kind))
        self.node.create_service(SetBool, '~/pause', self._on_pause)
        # A steady timer, so that a stopped simulated clock does not leave the robot moving.
        self._timer = steady_timer(self.node, self.period, self._on_timer)

    def subscribe(self, kind: Any, topic: str, callback: Callable[[bytes], None]) -> None:
        """Subscribe to serialized commands on a topic, which should have one publisher."""
        one = self.node.create_subscription(kind, topic, callback, COMMAND_QOS, raw=True)
        self._target_topics.append(one.topic_name)

    @property
    def active(self) -> bool:
        """Whether commands may be sent."""
        return self.node.active

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
            expected = {self.commands.topic: 0} | dict.fromkeys(self._target_topics, 1)
            names = {topic: other_publishers(self.node, topic) for topic in expected}
            self._other_publishers = '; '.join(
                f'another publisher on {topic}: {", ".join(names[topic])}'
                for topic, count in expected.items()
                if len(names[topic]) > count
            )
        return self._other_publishers

    @property
    def period(self) -> float:
        """Period of the timer [s]."""
        return 1.0 / self.values.rate

    def frame_pose(self, frame_id: str, q: Array, argument: str = 'header.frame_id') -> Array:
        """Return the pose (4, 4) of a frame of the robot or of tf in the root frame.

        Args:
            frame_id: the frame; '' is the root frame.
            q: configuration of the robot (nq).
            argument: name of the argument, for errors.

        Raises:
            DynamicsRosError: the frame is unknown to model and tf, or its transform is too old.
        """
        robot, root = self.context.required_robot(), self.context.root_frame_id()
        if frame_id in ('', robot.root_frame, root):
            return np.eye(4)
        frame = self.context.names.frame_of(frame_id)
        if frame in robot.frame_names:
            return robot.forward_kinematics(q, frame)
        try:
            return self._transforms.pose(root, frame_id, self.values.transform_timeout)
        except TransformError as error:
            unknown = UnknownFrameError(argument, frame_id, robot.frame_names)
            raise TransformError(f'{unknown}; {error}') from None

    # --- methods of subclasses ------------------------------------------------------------------

    @abstractmethod
    def follow_target(self, kind: TargetKind, data: bytes, state: RobotState) -> None:
        """Follow a new target, a serialized message of a type, from the current state."""

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
    def reason_not_to_send(self) -> str:
        """Return why no commands are sent; '' if they may be."""

    def idle(self) -> Explanation:
        """Return why the robot is not commanded."""
        if not self.active:
            return self.node.inactive()
        why = self.problem or ('' if self.state is None else self.unavailable_reason)
        why = why or self.context.inputs.waiting_for()
        return Explanation(reason_of(why), f'waiting: {why}')

    def with_limits(self, text: Explanation) -> tuple[Explanation, bool]:
        """Return an action with the limits since the last status, and whether it is a problem."""
        return text, False

    def lifecycle_changed(self) -> None:
        """Report a change of the lifecycle state."""
        self.unavailable_reason = self.reason_not_to_send()
        if not self.active:
            self.publish_status(self.idle())
        self.context.begin_epoch()
        self.context.notify_change()

    # --- outputs and diagnostics ----------------------------------------------------------------

    def details(self) -> dict[str, str]:
        """Return the status and the lifecycle state."""
        text = self._status_text
        return {self.subject: text, ACTION: text.reason.value, 'lifecycle': self.node.lifecycle}

    def publish_status(self, action: Explanation, has_problem: bool = False) -> None:
        """Publish ~/status, if the action is new or ``STATUS_PERIOD`` has passed.

        Args:
            action: what the node does, with its code, without limits, which change in each step.
            has_problem: whether there is a problem beside an action that indicates none; the level
                is WARN then, or ERROR for a fault of the robot's state and after giving up.
        """
        is_new, self._reported, now = action != self._reported, action, time.monotonic()
        if not is_new and now - self._status_time < STATUS_PERIOD:
            return
        (text, limited), others = self.with_limits(action), self.other_publishers
        fine = text.reason in OK_REASONS and not (has_problem or limited or others)
        text = Explanation.joined((text, others))
        self._status_text, self._status_time = text, now
        level = DiagnosticStatus.OK if fine else DiagnosticStatus.WARN
        if text.reason in FAULTS or self.node.given_up:
            level = DiagnosticStatus.ERROR
        name = f'{self.node.get_name()}: {self.subject}'
        robot = self._prepared.robot.name if self._prepared is not None else ''
        values = {KEY: text.reason.value, 'lifecycle': self.node.lifecycle}
        self._status.publish(diagnostic_status(level, name, text, robot, values))

    # --- called by rclpy ------------------------------------------------------------------------

    def _on_target(self, kind: TargetKind, data: bytes) -> None:
        if self.state is not None and self.active and not self.paused:
            self.follow_target(kind, data, self.state)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.paused = bool(request.data)
        self.pause()
        response.success = True
        response.message = 'paused' if self.paused else 'resumed: waiting for a command'
        return response

    def _on_timer(self) -> None:
        self._stalls.check()
        now = time.monotonic()
        elapsed = now - self._tick_time
        if elapsed < 0.5 * self.period:
            return  # after a stall, timers fire in a burst
        self._tick_time, self.lived = now, min(elapsed, 2.0 * self.period)
        clock: Any = self.node.get_clock()
        if clock.ros_time_is_active:
            before, self._tick_stamp = self._tick_stamp, clock.now().nanoseconds
            self.lived = min(max(1e-9 * (self._tick_stamp - before), 0.0), MAX_STEP)
        self.tick(now, elapsed)
