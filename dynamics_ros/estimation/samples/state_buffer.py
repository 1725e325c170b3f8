# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Buffer that merges joint states and odometry by name into the state of a robot."""

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

from .reports import (
    NANOSECONDS,
    QUANTITIES,
    Array,
    Indices,
    JointValues,
    OdometryValues,
    PoseValues,
    RefusedMessage,
    Selection,
    Stamps,
    check_odometry,
    floating_base,
    planar_base,
)
from .robot_state import RobotState
from .timeline import NEVER, OVERDUE_AFTER, BaseSample, MovingBase, Timeline

ODOMETRY = 'odom'

NOT_FINITE = 'position not finite'
"""Reason in ``StateBuffer.unusable`` and ``refused`` for a position that is NaN or infinite."""

MAX_UNKNOWN_NAMES, MAX_NAME_LENGTH = 20, 100

MAX_SELECTIONS = 16
"""Maximum number of cached name lists; each publisher on the topic needs one."""


class StateBuffer:
    """Merges partial joint states and odometry into q, v and effort at one time.

    A message of the wrong form is refused as a whole; ``refused`` counts the causes. A velocity or
    effort that is NaN or infinite (drivers write NaN for quantities that they do not measure)
    leaves that value of its joint unknown and is counted too. A joint whose position is NaN or
    infinite counts as not reported by that message; the other joints are merged.
    ``timeline.Timeline`` determines the time of a state if messages are late or several publishers
    report parts of the robot.

    Attributes:
        unusable: joints whose newest report could not be used, with the reason: ``NOT_FINITE`` or
            the cause of a refused message.
        fault: whether the last message made a joint's position not finite that was finite before.
        neutral: (nq) configuration in which every joint transform is the identity.
        q, v, effort: state that is currently processed; always the same arrays.
        passive: joints of loops that no message has reported, if these are all that are missing.
        timeline: samples of joints and base over time.
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
        self.fault = False
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
        self._selections: dict[object, Selection] = {}
        self._selection = Selection((), (0, 0, 0), self._slots, self._ignored, self._places)
        # Quantities of the timeline: positions, then velocities, then efforts.
        self.timeline = Timeline(self._blank, self._places, MovingBase(self._carried))
        # Stamp and values of the latest message, if it had all known quantities and is not yet in
        # the timeline, which serves late and partial messages; see _settle.
        self._whole: tuple[int, Selection, Array] | None = None
        self._changes = -1
        self._known: tuple[bool, ...] = (False, False, False)
        self._nothing_stale = np.zeros(robot.nv, dtype=bool)
        self._no_ages = np.zeros(robot.nv, dtype=np.int64)
        self._nothing_stale.flags.writeable = self._no_ages.flags.writeable = False
        self.base_frame_id = ''
        self.passive: PassiveJoints | None = None

    @property
    def has_base(self) -> bool:
        """Whether the robot has a moving base."""
        return self._base_nq > 0

    @property
    def base_known(self) -> bool:
        """Whether odometry has been received, since the clock was last set back."""
        return bool(self.timeline.base.samples)

    def missing(self) -> tuple[str, ...]:
        """Returns joints without a position, and 'odom' for a moving base without odometry."""
        self._settle()
        absent = self._names_of(self.timeline.stamps[: len(self.joint_names)] == NEVER)
        if self.passive is not None and self.passive.q is not None and absent == self.passive.names:
            absent = ()
        if self.has_base and not self.base_known:
            absent = (ODOMETRY, *absent)
        return (*absent, *self.unreachable)

    def knows(self, name: str) -> bool:
        """Whether this is the name of a joint, a mimic follower or an ignored joint."""
        return name in self._slots or name in self._ignored

    def adopt(self, other: StateBuffer) -> None:
        """Copies the samples of joints with the same names from another buffer."""
        other._settle()
        self.refused, self.unknown_names = other.refused, other.unknown_names
        self.unusable = {name: why for name, why in other.unusable.items() if name in self._slots}
        pairs = [(new, other._slots[n]) for n, new in self._slots.items() if n in other._slots]
        slots = np.array(pairs, dtype=np.intp).reshape(-1, 1, 2)
        sizes = np.array([len(self.joint_names), len(other.joint_names)])
        mine, theirs = (slots + np.arange(3)[:, np.newaxis] * sizes).reshape(-1, 2).T
        self.timeline.adopt(other.timeline, np.sort(mine), theirs[np.argsort(mine)])
        before = other.passive
        if before is not None and self.joint_names == other.joint_names:
            self.passive = self.passive_joints(before.names, before.q)
        if self._base_nq == other._base_nq:
            self.timeline.base.samples = other.timeline.base.samples.copy()
            self.base_frame_id = other.base_frame_id

    def update(self, message: JointValues) -> bool:
        """Merges a joint state; returns whether it contains a joint of this robot.

        Raises:
            RefusedMessage: the message is invalid and nothing was merged.
        """
        self.timeline.due = self.fault = False
        selection, nanoseconds = self._selected(message), message.nanoseconds
        for name in selection.unknown:
            self._count_unknown(name)
        if selection.refusal or nanoseconds >= NANOSECONDS:
            self._settle()
            stamp = 'stamp', (Figure(nanoseconds, 'd'), ' ns are more than a second')
            kind, detail = selection.refusal or stamp
            refusal = RefusedMessage(kind, *detail)
            self.refused[refusal.kind] += 1
            self.unusable = dict.fromkeys(selection.joints, refusal.kind) | self.unusable
            raise refusal
        time, values = message.time, selection.values(message)
        # A norm is finite only if all numbers are; if it overflows, the numbers are checked one by
        # one. NumPy's norm would warn of the overflow.
        finite = math.isfinite(math.hypot(*values.tolist())) or np.isfinite(values).all()
        if finite and self._take_whole(time, selection, values):
            return True
        self._settle()
        if not selection.which.size:
            return False
        if finite:
            self.timeline.add(selection.which, values, time)
            self._mark_usable(selection.which, time)
        else:
            self._take_finite(time, selection.which, values)
        return True

    def update_all(self, messages: JointValues) -> RobotState | None:
        """Merges consecutive complete joint states whose stamps do not decrease.

        Args:
            messages: several messages, one row each.

        Returns:
            ``due_state`` after each message; None if the messages must be merged one by one, in
            which case none was merged.
        """
        selection, times = self._selected(messages), messages.time
        if self.has_base or selection.refusal or selection.quantities != self._known_quantities():
            return None
        if (np.diff(times, prepend=self.timeline.newest) < 0).any():
            return None
        values = selection.values(messages)
        if not np.isfinite(values).all() or (messages.nanoseconds >= NANOSECONDS).any():
            return None
        for time in times[-2:].tolist():
            if not self._take_whole(time, selection, values[-1]):
                return None
        for name in selection.unknown:
            self._count_unknown(name, len(times))
        numbers = np.tile(self._blank, (len(times), 1))
        numbers[:, selection.places] = values
        velocity, effort = (() if x else self.joint_names for x in selection.quantities[1:])
        parts = self._parts(numbers)
        return RobotState(times, *parts, velocity, effort, (), self._nothing_stale)

    def due_state(self) -> RobotState | None:
        """Returns the state that the last message completes; None if it completes none.

        The state is newer than the previous one, or an update for the same time. A message with the
        first position of a joint that is not finite always completes one.
        """
        return self.state() if self.timeline.due or self.fault else None

    @property
    def not_finite(self) -> tuple[str, ...]:
        """Joints whose newest reported position is NaN or infinite."""
        return tuple(name for name, why in self.unusable.items() if why == NOT_FINITE)

    def answer(self, state: RobotState) -> None:
        """Copies a state to ``q``, ``v`` and ``effort``."""
        self.q[:] = state.q
        self.v[:] = state.v
        self.effort[:] = state.effort

    def _selected(self, message: JointValues) -> Selection:
        """Returns the cached indices for these names and array lengths."""
        names, selection = message.names, self._selection
        sizes = message.position.shape[-1], message.velocity.shape[-1], message.effort.shape[-1]
        if names is not selection.names or sizes != selection.sizes:
            if (names, sizes) not in self._selections:
                if len(self._selections) >= MAX_SELECTIONS:
                    self._selections.clear()
                self._selections[names, sizes] = Selection(
                    *(names, sizes, self._slots, self._ignored, self._places)
                )
            selection = self._selection = self._selections[names, sizes]
            selection.names = names
        return selection

    def _take_whole(self, time: int, selection: Selection, values: Array) -> bool:
        """Stores a message that contains all known quantities; otherwise returns False."""
        # A state needs positions, whatever else the message contains.
        reported = selection.quantities
        if not (selection.complete and reported[0]) or time < self.timeline.newest:
            return False
        known = self._known_quantities()
        if reported != known and any(k > t for t, k in zip(reported, known)):
            return False
        self.timeline.skip_to(time)
        self.unusable.clear()
        # The timeline fills in missing joints, after _settle has added this message.
        self._whole, self._known = (time, selection, values), reported
        return True

    def _take_finite(self, time: int, message: Indices, values: Array) -> None:
        """Merges a message; velocities and efforts that are not finite become unknown.

        Joints whose position is not finite are not merged.
        """
        finite, timeline = np.isfinite(values), self.timeline
        count = len(self.joint_names)
        joints = message % count
        faulty = joints[~finite & (message < count)]
        merged = ~np.isin(joints, faulty)
        lost = message[~finite & merged]
        for i in np.unique(lost // count).tolist():
            self.refused[f'{QUANTITIES[i]} not finite'] += 1
        timeline.forget(lost[time >= timeline.stamps[lost]])
        merged &= finite
        if merged.any():
            timeline.add(message[merged], values[merged], time, message)
            self._mark_usable(message[merged], time)
        if faulty.size:
            self.refused[NOT_FINITE] += 1
            for i in faulty[time >= timeline.stamps[faulty]].tolist():
                name = self.joint_names[i]
                self.fault |= self.unusable.get(name) != NOT_FINITE
                self.unusable[name] = NOT_FINITE

    def _mark_usable(self, which: Indices, time: int) -> None:
        """Removes joints from ``unusable`` whose positions, in ``which``, have this stamp [ns]."""
        if self.unusable:
            positions = which[which < len(self.joint_names)]
            for i in positions[self.timeline.stamps[positions] == time].tolist():
                self.unusable.pop(self.joint_names[i], None)

    def _settle(self) -> None:
        """Adds the latest complete message to the timeline if that was deferred."""
        whole, self._whole = self._whole, None
        if whole is not None:
            time, selection, values = whole
            self.timeline.store_complete(selection.which, values, time)

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
        if self.timeline.add_base(sample, alone=not self.joint_names):
            # Outputs have this frame; tf2 drops a slash that it is broadcast with.
            self.base_frame_id = odometry.frame_id.lstrip('/')

    def base_coordinates(self, pose: PoseValues, name: str) -> Array:
        """Returns the coordinates of the root joint for a pose of the root link."""
        return planar_base(pose, name) if self._base_nq == 3 else floating_base(pose, name)

    def base_velocity(self, twist: Array) -> Array:
        """Returns the velocity of the root joint for a twist (6) in the root link's frame."""
        return twist[[0, 1, 5]] if self._base_nv == 3 else twist

    def copy_base(self, q: Array, v: Array) -> None:
        """Copies the newest coordinates and velocities of the base to q and v, if any."""
        if self.base_known:
            _, q[: self._base_nq], v[: self._base_nv] = self.timeline.base.samples[-1]

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
            now, selection, values = self._whole
            _, has_velocity, has_effort = selection.quantities
            velocity_missing = () if has_velocity else self.joint_names
            effort_missing = () if has_effort else self.joint_names
            numbers = values  # robot without a base, joints in the model's order
            if len(values) != len(self._blank):
                numbers = self._blank.copy()
                numbers[selection.places] = values
        else:
            self._known_quantities()
            timeline, passive, v_index = self.timeline, self.passive, self._v_index
            stamps = timeline.stamps.reshape(3, -1)
            measured = stamps[0] != NEVER
            if passive is None and not measured.all():
                return None
            now = 0 if timeline.moment == NEVER else timeline.moment
            numbers, ages = timeline.at(now), self._no_ages.copy()
            ages[v_index] = np.maximum(now - stamps[0], 0)
            ages[v_index[~measured]] = ages[v_index[measured]].max(initial=0)
            late = timeline.overdue()[: len(measured)]
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
            base = self.timeline.base
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

    def _known_quantities(self) -> tuple[bool, ...]:
        """Returns whether positions, velocities, efforts of any joint have been received.

        Updates ``passive``, which depends on the same.
        """
        timeline = self.timeline
        if self._changes != timeline.changes:
            reported = timeline.stamps.reshape(3, -1) != NEVER
            start = None if self.passive is None else self.passive.q
            self.passive = self.passive_joints(self._names_of(~reported[0]), start)
            self._known = tuple(reported.any(axis=1).tolist())
            self._changes = timeline.changes
        return self._known

    def passive_joints(self, absent: Iterable[str], start: Array | None) -> PassiveJoints | None:
        """Returns joints that are absent if loops may determine them, from a state q (nq) on."""
        names, model = frozenset(absent), self.robot.model
        if not (names and model.loops and names <= {*model.passive_joints}):
            return None
        return PassiveJoints(self.robot, names, start)

    def _names_of(self, mask: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(self.joint_names[i] for i in np.flatnonzero(mask))
