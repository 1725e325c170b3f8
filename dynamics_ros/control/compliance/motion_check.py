# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plausibility check of measured joint motion: impossible samples must not be used for control."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.control.motion_check import JUMP, MAX_SINCE, ROWS, memory_size
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.reasons import Explanation, Reason

from .gains import NO_LIMIT, joint_ranges

FASTEST = 10.0
"""Velocity limit assumed where the robot description has none [rad/s or m/s]."""

BEYOND, STROKES = 0.1, (0.1, 1.0)
"""Distance outside its range from which a joint cannot have got there by motion [rad]; of a sliding
joint, times its stroke within these bounds [m].

Either the range is not that of the robot or the position has an offset, e.g. of a full turn. A
torque that pulls the joint back would move the arm.
"""

BELIEVABLE = 1e6
"""Largest absolute value of a plausible input (rad, m, their rates, N and Nm)."""

BLIND = {
    Reason.POSITION_JUMPED: 'the position of {} has jumped',
    Reason.STATES_CONTRADICTORY: 'positions and velocities of {} contradict each other',
    Reason.STATES_FROZEN: 'the joint state of {} is frozen',
}
"""Reasons that hide the motion of the arm, in the order of ``CHECKS``."""

LEARNED = ('period', 'step', 'noise', 'torque', 'momentum')
"""What the memory keeps of a joint that was not reported."""

FRICTION_SHARE = 0.005
"""Share of the largest torque of a joint whose change need not move the joint."""

LASTING = 0.2
"""Time after which an arm whose samples cannot be used is handed over [s]."""

FORGIVING = 0.05
"""Rate at which that time decreases while samples can be used."""


def holding_friction(largest: Array, dry: Array) -> Array:
    """Change of torque (nv) that need not move a joint [Nm, N if prismatic].

    Dry friction counts twice: a joint that it has stopped stands until the torque has changed by as
    much as moves it the other way.

    Args:
        largest: (nv) torque of the joints [Nm or N].
        dry: (nv) friction of the joints, as far as it is known [Nm or N].
    """
    return np.maximum(FRICTION_SHARE * largest, 2.0 * dry)


class JointRanges:
    """Distance of joints from their ranges.

    Attributes:
        far: (nv) distance of ``BEYOND`` [rad or m].
    """

    def __init__(self, robot: RigidBodySystem) -> None:
        self._lower, self._upper = joint_ranges(robot)
        slides = np.zeros(robot.nv, dtype=bool)
        for joint in robot.model.actuated:
            slides[list(joint.v_indices)] = joint.kind.slides
        strokes = np.where(slides, np.clip(self._upper - self._lower, *STROKES), 1.0)
        self.far = BEYOND * strokes
        single = robot.joint_v_indices
        self._v_places = list(single.values())
        self._q_places = [robot.joint_q_indices[name] for name in single]

    def beyond(self, q: Array) -> Array:
        """Distance (nv) outside the range [rad or m]: negative inside, -inf without a range."""
        return np.maximum(*self._excess(q))

    def springs(self, q: Array, margin: Array, stiffness: Array) -> tuple[Array, Array]:
        """Torques (nv) of springs in the margins of the ranges, and their stiffness here (nv)."""
        stiffness = np.where(self.beyond(q) > self.far, 0.0, stiffness)
        below, above = (np.maximum(x + margin, 0.0) for x in self._excess(q))
        return stiffness * (below - above), stiffness * (np.sign(below) + np.sign(above))

    def _excess(self, q: Array) -> tuple[Array, Array]:
        angles = np.zeros(len(self._lower))
        angles[self._v_places] = q[self._q_places]
        return self._lower - angles, angles - self._upper


class MotionCheck:
    """Compares each sample of an arm with the previous ones and with the ranges of the joints.

    Attributes:
        reason: why the last sample must not be used; '' if it may.
        q, v: (nq), (nv) state to brake with: the last sample, with a prediction for joints whose
            sample must not be used.
        doubted: time for which reported samples of commanded joints could not be used lately [s].
        unseen: time before the next sample of which nothing was measured [s].
    """

    def __init__(self, robot: RigidBodySystem, friction: ArrayLike = 0.0) -> None:
        """Make the kernel of an arm.

        Args:
            robot: the arm.
            friction: (nv) or one number: change of torque that need not move a joint; inf for a
                joint that is not commanded [Nm, N if prismatic].
        """
        self._robot = robot
        self._kernel = robot.kernel('motion_check')
        self._limits = velocity_limits(robot)
        self._ranges = JointRanges(robot)
        self.friction = np.minimum(np.broadcast_to(friction, (robot.nv,)), NO_LIMIT)
        self._zero = np.zeros(robot.nv)
        self._all_reported = np.zeros(robot.nv, dtype=bool)
        self.begin(robot.neutral(), np.zeros(robot.nv))

    def begin(self, q: Array, v: Array, tau: Array | None = None) -> None:
        """Start a new comparison at this state (nq), (nv), with torques (nv) as for ``judge``."""
        self.reason = Explanation(Reason.OK, '')
        self.q, self.v, self.doubted, self.unseen = q, v, 0.0, 0.0
        self._missing = np.zeros(self._robot.nv)
        self._memory = np.zeros(memory_size(self._robot.model))
        self._compare(q, v, 1e-3, self._zero, tau)

    def go_on(self, other: MotionCheck) -> None:
        """Continue the comparison of the same joints with other masses, gravity or payload.

        The weight of another payload counts as not carried by the torques before; that of another
        gravity does, which turns as the base does.
        """
        self.reason, self.q, self.v = other.reason, other.q, other.v
        self.doubted, self.unseen, self._missing = other.doubted, other.unseen, other._missing
        self._memory = other._memory.copy()
        n, m = self._robot.nq, self._robot.nv
        rows = self._memory[n + 2 * m :].reshape(len(ROWS), m)
        before = other._robot.with_gravity([*self._robot.model.gravity])
        weights = [robot.gravity(self._memory[:n]) for robot in (before, self._robot)]
        rows[ROWS.index('torque')] += weights[0] - weights[1]
        rows[ROWS.index('momentum')] = self._robot.mass_matrix(self.q) @ rows[ROWS.index('speed')]

    def wait(self) -> None:
        """Wait until the kernel is compiled."""
        self._kernel.wait()

    @property
    def blind(self) -> bool:
        """Whether the last sample hides the motion of the arm."""
        return self.reason.reason in BLIND

    @property
    def lasting(self) -> bool:
        """Whether samples could not be used for so long that no feedback holds the arm."""
        return self.doubted > LASTING

    def judge(
        self,
        q: Array,
        v: Array,
        dt: float,
        effort: Array | None = None,
        tau: Array | None = None,
        unreported: NDArray[np.bool_] | None = None,
    ) -> Explanation:
        """Reason why a sample must not be used; '' if nothing is impossible.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: time since the previous sample [s].
            effort: (nv) of the sample; None if not measured.
            tau: (nv) torques that were commanded since the previous sample; None if unknown: then a
                joint at rest is not expected to move.
            unreported: (nv) mask of joints whose report is missing, so that q and v are older; a
                joint that comes back may have moved meanwhile. None: all are reported.
        """
        if not math.isfinite(math.hypot(*q.tolist(), *v.tolist())):
            text = 'positions or velocities are not finite'
            self.reason = Explanation(Reason.POSITION_NOT_FINITE, text)
            self.unseen += dt
            return self.reason
        nothing = self._zero
        effort = nothing if effort is None else effort
        unreported = self._all_reported if unreported is None else unreported
        if self._missing.any():
            self._believe((self._missing > 0.0) & ~unreported, q, v, dt)
        self._missing = np.where(unreported, self._missing + dt + self.unseen, 0.0)
        excess, self.q, self.v = self._compare(q, v, dt + self.unseen, effort, tau)
        self.unseen = 0.0
        self._follow_others(excess, q, v)
        self.reason = self._reason_of(excess, self._ranges.beyond(q))
        # Of other joints, the caller decides how long an arm may be braked without them.
        asked = (self.friction < NO_LIMIT) & ~unreported
        doubts = (excess.max(axis=0) > 0.0) & asked
        doubted = self.doubted + (dt if doubts.any() else -FORGIVING * dt)
        self.doubted = min(max(doubted, 0.0), 2.0 * LASTING)
        return self.reason

    def _believe(self, back: NDArray[np.bool_], q: Array, v: Array, dt: float) -> None:
        """Take joints (nv) that are reported again as they are, where they may have moved to.

        One that had jumped before stays where it was predicted.
        """
        n, m, memory = self._robot.nq, self._robot.nv, self._memory
        rows = dict(zip(ROWS, memory[n + 2 * m :].reshape(len(ROWS), m), strict=True))
        moved = self._robot.difference(memory[:n], q)
        bound = 2.0 * self._limits * (self._missing + self.unseen + dt) + JUMP
        # Between the reports of a slower publisher a joint is not missing.
        back = back & (self._missing > np.maximum(rows['period'], MAX_SINCE))
        back &= (rows['offset'] == 0.0) & (np.abs(moved) <= bound)
        memory[:n] = self._robot.integrate(q, np.where(back, -dt * v, -moved))
        memory[n : n + m][back] = v[back]
        for name, row in rows.items():
            if name not in LEARNED:
                row[back] = v[back] if name in ('slope', 'smoother', 'speed') else 0.0

    def _follow_others(self, excess: Array, q: Array, v: Array) -> None:
        """Believe jumps of joints that are not commanded: no feedback acts on them."""
        jumped = (excess[0] > 0.0) & (self.friction >= NO_LIMIT)
        if not jumped.any():
            return
        excess[:, jumped] = -1.0
        ahead = self._robot.difference(self.q, q)
        self.q = self._robot.integrate(self.q, np.where(jumped, ahead, 0.0))
        self.v = np.where(jumped, v, self.v)
        n, m = self._robot.nq, self._robot.nv
        rows = self._memory[n + 2 * m :].reshape(len(ROWS), m)
        for name in ('offset', 'frozen', 'predicted_move', 'stale_time'):
            rows[ROWS.index(name), jumped] = 0.0

    def _compare(
        self, q: Array, v: Array, dt: float, effort: Array, tau: Array | None
    ) -> tuple[Array, Array, Array]:
        friction = self.friction
        if tau is None:
            tau, friction = self._zero, np.full(self._robot.nv, NO_LIMIT)
        excess, judged_q, judged_v, self._memory = self._kernel.call(
            *(q, v, effort, tau, friction, self._limits),
            *(self._memory, min(dt, NO_LIMIT)),
        )
        return excess, judged_q, judged_v

    def _reason_of(self, excess: Array, beyond: Array) -> Explanation:
        if excess.max() > 0.0:
            k = int((excess.max(axis=1) > 0.0).argmax())
            reason, text = list(BLIND.items())[k]
            return Explanation(reason, text.format(self._name(excess[k])))
        too_far = beyond - self._ranges.far
        if too_far.max() > 0.0:
            text = f'{self._name(too_far)} is {beyond[too_far.argmax()]:.2f} beyond its range'
            return Explanation(Reason.POSITIONS_BEYOND_LIMITS, text)
        return Explanation(Reason.OK, '')

    def _name(self, excess: Array) -> str:
        """Name of the joint with the largest excess (nv)."""
        joints, k = self._robot.model.joints, int(excess.argmax())
        return next(x.name for x in joints if x.leader is None and k in x.v_indices)


def velocity_limits(robot: RigidBodySystem) -> Array:
    """Velocity limits (nv) of an arm [rad/s or m/s], ``FASTEST`` where it has none."""
    limits = robot.velocity_limits
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, FASTEST)


def believable(*values: ArrayLike) -> bool:
    """Whether all values are within the range of plausible inputs."""
    # The length bounds each entry, and is quicker to compute for arrays this small.
    return all(
        math.hypot(*x.flat) <= BELIEVABLE or bool(np.abs(x).max(initial=0.0) <= BELIEVABLE)
        for x in map(np.asarray, values)
    )
