"""The latest state of the robot, merged from joint states and odometry by name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from numpy.typing import NDArray

from ..errors import InvalidArgumentError, shortened
from ..kernels import Step, ordered
from ..robot import Robot
from .cdr import STAMP
from .conversions import (
    NANOSECONDS,
    Array,
    JointValues,
    floating_base_array,
    nanoseconds,
    planar_base_array,
    quaternion_is_zero,
    twist_array,
)

Stamps = NDArray[np.int64]

NEVER = -(2**62)
"""Stamp of what was not received, or is not a number; as far away as subtraction allows."""

ODOMETRY = 'odom'

MAX_UNKNOWN_NAMES, LONGEST_NAME = 20, 100

MOST_RESOLUTIONS = 16
"""Lists of names that are remembered: one for each publisher on the topic."""


class RobotState(NamedTuple):
    """What is known of the robot at one moment.

    Attributes:
        seconds, nanoseconds: stamp of the message that completed it.
        q, v, effort: in the order of the model; what is missing in v or effort is zero.
        velocity_missing, effort_missing: joints without a velocity or effort, or an old one
            beside a new position.
        stale: joints, or 'odom', last heard of too long before the stamp.
        stale_mask: (nv) the same as a mask.
        ages: (nv) how much older than the stamp what is known of each joint is [ns]; None when
            all is of one message.

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


class RefusedMessage(Exception):  # noqa: N818 - an outcome, not a fault of ours
    """A message that is not taken.

    Attributes:
        kind: what was wrong, in words that do not depend on the message, to count by.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(shortened(f'{kind}: {detail}'))
        self.kind = kind


class _Resolution:
    """Where the values of a message with these names go; worked out once per list of names."""

    def __init__(
        self, names: Sequence[str], slots: dict[str, int], ignored: frozenset[str]
    ) -> None:
        self.names = tuple(names)
        self.size = len(names)
        repeated = [name for name, count in Counter(names).items() if count > 1]
        self.repeated = ', '.join(repeated)
        known = [(source, slots[name]) for source, name in enumerate(names) if name in slots]
        self.source = np.array([source for source, _ in known], dtype=np.intp)
        self.slots = np.array([slot for _, slot in known], dtype=np.intp)
        self.unknown = tuple(
            name for name in dict.fromkeys(names) if name not in slots and name not in ignored
        )
        whole = not (self.repeated or self.unknown) and len(known) == len(slots) > 0
        order = self.source[np.argsort(self.slots)]
        self.order = order if whole else None
        """Indices into the message for each slot, of one that names all joints."""
        skip = self.size + 1
        self.together = np.concatenate((order, skip + order, 2 * skip + order))
        """The same into ``JointValues.block`` for positions, velocities and efforts."""


class StateBuffer:
    """Merges joint states of some of the joints, and odometry, into q, v and effort.

    A message is taken or refused as a whole; ``refused`` counts the reasons. A velocity or effort
    that is not a number (drivers write NaN for what they do not measure) leaves that of its joint
    unknown, and is counted too.

    Attributes:
        neutral: (nq) the configuration in which every joint transform is the identity.
        q, v, effort: those of the state that is being answered, always in the same arrays.
        received: bytes of the numbers of a message, where ``order_step`` takes them from.
        written: stamp, seconds and nanoseconds, of a state that is in these arrays only: all that
            is known, all of it finite.
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
        self._resolution = _Resolution((), self._slots, self._ignored)
        self._resolutions = {self._resolution.names: self._resolution}
        self._base_nq = model.root_joint_nq
        self._base_nv = model.root_joint_nv
        self.neutral = robot.neutral()
        numbers = np.concatenate((self.neutral, np.zeros(2 * robot.nv)))
        self.q, self.v, self.effort = np.split(numbers, (robot.nq, robot.nq + robot.nv))
        self._numbers, self._received = numbers, np.zeros(len(numbers))
        self.received = self._received.data.cast('B')
        self.written: tuple[int, int] | None = None
        self._q = self.neutral.copy()
        self._v = np.zeros(robot.nv)
        self._effort = np.zeros(robot.nv)
        size = len(single)
        self._position_stamps = np.full(size, NEVER, dtype=np.int64)
        self._velocity_stamps = np.full(size, NEVER, dtype=np.int64)
        self._effort_stamps = np.full(size, NEVER, dtype=np.int64)
        self._base_stamp = NEVER
        self._stamp = (0, 0)
        # The latest message when it was whole: not yet in the arrays above, see _settle.
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
        return self._base_stamp != NEVER

    def missing(self) -> tuple[str, ...]:
        """Joints without a position, and 'odom' for a moving base without odometry."""
        self._settle()
        absent = self._named(self._position_stamps == NEVER)
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
        self._stamp = other._stamp
        for name, new in self._slots.items():
            old = other._slots.get(name)
            if old is None:
                continue
            self._q[self._q_index[new]] = other._q[other._q_index[old]]
            self._v[self._v_index[new]] = other._v[other._v_index[old]]
            self._effort[self._v_index[new]] = other._effort[other._v_index[old]]
            self._position_stamps[new] = other._position_stamps[old]
            self._velocity_stamps[new] = other._velocity_stamps[old]
            self._effort_stamps[new] = other._effort_stamps[old]
        if self._base_nq == other._base_nq:
            self._q[: self._base_nq] = other._q[: self._base_nq]
            self._v[: self._base_nv] = other._v[: self._base_nv]
            self._base_stamp = other._base_stamp
            self.base_frame_id = other.base_frame_id

    def update(self, message: JointValues) -> bool:
        """Merge a joint state; whether it was about a joint of this robot.

        Raises:
            RefusedMessage: nothing of it was taken.
        """
        target = self._resolution
        if message.names is not target.names:
            target = self._resolved(message.names)
        if target.order is not None and self._take_whole(message, target):
            return True
        self._settle()
        for name in target.unknown:
            self._count_unknown(name)
        try:
            _check(message, target)
        except RefusedMessage as refusal:
            self.refused[refusal.kind] += 1
            raise
        if not target.slots.size:
            return False
        self._stamp = message.seconds, message.nanoseconds
        stamp = _joined(*self._stamp)
        if message.position.size:
            self._q[self._q_index[target.slots]] = message.position[target.source]
            self._position_stamps[target.slots] = stamp
        self._merge(message.velocity, self._v, self._velocity_stamps, stamp, 'velocity')
        self._merge(message.effort, self._effort, self._effort_stamps, stamp, 'effort')
        return True

    def _resolved(self, names: tuple[str, ...]) -> _Resolution:
        """Where values of these names go; remembered for as many as publishers may be."""
        target = self._resolutions.get(names)
        if target is None or target.names is not names:
            if len(self._resolutions) >= MOST_RESOLUTIONS:
                self._resolutions.clear()
            target = _Resolution(names, self._slots, self._ignored)
            self._resolutions[target.names] = target
        self._resolution = target
        return target

    def _take_whole(self, message: JointValues, target: _Resolution) -> bool:
        """Take a message with all quantities of all joints, all of them finite; else do nothing."""
        order = target.order
        assert order is not None, 'asked for beforehand'
        seconds, nanoseconds, _, position, velocity, effort, block = message
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
        self.written = None
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

    def order_step(self, names: tuple[str, ...]) -> Step | None:
        """What takes ``received`` to ``q``, ``v`` and ``effort``, in a program.

        What is known of the robot changes only once ``written`` is set.

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

    def _take_written(self) -> None:
        """Have what was written as an ordinary message that told everything."""
        if self.written is None:
            return
        arrays = self.q.copy(), self.v.copy(), self.effort.copy()
        self._whole = RobotState(*self.written, *arrays, (), (), (), self._nothing_stale)
        self.written = None

    def _settle(self) -> None:
        """Merge the latest message if that has been put off."""
        self._take_written()
        whole, self._whole = self._whole, None
        if whole is None:
            return
        self._stamp = whole.seconds, whole.nanoseconds
        stamp = _joined(*self._stamp)
        self._q[self._q_index] = whole.q
        self._v[self._v_index] = whole.v
        self._effort[self._v_index] = whole.effort
        for stamps in (self._position_stamps, self._velocity_stamps, self._effort_stamps):
            stamps[:] = stamp

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
        except InvalidArgumentError as error:
            refusal = RefusedMessage('odometry', str(error))
            self.refused[refusal.kind] += 1
            raise refusal from None
        self._q[: self._base_nq] = base
        self._v[: self._base_nv] = self.base_velocity(twist)
        stamp = message.header.stamp
        self._base_stamp = nanoseconds(stamp)
        self.base_frame_id = message.header.frame_id
        if not self.joint_names:
            self._stamp = stamp.sec, stamp.nanosec

    def base_coordinates(self, pose: object, name: str) -> Array:
        """Coordinates of the root joint for a pose of the root link."""
        planar = self._base_nq == 3
        return planar_base_array(pose, name) if planar else floating_base_array(pose, name)

    def base_velocity(self, twist: Array) -> Array:
        """Velocity of the root joint for a twist (6) of the root link, in the root link."""
        return twist[[0, 1, 5]] if self._base_nv == 3 else twist

    def copy_base(self, q: Array, v: Array) -> None:
        """Fill in the coordinates and velocities of the base, where odometry has been received."""
        q[: self._base_nq] = self._q[: self._base_nq]
        v[: self._base_nv] = self._v[: self._base_nv]

    def state(self, *, base_required: bool = True) -> RobotState | None:
        """The merged state, or None while a joint or the base has not been heard of.

        Args:
            base_required: else a base that has not been heard of is at identity.
        """
        self._take_written()
        if self._only_slots and self._whole is not None and not self.unreachable:
            return self._whole
        self._settle()
        if self.unreachable or (self._position_stamps == NEVER).any():
            return None
        if base_required and self.has_base and not self.base_known:
            return None
        stale = self._too_old(self._position_stamps)
        mask = np.zeros(self.robot.nv, dtype=bool)
        mask[self._v_index[stale]] = True
        names = self._named(stale)
        if self.base_known and self._too_old(np.array([self._base_stamp])).any():
            names = (ODOMETRY, *names)
            mask[: self._base_nv] = True
        seconds, rest = self._stamp
        ages = np.zeros(self.robot.nv, dtype=np.int64)
        ages[self._v_index] = _joined(seconds, rest) - self._position_stamps
        if self.base_known:
            ages[: self._base_nv] = _joined(seconds, rest) - self._base_stamp
        return RobotState(
            seconds=seconds,
            nanoseconds=rest,
            q=self._q.copy(),
            v=self._v.copy(),
            effort=self._effort.copy(),
            velocity_missing=self._named(self._lacking(self._velocity_stamps, stale)),
            effort_missing=self._named(self._lacking(self._effort_stamps, stale)),
            stale=names,
            stale_mask=mask,
            ages=ages,
        )

    def _too_old(self, stamps: Stamps) -> NDArray[np.bool_]:
        """Which stamps are further from the newest message than joint_timeout."""
        if self.joint_timeout == 0.0:
            return np.zeros(stamps.shape, dtype=bool)
        limit = int(self.joint_timeout * NANOSECONDS)
        # A clock that jumped back makes stamps of the future: as stale as those of the past.
        return np.abs(stamps - _joined(*self._stamp)) > limit

    def _lacking(self, stamps: Stamps, stale: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Joints that report, but not this quantity."""
        return (stamps == NEVER) | (self._too_old(stamps) & ~stale)

    def _count_unknown(self, name: str) -> None:
        # Bounded: names come from outside.
        name = shortened(name, LONGEST_NAME)
        few = name in self.unknown_names or len(self.unknown_names) < MAX_UNKNOWN_NAMES
        self.unknown_names[name if few else 'others'] += 1

    def _merge(self, field: Array, values: Array, stamps: Stamps, stamp: int, name: str) -> None:
        if not field.size:
            return
        target = self._resolution
        given = field[target.source]
        finite = np.isfinite(given)
        if finite.all():
            values[self._v_index[target.slots]] = given
            stamps[target.slots] = stamp
            return
        self.refused[f'{name} not finite'] += 1
        values[self._v_index[target.slots]] = np.where(finite, given, 0.0)
        stamps[target.slots] = np.where(finite, stamp, NEVER)

    def _named(self, mask: NDArray[np.bool_]) -> tuple[str, ...]:
        if not mask.any():
            return ()
        return tuple(self.joint_names[i] for i in np.flatnonzero(mask))


def _joined(seconds: int, rest: int) -> int:
    return seconds * NANOSECONDS + rest


def _check(message: JointValues, target: _Resolution) -> None:
    if target.repeated:
        raise RefusedMessage('repeated names', target.repeated)
    for name in ('position', 'velocity', 'effort'):
        length = getattr(message, name).size
        if length not in (0, target.size):
            detail = f'{length} values for {target.size} names'
            raise RefusedMessage(f'wrong length of {name}', detail)
    if message.position.size:
        finite = np.isfinite(message.position[target.source])
        if not finite.all():
            bad = (target.names[i] for i in target.source[~finite])
            raise RefusedMessage('position not finite', ', '.join(bad))
