# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External wrenches at frames from external joint torques: tau_ext = J^T w ([Haddadin2017]).

The rows of J^T are weighted by the inverse noise of their joints, relative to its geometric mean.
Torques of w are divided by a length scale, so that forces and torques have the same unit. The
result is G^T with singular values s [Nm per N] and directions V: G G^T = V s^2 V^T.

Uniform damping would bias every force towards zero, also well observable ones. Here a direction is
damped only if its singular value is below a threshold e ([Nakamura1986], [Chiaverini1994]):

    w = V diag(1/d) V^T G tau,    d = max(s^2, e^2).

The recovered fraction of a direction, phi = s^2/d, is 1 for every well observable direction,
without bias, and decreases smoothly to 0 for a direction that is not observable. The missing
fraction 1 - phi determines the observable mask. It also enters the covariance, with the prior
deviation of a force. With the matrix P from torques to wrenches,

    cov w = P cov(tau_ext) P^T + V diag(((1 - phi) prior)^2) V^T.

Eigenvectors are computed of the smaller of G G^T and G^T G: V diag(1/d) V^T G = G U diag(1/d) U^T.
The missing part is V diag(1 - phi) V^T = 1 - V diag(1/d) V^T G G^T.

The noise of external torques has two parts: independent noise of each joint, and the noise of the
momentum, K M(q) times the noise of the velocities (K: gain of the observer), which is correlated
between the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.matrices import (
    Matrix,
    ascending,
    beside,
    chosen,
    columns,
    product,
    scaled_columns,
    times_transposed,
    transposed,
)
from dynamics_ros.algorithms.linear_algebra.solve import bounded_inverse, dot
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, Transform, Vector3, shift_matrix
from dynamics_ros.spatial.scalar import sqrt, where_less

Values = Sequence[Scalar]

MAX_MISSED = 0.05
"""Largest missing part of a unit force or torque that counts as observable."""

NOISE_ROWS = 4
"""Number of rows of ``noise``: weight, noise of each joint, momentum gain, velocity noise."""

SETTINGS = 3
"""Number of settings: length scale, threshold, prior."""


@dataclass(frozen=True)
class ContactFrame:
    """Frame of a contact, and the frame in which its wrench is expressed.

    Attributes:
        frame: the contact frame.
        axes: frame in whose axes the wrench is expressed; None for the root frame.
    """

    frame: Frame
    axes: Frame | None


@dataclass(frozen=True)
class ContactEquations:
    """Equations tau_ext = G^T w of all contacts, with torques of w divided by the length scale.

    Attributes:
        joints: indices of the n velocities that move a contact.
        G: (N, n), not weighted.
        levers: of each contact, from the origin of its frame to the reference point [m].
        points: reference points, in the frames of the axes [m].
    """

    joints: list[int]
    G: list[list[Scalar]]
    levers: list[Vector3]
    points: list[Vector3]


@dataclass(frozen=True)
class ContactSolution:
    """Linear estimate of wrenches from the external torques of the n joints that contacts act on.

    Attributes:
        P: (N, n) from torques to wrenches at the origins of the frames, with torques of a wrench
            divided by the length scale.
        missed: (N, N) part of unit wrenches that is not recovered.
        singular_values: (min(N, n)) of the equations of all contacts, in descending order; empty
            if they were not wanted.
        own_noise: (n) standard deviations of the independent noise of the external torques.
        momentum_noise: (n, nv) external torques due to the noise of each velocity.
        prior: standard deviation of a force in an unobservable direction [N].
    """

    P: Matrix
    missed: Matrix
    singular_values: list[Scalar]
    own_noise: list[Scalar]
    momentum_noise: Matrix
    prior: Scalar

    @property
    def degraded(self) -> list[Scalar]:
        """Flags (N), 1 for each component with a missing part of more than ``MAX_MISSED``."""
        return [where_less(MAX_MISSED * MAX_MISSED, dot(row, row), 1.0, 0.0) for row in self.missed]

    def covariance(self, combinations: Matrix, own: slice) -> list[list[Scalar]]:
        """Covariance (k, k) of linear combinations of the components of one contact.

        Args:
            combinations: (k, 3 or 6) coefficients of the components.
            own: rows of the contact in P.
        """
        from_torques = product(combinations, self.P[own])
        scatter = beside(
            scaled_columns(from_torques, self.own_noise),
            product(from_torques, self.momentum_noise),
            product(combinations, [[self.prior * x for x in row] for row in self.missed[own]]),
        )
        return times_transposed(scatter)


def contact_equations(
    model: Model,
    contacts: Sequence[ContactFrame],
    rows: int,
    q: Values,
    points: Sequence[Values],
    length: Scalar,
) -> ContactEquations:
    """Set up the equations tau_ext = G^T w of simultaneous contacts.

    Args:
        model: the robot.
        contacts: m simultaneous contacts.
        rows: components per contact: 6, or 3 for forces at the origins of the frames.
        q: configuration (nq).
        points: (m, 3) reference points in the contact frames [m].
        length: length scale by which torques of w are divided [m].
    """
    joints = moving_coordinates(model, contacts)
    result = ContactEquations(joints, [], [], [])
    for contact, point in zip(contacts, points, strict=True):
        X_RC = frame_pose(model, q, contact.frame)
        lever = X_RC.rotation @ Vector3(*point)
        place = X_RC.translation + lever
        twists = jacobian_columns(model, q, contact.frame, 'local_world_aligned')
        effects = [twists[k].scaled(1.0, length) for k in joints]
        if contact.axes is not None:
            X_RE = frame_pose(model, q, contact.axes)
            turn = Transform(X_RE.rotation, Vector3.zero())
            effects = [turn.inverse_act(effect) for effect in effects]
            lever, place = turn.inverse_act(lever), X_RE.inverse_act(place)
        stacked = [effect.components() for effect in effects]
        result.G.extend([column[i] for column in stacked] for i in range(rows))
        result.levers.append(lever)
        result.points.append(place)
    return result


def moving_coordinates(model: Model, contacts: Sequence[ContactFrame]) -> list[int]:
    """Sorted indices of the velocities that move at least one of the contacts."""
    bodies = {body for contact in contacts for body in model.ancestors(contact.frame.body)}
    return sorted({k for body in bodies for k in model.joints[body].v_indices})


def contact_solution(
    model: Model,
    equations: ContactEquations,
    q: Values,
    noise: Sequence[Values],
    threshold: Scalar,
    prior: Scalar,
    *,
    spectrum: bool = True,
) -> ContactSolution:
    """Compute the linear estimate of wrenches from external torques.

    Args:
        model: the robot.
        equations: of the contacts at q.
        q: configuration (nq).
        noise: (4, nv) rows of weight (mean noise over noise, 0 for a joint that is not used),
            independent noise of the external torque, momentum gain [1/s] and velocity noise.
        threshold: singular value below which a direction is damped [Nm per N].
        prior: standard deviation of a force in an unobservable direction [N].
        spectrum: whether singular values are needed; without them, a solution in which no direction
            is damped needs no eigenvalues, which take longer than all else.
    """
    joints, M = equations.joints, mass_matrix(model, q)
    *joint_rows, velocity_noise = noise
    weights, own_noise, gain = ([row[k] for k in joints] for row in joint_rows)
    weighted = scaled_columns(equations.G, weights)
    damped, singular_values = _damped_inverse(weighted, threshold, spectrum)
    return ContactSolution(
        P=scaled_columns(damped, weights),
        missed=_identity_minus(product(damped, transposed(weighted))),
        singular_values=singular_values,
        own_noise=own_noise,
        momentum_noise=[
            [g * M[j][k] * velocity_noise[k] for k in range(model.nv)]
            for g, j in zip(gain, joints, strict=True)
        ],
        prior=prior,
    )


def contact_wrenches(
    equations: ContactEquations, solution: ContactSolution, torque: Values, length: Scalar
) -> dict[str, Any]:
    """Compute the wrenches of the environment on the robot at its m contacts.

    Args:
        equations, solution: of the contacts.
        torque: (nv) external torques [Nm or N].
        length: length scale of the equations [m].

    Returns:
        ``wrenches`` (m, 6): force [N], then torque about the reference point [Nm];
        ``reference_points`` (m, 3); ``covariances`` (m, k, k) of the first k = 3 or 6 components;
        ``flags`` (m, 7), 1 for each observable component, then 1 if the estimate is degraded;
        ``singular_values`` of the solution.
    """
    joint_torques = [torque[k] for k in equations.joints]
    rows = len(solution.P) // len(equations.levers)
    degraded = solution.degraded
    wrenches, covariances, flags = [], [], []
    for index, lever in enumerate(equations.levers):
        own = slice(index * rows, (index + 1) * rows)
        arm = lever * (1.0 / length)
        to_reference_point = [row[:rows] for row in shift_matrix(arm, length)]
        scaled_wrench = [dot(row, joint_torques) for row in solution.P[own]]
        wrenches.append([dot(row, scaled_wrench) for row in to_reference_point])
        covariances.append(solution.covariance(to_reference_point, own))
        observable = _observable(solution.missed[own], own, arm)
        flags.append([*observable, *[0.0] * (6 - rows), any_of(degraded[own])])
    return {
        'wrenches': wrenches,
        'reference_points': [[*point] for point in equations.points],
        'covariances': covariances,
        'flags': flags,
        'singular_values': solution.singular_values,
    }


def any_of(flags: Values) -> Scalar:
    """1 if one of the flags is 1, else 0."""
    result: Scalar = 0.0
    for flag in flags:
        result = where_less(0.5, flag, 1.0, result)
    return result


def _damped_inverse(G: Matrix, threshold: Scalar, spectrum: bool) -> tuple[Matrix, list[Scalar]]:
    """V diag(1/d) V^T G (N, n), and the singular values of G in descending order.

    If all singular values are above the threshold, this is (G G^T)^-1 G or G (G^T G)^-1.
    """
    wide = len(G) <= len(G[0])
    wide_G = G if wide else transposed(G)
    A, limit = times_transposed(wide_G), threshold * threshold
    is_damped: Scalar = 1.0
    undamped: Matrix = []
    if not spectrum:
        inverse, least = bounded_inverse(A)
        is_damped, undamped = where_less(limit, least, 0.0, 1.0), product(inverse, wide_G)
    squares, V = symmetric_eigen(A, is_damped)
    inverses = [1.0 / where_less(square, limit, limit, square) for square in squares]
    damped = product(scaled_columns(V, inverses), product(transposed(V), wide_G))
    if not spectrum:
        damped = chosen(is_damped, damped, undamped)
        return damped if wide else transposed(damped), []
    rows = ascending([[-where_less(square, 0.0, 0.0, square)] for square in squares])
    return damped if wide else transposed(damped), [sqrt(-x) for (x,) in rows]


def _identity_minus(A: Matrix) -> Matrix:
    """1 - A."""
    return [[float(i == j) - x for j, x in enumerate(row)] for i, row in enumerate(A)]


def _observable(missed: Matrix, own: slice, arm: Vector3) -> list[Scalar]:
    """Flags of a contact, 1 for each component that is observable about the reference point.

    Args:
        missed: (3 or 6, N) missing part of this contact's wrench for unit wrenches of all contacts.
        own: columns of this contact.
        arm: from the origin of the frame to the reference point, in length scales.
    """
    if len(missed) == 6:
        # Move the missing wrench of this contact, and its own unit wrenches, to the reference
        # point.
        missed = product(shift_matrix(arm), missed)
        before, after = slice(0, own.start), slice(own.stop, None)
        own_missed = product(columns(missed, own), shift_matrix(-arm))
        missed = beside(columns(missed, before), own_missed, columns(missed, after))
    return [where_less(dot(row, row), MAX_MISSED * MAX_MISSED, 1.0, 0.0) for row in missed]
