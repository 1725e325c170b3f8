"""One iteration of inverse kinematics: damped least squares within joint limits.

The error of frame F is what is missing to its target T, in the axes of T, [RD] eq. 2.251. A step d
of the joints minimises |e - J d|^2 + damping |d|^2, here in its dual form, six equations a frame
however many joints there are: d = W J^T (J W J^T + damping)^-1 e, W the mobility of the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model import Frame, Model
from ..spatial import Matrix3, Motion, Scalar, Transform, Vector3, log_matrix, transform_of_rows
from ..spatial.scalar import where_less
from .configuration import neutral
from .forward_kinematics import frame_pose
from .jacobian import jacobian_columns
from .linear import solve

Values = Sequence[Scalar]

DAMPING_FLOOR = 1e-12
"""Keeps the equations definite when the error vanishes at a singular configuration."""


class Step(NamedTuple):
    """What a step finds where it starts, and where it leads.

    Attributes:
        position, rotation: squared errors [m^2], [rad^2] of the worst frame.
        cost: squared length of the error, which steps minimise.
        move: largest move over its allowance.
        following: (n) the next joint positions.
    """

    position: Scalar
    rotation: Scalar
    cost: Scalar
    move: Scalar
    following: list[Scalar]


def moving_coordinates(model: Model, frames: Sequence[Frame]) -> list[tuple[int, int]]:
    """Index into q and into v of the one-coordinate joints that move frames; the root is none."""
    moved = {
        column
        for frame in frames
        for body in model.ancestors(frame.body)
        for column in model.joints[body].v_indices
    }
    return [
        (joint.q_indices[0], joint.v_indices[0])
        for joint in model.actuated
        if joint.kind.nq == 1 and joint.v_indices[0] in moved
    ]


def inverse_kinematics_step(
    model: Model,
    frames: Sequence[Frame],
    x: Values,
    targets: Sequence[Sequence[Values]],
    joints: Sequence[Values],
    tasks: Sequence[Sequence[Values]],
    damping: Scalar,
    pull: Scalar,
) -> Step:
    """The next joint positions, and how far the present ones are from the targets.

    The damping is proportional to the squared error [Sugihara2011]: careful far away, Gauss-Newton
    near the target. A joint at its limit that downhill would leave it rests [Bertsekas1982]; where
    a step would cross a limit it ends there.

    Args:
        model: the robot, its root joint at rest.
        frames: m frames to bring to targets.
        x: (n) positions of the moving coordinates.
        targets: (m, 4, 4) their poses in the root frame.
        joints: (5, n) rows of lower limit, upper limit, mobility (0: at rest), 1 / largest move of
            a step, and where the joint would like to be.
        tasks: (m, 2, 6) rows of weight and slack: an error component within plus or minus its
            slack is no error [m, rad], in the axes of the target.
        damping: over squared error.
        pull: share of the way to the liked position that a step goes, as far as the targets leave
            room.
    """
    lower, upper, mobility, inverse_allowance, liked = joints
    coordinates = moving_coordinates(model, frames)
    n = len(coordinates)
    q: list[Scalar] = neutral(model)
    for (place, _), value in zip(coordinates, x, strict=True):
        q[place] = value

    # What is missing to the targets, and its Jacobian, in the axes of the targets.
    A: list[list[Scalar]] = []
    e: list[Scalar] = []
    position: Scalar = 0.0
    rotation: Scalar = 0.0
    for frame, rows, (weight, slack) in zip(frames, targets, tasks, strict=True):
        X_0T = transform_of_rows(rows)
        missing = _missing(X_0T, frame_pose(model, q, frame))
        beyond = [y - clipped(y, -s, s) for y, s in zip(missing, slack, strict=True)]
        counted = [
            w * where_less(s, _absolute(y), 1.0, where_less(0.0, s, 0.0, 1.0))
            for y, w, s in zip(missing, weight, slack, strict=True)
        ]
        columns = jacobian_columns(model, q, frame, 'local_world_aligned')
        R_T0 = X_0T.rotation.T
        J = [_turned(R_T0, columns[column]) for _, column in coordinates]
        A += [[c * column[i] for column in J] for i, c in enumerate(counted)]
        e += [c * y for c, y in zip(counted, beyond, strict=True)]
        seen = [where_less(0.0, w, y, 0.0) for w, y in zip(weight, beyond, strict=True)]
        position = larger(position, _dot(seen[:3], seen[:3]))
        rotation = larger(rotation, _dot(seen[3:], seen[3:]))
    cost = _dot(e, e)

    # Joints that take part.
    downhill = [_dot([row[k] for row in A], e) for k in range(n)]
    inside = [
        where_less(
            downhill[k],
            0.0,
            where_less(lower[k], x[k], 1.0, 0.0),
            where_less(x[k], upper[k], 1.0, 0.0),
        )
        for k in range(n)
    ]
    W = [mobility[k] * inside[k] for k in range(n)]
    liking = [pull * where_less(0.0, mobility[k], liked[k] - x[k], 0.0) for k in range(n)]

    # d = z + W A^T (A W A^T + damping)^-1 (e - A z).
    WA = [[W[k] * row[k] for k in range(n)] for row in A]
    count = len(A)
    M = [[_dot(WA[max(i, j)], A[min(i, j)]) for j in range(count)] for i in range(count)]
    for i in range(count):
        M[i][i] = M[i][i] + (damping * cost + DAMPING_FLOOR)
    y = solve(M, [e[i] - _dot(A[i], liking) for i in range(count)])
    d = [liking[k] + _dot([row[k] for row in WA], y) for k in range(n)]

    move: Scalar = 0.0
    for k in range(n):
        move = larger(move, _absolute(d[k]) * inverse_allowance[k])
    shortened = 1.0 / larger(move, 1.0)
    moved = [clipped(x[k] + shortened * d[k], lower[k], upper[k]) for k in range(n)]
    return Step(position, rotation, cost, move, moved)


def _missing(X_0T: Transform, X_0F: Transform) -> list[Scalar]:
    """Position and rotation vector from the frame to the target, in the axes of the target."""
    R_T0 = X_0T.rotation.T
    return [
        *(R_T0 @ (X_0T.translation - X_0F.translation)),
        *log_matrix(X_0F.rotation.T @ X_0T.rotation),
    ]


def _turned(R: Matrix3, column: Motion) -> list[Scalar]:
    linear: Vector3 = R @ column.linear
    return [*linear, *(R @ column.angular)]


def _dot(a: Values, b: Values) -> Scalar:
    result: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        result = result + x * y
    return result


def _absolute(x: Scalar) -> Scalar:
    return where_less(x, 0.0, -x, x)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two values."""
    return where_less(a, b, b, a)


def clipped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """The value between two others that is nearest to x."""
    return where_less(x, low, low, where_less(high, x, high, x))
