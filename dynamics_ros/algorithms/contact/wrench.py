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

External torques have noise of their own, joint by joint, and the noise of momentum: K M(q) times
that of the velocities, which all joints share (K as of the observer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.matrices import (
    Matrix,
    beside,
    columns,
    descending,
    each,
    like,
    product,
    scaled_columns,
    squared_lengths,
    times_transposed,
    transposed,
)
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
class ContactSystem:
    """The same with its noise, of the n joints that move a contact; rows of scalars, or arrays.

    Attributes:
        G: (N, n).
        torque: (n) external torques.
        weights, own_noise: (n).
        momentum_noise: (n, nv) from unit noise of each velocity to the external torques.
    """

    G: Matrix
    torque: Any
    weights: Any
    own_noise: Any
    momentum_noise: Matrix


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


def gram_matrix(system: ContactSystem) -> Matrix:
    """G W^2 G^T (N, N), W the weights."""
    return times_transposed(scaled_columns(system.G, system.weights))


def contact_system(
    model: Model,
    equations: ContactEquations,
    q: Values,
    torque: Values,
    noise: Sequence[Values],
) -> ContactSystem:
    """What the wrenches follow from, of the joints that move a contact.

    Args:
        model: the robot.
        equations: at q.
        q: configuration.
        torque: (nv) external torques.
        noise: (4, nv) rows of weight (least noise over noise, 0 for a joint that is not used),
            noise of the external torque itself, momentum gain [1/s] and velocity noise.
    """
    weights, own, gain, velocity_noise = noise
    joints, M = equations.joints, mass_matrix(model, q)
    return ContactSystem(
        G=equations.G,
        torque=[torque[k] for k in joints],
        weights=[weights[k] for k in joints],
        own_noise=[own[k] for k in joints],
        momentum_noise=[
            [gain[j] * M[j][k] * velocity_noise[k] for k in range(model.nv)] for j in joints
        ],
    )


def contact_wrenches(
    system: ContactSystem,
    eigen: tuple[Any, Matrix],
    arms: Matrix,
    settings: Any,
) -> tuple[list[Any], list[Matrix], list[list[Scalar]], Any]:
    """The wrenches and how far they can be believed.

    Args:
        system: of m contacts.
        eigen: eigenvalues (N) and eigenvectors (N, N) of ``gram_matrix``.
        arms: of each contact, from the frame's origin to the reference point [m].
        settings: length scale [m], threshold [Nm per N] and prior [N].

    Returns:
        Of each contact the wrench (6) about its reference point, its covariance (6, 6), and flags
        (7): 1 for each component that is observable, then 1 when it is degraded. And the singular
        values (N) of all together, descending.
    """
    length, threshold, prior = settings
    values, V = eigen
    rows = len(V) // len(arms)
    limit = threshold * threshold
    inverse = each(lambda s: 1.0 / where_less(s, limit, limit, s), values)
    missing = each(lambda s, i: where_less(s, limit, 1.0 - s * i, 0.0), values, inverse)
    unknown = each(lambda x: prior * x, missing)

    # P = V diag(1/d) V^T G W^2 takes torques to wrenches.
    squares = each(lambda w: w * w, system.weights)
    along = product(transposed(scaled_columns(V, inverse)), scaled_columns(system.G, squares))
    P = product(V, along)
    found = product(P, [[x] for x in system.torque])
    scatter = beside(
        scaled_columns(P, system.own_noise),
        product(P, system.momentum_noise),
        scaled_columns(V, unknown),
    )
    missed = product(scaled_columns(V, missing), transposed(V))
    wrenches, covariances, flags = [], [], []
    for index, lever in enumerate(arms):
        own = slice(index * rows, (index + 1) * rows)
        arm = Vector3.of(x / length for x in lever)
        in_units = like([row[:rows] for row in shift_matrix(arm, length)], V)
        wrenches.append([x for (x,) in product(in_units, found[own])])
        covariances.append(times_transposed(product(in_units, scatter[own])))
        flags.append(_flags(missed[own], own, arm))
    singular = descending(each(lambda s: sqrt(where_less(s, 0.0, 0.0, s)), values))
    return wrenches, covariances, flags, singular


def _flags(missed: Matrix, own: slice, arm: Vector3) -> list[Scalar]:
    """What is observable about the reference point, and whether anything is degraded.

    Args:
        missed: (3 or 6, N) part of a unit wrench of each contact that is missed in this one.
        own: its columns of this contact.
        arm: from the frame's origin to the reference point, in length scales.
    """
    rows = len(missed)
    degraded: Scalar = 0.0
    for square in squared_lengths(missed):
        degraded = where_less(DAMPED * DAMPED, square, 1.0, degraded)
    if rows == 6:
        # To the reference point: what is missed there of a wrench that is given there.
        missed = product(like(shift_matrix(arm), missed), missed)
        back = like(shift_matrix(-arm), missed)
        before, after = slice(0, own.start), slice(own.stop, None)
        there = product(columns(missed, own), back)
        missed = beside(columns(missed, before), there, columns(missed, after))
    seen = each(lambda x: where_less(x, UNSEEN * UNSEEN, 1.0, 0.0), squared_lengths(missed))
    return [*seen, *[0.0] * (6 - rows), degraded]
