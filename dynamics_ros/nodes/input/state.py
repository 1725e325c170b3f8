"""The latest state of the robot, merged from joint states and odometry by name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError, shortened
from dynamics_ros.estimation.samples.history import NEVER, Stamps
from dynamics_ros.estimation.samples.moving_base import BaseSample, MovingBase
from dynamics_ros.estimation.samples.timeline import Timeline
from dynamics_ros.kernels import Step, ordered
from dynamics_ros.nodes.wire.cdr import STAMP
from dynamics_ros.nodes.wire.conversions import (
    NANOSECONDS,
    Array,
    JointValues,
    floating_base_array,
    nanoseconds,
    planar_base_array,
    quaternion_is_zero,
    twist_array,
)
from dynamics_ros.robot import Robot

from .resolution import RefusedMessage, Resolution

ODOMETRY = 'odom'

LONGEST_FRAME_ID = 256
"""Characters of the frame that odometry may be given in."""

QUANTITIES = ('position', 'velocity', 'effort')

MAX_UNKNOWN_NAMES, LONGEST_NAME = 20, 100

MOST_RESOLUTIONS = 16
"""Lists of names that are remembered: one for each publisher on the topic."""


class RobotState(NamedTuple):
    """What is known of the robot at one moment.

    Attributes:
        seconds, nanoseconds: of the newest moment that all publishers in step have told about:
            with one publisher, the stamp of its message.
        q, v, effort: at that moment, in the order of the model; what is missing in v or effort is
            zero.
        velocity_missing, effort_missing: joints without a velocity or effort, or an old one
            beside a new position.
        stale: joints, or 'odom', last heard of too long before the stamp.
        stale_mask: (nv) the same as a mask.
        ages: (nv) how much older than the stamp what is known of each joint is [ns]; zero where
            it was told later as well; None when all is of one message.

    Nobody writes into its arrays, so that they may be kept.
    """

    seconds: int
    nanoseconds: int
    q: Array
    v: Array
    effort: Array
    velocity_missing: tuple[str, ...]
    effort_missing: tuple[str, ...]
    stale: tuple[str, ...]
    stale_mask: NDArray[np.bool_]
    ages: Stamps | None = None

    @property
    def stamp(self) -> Time:
        """The stamp as a message."""
        return Time(sec=self.seconds, nanosec=self.nanoseconds)

    @property
    def time(self) -> int:
        """The stamp [ns]."""
        return self.seconds * NANOSECONDS + self.nanoseconds

    @property
    def stamp_bytes(self) -> bytes:
        """The stamp as forms take it."""
        return STAMP.pack(self.seconds, self.nanoseconds)


class StateBuffer:
    """Merges joint states of some of the joints, and odometry, into q, v and effort of one moment.

    A message is taken or refused as a whole; ``refused`` counts the reasons. A velocity or effort
    that is not a number (drivers write NaN for what they do not measure) leaves that of its joint
    unknown, and is counted too. When messages come late, or from several publishers that take
    turns, ``estimation.timeline`` says of which moment a state is.

    Attributes:
        neutral: (nq) the configuration in which every joint transform is the identity.
        q, v, effort: those of the state that is being answered, always in the same arrays.
        received: bytes of the numbers of a message, where ``order_step`` takes them from.
        timeline: what is known, in time.
    """

    def __init__(self, robot: Robot, ignored_names: Iterable[str], joint_timeout: float) -> None:
        model = robot.model
        single = [joint for joint in model.actuated if len(joint.q_indices) == 1]
        self.robot = robot
        self.joint_names = tuple(joint.name for joint in single)
        self.unreachable = tuple(j.name for j in model.actuated if len(j.q_indices) != 1)
        self.joint_timeout = joint_timeout
        self.refused: Counter[str] = Counter()
        self.unknown_names: Counter[str] = Counter()
        self._q_index = np.array([joint.q_indices[0] for joint in single], dtype=np.intp)
        self._v_index = np.array([joint.v_indices[0] for joint in single], dtype=np.intp)
        self._slots = {name: slot for slot, name in enumerate(self.joint_names)}
        followers = {joint.name for joint in model.joints if joint.leader is not None}
        self._ignored = frozenset(ignored_names) | followers
        self._resolution = Resolution((), self._slots, self._ignored)
        self._resolutions = {self._resolution.names: self._resolution}
        self._base_nq = model.root_joint_nq
        self._base_nv = model.root_joint_nv
        self.neutral = robot.neutral()
        numbers = np.concatenate((self.neutral, np.zeros(2 * robot.nv)))
        self.q, self.v, self.effort = np.split(numbers, (robot.nq, robot.nq + robot.nv))
        self._numbers, self._received = numbers, np.zeros(len(numbers))
        self.received = self._received.data.cast('B')
        size = len(single)
        # Its quantities: positions, then velocities, then efforts.
        self.timeline = Timeline(3 * size, MovingBase(self._carried))
        # Stamp of a state that is in q, v and effort only: all that is known, all of it finite.
        self._written: tuple[int, int] | None = None
        # The latest message when it was whole: not yet in the history, see _settle.
        self._whole: RobotState | None = None
        self._nothing_stale = np.zeros(robot.nv, dtype=bool)
        self._nothing_stale.flags.writeable = False
        self._only_slots = robot.nq == robot.nv == size and all(
            (index == np.arange(size)).all() for index in (self._q_index, self._v_index)
        )
        self.base_frame_id = ''

    @property
    def has_base(self) -> bool:
        """Whether the robot's base moves."""
        return self._base_nq > 0

    @property
    def base_known(self) -> bool:
        """Whether odometry has been received."""
        return self.timeline.base.stamp != NEVER

    def missing(self) -> tuple[str, ...]:
        """Joints without a position, and 'odom' for a moving base without odometry."""
        self._settle()
        absent = self._named(self.timeline.history.newest[: len(self.joint_names)] == NEVER)
        if self.has_base and not self.base_known:
            absent = (ODOMETRY, *absent)
        return (*absent, *self.unreachable)

    def knows(self, name: str) -> bool:
        """Whether a joint of that name may stand in a joint state: one of ours, or a follower."""
        return name in self._slots or name in self._ignored

    def adopt(self, other: StateBuffer) -> None:
        """Take over what another buffer knows of joints of the same name."""
        other._settle()
        self.refused, self.unknown_names = other.refused, other.unknown_names
        same = self.joint_names == other.joint_names
        self.timeline.adopt(other.timeline, same_quantities=same)
        history, before = self.timeline.history, other.timeline.history
        pairs = [(new, other._slots[n]) for n, new in self._slots.items() if n in other._slots]
        if pairs:
            mine, theirs = np.array(pairs, dtype=np.intp).T
            size, their_size = len(self.joint_names), len(other.joint_names)
            for i in range(3):
                history.adopt(mine + i * size, before, theirs + i * their_size)
        if self._base_nq == other._base_nq:
            self.timeline.base.adopt(other.timeline.base)
            self.base_frame_id = other.base_frame_id

    def update(self, message: JointValues) -> bool:
        """Merge a joint state; whether it was about a joint of this robot.

        Raises:
            RefusedMessage: nothing of it was taken.
        """
        self.timeline.due = False
        target = self._resolution
        if message.names is not target.names:
            target = self._resolved(message.names)
        if target.order is not None and self._take_whole(message, target):
            return True
        self._settle()
        for name in target.unknown:
            self._count_unknown(name)
        try:
            target.check(message)
        except RefusedMessage as refusal:
            self.refused[refusal.kind] += 1
            raise
        if not target.slots.size:
            return False
        self._take_part(message, target)
        return True

    def due_state(self) -> RobotState | None:
        """The state that the last message completes; None where it completes none.

        It is newer than those before, or says anew what is known of the same moment.
        """
        return self.state() if self.timeline.due else None

    def _resolved(self, names: tuple[str, ...]) -> Resolution:
        """Where values of these names go; remembered for as many as publishers may be."""
        target = self._resolutions.get(names)
        if target is None or target.names is not names:
            if len(self._resolutions) >= MOST_RESOLUTIONS:
                self._resolutions.clear()
            target = Resolution(names, self._slots, self._ignored)
            self._resolutions[target.names] = target
        self._resolution = target
        return target

    def _take_whole(self, message: JointValues, target: Resolution) -> bool:
        """Take a message with all quantities of all joints, all of them finite; else do nothing."""
        order = target.order
        assert order is not None, 'asked for beforehand'
        seconds, nanoseconds, _, position, velocity, effort, block = message
        stamp = message.time
        if stamp < self.timeline.newest or nanoseconds >= NANOSECONDS:
            return False
        if not position.size == velocity.size == effort.size == target.size:
            return False
        size = order.size
        if block is None:
            every = np.concatenate((position[order], velocity[order], effort[order]))
        else:
            every = block.take(target.together)
        # A length is finite only if all numbers are; where it overflows, the longer way decides.
        # NumPy's would warn of that.
        if not math.isfinite(math.hypot(*every.tolist())):
            return False
        self._written = None
        self.timeline.skip_to(stamp)
        self._whole = RobotState(
            seconds,
            nanoseconds,
            every[:size],
            every[size:-size],
            every[-size:],
            (),
            (),
            (),
            self._nothing_stale,
        )
        return True

    def answer(self, state: RobotState) -> None:
        """Have ``q``, ``v`` and ``effort`` be those of a state."""
        self.q[:] = state.q
        self.v[:] = state.v
        self.effort[:] = state.effort

    def _take_part(self, message: JointValues, target: Resolution) -> None:
        """Merge what a message tells; what is no number is not known from then on."""
        fields = message.position, message.velocity, message.effort
        quantities = tuple(field.size > 0 for field in fields)
        told, which = target.told(quantities)
        if not which.size:
            return
        values = np.concatenate([field[target.source] for field in fields if field.size])
        finite = np.isfinite(values)
        if not finite.all():
            lost, history = which[~finite], self.timeline.history
            for i in np.unique(lost // len(self.joint_names)).tolist():
                self.refused[f'{QUANTITIES[i]} not finite'] += 1
            history.forget(lost[message.time >= history.newest[lost]])
            which, values = which[finite], values[finite]
        self.timeline.add((target.names, quantities), told, which, values, message.time)

    def order_step(self, names: tuple[str, ...]) -> Step | None:
        """What takes ``received`` to ``q``, ``v`` and ``effort``, in a program.

        What is known of the robot changes only with ``write``.

        Args:
            names: the joints of the message that is received.

        Returns:
            None where such a message does not tell everything, or more than that.
        """
        target = self._resolution
        if not self._only_slots or self.unreachable or target.names is not names:
            return None
        if target.order is None or target.size != target.order.size:
            return None
        size = target.size
        order = tuple(i * size + int(x) for i in range(3) for x in target.order)
        return Step(ordered(order), (self._received,), (self._numbers,))

    def write(self, seconds: int, nanoseconds: int, stamp: int) -> None:
        """Take note that a newer state than all before has been written to q, v and effort.

        Args:
            seconds, nanoseconds, stamp: its stamp, and that in ns.
        """
        self._written = seconds, nanoseconds
        self.timeline.skip_to(stamp)

    def _take_written(self) -> None:
        """Have what was written as an ordinary message that told everything."""
        if self._written is None:
            return
        arrays = self.q.copy(), self.v.copy(), self.effort.copy()
        self._whole = RobotState(*self._written, *arrays, (), (), (), self._nothing_stale)
        self._written = None

    def _settle(self) -> None:
        """Merge the latest message if that has been put off."""
        self._take_written()
        whole, self._whole = self._whole, None
        if whole is None:
            return
        values = np.concatenate((whole.q, whole.v, whole.effort))
        self.timeline.add_all(values, whole.time)

    def update_base(self, message: Odometry, names: Iterable[str]) -> None:
        """Take the pose and twist of a moving base.

        Args:
            message: pose in its frame_id, twist in its child_frame_id (nav_msgs/Odometry).
            names: what the root link may be called in child_frame_id.

        Raises:
            RefusedMessage: nothing of it was taken.
        """
        allowed = tuple(names)
        try:
            if message.child_frame_id not in ('', *allowed):
                problem = f'{message.child_frame_id!r} is not the root link'
                raise InvalidArgumentError('child_frame_id', problem, allowed[0])
            pose, twist = message.pose.pose, twist_array(message.twist.twist, 'odom.twist')
            if quaternion_is_zero(pose.orientation):
                raise InvalidArgumentError('odom.pose.orientation', 'zero', 'a unit quaternion')
            base = self.base_coordinates(pose, 'odom.pose')
            if len(message.header.frame_id) > LONGEST_FRAME_ID:
                # Every pose would carry it.
                given = f'{len(message.header.frame_id)} characters'
                raise InvalidArgumentError(
                    'odom.header.frame_id', given, f'at most {LONGEST_FRAME_ID}'
                )
            if message.header.stamp.nanosec >= NANOSECONDS:
                raise InvalidArgumentError(
                    'odom.header.stamp', f'{message.header.stamp.nanosec} ns', 'less than a second'
                )
        except InvalidArgumentError as error:
            refusal = RefusedMessage('odometry', str(error))
            self.refused[refusal.kind] += 1
            raise refusal from None
        stamp = nanoseconds(message.header.stamp)
        sample = BaseSample(stamp, np.asarray(base), self.base_velocity(twist))
        if self.timeline.add_base(sample, alone=not self.joint_names):
            self.base_frame_id = message.header.frame_id

    def base_coordinates(self, pose: object, name: str) -> Array:
        """Coordinates of the root joint for a pose of the root link."""
        planar = self._base_nq == 3
        return planar_base_array(pose, name) if planar else floating_base_array(pose, name)

    def base_velocity(self, twist: Array) -> Array:
        """Velocity of the root joint for a twist (6) of the root link, in the root link."""
        return twist[[0, 1, 5]] if self._base_nv == 3 else twist

    def copy_base(self, q: Array, v: Array) -> None:
        """Fill in the coordinates and velocities of the base, where odometry has been received."""
        newest = self.timeline.base.newest()
        if newest is not None:
            q[: self._base_nq], v[: self._base_nv] = newest.q, newest.v

    def _carried(self, base: Array, change: Array) -> Array:
        """Coordinates of the base after a velocity times a time."""
        q, v = self.neutral.copy(), np.zeros(self.robot.nv)
        q[: self._base_nq], v[: self._base_nv] = base, change
        return self.robot.integrate(q, v)[: self._base_nq]

    def state(self, *, base_required: bool = True) -> RobotState | None:
        """The merged state, or None while a joint or the base has not been heard of.

        Args:
            base_required: else a base that has not been heard of is at identity.
        """
        self._take_written()
        whole = self._whole
        if whole is not None and self._only_slots and not self.unreachable:
            return whole
        if self.unreachable or (base_required and self.has_base and not self.base_known):
            return None
        q, v, effort = self.neutral.copy(), np.zeros(self.robot.nv), np.zeros(self.robot.nv)
        mask, ages = np.zeros(self.robot.nv, dtype=bool), np.zeros(self.robot.nv, dtype=np.int64)
        now = self._moment
        names: tuple[str, ...] = ()
        velocity_missing, effort_missing = names, names
        if whole is not None:
            told = [whole.q, whole.v, whole.effort]
        else:
            positions, velocities, efforts = np.split(self.timeline.history.newest, 3)
            if (positions == NEVER).any():
                return None
            stale = self._too_old(positions)
            mask[self._v_index], names = stale, self._named(stale)
            ages[self._v_index] = np.maximum(now - positions, 0)
            velocity_missing = self._named(self._lacking(velocities, stale))
            effort_missing = self._named(self._lacking(efforts, stale))
            told = np.split(self.timeline.history.at(now), 3)
        q[self._q_index], v[self._v_index], effort[self._v_index] = told
        if self.base_known:
            base = self.timeline.base
            q[: self._base_nq], v[: self._base_nv] = base.at(now)
            ages[: self._base_nv] = max(now - base.stamp, 0)
            if self._too_old(np.array([base.stamp])).any():
                names = (ODOMETRY, *names)
                mask[: self._base_nv] = True
        return RobotState(
            *divmod(now, NANOSECONDS),
            q,
            v,
            effort,
            velocity_missing,
            effort_missing,
            names,
            mask,
            ages,
        )

    @property
    def _moment(self) -> int:
        """Of the state [ns]; zero where nothing has told a time."""
        moment = self.timeline.moment
        return 0 if moment == NEVER else moment

    def _too_old(self, stamps: Stamps) -> NDArray[np.bool_]:
        """Which stamps are further from the state's than joint_timeout."""
        if self.joint_timeout == 0.0:
            return np.zeros(stamps.shape, dtype=bool)
        limit = int(self.joint_timeout * NANOSECONDS)
        # Stamps of another clock may be of the future: as stale as those of the past.
        return np.abs(stamps - self._moment) > limit

    def _lacking(self, stamps: Stamps, stale: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Joints that report, but not this quantity."""
        return (stamps == NEVER) | (self._too_old(stamps) & ~stale)

    def _count_unknown(self, name: str) -> None:
        # Bounded: names come from outside.
        name = shortened(name, LONGEST_NAME)
        few = name in self.unknown_names or len(self.unknown_names) < MAX_UNKNOWN_NAMES
        self.unknown_names[name if few else 'others'] += 1

    def _named(self, mask: NDArray[np.bool_]) -> tuple[str, ...]:
        if not mask.any():
            return ()
        return tuple(self.joint_names[i] for i in np.flatnonzero(mask))
