# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Buffer that merges joint states and odometry by name into the state of a robot at one time.

Two drivers with half of the joints each never sample at the same time, and their clocks may differ
by milliseconds. Their latest reports belong to different times, and a momentum computed from both
jumps with every message. A state is therefore assembled for the newest time that all synchronized
publishers have reported. Publishers are synchronized if their rates are similar; a publisher that
has stopped is not waited for.

A late message is a few periods old and arrives alone. After a bag restarts or a simulator is reset,
all following messages are old: the clock was set back.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.constraints import PassiveJoints
from dynamics_ros.errors import InvalidArgumentError, shortened
from dynamics_ros.reasons import Figure
from dynamics_ros.robot import Robot

from .publishers import (
    DEPTH,
    LONG_AGO,
    NEVER,
    QUANTITIES,
    BaseSample,
    MovingBase,
    Publisher,
    Samples,
)
from .reports import (
    NANOSECONDS,
    Array,
    JointValues,
    OdometryValues,
    PoseValues,
    RefusedMessage,
    Stamps,
    base_of,
    check_odometry,
)
from .robot_state import RobotState

ODOMETRY = 'odom'

NOT_FINITE = 'position not finite'
"""Reason in ``StateBuffer.unusable`` and ``refused`` for a position that is NaN or infinite."""

MAX_UNKNOWN_NAMES, MAX_NAME_LENGTH = 20, 100

MAX_PUBLISHERS = 64
"""Maximum number of publishers; beyond it the one with the oldest message is forgotten."""

OVERDUE_AFTER = 0.95
"""Number of usual intervals after which the next message of a publisher is late. With alternating
publishers the reports are newer than that, and a single outdated momentum appears as a large
external torque."""

MIN_STATE_STEP = 0.5
"""Minimum time between states of alternating publishers as a share of an interval. They produce one
state per cycle, completed by the later one of the pair with the closer stamps."""

JUMP_NS = 500_000_000
"""Minimum backward jump of a clock [ns]: no network delays sensor messages by as much, and no bag
is shorter."""

MIN_OLD_MESSAGES = 3
"""Number of consecutive old messages of a publisher that indicate a jump."""


class StateBuffer:
    """Merges partial joint states and odometry into q, v and effort at one time.

    A message of the wrong form is refused as a whole; ``refused`` counts the causes. A velocity or
    effort that is NaN or infinite (drivers write NaN for quantities that they do not measure)
    leaves that value of its joint unknown and is counted too. A joint whose position is NaN or
    infinite counts as not reported by that message; the other joints are merged. Values older than
    the newest one of the same quantity are dropped. The times of states never decrease, unless the
    clock was set back.

    Attributes:
        unusable: joints whose newest report could not be used, with the reason: ``NOT_FINITE`` or
            the cause of a refused message.
        fault: whether the last message made a joint's position not finite that was finite before.
        due: whether the last message completed a state.
        neutral: (nq) configuration in which every joint transform is the identity.
        q, v, effort: state that is currently processed; always the same arrays.
        passive: joints of loops that no message has reported, if these are all that are missing.
        base: samples of the moving base.
        newest, moment: newest stamp of a joint state, and time of the last state [ns].
        dropped: number of messages with a value that was too old.
        jumps, last_jump: number of backward jumps of the clock; stamps before and after the last
            one [ns].
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
        self.unusable: dict[str, str] = {}
        self.fault = self.due = False
        q_index = np.array([joint.q_indices[0] for joint in single], dtype=np.intp)
        self._v_index = np.array([joint.v_indices[0] for joint in single], dtype=np.intp)
        self._slots = {name: slot for slot, name in enumerate(self.joint_names)}
        followers = {joint.name for joint in model.joints if joint.leader is not None}
        self._ignored = frozenset(ignored_names) | followers
        self._base_nq, self._base_nv = model.root_joint_nq, model.root_joint_nv
        self.neutral = robot.neutral()
        numbers = np.concatenate((self.neutral, np.zeros(2 * robot.nv)))
        self._blank = numbers.copy()
        self.q, self.v, self.effort = self._parts(numbers)
        # Indices of joint positions, velocities and efforts in the concatenation of q, v, effort.
        self._places = np.concatenate(
            (q_index, robot.nq + self._v_index, robot.nq + robot.nv + self._v_index)
        )
        self._publishers: dict[object, Publisher] = {}
        self._publisher: Publisher | None = None  # of the last message
        self._whole: Publisher | None = None  # the same, if that message makes a state alone
        self._known: tuple[bool, ...] = (
            False,
            False,
            False,
        )  # whether any joint reports each of ``QUANTITIES``
        self._absent: tuple[str, ...] = self.joint_names
        self._nothing_stale = np.zeros(robot.nv, dtype=bool)
        self._no_ages = np.zeros(robot.nv, dtype=np.int64)
        self._nothing_stale.flags.writeable = self._no_ages.flags.writeable = False
        self.base, self.base_frame_id = MovingBase(self._carried), ''
        self.passive: PassiveJoints | None = None
        self.newest = self.moment = NEVER
        self.dropped = self.jumps = 0
        self.last_jump = 0, 0

    @property
    def has_base(self) -> bool:
        """Whether the robot has a moving base."""
        return self._base_nq > 0

    @property
    def base_known(self) -> bool:
        """Whether odometry has been received, since the clock was last set back."""
        return bool(self.base.samples)

    def missing(self) -> tuple[str, ...]:
        """Returns joints without a position, and 'odom' for a moving base without odometry."""
        self._merged(self.moment)
        absent, passive = self._absent, self.passive
        if passive is not None and passive.q is not None and absent == passive.names:
            absent = ()
        if self.has_base and not self.base_known:
            absent = (ODOMETRY, *absent)
        return (*absent, *self.unreachable)

    def knows(self, name: str) -> bool:
        """Whether this is the name of a joint, a mimic follower or an ignored joint."""
        return name in self._slots or name in self._ignored

    def adopt(self, other: StateBuffer) -> None:
        """Copies the samples of joints with the same names from another buffer."""
        self.refused, self.unknown_names = other.refused, other.unknown_names
        self.unusable = {name: why for name, why in other.unusable.items() if name in self._slots}
        self.newest, self.moment, self.dropped = other.newest, other.moment, other.dropped
        self.jumps, self.last_jump, self._known = other.jumps, other.last_jump, other._known
        for publisher in other._publishers.values():
            self._publisher_of(publisher.names, publisher.sizes).adopt(publisher)
        before = other.passive
        if before is not None and self.joint_names == other.joint_names:
            self.passive, self._absent = self.passive_joints(before.names, before.q), other._absent
        if self._base_nq == other._base_nq:
            self.base.samples = other.base.samples.copy()
            self.base_frame_id = other.base_frame_id

    def update(self, message: JointValues) -> bool:
        """Merges a joint state; returns whether it contains a joint of this robot.

        Raises:
            RefusedMessage: the message is invalid and nothing was merged.
        """
        self.due = self.fault = False
        publisher, nanoseconds = self._selected(message), message.nanoseconds
        for name in publisher.unknown:
            self._count_unknown(name)
        if publisher.refusal or nanoseconds >= NANOSECONDS:
            stamp = 'stamp', (Figure(nanoseconds, 'd'), ' ns are more than a second')
            kind, detail = publisher.refusal or stamp
            refusal = RefusedMessage(kind, *detail)
            self.refused[refusal.kind] += 1
            self.unusable = dict.fromkeys(publisher.joints, refusal.kind) | self.unusable
            raise refusal
        time, values = message.time, publisher.values(message)
        if not publisher.which.size:
            return False
        late = None
        if time < self.newest:
            late = self._late(publisher, time)
            if late.any() and self._clock_jumped(publisher, self.newest, time):
                self._set_back()
                late[:] = False
            self.dropped += bool(late.any())
            if late.all():
                return True
        # A norm is finite only if all numbers are; if it overflows, the numbers are checked one by
        # one. NumPy's norm would warn of the overflow.
        finite = math.isfinite(math.hypot(*values.tolist())) or bool(np.isfinite(values).all())
        since, faulty = None, frozenset[str]()
        if not finite:
            values, since, faulty = self._without_faults(publisher, time, values, late)
            if len(faulty) == len(publisher.joints):
                return True
        if not publisher.samples:
            self._known = tuple(map(max, self._known, publisher.quantities))
        publisher.add((time, values))
        publisher.since = since
        whole = finite and late is None and publisher.complete
        self._whole = publisher if whole and publisher.quantities == self._known else None
        if self.unusable and publisher.quantities[0]:
            for name in publisher.joints:
                if name not in faulty:
                    self.unusable.pop(name, None)
        self._advance_with(publisher, time)
        return True

    def update_all(self, messages: JointValues) -> RobotState | None:
        """Merges consecutive complete joint states whose stamps do not decrease.

        Args:
            messages: several messages, one row each.

        Returns:
            ``due_state`` after each message; None if the messages must be merged one by one, in
            which case none was merged.
        """
        publisher, times = self._selected(messages), messages.time
        if self.has_base or not publisher.complete or publisher.quantities != self._known:
            return None
        if publisher.refusal or (np.diff(times, prepend=self.newest) < 0).any():
            return None
        values = publisher.values(messages)
        if not np.isfinite(values).all() or (messages.nanoseconds >= NANOSECONDS).any():
            return None
        for time, row in zip(times[-DEPTH:].tolist(), values[-DEPTH:].copy(), strict=True):
            publisher.add((time, row))
        publisher.since, self._whole = None, publisher
        self.newest = self.moment = time
        self.unusable.clear()
        for name in publisher.unknown:
            self._count_unknown(name, len(times))
        numbers = np.tile(self._blank, (len(times), 1))
        numbers[:, publisher.places] = values
        velocity, effort = (() if x else self.joint_names for x in publisher.quantities[1:])
        parts = self._parts(numbers)
        return RobotState(times, *parts, velocity, effort, (), self._nothing_stale)

    def due_state(self) -> RobotState | None:
        """Returns the state that the last message completes; None if it completes none.

        The state is newer than the previous one, or an update for the same time. A message with the
        first position of a joint that is not finite always completes one.
        """
        return self.state() if self.due or self.fault else None

    @property
    def not_finite(self) -> tuple[str, ...]:
        """Joints whose newest reported position is NaN or infinite."""
        return tuple(name for name, why in self.unusable.items() if why == NOT_FINITE)

    def answer(self, state: RobotState) -> None:
        """Copies a state to ``q``, ``v`` and ``effort``."""
        self.q[:] = state.q
        self.v[:] = state.v
        self.effort[:] = state.effort

    def _selected(self, message: JointValues) -> Publisher:
        """Returns the publisher of messages with these names and array lengths."""
        names, last = message.names, self._publisher
        sizes = message.position.shape[-1], message.velocity.shape[-1], message.effort.shape[-1]
        if last is None or names is not last.names or sizes != last.sizes:
            self._publisher = last = self._publisher_of(names, sizes)
            last.names = names
        return last

    def _publisher_of(self, names: tuple[str, ...], sizes: tuple[int, ...]) -> Publisher:
        publishers = self._publishers
        if (names, sizes) not in publishers:
            if len(publishers) >= MAX_PUBLISHERS:
                publishers.pop(min(publishers, key=lambda key: publishers[key].stamp))
            publishers[names, sizes] = Publisher(
                names, sizes, self._slots, self._ignored, self._places
            )
        return publishers[names, sizes]

    def _late(self, publisher: Publisher, time: int) -> NDArray[np.bool_]:
        """Returns the mask (n) of quantities of a publisher that have a newer value than a time."""
        newer = [x.which for x in self._publishers.values() if x.stamp > time]
        return np.isin(publisher.which, np.concatenate([publisher.which[:0], *newer]))

    def _without_faults(
        self, publisher: Publisher, time: int, values: Array, late: NDArray[np.bool_] | None
    ) -> tuple[Array, Stamps, frozenset[str]]:
        """Returns values (n), their stamps, and joints whose position is not finite.

        Velocities and efforts that are not finite become NaN. Joints whose position is not finite
        keep their values and stamps.
        """
        count, finite = len(self.joint_names), np.isfinite(values)
        quantity, slot = np.divmod(publisher.which, count)
        wrong = ~finite & (quantity == 0)
        faulty = np.isin(slot, slot[wrong])
        for i in np.unique(quantity[~finite & ~faulty]).tolist():
            self.refused[f'{QUANTITIES[i]} not finite'] += 1
        before, since = publisher.newest()
        if wrong.any():
            self.refused[NOT_FINITE] += 1
        for i in slot[wrong if late is None else wrong & ~late].tolist():
            name = self.joint_names[i]
            self.fault |= self.unusable.get(name) != NOT_FINITE
            self.unusable[name] = NOT_FINITE
        values = np.where(faulty, before, np.where(finite, values, np.nan))
        names = frozenset(self.joint_names[i] for i in slot[faulty].tolist())
        return values, np.where(faulty, since, time), names

    def _advance_with(self, publisher: Publisher, time: int) -> None:
        """Decides whether the newest message of a publisher completes a state, and for when."""
        self.newest = max(self.newest, time)
        publisher.missed.clear()
        moment, least = time, 0
        for other in self._publishers.values():
            if other is not publisher and other.samples:
                other.missed[publisher] = missed = other.missed.get(publisher, 0) + 1
                if publisher.waits_for(other, missed):
                    least = max(least, 1)
                    if other.stamp < moment:
                        moment = other.stamp
                        least = round(MIN_STATE_STEP * publisher.interval)
        self._advance(moment, least)

    def _advance(self, moment: int, least: int = 0) -> None:
        """Advances the output time to ``moment`` if that is a step of at least ``least`` [ns]."""
        self.due = moment - self.moment >= least
        if self.due:
            self.moment = moment

    def _clock_jumped(self, source: Samples, before: int, stamp: int) -> bool:
        """Whether the clock was set back, to be called for old values of a message.

        Args:
            source: where the message comes from.
            before: newest stamp so far [ns].
            stamp: stamp of the message [ns].
        """
        if before - stamp <= JUMP_NS:
            return False
        source.old += 1
        if source.old < MIN_OLD_MESSAGES:
            return False
        for other in (self.base, *self._publishers.values()):
            other.old = 0
        self.jumps, self.last_jump = self.jumps + 1, (before, stamp)
        return True

    def describe_jumps(self) -> str:
        """Describes the last backward jump of the clock, and the number of jumps."""
        if not self.jumps:
            return 'never set back'
        before, after = self.last_jump
        times = f'; {self.jumps} times so far' if self.jumps > 1 else ''
        return (
            f'set back by {(before - after) * 1e-9:.3f} s, from {before * 1e-9:.3f} s to '
            f'{after * 1e-9:.3f} s{times}'
        )

    def _set_back(self) -> None:
        """Marks all samples as old after the clock was set back, so that any stamp is newer."""
        for publisher in self._publishers.values():
            if publisher.samples:
                _, values = publisher.samples[-1]
                publisher.samples.clear()
                publisher.samples.append((LONG_AGO, values))
                publisher.since = None
        if self.base.samples:
            last = self.base.samples[-1]
            self.base.samples.clear()
            self.base.samples.append(last._replace(stamp=LONG_AGO, v=0.0 * last.v))
        self.newest = self.moment = NEVER

    def update_base(self, odometry: OdometryValues, names: Iterable[str]) -> None:
        """Merges the pose and twist of a moving base.

        Args:
            odometry: the message.
            names: accepted names of the root link in child_frame_id.

        Raises:
            RefusedMessage: the message is invalid and nothing was merged.
        """
        try:
            check_odometry(odometry, tuple(names))
            base = self.base_coordinates(odometry.pose, 'odom.pose')
        except InvalidArgumentError as error:
            parts = f'{error.argument}: ', error.problem, f'; expected {error.expected}'
            refusal = RefusedMessage('odometry', *parts)
            self.refused[refusal.kind] += 1
            raise refusal from None
        stamp = odometry.seconds * NANOSECONDS + odometry.nanoseconds
        sample = BaseSample(stamp, base, self.base_velocity(np.array(odometry.twist)))
        alone = not self.joint_names
        if not self.base.add(sample):
            if not self._clock_jumped(self.base, self.base.stamp, stamp):
                self.dropped += 1
                return
            # Joints and base may be stamped by different clocks.
            self.base.samples.clear()
            self.base.add(sample)
            if alone:
                self.moment = NEVER
        # Outputs have this frame; tf2 drops a slash that it is broadcast with.
        self.base_frame_id = odometry.frame_id.lstrip('/')
        if alone:
            self.newest = stamp
            self._advance(stamp)

    def base_coordinates(self, pose: PoseValues, name: str) -> Array:
        """Returns the coordinates of the root joint for a pose of the root link."""
        return base_of(pose, name, planar=self._base_nq == 3)

    def base_velocity(self, twist: Array) -> Array:
        """Returns the velocity of the root joint for a twist (6) in the root link's frame."""
        return twist[[0, 1, 5]] if self._base_nv == 3 else twist

    def copy_base(self, q: Array, v: Array) -> None:
        """Copies the newest coordinates and velocities of the base to q and v, if any."""
        if self.base_known:
            _, q[: self._base_nq], v[: self._base_nv] = self.base.samples[-1]

    def _carried(self, base: Array, change: Array) -> Array:
        """Integrates base coordinates by a tangent vector: a velocity times a time."""
        q, v = self.neutral.copy(), np.zeros(self.robot.nv)
        q[: self._base_nq], v[: self._base_nv] = base, change
        return self.robot.integrate(q, v)[: self._base_nq]

    def state(self, *, base_required: bool = True) -> RobotState | None:
        """Returns the merged state; None while a joint or the base has no received value.

        Args:
            base_required: if False, a base without odometry is at identity.
        """
        base_known = self._base_nq > 0 and self.base_known
        if self.unreachable or (base_required and self._base_nq and not base_known):
            return None
        mask, ages, overdue, passive = self._nothing_stale, None, None, None
        stale: tuple[str, ...] = ()
        if self._whole is not None:
            now, values = self._whole.samples[-1]
            _, has_velocity, has_effort = self._whole.quantities
            velocity_missing = () if has_velocity else self.joint_names
            effort_missing = () if has_effort else self.joint_names
            numbers = values  # robot without a base, joints in the model's order
            if len(values) != len(self._blank):
                numbers = self._blank.copy()
                numbers[self._whole.places] = values
        else:
            now = 0 if self.moment == NEVER else self.moment
            numbers, stamps, late = self._merged(now)
            measured, passive, v_index = stamps[0] != NEVER, self.passive, self._v_index
            if passive is None and not measured.all():
                return None
            ages = self._no_ages.copy()
            ages[v_index] = np.maximum(now - stamps[0], 0)
            ages[v_index[~measured]] = ages[v_index[measured]].max(initial=0)
            if late.any():
                overdue = self._nothing_stale.copy()
                overdue[v_index] = late
            too_old = self._too_old(stamps, now)
            old = too_old[0] & measured
            # Quantities that joints report no longer, or never did. Passive joints have those that
            # all others have.
            without = (stamps == NEVER) | (too_old & ~old)
            without[:, ~measured] &= without[:, measured].any(axis=1, keepdims=True)
            velocity_missing, effort_missing = map(self._names_of, without[1:])
            if old.any():
                stale, mask = self._names_of(old), mask.copy()
                mask[v_index] = old | ~measured
        q, v, effort = self._parts(numbers)
        if base_known:
            base = self.base
            q[: self._base_nq], v[: self._base_nv] = base.at(now)
            age = max(now - base.stamp, 0)
            ages = self._no_ages.copy() if ages is None else ages
            ages[: self._base_nv] = age
            if age > OVERDUE_AFTER * base.interval > 0.0:
                overdue = self._nothing_stale.copy() if overdue is None else overdue
                overdue[: self._base_nv] = True
            if self._too_old(np.array(base.stamp), now):
                stale, mask = (ODOMETRY, *stale), mask.copy()
                mask[: self._base_nv] = True
        if passive is not None:
            determined = passive.solve(q, v)
            if passive.q is None:
                return None
            if not determined:
                velocity_missing = (*velocity_missing, *passive.names)
        return RobotState(
            *(now, q, v, effort, velocity_missing, effort_missing, stale, mask, ages, overdue),
            not_finite=self.not_finite if self.unusable else (),
        )

    def _merged(self, time: int) -> tuple[Array, Stamps, NDArray[np.bool_]]:
        """Returns what all publishers have reported; updates ``passive``.

        Args:
            time: ns. Before the oldest and after the newest sample of a quantity its value is that
                of this sample.

        Returns:
            q, v and effort concatenated, zero where nothing is known; stamps (3, joints) of
            positions, velocities and efforts, ``NEVER`` without one [ns]; mask (joints) of those
            whose next report is late.
        """
        count, numbers = len(self.joint_names), self._blank.copy()
        stamps = np.full(3 * count, NEVER, dtype=np.int64)
        late, values = np.zeros(3 * count, dtype=bool), np.full(3 * count, np.nan)
        for publisher in self._publishers.values():
            if publisher.samples:
                _, since = publisher.newest()
                own = since >= stamps[publisher.which]
                which, since = publisher.which[own], since[own]
                stamps[which], values[which] = since, publisher.at(time)[own]
                interval = publisher.interval
                late[which] = (time - since > OVERDUE_AFTER * interval) & (interval > 0.0)
        known = np.isfinite(values)
        stamps[~known] = NEVER
        numbers[self._places[known]] = values[known]
        absent = self._names_of(~known[:count])
        if absent != self._absent:
            start = None if self.passive is None else self.passive.q
            self.passive, self._absent = self.passive_joints(absent, start), absent
        return numbers, stamps.reshape(3, -1), late[:count]

    def _parts(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Returns q, v and effort of their concatenation (..., nq + 2 nv)."""
        nq, nv = self.robot.nq, self.robot.nv
        return numbers[..., :nq], numbers[..., nq : nq + nv], numbers[..., nq + nv :]

    def _too_old(self, stamps: Stamps, now: int) -> NDArray[np.bool_]:
        """Returns the mask of stamps further from the state's time than ``joint_timeout``."""
        limit = int(self.joint_timeout * NANOSECONDS)
        # Stamps of another clock may lie in the future; they are stale too.
        return (np.abs(stamps - now) > limit) & (limit > 0)

    def _count_unknown(self, name: str, times: int = 1) -> None:
        # Bounded, because the names come from messages.
        name = shortened(name, MAX_NAME_LENGTH)
        few = name in self.unknown_names or len(self.unknown_names) < MAX_UNKNOWN_NAMES
        self.unknown_names[name if few else 'others'] += times

    def passive_joints(self, absent: Iterable[str], start: Array | None) -> PassiveJoints | None:
        """Returns joints that are absent if loops may determine them, from a state q (nq) on."""
        names, model = frozenset(absent), self.robot.model
        if not (names and model.loops and names <= {*model.passive_joints}):
            return None
        return PassiveJoints(self.robot, names, start)

    def _names_of(self, mask: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(self.joint_names[i] for i in np.flatnonzero(mask))
