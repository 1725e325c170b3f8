# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External wrenches at frames from external joint torques: tau_ext = J^T w ([Haddadin2017]).

The rows of J^T are divided by the noise of their joints (relative to the smallest) and torques are
counted per length scale, so that force and torque have one unit. With the singular values s and
directions V of the result G^T, which show what the joints feel in Nm per N, G G^T = V s^2 V^T.

Plain damping would pull every force towards zero, also a well-felt one. Here a direction is damped
only when its singular value is below a threshold e ([Nakamura1986], [Chiaverini1994]):

    w = V diag(1/d) V^T G tau,    d = max(s^2, e^2),

so what is recovered of a direction, phi = s^2/d, is 1 for every direction that is felt well,
without bias, and falls smoothly to 0 for one that is not felt at all. What is missing, 1 - phi, is
stated in the observable mask and enters the covariance as what a wrench could be there. With P the
matrix that takes torques to wrenches,

    cov w = P cov(tau_ext) P^T + V diag(((1 - phi) prior)^2) V^T.

The eigenvectors are those of the smaller of G G^T and G^T G: V diag(1/d) V^T G = G U diag(1/d) U^T.
What is missing is V diag(1 - phi) V^T = 1 - V diag(1/d) V^T G G^T.

External torques have noise of their own, joint by joint, and the noise of momentum: K M(q) times
that of the velocities, which all joints share (K as of the observer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.matrices import (
    Matrix,
    beside,
    columns,
    descending,
    product,
    scaled_columns,
    times_transposed,
    transposed,
)
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, Transform, Vector3, shift_matrix
from dynamics_ros.spatial.scalar import sqrt, where_less

Values = Sequence[Scalar]

UNSEEN = 0.05
"""Part of a unit force or torque that may be missed where it still counts as observable."""

DAMPED = 1e-3
"""Part of a unit force or torque that may be missed where an estimate is not called degraded."""

NOISE_ROWS = 4
"""weight, own noise, momentum gain, velocity noise: what ``noise`` has for every velocity."""

SETTINGS = 3
"""length scale, threshold, prior."""


@dataclass(frozen=True)
class ContactFrame:
    """Where a contact is and how it is written.

    Attributes:
        frame: the contact frame.
        axes: frame whose axes the wrench has; None are those of the root frame.
    """

    frame: Frame
    axes: Frame | None


@dataclass(frozen=True)
class ContactEquations:
    """tau_ext = G^T w of all contacts together, torques of w per length scale.

    Attributes:
        joints: velocities that move a contact.
        G: (N, joints), not weighted.
        levers: of each contact, from the frame's origin to the reference point.
        points: reference points, coordinates in the frames of the axes.
    """

    joints: list[int]
    G: list[list[Scalar]]
    levers: list[Vector3]
    points: list[Vector3]


@dataclass(frozen=True)
class ContactSolution:
    """How wrenches at one time follow from the external torques of the n joints that feel them.

    Attributes:
        P: (N, n) from torques to wrenches at the origins of the frames, torques of a wrench per
            length scale.
        missed: (N, N) part of unit wrenches that is not recovered.
        singular_values: of all contacts together, descending; of the joints or components,
            whichever are fewer.
        own_noise: (n) of the external torques.
        momentum_noise: (n, nv) from unit noise of each velocity to the external torques.
        prior: standard deviation of a force that no joint feels [N].
    """

    P: Matrix
    missed: Matrix
    singular_values: list[Scalar]
    own_noise: list[Scalar]
    momentum_noise: Matrix
    prior: Scalar

    @property
    def degraded(self) -> list[Scalar]:
        """(N) 1 for each component of which more than ``DAMPED`` is missed."""
        return [where_less(DAMPED * DAMPED, dot(row, row), 1.0, 0.0) for row in self.missed]

    def covariance(self, combinations: Matrix, own: slice) -> list[list[Scalar]]:
        """Of linear combinations (k, 3 or 6) of the components in some rows of P (k, k)."""
        from_torques = product(combinations, self.P[own])
        scatter = beside(
            scaled_columns(from_torques, self.own_noise),
            product(from_torques, self.momentum_noise),
            product(combinations, [[self.prior * x for x in row] for row in self.missed[own]]),
        )
        return times_transposed(scatter)


@dataclass(frozen=True)
class Wrenches:
    """The wrenches of m contacts at one time, and how far they can be believed.

    Attributes:
        values: (m, 6) force, then torque about the reference point.
        covariances: (m, 6, 6).
        flags: (m, 7) 1 for each component that is observable, then 1 when it is degraded.
    """

    values: list[list[Scalar]]
    covariances: list[Matrix]
    flags: list[list[Scalar]]


def contact_equations(
    model: Model,
    contacts: Sequence[ContactFrame],
    rows: int,
    q: Values,
    points: Sequence[Values],
    length: Scalar,
) -> ContactEquations:
    """What a unit of every component of the wrenches does to the joints.

    Args:
        model: the robot.
        contacts: m contacts at one time.
        rows: 6, or 3 for forces at the origins of the frames.
        q: configuration.
        points: (m, 3) reference points in the contact frames [m].
        length: m that make a torque as weighty as a force.
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
    """Indices of the velocities that move one of the contacts, in order."""
    bodies = {body for contact in contacts for body in model.ancestors(contact.frame.body)}
    return sorted({k for body in bodies for k in model.joints[body].v_indices})


def contact_solution(
    model: Model,
    equations: ContactEquations,
    q: Values,
    noise: Sequence[Values],
    threshold: Scalar,
    prior: Scalar,
) -> ContactSolution:
    """How wrenches follow from external torques.

    Args:
        model: the robot.
        equations: at q.
        q: configuration.
        noise: (4, nv) rows of weight (least noise over noise, 0 for a joint that is not used),
            noise of the external torque itself, momentum gain [1/s] and velocity noise.
        threshold: singular value below which a direction is damped [Nm per N].
        prior: standard deviation of a force that no joint feels [N].
    """
    joints, M = equations.joints, mass_matrix(model, q)
    *ours, velocity_noise = noise
    weights, own_noise, gain = ([row[k] for k in joints] for row in ours)
    weighted = scaled_columns(equations.G, weights)
    damped, singular_values = _damped_inverse(weighted, threshold)
    return ContactSolution(
        P=scaled_columns(damped, weights),
        missed=_less_from_one(product(damped, transposed(weighted))),
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
) -> Wrenches:
    """What the contacts do to the robot.

    Args:
        equations, solution: of the contacts.
        torque: (nv) external torques.
        length: scale [m].
    """
    felt = [torque[k] for k in equations.joints]
    rows = len(solution.P) // len(equations.levers)
    degraded = solution.degraded
    result = Wrenches([], [], [])
    for index, lever in enumerate(equations.levers):
        own = slice(index * rows, (index + 1) * rows)
        arm = lever * (1.0 / length)
        in_units = [row[:rows] for row in shift_matrix(arm, length)]
        found = [dot(row, felt) for row in solution.P[own]]
        result.values.append([dot(row, found) for row in in_units])
        result.covariances.append(solution.covariance(in_units, own))
        seen = _observable(solution.missed[own], own, arm)
        result.flags.append([*seen, *[0.0] * (6 - rows), any_of(degraded[own])])
    return result


def any_of(flags: Values) -> Scalar:
    """1 where one of them is, else 0."""
    result: Scalar = 0.0
    for flag in flags:
        result = where_less(0.5, flag, 1.0, result)
    return result


def _damped_inverse(G: Matrix, threshold: Scalar) -> tuple[Matrix, list[Scalar]]:
    """V diag(1/d) V^T G (N, n), and the singular values of G, descending."""
    wide = len(G) <= len(G[0])
    across = G if wide else transposed(G)
    squares, V = symmetric_eigen(times_transposed(across))
    limit = threshold * threshold
    inverses = [1.0 / where_less(square, limit, limit, square) for square in squares]
    damped = product(scaled_columns(V, inverses), product(transposed(V), across))
    singular = [sqrt(where_less(square, 0.0, 0.0, square)) for square in squares]
    return damped if wide else transposed(damped), descending(singular)


def _less_from_one(A: Matrix) -> Matrix:
    """1 - A."""
    return [[float(i == j) - x for j, x in enumerate(row)] for i, row in enumerate(A)]


def _observable(missed: Matrix, own: slice, arm: Vector3) -> list[Scalar]:
    """1 for each component that is observable about the reference point.

    Args:
        missed: (3 or 6, N) part of a unit wrench of each contact that is missed in this one.
        own: its columns of this contact.
        arm: from the frame's origin to the reference point, in length scales.
    """
    if len(missed) == 6:
        # To the reference point: what is missed there of a wrench that is given there.
        missed = product(shift_matrix(arm), missed)
        before, after = slice(0, own.start), slice(own.stop, None)
        there = product(columns(missed, own), shift_matrix(-arm))
        missed = beside(columns(missed, before), there, columns(missed, after))
    return [where_less(dot(row, row), UNSEEN * UNSEEN, 1.0, 0.0) for row in missed]
