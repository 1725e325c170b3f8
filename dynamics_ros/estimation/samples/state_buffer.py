# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The latest state of the robot, merged from joint states and odometry by name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError, shortened
from dynamics_ros.robot import Robot

from .history import NEVER, Stamps
from .moving_base import BaseSample, MovingBase
from .reports import (
    NANOSECONDS,
    Array,
    JointValues,
    OdometryValues,
    PoseValues,
    check_odometry,
    floating_base,
    planar_base,
)
from .resolution import RefusedMessage, Resolution, Selection, Whole
from .robot_state import RobotState, RobotStates
from .timeline import Timeline

ODOMETRY = 'odom'

QUANTITIES = ('position', 'velocity', 'effort')

MAX_UNKNOWN_NAMES, LONGEST_NAME = 20, 100

MAX_RESOLUTIONS = 16
"""Lists of names that are remembered: one for each publisher on the topic."""


class Known(NamedTuple):
    """Of which joints something is known.

    Attributes:
        changes: count of the history that this is of.
        quantities: whether positions, velocities, efforts are known of some joint.
        complete: whether positions are known of all.
        velocity_missing, effort_missing: joints of which they are not.
    """

    changes: int
    quantities: tuple[bool, ...]
    complete: bool
    velocity_missing: tuple[str, ...]
    effort_missing: tuple[str, ...]


class StateBuffer:
    """Merges joint states of some of the joints, and odometry, into q, v and effort of one moment.

    A message is taken or refused as a whole; ``refused`` counts the reasons. A velocity or effort
    that is not a number (drivers write NaN for what they do not measure) leaves that of its joint
    unknown, and is counted too. When messages come late, or from several publishers that take
    turns, ``estimation.timeline`` says of which moment a state is.

    Attributes:
        neutral: (nq) the configuration in which every joint transform is the identity.
        q, v, effort: those of the state that is being answered, always in the same arrays.
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
        self._base_nq = model.root_joint_nq
        self._base_nv = model.root_joint_nv
        self.neutral = robot.neutral()
        numbers = np.concatenate((self.neutral, np.zeros(2 * robot.nv)))
        self._blank = numbers.copy()
        self.q, self.v, self.effort = np.split(numbers, (robot.nq, robot.nq + robot.nv))
        size = len(single)
        # Of positions, velocities and efforts of the joints, in q, v and effort behind each other.
        self._places = np.concatenate(
            (self._q_index, robot.nq + self._v_index, robot.nq + robot.nv + self._v_index)
        )
        self._resolution = self._resolve(())
        self._resolutions = {self._resolution.names: self._resolution}
        # Its quantities: positions, then velocities, then efforts.
        self.timeline = Timeline(3 * size, MovingBase(self._carried))
        # The latest message when it told all that is known: not yet in the history, see _settle.
        self._whole: Whole | None = None
        self._known = Known(-1, (), False, (), ())
        self._nothing_stale = np.zeros(robot.nv, dtype=bool)
        self._nothing_stale.flags.writeable = False
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
        selection = target.selection(message)
        if selection is not None and message.nanoseconds < NANOSECONDS:
            values = selection.values(message)
            # A length is finite only if all numbers are; where it overflows, they are looked at one
            # by one. NumPy's would warn of that.
            if math.isfinite(math.hypot(*values.tolist())):
                for name in target.unknown:
                    self._count_unknown(name)
                return self._take(message.time, target, selection, values)
        self._settle()
        for name in target.unknown:
            self._count_unknown(name)
        try:
            target.check(message)
        except RefusedMessage as refusal:
            self.refused[refusal.kind] += 1
            raise
        assert selection is not None, 'else it is refused'
        return self._take_finite(message.time, target, selection, selection.values(message))

    def update_all(self, messages: JointValues) -> RobotStates | None:
        """Merge consecutive joint states that tell all that is known, each later than the last.

        Args:
            messages: several, with a row each.

        Returns:
            What ``due_state`` would be after each of them; None where nothing is taken, because
            they have to be merged one by one.
        """
        target = self._resolution
        if messages.names is not target.names:
            target = self._resolved(messages.names)
        selection, times = target.selection(messages), messages.time
        if self.has_base or selection is None or not target.all_joints:
            return None
        newest, told = self.timeline.newest, selection.quantities
        forward = times[0] >= newest and (np.diff(times) >= 0).all()
        if not forward or not told[0] or told != self._now_known().quantities:
            return None
        values = selection.values(messages)
        if not np.isfinite(values).all() or (messages.nanoseconds >= NANOSECONDS).any():
            return None
        for name in target.unknown:
            self._count_unknown(name, len(times))
        self.timeline.skip_to(int(times[-1]))
        self._whole = Whole(int(times[-1]), selection, values[-1])
        numbers = np.tile(self._blank, (len(times), 1))
        numbers[:, selection.places] = values
        nq, nv = self.robot.nq, self.robot.nv
        parts = numbers[:, :nq], numbers[:, nq : nq + nv], numbers[:, nq + nv :]
        velocity, effort = (() if each else self.joint_names for each in told[1:])
        return RobotStates(times, *parts, velocity, effort, (), self._nothing_stale)

    def due_state(self) -> RobotState | None:
        """The state that the last message completes; None where it completes none.

        It is newer than those before, or says anew what is known of the same moment.
        """
        return self.state() if self.timeline.due else None

    def answer(self, state: RobotState) -> None:
        """Have ``q``, ``v`` and ``effort`` be those of a state."""
        self.q[:] = state.q
        self.v[:] = state.v
        self.effort[:] = state.effort

    def _resolve(self, names: tuple[str, ...]) -> Resolution:
        return Resolution(names, self._slots, self._ignored, self._places)

    def _resolved(self, names: tuple[str, ...]) -> Resolution:
        """Where values of these names go; remembered for as many as publishers may be."""
        target = self._resolutions.get(names)
        if target is None or target.names is not names:
            if len(self._resolutions) >= MAX_RESOLUTIONS:
                self._resolutions.clear()
            target = self._resolve(names)
            self._resolutions[target.names] = target
        self._resolution = target
        return target

    def _take(self, time: int, target: Resolution, selection: Selection, values: Array) -> bool:
        """Merge what a message tells, all of it finite; whether it was about this robot."""
        if target.all_joints and self._take_whole(time, selection, values):
            return True
        self._settle()
        if not selection.which.size:
            return False
        timeline = self.timeline
        timeline.add(selection.key, selection.told, selection.which, values, time)
        return True

    def _take_whole(self, time: int, selection: Selection, values: Array) -> bool:
        """Take a message that tells all that is known; else do nothing.

        The history, which is for messages that come late and for joints that others tell, is
        given it only once such a message comes.
        """
        if time < self.timeline.newest:
            return False
        told, known = selection.quantities, self._now_known().quantities
        # Without positions there is no state, whatever else is told.
        if not told[0] or (told != known and any(k > t for t, k in zip(told, known))):
            return False
        self.timeline.skip_to(time)
        self._whole = Whole(time, selection, values)
        if told != known:
            # What is missing is asked of the history, once that has been given this.
            self._known = self._known._replace(quantities=told)
        return True

    def _take_finite(
        self, time: int, target: Resolution, selection: Selection, values: Array
    ) -> bool:
        """Merge what a message tells; what is no number is not known from then on."""
        which, finite = selection.which, np.isfinite(values)
        if finite.all():
            return self._take(time, target, selection, values)
        lost, history = which[~finite], self.timeline.history
        for i in np.unique(lost // len(self.joint_names)).tolist():
            self.refused[f'{QUANTITIES[i]} not finite'] += 1
        history.forget(lost[time >= history.newest[lost]])
        self.timeline.add(selection.key, selection.told, which[finite], values[finite], time)
        return True

    def _settle(self) -> None:
        """Merge the latest message if that has been put off."""
        whole, self._whole = self._whole, None
        if whole is not None:
            self.timeline.add_all(whole.selection.which, whole.values, whole.time)

    def update_base(self, odometry: OdometryValues, names: Iterable[str]) -> None:
        """Take the pose and twist of a moving base.

        Args:
            odometry: what it says.
            names: what the root link may be called in child_frame_id.

        Raises:
            RefusedMessage: nothing of it was taken.
        """
        try:
            check_odometry(odometry, tuple(names))
            base = self.base_coordinates(odometry.pose, 'odom.pose')
        except InvalidArgumentError as error:
            refusal = RefusedMessage('odometry', str(error))
            self.refused[refusal.kind] += 1
            raise refusal from None
        stamp = odometry.seconds * NANOSECONDS + odometry.nanoseconds
        sample = BaseSample(stamp, base, self.base_velocity(np.array(odometry.twist)))
        if self.timeline.add_base(sample, alone=not self.joint_names):
            self.base_frame_id = odometry.frame_id

    def base_coordinates(self, pose: PoseValues, name: str) -> Array:
        """Coordinates of the root joint for a pose of the root link."""
        return planar_base(pose, name) if self._base_nq == 3 else floating_base(pose, name)

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
        base_known = self._base_nq > 0 and self.base_known
        if self.unreachable or (base_required and self._base_nq and not base_known):
            return None
        whole = self._whole
        mask, ages = self._nothing_stale, None
        stale: tuple[str, ...] = ()
        if whole is not None:
            now, names = whole.time, self.joint_names
            _, velocity_told, effort_told = whole.selection.quantities
            velocity_missing = () if velocity_told else names
            effort_missing = () if effort_told else names
            if len(whole.values) == len(self._blank):
                numbers = whole.values  # of a robot without a base, whose joints have these places
            else:
                numbers = self._blank.copy()
                numbers[whole.selection.places] = whole.values
        else:
            now, known, history = self._moment, self._now_known(), self.timeline.history
            if not known.complete:
                return None
            numbers = self._blank.copy()
            numbers[self._places] = history.at(now)
            positions, velocities, efforts = history.newest.reshape(3, -1)
            ages = np.zeros(self.robot.nv, dtype=np.int64)
            ages[self._v_index] = np.maximum(now - positions, 0)
            velocity_missing, effort_missing = known.velocity_missing, known.effort_missing
            if any(self._is_too_old(stamp) for stamp in history.spread()):
                old = self._too_old(positions)
                mask, stale = np.zeros(self.robot.nv, dtype=bool), self._named(old)
                mask[self._v_index] = old
                velocity_missing = self._named(self._lacking(velocities, old))
                effort_missing = self._named(self._lacking(efforts, old))
        nq, nv = self.robot.nq, self.robot.nv
        q, v, effort = numbers[:nq], numbers[nq : nq + nv], numbers[nq + nv :]
        if base_known:
            base = self.timeline.base
            q[: self._base_nq], v[: self._base_nv] = base.at(now)
            if ages is None:
                ages = np.zeros(nv, dtype=np.int64)
            ages[: self._base_nv] = max(now - base.stamp, 0)
            if self._is_too_old(base.stamp):
                stale, mask = (ODOMETRY, *stale), mask.copy()
                mask[: self._base_nv] = True
        return RobotState(now, q, v, effort, velocity_missing, effort_missing, stale, mask, ages)

    @property
    def _moment(self) -> int:
        """Of the state [ns]; zero where nothing has told a time."""
        moment = self.timeline.moment
        return 0 if moment == NEVER else moment

    def _is_too_old(self, stamp: int) -> bool:
        """Whether a stamp is further from the state's than joint_timeout."""
        limit = self.joint_timeout * NANOSECONDS
        # Stamps of another clock may be of the future: as stale as those of the past.
        return 0.0 < int(limit) < abs(stamp - self._moment)

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

    def _count_unknown(self, name: str, times: int = 1) -> None:
        # Bounded: names come from outside.
        name = shortened(name, LONGEST_NAME)
        few = name in self.unknown_names or len(self.unknown_names) < MAX_UNKNOWN_NAMES
        self.unknown_names[name if few else 'others'] += times

    def _now_known(self) -> Known:
        """What is known; worked out anew when a quantity was told for the first time, or lost."""
        history = self.timeline.history
        if self._known.changes != history.changes:
            told = history.newest.reshape(3, -1) != NEVER
            self._known = Known(
                history.changes,
                tuple(told.any(axis=1).tolist()),
                bool(told[0].all()),
                *(self._named(~row) for row in told[1:]),
            )
        return self._known

    def _named(self, mask: NDArray[np.bool_]) -> tuple[str, ...]:
        if not mask.any():
            return ()
        return tuple(self.joint_names[i] for i in np.flatnonzero(mask))
