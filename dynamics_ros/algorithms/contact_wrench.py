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

from ..model import Frame, Model
from ..spatial import Scalar, Vector3
from ..spatial.scalar import sqrt, where_less
from .forward_kinematics import frame_pose
from .jacobian import jacobian_columns
from .mass_matrix import mass_matrix

Values = Sequence[Scalar]
Rows = list[list[Scalar]]

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
    G: Rows
    levers: list[Vector3]
    points: list[Vector3]


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
    bodies = {body for contact in contacts for body in model.ancestors(contact.frame.body)}
    joints = sorted({k for body in bodies for k in model.joints[body].v_indices})
    result = ContactEquations(joints, [], [], [])
    for contact, point in zip(contacts, points, strict=True):
        X_RC = frame_pose(model, q, contact.frame)
        lever = X_RC.rotation @ Vector3(*point)
        place = X_RC.translation + lever
        columns = jacobian_columns(model, q, contact.frame, 'local_world_aligned')
        turned = [(columns[k].linear, columns[k].angular * length) for k in joints]
        if contact.axes is not None:
            X_RE = frame_pose(model, q, contact.axes)
            R_ER = X_RE.rotation.T
            turned = [(R_ER @ linear, R_ER @ angular) for linear, angular in turned]
            lever, place = R_ER @ lever, R_ER @ (place - X_RE.translation)
        stacked = [[*linear, *angular] for linear, angular in turned]
        result.G.extend([column[i] for column in stacked] for i in range(rows))
        result.levers.append(lever)
        result.points.append(place)
    return result


def gram_matrix(equations: ContactEquations, noise: Sequence[Values]) -> Rows:
    """G W^2 G^T (N, N), W the weights."""
    weights = [noise[0][k] for k in equations.joints]
    weighted = [[g * w for g, w in zip(row, weights, strict=True)] for row in equations.G]
    return _symmetric_product(weighted)


def contact_wrenches(
    model: Model,
    equations: ContactEquations,
    rows: int,
    eigen: tuple[Values, Sequence[Values]],
    q: Values,
    torque: Values,
    noise: Sequence[Values],
    settings: Values,
) -> tuple[list[list[Scalar]], list[Rows], list[list[Scalar]], list[Scalar]]:
    """The wrenches and how far they can be believed.

    Args:
        model: the robot.
        equations: at q.
        rows: as for ``contact_equations``.
        eigen: eigenvalues (N) and eigenvectors (N, N) of ``gram_matrix``.
        q: configuration.
        torque: (nv) external torques.
        noise: (4, nv) rows of weight (least noise over noise, 0 for a joint that is not used),
            noise of the external torque itself, momentum gain [1/s] and velocity noise.
        settings: length scale [m], threshold [Nm per N] and prior [N].

    Returns:
        Of each contact the wrench (6) about its reference point, its covariance (6, 6), and flags
        (7): 1 for each component that is observable, then 1 when it is degraded. And the singular
        values (N) of all together, descending.
    """
    length, threshold, prior = settings
    values, V = eigen
    joints, G = equations.joints, equations.G
    limit = threshold * threshold
    inverse = [1.0 / where_less(s, limit, limit, s) for s in values]
    missing = [where_less(s, limit, 1.0 - s * i, 0.0) for s, i in zip(values, inverse, strict=True)]

    # What takes torques to directions: diag(1/d) V^T G W^2.
    squares = [noise[0][k] * noise[0][k] for k in joints]
    along = [
        [i * w * _dot(column, g) for g, w in zip(zip(*G, strict=True), squares, strict=True)]
        for i, column in zip(inverse, zip(*V, strict=True), strict=True)
    ]
    M = mass_matrix(model, q)
    momentum = [[noise[2][j] * M[j][k] * noise[3][k] for k in range(model.nv)] for j in joints]

    wrenches, covariances, flags = [], [], []
    for index, lever in enumerate(equations.levers):
        own = range(index * rows, (index + 1) * rows)
        P = [[_dot(V[i], column) for column in zip(*along, strict=True)] for i in own]
        scatter = [
            [
                *(p * noise[1][k] for p, k in zip(row, joints, strict=True)),
                *(_dot(row, column) for column in zip(*momentum, strict=True)),
                *(v * m * prior for v, m in zip(V[i], missing, strict=True)),
            ]
            for i, row in zip(own, P, strict=True)
        ]
        missed = [
            [_dot([v * m for v, m in zip(V[i], missing, strict=True)], row) for row in V]
            for i in own
        ]
        wrench = [_dot(row, [torque[k] for k in joints]) for row in P]
        arm = lever * (1.0 / length)
        wrenches.append([x for (x,) in _in_units(_moved([[x] for x in wrench], arm), length)])
        covariances.append(_symmetric_product(_in_units(_moved(scatter, arm), length)))
        flags.append(_flags(missed, own, arm))
    singular = _descending([sqrt(where_less(s, 0.0, 0.0, s)) for s in values])
    return wrenches, covariances, flags, singular


def _moved(rows: Rows, arm: Vector3) -> Rows:
    """Forces (3 rows), or forces and torques (6 rows), about a point that is ``arm`` away."""
    if not rows[0]:
        return [[]] * 6
    columns = []
    for column in zip(*rows, strict=True):
        force = Vector3(*column[:3])
        torque = Vector3(*column[3:]) if len(column) > 3 else Vector3.zero()
        columns.append([*force, *(torque - arm.cross(force))])
    return [list(row) for row in zip(*columns, strict=True)]


def _in_units(rows: Rows, length: Scalar) -> Rows:
    return [*rows[:3], *([x * length for x in row] for row in rows[3:])]


def _flags(missed: Rows, own: range, arm: Vector3) -> list[Scalar]:
    """What is observable about the reference point, and whether anything is degraded.

    Args:
        missed: (3 or 6, N) part of a unit wrench of each contact that is missed in this one.
        own: its columns of this contact.
        arm: from the frame's origin to the reference point, in length scales.
    """
    rows = len(missed)
    degraded: Scalar = 0.0
    for row in missed:
        degraded = where_less(DAMPED * DAMPED, _dot(row, row), 1.0, degraded)
    if rows == 6:
        missed = _moved(missed, arm)
        for row in missed:
            turning = Vector3(*row[own.start + 3 : own.stop])
            # A force about the reference point is one about the origin and its torque there.
            row[own.start : own.start + 3] = [
                *(Vector3(*row[own.start : own.start + 3]) + turning.cross(arm))
            ]
    seen = [where_less(_dot(row, row), UNSEEN * UNSEEN, 1.0, 0.0) for row in missed]
    return [*seen, *[0.0] * (6 - rows), degraded]


def _symmetric_product(rows: Rows) -> Rows:
    """Rows times their transposed."""
    n = len(rows)
    return [[_dot(rows[max(i, j)], rows[min(i, j)]) for j in range(n)] for i in range(n)]


def _descending(values: list[Scalar]) -> list[Scalar]:
    """Sorted by a network of exchanges."""
    result = list(values)
    for last in reversed(range(1, len(result))):
        for i in range(last):
            a, b = result[i], result[i + 1]
            result[i], result[i + 1] = where_less(a, b, b, a), where_less(a, b, a, b)
    return result


def _dot(a: Values, b: Values) -> Scalar:
    result: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        result = result + x * y
    return result
