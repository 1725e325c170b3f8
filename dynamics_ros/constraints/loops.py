# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints that stay satisfied, and dynamics of a robot whose description closes loops.

If only accelerations are constrained (J a + J-dot v = 0 in [RD] eq. 3.61), rounding and integration
errors of the gap accumulate. Either the state is corrected between steps (`closed_state`), or the
constraint reduces its gap like a spring and a damper (`Stabilized`).

Joints without a motor (``passive_joints`` of the model) carry no torque. The motors carry what is
left of the tree's torques after the loops: tau_a + (J^T f)_a, with (J^T f)_p = tau_p ([Lie] 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InfeasibleError, InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    check_count,
    check_positive,
    finite_arrays,
    finite_together,
    finite_vector,
    refuse_overflow,
)
from dynamics_ros.multibody.kernel_methods import Wrenches
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .dynamics import (
    constrained_forward_dynamics,
    constrained_inverse_dynamics,
    constraint_jacobian,
    rows_and_bias,
    solve_constrained,
    stacked,
)
from .kinds import (
    ClosedLoop,
    ConfigurationConstraint,
    Constraint,
    Contact,
    LinearConstraint,
    Slopes,
    differentiable,
)

AT_REST, NEWTON_STEPS = 1e-9, 20
"""Step of ``PassiveJoints`` after which loops are closed [rad or m], and its number of steps."""

LARGEST_GAP = 0.01
"""Gap that measured joints may leave [m or rad], as encoders of some of the passive joints do."""

LONGEST_STAGE, SHORTEST_STAGE, MOST_STAGES = 0.1, 1e-4, 200
"""Motion of the measured joints between two closed configurations [rad or m], and their number."""

DETERMINED, SAME_SIDE = 1e-3, 0.5
"""Ratio of the smallest to the largest singular value from which loops determine their joints, and
the change of the Jacobian, relative to the smallest, that excludes a singularity in between."""

ASSEMBLY_STARTS, SAME_ASSEMBLY = 40, 1e-3
"""Number of starts of a search for all ways to assemble a mechanism, and the largest difference of
the joints of the same one [rad or m]."""

RETRY_AFTER, SEARCH_AFTER = 0.01, 0.5
"""Motion of the measured joints after which a step that failed is repeated, and a search for the
first configuration, which takes long [rad or m]."""

UNTURNED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Stabilized:
    """Constraint with Baumgarte stabilization: J a + J-dot v = -2 k (J v + drift) - k^2 f.

    The stabilization is critically damped: an error of the residual f decays as exp(-k t). The
    integration is unstable if the rate is too high: k times the step size should be below 0.5. A
    constraint on the velocity alone has no f; J a + J-dot v = -k (J v + drift) then.

    Attributes:
        constraint: ``ClosedLoop``, ``Contact`` with an anchor, ``ConfigurationConstraint`` or
            ``LinearConstraint``.
        rate: k [1/s].
    """

    constraint: Constraint
    rate: float

    def __post_init__(self) -> None:
        if not isinstance(self.constraint, LinearConstraint):
            _closable(self.constraint)
        check_positive('rate', self.rate)

    def at(self, time: float) -> Stabilized:
        """The same at another time [s], for a constraint that depends on it.

        Raises:
            InvalidArgumentError: the constraint does not depend on time.
        """
        if not isinstance(self.constraint, (ConfigurationConstraint, LinearConstraint)):
            raise InvalidArgumentError('time', f'{time}', 'a constraint that depends on it')
        return Stabilized(self.constraint.at(time), self.rate)

    @property
    def rows(self) -> int:
        """Number of rows of the constraint."""
        return self.constraint.rows

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Jacobian J (..., rows, nv) of the constraint."""
        return self.constraint.jacobian(robot, q)

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Stabilized bias J-dot v + 2 k (J v + drift) + k^2 f (..., rows)."""
        constraint, k = self.constraint, self.rate
        rate = apply(constraint.jacobian(robot, q), v) + _drift(constraint, robot, q)
        own = constraint.bias(robot, q, v)
        if not hasattr(constraint, 'residual'):
            return np.asarray(own + k * rate)
        return np.asarray(own + 2.0 * k * rate + k * k * constraint.residual(robot, q))

    def slopes(self, robot: RigidBodySystem, q: Array, v: Array, a: Array, forces: Array) -> Slopes:
        """Derivatives of J^T f and of the stabilized J a + J-dot v.

        That of the residual is taken as J, which is exact for points and functions of q; for
        rotations of loops and surfaces it is off by a share as large as their gap [rad].
        """
        constraint, k = differentiable(self.constraint), self.rate
        own, J = constraint.slopes(robot, q, v, a, forces), constraint.jacobian(robot, q)
        closes = hasattr(constraint, 'residual')
        damping = 2.0 * k if closes else k
        by_q = own.rows_dq + damping * own.rates_dq
        return own._replace(
            rows_dq=by_q + k * k * J if closes else by_q, rows_dv=own.rows_dv + damping * J
        )


def closed_state(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Constraint | Sequence[Constraint],
    tolerance: float = 1e-10,
    max_iterations: int = 20,
) -> tuple[Array, Array]:
    """Project a state to the constraints: close gaps near q, and find the velocity nearest to v.

    Distances are measured by kinetic energy: each Newton step has the smallest norm in the metric
    of M.

    Args:
        robot: the constrained robot.
        q, v: (..., nq), (..., nv) a state with small gaps.
        constraints: loops, contacts with an anchor, constraints of functions of q; a
            ``LinearConstraint`` concerns v alone.
        tolerance: largest gap that counts as closed [m or rad].
        max_iterations: largest number of Newton steps.

    Returns:
        q (..., nq) and v (..., nv).

    Raises:
        InfeasibleError: gaps remain after the last step.
        SingularError: a joint moves nothing that has mass or inertia.
    """
    all_constraints = list(constraints) if isinstance(constraints, Sequence) else [constraints]
    if not all_constraints:
        raise InvalidArgumentError('constraints', 'none', 'one or more')
    closable = [_closable(x) for x in all_constraints if not isinstance(x, LinearConstraint)]
    check_count('max_iterations', max_iterations, 0)
    check_positive('tolerance', tolerance)
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    gap = stacked([np.zeros(0), *(x.residual(robot, q) for x in closable)], 1)
    for _ in range(max_iterations):
        if np.abs(gap).max(initial=0.0) <= tolerance:
            break
        q = robot.integrate(q, _nearest(robot, q, closable, np.zeros(robot.nv), -gap))
        gap = stacked([np.zeros(0), *(x.residual(robot, q) for x in closable)], 1)
    residual = float(np.abs(gap).max(initial=0.0))
    if not residual <= tolerance:
        raise InfeasibleError('no configuration near q closes the loops', residual)
    drift = stacked([np.zeros(0), *(_drift(x, robot, q) for x in all_constraints)], 1)
    nearest = _nearest(robot, q, all_constraints, v, -drift)
    refuse_overflow(q, nearest, q=q, v=v)
    return q, nearest


def _nearest(
    robot: RigidBodySystem, q: Array, constraints: Sequence[Constraint], v: Array, target: Array
) -> Array:
    """Velocity (..., nv) nearest to v, in the metric of M, with J v = target.

    Components that no velocity can change, such as a gap normal to a planar mechanism, are ignored.
    """
    M, J = robot.mass_matrix(q), constraint_jacobian(robot, q, list(constraints))
    return solve_constrained(M, J, apply(M, v), target)[0]


def _drift(constraint: Constraint, robot: RigidBodySystem, q: Array) -> Array:
    """Rate of the residual at rest, for a constraint that depends on time; else zeros."""
    drift = getattr(constraint, 'drift', None)
    return np.zeros(constraint.rows) if drift is None else np.asarray(drift(robot, q))


def _closable(constraint: Any) -> Any:
    """The constraint, if it has a residual: a loop, a held contact, or a function of q."""
    held = not isinstance(constraint, Contact) or constraint.anchor is not None
    if not (held and hasattr(constraint, 'residual')):
        expected = 'ClosedLoop, Contact.held_at(...) or ConfigurationConstraint, which have a gap'
        raise InvalidArgumentError('constraint', repr(constraint), expected)
    return constraint


def loops_of(robot: RigidBodySystem) -> tuple[ClosedLoop, ...]:
    """The loops that the description of a robot closes; the same objects in every call."""
    loops: tuple[ClosedLoop, ...] | None = robot._kept.get('loops')
    if loops is None:
        found = [ClosedLoop(*loop, rotation=UNTURNED) for loop in robot.model.loops]
        loops = robot._kept.setdefault('loops', tuple(found))
    return loops


def motors(robot: RigidBodySystem) -> NDArray[np.bool_]:
    """Mask (nv) of velocities that are not of a passive joint; a moving base counts as driven."""
    mask = np.ones(robot.nv, dtype=bool)
    for joint in robot.model.joints:
        if joint.name in robot.model.passive_joints:
            mask[list(joint.v_indices)] = False
    return mask


def motor_map(robot: RigidBodySystem, q: ArrayLike) -> Array:
    """Map (..., nv, nv) from torques of the tree at q (..., nq) to those of the motors.

    It is the transpose of the map from velocities of the motors to those of all joints. Of more
    motors than degrees of freedom it leaves out torques that only act against each other.

    Raises:
        InvalidArgumentError: q of a wrong shape or with NaN.
    """
    at = finite_arrays('q', q, (robot.nq,))
    J, _ = rows_and_bias(robot, at, None, loops_of(robot))
    driven, size = motors(robot), largest_singular_value(J)
    A, B = J[..., ~driven], J[..., driven]
    follow = -pseudo_inverse(A, size) @ B
    bound = B + A @ follow
    moves = np.eye(bound.shape[-1]) - pseudo_inverse(bound, size) @ bound
    velocities = np.zeros((*J.shape[:-2], robot.nv, robot.nv))
    for rows, columns in ((driven, moves), (~driven, follow @ moves)):
        velocities[..., np.ix_(rows, driven)[0], np.flatnonzero(driven)] = columns
    return transposed(velocities)


class Gap(NamedTuple):
    """Gap of a loop: distance [m] and angle [rad] between what should coincide."""

    loop: ClosedLoop
    distance: float
    angle: float


def widest_gap(robot: RigidBodySystem, q: ArrayLike) -> Gap:
    """Gap of the loop that is open farthest at q (nq), in m or rad.

    Raises:
        InvalidArgumentError: the robot has no loops, or q is wrong.
    """
    at = finite_vector('q', q, robot.nq)
    gaps = [(loop, loop.gap(robot, at)) for loop in loops_of(robot)]
    if not gaps:
        raise InvalidArgumentError('robot', 'has no loops', 'a robot with closed loops')
    return max(
        (Gap(loop, math.hypot(*gap[:3]), math.hypot(*gap[3:])) for loop, gap in gaps),
        key=lambda gap: max(gap[1:]),
    )


def gravity_in_loops(robot: RigidBodySystem, q: ArrayLike) -> Array:
    """Gravity torques (..., nv) of the motors, 0 of passive joints.

    They are the derivatives of the potential energy by the joints with motors, of which the passive
    joints are functions. If there are more motors than degrees of freedom, |tau| is the least.

    Raises:
        InfeasibleError: motors and loops do not hold the passive joints at q.
    """
    rest = np.zeros(robot.nv)
    return constrained_inverse_dynamics(robot, q, rest, rest, loops_of(robot), motors(robot))[0]


def inverse_dynamics_in_loops(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external_wrenches: Wrenches | None = None,
) -> Array:
    """Torques (..., nv) of the motors, 0 of passive joints, for a motion of the motors.

    Velocities and accelerations of passive joints follow from those of the motors; values of v and
    a count only where the loops leave a passive joint free.

    Args:
        robot, q, v, a: as for ``RigidBodySystem.inverse_dynamics``.
        external_wrenches: as for ``RigidBodySystem.inverse_dynamics``.

    Raises:
        InfeasibleError: the loops prevent the motion of the motors, or they cannot produce it.
    """
    q, v, a = finite_together(q=(q, robot.nq), v=(v, robot.nv), a=(a, robot.nv))
    loops, driven = loops_of(robot), motors(robot)
    v = _followed(robot, q, v)
    J, bias = rows_and_bias(robot, q, v, loops)
    a = _completed(J, a, -bias, driven)
    return constrained_inverse_dynamics(
        robot, q, v, a, loops, driven, external_wrenches=external_wrenches
    )[0]


def forward_dynamics_in_loops(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external_wrenches: Wrenches | None = None,
) -> Array:
    """Accelerations (..., nv) for torques; velocities of passive joints follow from the motors.

    Arguments and errors are those of ``constrained_forward_dynamics``.
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    v = _followed(robot, q, v)
    return constrained_forward_dynamics(robot, q, v, tau, loops_of(robot), external_wrenches)[0]


def _followed(robot: RigidBodySystem, q: Array, v: Array) -> Array:
    """Velocities (..., nv) of the motors, and of passive joints as the loops demand."""
    J, _ = rows_and_bias(robot, q, v, loops_of(robot))
    return _completed(J, v, np.zeros(J.shape[-2]), motors(robot))


def _completed(J: Array, x: Array, target: Array, driven: NDArray[np.bool_]) -> Array:
    """The nearest x (..., nv) with J x = target that differs in passive joints alone."""
    missing = apply(pseudo_inverse(J[..., ~driven]), target - apply(J, x))
    completed = np.broadcast_to(x, (*missing.shape[:-1], x.shape[-1])).copy()
    completed[..., ~driven] += missing
    return completed


class PassiveJoints:
    """Joints of loops that nobody measures, with positions and velocities that close the loops.

    A mechanism can be assembled in several ways. The first configuration is the one to which the
    zero configuration leads, if that closes the loops and no singularity is between them, or else
    the only one within the limits that a search finds. The next ones follow from the one before;
    they never pass a singularity, where the way may change.

    Attributes:
        names: names of the joints.
        q: (nq) the last configuration; None before the first.
    """

    def __init__(
        self, robot: RigidBodySystem, names: Collection[str], q: Array | None = None
    ) -> None:
        """Create them with a last configuration; joints of several coordinates do not count."""
        own = (joint for joint in robot.model.actuated if joint.name in names)
        joints = [joint for joint in own if len(joint.q_indices) == 1]
        self.names = tuple(joint.name for joint in joints)
        self.q = q
        self._failed: Array | None = None
        self._robot, self._loops = robot, loops_of(robot)
        self._at = np.array([joint.q_indices[0] for joint in joints], dtype=np.intp)
        ends = [(joint.limits.lower, joint.limits.upper) for joint in joints]
        self._ends = np.array(ends).reshape(-1, 2).T
        self._measured = np.ones(robot.nv, dtype=bool)
        self._measured[[joint.v_indices[0] for joint in joints]] = False

    def solve(self, q: Array, v: Array) -> bool:
        """Set their positions in q (nq) and velocities in v (nv) by those of the other joints.

        Returns:
            Whether the loops determine them. Otherwise their positions are those of the last
            configuration, if there is one.
        """
        again = SEARCH_AFTER if self.q is None else RETRY_AFTER
        if self._failed is None or self._way(self._failed, q) > again:
            found = self._first(q) if self.q is None else self._followed(self.q, q)
            self._failed = q.copy() if found is None else None
            self.q = self.q if found is None else found
        if self.q is not None:
            q[self._at] = self.q[self._at]
        if self._failed is None:
            J, _ = rows_and_bias(self._robot, q, None, self._loops)
            v[:] = _completed(J, v, np.zeros(len(J)), self._measured)
        return self._failed is None

    def _first(self, q: Array) -> Array | None:
        zero, rng = self._robot.neutral(), np.random.default_rng(0)
        if max(widest_gap(self._robot, zero)[1:]) <= AT_REST:
            followed = self._followed(zero, q)
            if followed is not None:
                return followed
        found = None
        for _ in range(ASSEMBLY_STARTS):
            start = q.copy()
            start[self._at] = self._robot.random_configuration(rng)[self._at]
            end = self._closed(start)
            if end is None or not self._within_limits(end.q):
                continue
            if found is not None:
                apart = np.angle(np.exp(1j * (end.q - found)[self._at]))
                if np.abs(apart).max(initial=0.0) > SAME_ASSEMBLY:
                    return None
            found = end.q
        return found

    def _within_limits(self, q: Array) -> bool:
        low, high = self._ends
        return bool(((q[self._at] >= low) & (q[self._at] <= high)).all())

    def _way(self, start: Array, q: Array) -> float:
        """Largest motion of a measured joint between two configurations [rad or m]."""
        moved = self._robot.difference(start, q)[self._measured]
        return float(np.abs(moved).max(initial=0.0))

    def _followed(self, start: Array, q: Array) -> Array | None:
        """Configuration to which a closed one leads while measured joints move to those of q.

        A stage is halved until the Jacobian changes too little to be singular in between.
        """
        base = self._robot.model.root_joint_nq
        start, q = np.concatenate([q[:base], start[base:]]), q.copy()
        q[self._at] = start[self._at]
        way, current = self._way(start, q), self._closed(start)
        stage, reached = min(1.0, LONGEST_STAGE / max(way, LONGEST_STAGE)), 0.0
        for _ in range(MOST_STAGES):
            if current is None or stage * way < SHORTEST_STAGE < way:
                return None
            share = min(reached + stage, 1.0)
            goal = self._robot.interpolate(start, q, share)
            goal[self._at] = current.q[self._at]
            end = self._closed(goal)
            if end is None or np.linalg.norm(end.J - current.J) > SAME_SIDE * current.smallest:
                stage *= 0.5
            elif share == 1.0:
                return end.q
            else:
                current, reached = end, share
        return None

    def _closed(self, q: Array) -> _Closed | None:
        """Closed configuration near q (nq); None without one, or at a singularity."""
        for _ in range(NEWTON_STEPS):
            gap = np.concatenate([loop.residual(self._robot, q) for loop in self._loops])
            J = rows_and_bias(self._robot, q, None, self._loops)[0]
            step = _completed(J, np.zeros(len(self._measured)), -gap, self._measured)
            longest = float(np.abs(step).max())
            if longest <= AT_REST:
                J = J[:, ~self._measured]
                values = np.linalg.svd(J, compute_uv=False)
                smallest = values.min(initial=np.inf)
                regular = smallest > DETERMINED * values.max(initial=0.0)
                closed = len(values) == len(self._at) and np.abs(gap).max() < LARGEST_GAP
                return _Closed(q, J, smallest) if regular and closed else None
            q = self._robot.integrate(q, step * min(1.0, LONGEST_STAGE / longest))
        return None


class _Closed(NamedTuple):
    """Configuration with closed loops, J of the passive joints, and its smallest singular value."""

    q: Array
    J: Array
    smallest: float
