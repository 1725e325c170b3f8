# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forces of the ground on feet, each a point that may rest: by an observer, and by constraints.

An observer's external torques are shared by all feet (``wrench.py``). Of feet that rest, J a +
J-dot v = 0 gives the forces from the joint torques at once ([RD] eq. 3.62):

    f = (J M^-1 J^T)^+ (-J-dot v - J M^-1 (tau - C v - g)),

where the bracket is minus the acceleration that the feet would have without the ground. Feet that
repeat each other, as several on one rigid body, share the force of least norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.forward_dynamics import forward_dynamics
from dynamics_ros.algorithms.forward_kinematics import frame_acceleration, frame_velocity
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.matrices import Matrix, product, transposed
from dynamics_ros.algorithms.linear_algebra.solve import dot, factorize, solve_columns
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, Vector3
from dynamics_ros.spatial.scalar import sqrt, where_less

from .wrench import ContactEquations, ContactSolution, any_of

Values = Sequence[Scalar]

REDUNDANT = 1e-12
"""Share of the largest eigenvalue of J M^-1 J^T below which one counts as zero: a thousand times
its rounding."""

TINY = 1e-290
"""Added to what is divided by."""


@dataclass(frozen=True)
class FeltFeet:
    """What an observer's external torques say about n feet.

    Attributes:
        forces: (n, 3) of the ground on each foot, in the root frame [N].
        deviations: (n) standard deviation of each normal force [N].
        normal_speeds: (n) of the feet away from the ground [m/s].
        degraded: 1 when some direction of a force is damped or not felt.
    """

    forces: list[list[Scalar]]
    deviations: list[Scalar]
    normal_speeds: list[Scalar]
    degraded: Scalar


def felt_feet(
    model: Model,
    feet: Sequence[Frame],
    equations: ContactEquations,
    solution: ContactSolution,
    q: Values,
    v: Values,
    torque: Values,
    normal: Values,
) -> FeltFeet:
    """Forces and speeds of feet.

    Args:
        model: the robot.
        feet: their frames.
        equations, solution: of forces at their origins, in the axes of the root frame.
        q, v: configuration, velocity.
        torque: (nv) external torques.
        normal: (3) of the ground in the root frame, of length 1.
    """
    felt = [torque[k] for k in equations.joints]
    up = Vector3(*normal)
    result = FeltFeet([], [], [], any_of(solution.degraded))
    for index, foot in enumerate(feet):
        own = slice(3 * index, 3 * index + 3)
        result.forces.append([dot(row, felt) for row in solution.P[own]])
        ((variance,),) = solution.covariance([normal], own)
        result.deviations.append(sqrt(variance))
        twist = frame_velocity(model, q, v, foot, 'local_world_aligned')
        result.normal_speeds.append(twist.linear.dot(up))
    return result


def resting_forces(
    model: Model, feet: Sequence[Frame], q: Values, v: Values, tau: Values, resting: Values
) -> list[list[Scalar]]:
    """Forces (n, 3) of the ground on feet that rest, in the root frame [N]; 0 on the others.

    Args:
        model: the robot.
        feet: their frames.
        q, v: configuration, velocity.
        tau: (nv) torques of the joints on the rigid bodies, zero for a moving base.
        resting: (n) 1 for each foot that rests, else 0.
    """
    free = forward_dynamics(model, q, v, tau)
    held = [rests for rests in resting for _ in range(3)]
    J: list[list[Scalar]] = []
    needed: list[Scalar] = []
    for foot in feet:
        twists = jacobian_columns(model, q, foot, 'local_world_aligned')
        J += transposed([[*twist.linear] for twist in twists])
        acceleration = frame_acceleration(model, q, v, free, foot, 'local_world_aligned')
        needed += [-x for x in acceleration.linear]
    J = [[rests * x for x in row] for rests, row in zip(held, J, strict=True)]
    needed = [rests * x for rests, x in zip(held, needed, strict=True)]
    mobility = product(J, solve_columns(factorize(mass_matrix(model, q)), transposed(J)))
    forces = _least_norm(mobility, needed)
    return [forces[3 * i : 3 * i + 3] for i in range(len(feet))]


def friction_violations(
    forces: Sequence[Values], resting: Values, normal: Values, friction: Scalar
) -> list[Scalar]:
    """Tangential force (n) beyond what friction carries [N]; 0 within the cone or in the air.

    Args:
        forces: (n, 3) of the ground on each foot [N].
        resting: (n) 1 for each foot that rests, else 0.
        normal: (3) of the ground, of length 1.
        friction: coefficient mu.
    """
    up = Vector3(*normal)
    result = []
    for force, rests in zip(forces, resting, strict=True):
        pressing = up.dot(Vector3(*force))
        along = Vector3(*force) - up * pressing
        carried = friction * where_less(0.0, pressing, pressing, 0.0)
        beyond = sqrt(along.dot(along)) - carried
        result.append(rests * where_less(0.0, beyond, beyond, 0.0))
    return result


def _least_norm(A: Matrix, b: Values) -> list[Scalar]:
    """A^+ b of a symmetric, positive semidefinite matrix."""
    values, V = symmetric_eigen(A)
    largest: Scalar = 0.0
    for value in values:
        largest = where_less(largest, value, value, largest)
    least = REDUNDANT * largest + TINY
    along = [dot(column, b) for column in transposed(V)]
    shares = [
        where_less(least, value, x, 0.0) / where_less(least, value, value, 1.0)
        for value, x in zip(values, along, strict=True)
    ]
    return [dot(row, shares) for row in V]
