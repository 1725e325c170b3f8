# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of point feet and ground reaction forces on them.

The external torques of an observer are distributed to all feet (``wrench.py``). For feet at rest,
the constraint J a + J-dot v = 0 gives the forces directly from the joint torques ([RD] eq. 3.62):

    f = (J M^-1 J^T)^+ (-J-dot v - J M^-1 (tau - C v - g)),

where the second bracket is minus the acceleration that the feet would have without the ground. If
the constraints are redundant, for example of several feet on one rigid body, the forces of least
norm are returned.

The contact probability of a foot combines two independent measurements: its normal force f_n
relative to a threshold f_0, and its speed s along the normal, which is small in contact and large
in swing:

    log P / (1 - P) = log Phi(z) / Phi(-z) + log N(s; 0, s_c) / N(s; 0, s_s),
    z = (f_n - f_0) / sigma,

where f_0 is at least two standard deviations of the force, and sigma combines that deviation with a
third of f_0. A contact begins when P rises above ``ON`` and ends when P falls below ``OFF``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from dynamics_ros.algorithms.forward_dynamics import forward_dynamics
from dynamics_ros.algorithms.forward_kinematics import frame_acceleration, frame_velocity
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.matrices import Matrix, chosen, product, transposed
from dynamics_ros.algorithms.linear_algebra.solve import (
    bounded_inverse,
    dot,
    factorize,
    solve_columns,
)
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.quantity import Frames, Input, PerVelocity, Q, V, quantity
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, Vector3
from dynamics_ros.spatial.scalar import clipped, erfc, exp, larger, log, sqrt, where_less

from .wrench import (
    NOISE_ROWS,
    SETTINGS,
    ContactFrame,
    any_of,
    contact_equations,
    contact_solution,
)

Values = Sequence[Scalar]

REDUNDANT = 1e-12
"""Ratio to the largest eigenvalue of J M^-1 J^T below which an eigenvalue counts as zero: about a
thousand times the rounding error."""

REGULAR = 1e-7
"""Ratio of the smallest eigenvalue to the trace of J M^-1 J^T above which its inverse is used: the
rounding error of forces is then below 1e-9 of them."""

TINY = 1e-290
"""Added to a bound that eigenvalues must exceed, so that no zero eigenvalue is divided by."""

ON, OFF = 0.7, 0.3
"""Probabilities at which a contact begins and ends."""

CONTACT_SPEED, SWING_SPEED = 0.2, 0.6
"""Standard deviations of a foot's speed along the normal in contact and in swing [m/s]. On soft
ground a contact begins and ends with the speed of a swing."""

SPEED_OFFSET = math.log(SWING_SPEED / CONTACT_SPEED)
SPEED_WEIGHT = 0.5 * (CONTACT_SPEED**-2 - SWING_SPEED**-2)
"""log N(s; 0, s_c) / N(s; 0, s_s) = SPEED_OFFSET - SPEED_WEIGHT s^2."""

MAX_Z = 37.0
"""Magnitude of z from which on the normal distribution is 0 or 1 in double precision."""

MAX_LOG_ODDS = 700.0
"""Largest magnitude of log-odds whose exponential is finite."""


@quantity(
    'contacts of feet and forces of the ground on them',
    {
        'forces': 'of the ground on each foot by external torques, in the root frame [N]',
        'deviations': 'standard deviation of each normal force [N]',
        'constraint_forces': 'the forces on feet in contact by constraints [N]',
        'probabilities': 'of contact',
        'in_contact': '1 for each foot in contact',
        'friction_violations': 'tangential force beyond the friction cone [N]',
        'degraded': '1 when some direction of a force is damped or not felt',
    },
    internal=True,
)
def foot_contacts(
    model: Model,
    feet: Frames,
    q: Q,
    v: V,
    external_torque: PerVelocity,
    tau: PerVelocity,
    before: Annotated[Values, Input('feet')],
    noise: Annotated[Sequence[Values], Input(NOISE_ROWS, 'nv')],
    settings: Annotated[Values, Input(SETTINGS)],
    normal: Annotated[Values, Input(3)],
    force_threshold: Scalar,
    friction: Scalar,
) -> dict[str, Any]:
    """Compute contacts of n feet and forces on them, from external torques and from constraints.

    Args:
        model, feet: the robot, and the frames of its feet.
        q, v: configuration (nq), velocity (nv).
        external_torque, tau: (nv) external torques, and joint torques as of `resting_forces`.
        before: (n) contact states before, 1 or 0.
        noise, settings: as of `contact_solution`; length scale, threshold, prior.
        normal: (3) unit normal of the ground in the root frame.
        force_threshold: normal force that indicates contact [N].
        friction: friction coefficient of the ground.
    """
    contacts = [ContactFrame(foot, None) for foot in feet]
    points = [[0.0] * 3] * len(feet)
    equations = contact_equations(model, contacts, 3, q, points, settings[0])
    solution = contact_solution(model, equations, q, noise, *settings[1:], spectrum=False)
    torques = [external_torque[k] for k in equations.joints]
    forces: list[list[Scalar]] = []
    deviations: list[Scalar] = []
    speeds: list[Scalar] = []
    for index, foot in enumerate(feet):
        rows = slice(3 * index, 3 * index + 3)
        forces.append([dot(row, torques) for row in solution.P[rows]])
        ((variance,),) = solution.covariance([normal], rows)
        deviations.append(sqrt(variance))
        twist = frame_velocity(model, q, v, foot, 'local_world_aligned')
        speeds.append(twist.linear.dot(Vector3(*normal)))
    probabilities = contact_probabilities(
        [dot(force, normal) for force in forces], deviations, speeds, force_threshold
    )
    in_contact = contacts_with_hysteresis(probabilities, before)
    return {
        'forces': forces,
        'deviations': deviations,
        'constraint_forces': resting_forces(model, feet, q, v, tau, in_contact),
        'probabilities': probabilities,
        'in_contact': in_contact,
        'friction_violations': friction_violations(forces, in_contact, normal, friction),
        'degraded': any_of(solution.degraded),
    }


def contact_probabilities(
    normal_forces: Values, deviations: Values, speeds: Values, force_threshold: Scalar
) -> list[Scalar]:
    """Compute contact probabilities (n); equations in the module docstring.

    Args:
        normal_forces: (n) of the ground on each foot [N].
        deviations: (n) their standard deviations [N].
        speeds: (n) of the feet along the normal [m/s].
        force_threshold: normal force that indicates contact [N].
    """
    result = []
    for force, deviation, speed in zip(normal_forces, deviations, speeds, strict=True):
        threshold = larger(force_threshold, 2.0 * deviation)
        sigma = sqrt(deviation * deviation + threshold * threshold / 9.0)
        z = clipped((force - threshold) / sigma, -MAX_Z, MAX_Z) * math.sqrt(0.5)
        odds = log(erfc(-z)) - log(erfc(z)) + SPEED_OFFSET - SPEED_WEIGHT * (speed * speed)
        result.append(1.0 / (1.0 + exp(-clipped(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))))
    return result


def contacts_with_hysteresis(probabilities: Values, before: Values) -> list[Scalar]:
    """Contact states (n), 1 or 0, from probabilities and the states before."""
    return [
        where_less(where_less(0.5, was, OFF, ON), probability, 1.0, 0.0)
        for probability, was in zip(probabilities, before, strict=True)
    ]


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
    mask = [rests for rests in resting for _ in range(3)]
    J: list[list[Scalar]] = []
    required: list[Scalar] = []
    for foot in feet:
        twists = jacobian_columns(model, q, foot, 'local_world_aligned')
        J += transposed([[*twist.linear] for twist in twists])
        acceleration = frame_acceleration(model, q, v, free, foot, 'local_world_aligned')
        required += [-x for x in acceleration.linear]
    required = [rests * x for rests, x in zip(mask, required, strict=True)]
    mobility = product(J, solve_columns(factorize(mass_matrix(model, q)), transposed(J)))
    # Feet in the air are decoupled, not left out: their forces are then zero.
    for i, row in enumerate(mobility):
        for j in range(len(row)):
            if i != j:
                row[j] = mask[i] * mask[j] * row[j]
    forces = _least_norm(mobility, required)
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
        normal_force = up.dot(Vector3(*force))
        tangential = Vector3(*force) - up * normal_force
        largest = friction * where_less(0.0, normal_force, normal_force, 0.0)
        excess = sqrt(tangential.dot(tangential)) - largest
        result.append(rests * where_less(0.0, excess, excess, 0.0))
    return result


def _least_norm(A: Matrix, b: Values) -> list[Scalar]:
    """A^+ b, the least-norm solution for a symmetric, positive semidefinite matrix A.

    Eigenvalues, which take longer than all else, are needed only if A is almost singular.
    """
    inverse, least = bounded_inverse(A)
    trace: Scalar = 0.0
    for i, row in enumerate(A):
        trace = trace + row[i]
    is_singular = where_less(REGULAR * trace, least, 0.0, 1.0)
    values, V = symmetric_eigen(A, is_singular)
    largest: Scalar = 0.0
    for value in values:
        largest = where_less(largest, value, value, largest)
    threshold = REDUNDANT * largest + TINY
    projections = [dot(column, b) for column in transposed(V)]
    coefficients = [
        where_less(threshold, value, x, 0.0) / where_less(threshold, value, value, 1.0)
        for value, x in zip(values, projections, strict=True)
    ]
    least_norm = [[dot(row, coefficients)] for row in V]
    solution = chosen(is_singular, least_norm, [[dot(row, b)] for row in inverse])
    return [x for (x,) in solution]
