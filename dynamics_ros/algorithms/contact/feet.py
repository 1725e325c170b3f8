# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ground reaction forces on point feet, from external torques or from the contact constraints.

The external torques of an observer are distributed to all feet (``wrench.py``). For feet at rest,
the constraint J a + J-dot v = 0 gives the forces directly from the joint torques ([RD] eq. 3.62):

    f = (J M^-1 J^T)^+ (-J-dot v - J M^-1 (tau - C v - g)),

where the second bracket is minus the acceleration that the feet would have without the ground. If
the constraints are redundant, for example of several feet on one rigid body, the forces of least
norm are returned.
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
"""Ratio to the largest eigenvalue of J M^-1 J^T below which an eigenvalue counts as zero: about a
thousand times the rounding error."""

TINY = 1e-290
"""Added to a bound that eigenvalues must exceed, so that no zero eigenvalue is divided by."""


@dataclass(frozen=True)
class FeltFeet:
    """Ground reaction forces on n feet from external torques.

    Attributes:
        forces: (n, 3) of the ground on each foot, in the root frame [N].
        deviations: (n) standard deviations of the normal forces [N].
        normal_speeds: (n) speeds of the feet along the normal, positive away from the ground [m/s].
        degraded: 1 if some direction of a force is damped or not observable, else 0.
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
    """Compute forces and speeds of feet from external torques.

    Args:
        model: the robot.
        feet: frames of the n feet.
        equations, solution: of forces at the origins of the feet, in the axes of the root frame.
        q, v: configuration (nq), velocity (nv).
        torque: (nv) external torques [Nm or N].
        normal: (3) unit normal of the ground in the root frame.
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
    """Ground reaction forces (n, 3) on resting feet, in the root frame [N]; 0 on other feet.

    Args:
        model: the robot.
        feet: frames of the n feet.
        q, v: configuration (nq), velocity (nv).
        tau: (nv) joint torques on the rigid bodies, zero for the velocities of a moving base.
        resting: (n) 1 for each foot at rest, else 0.
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
    """Excess (n) of the tangential forces over the friction cone [N]; 0 within it or in the air.

    Args:
        forces: (n, 3) of the ground on each foot [N].
        resting: (n) 1 for each foot at rest, else 0.
        normal: (3) unit normal of the ground, in the frame of the forces.
        friction: friction coefficient mu.
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
    """A^+ b, the least-norm solution for a symmetric, positive semidefinite matrix A."""
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
