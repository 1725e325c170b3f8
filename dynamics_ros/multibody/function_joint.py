# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints defined by a function of their coordinates, such as a rolling knee or a cardan joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Trace, derivative, jacobian, trace
from dynamics_ros.kernels.autodiff import replay
from dynamics_ros.model.joints import Entries, VaryingJoint
from dynamics_ros.spatial import Matrix3, Motion, Scalar, Transform, Vector3

from .arguments import check_count, rigid_pose

UNITS = ('m', 'rad')


@dataclass(frozen=True)
class FunctionJoint(VaryingJoint):
    """Joint whose pose is a traced function of its coordinates; S and c_J are derived from it.

    Create one with ``function_joint``.

    Attributes:
        pose: trace of the pose (4, 4) of the moving body in the joint frame.
        columns: trace of S (n, 6), its columns in the frame of the moving body.
        slopes: trace of the derivatives of S by q (n, 6, n).
        curvatures: trace of its second derivatives (n, 6, n, n).
        coordinates, velocities: with their units.
        has_range: whether a description bounds its position.
    """

    name: ClassVar[str] = 'function'

    pose: Trace | None = None
    columns: Trace | None = None
    slopes: Trace | None = None
    curvatures: Trace | None = None
    coordinates: tuple[Entries, ...] = ()  # type: ignore[misc]
    velocities: tuple[Entries, ...] = ()  # type: ignore[misc]
    has_range: bool = False  # type: ignore[misc]

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the moving body at q."""
        return _transform(_nested(self.pose, q))

    def motion_subspace(self, q: Sequence[Scalar]) -> list[Motion]:
        """Columns of S: X^-1 dX/dq as twists, [RBM]."""
        return [Motion.of(column) for column in _nested(self.columns, q)]

    def subspace_slopes(self, q: Sequence[Scalar]) -> list[list[Motion]]:
        """Derivatives of the columns by the coordinates."""
        return [[Motion.of(x) for x in rows.T] for rows in _nested(self.slopes, q)]

    def subspace_curvatures(self, q: Sequence[Scalar]) -> list[list[list[Motion]]]:
        """Second derivatives of the columns."""
        return [
            [[Motion.of(x) for x in by_one.T] for by_one in np.moveaxis(rows, 1, 0)]
            for rows in _nested(self.curvatures, q)
        ]


def function_joint(
    function: Callable[..., Any], units: Sequence[str] = ('rad',), has_range: bool | None = None
) -> FunctionJoint:
    """Create a joint kind from the pose of its body as a function of its coordinates.

    The velocities of the joint are the rates of its coordinates. At zero coordinates the pose must
    be the identity: the description places the joint frame.

    Args:
        function: takes an array q (n), returns the pose (4, 4) of the moving body in the joint
            frame. It is traced once, with the operations that docs/kernels.md allows.
        units: 'rad' or 'm' for each coordinate.
        has_range: whether limits of a description bound it; None means if it has one coordinate.

    Raises:
        InvalidArgumentError: other units, a pose of another shape or one that is not rigid or not
            the identity at zero, or a function without derivatives.
    """
    n = len(units)
    check_count('units', n, 1)
    if any(unit not in UNITS for unit in units):
        raise InvalidArgumentError('units', repr(tuple(units)), f'each one of {UNITS}')

    def pose(q: Any) -> Any:
        X = np.array(function(np.array(q, dtype=object)), dtype=object)
        if X.shape != (4, 4):
            raise InvalidArgumentError('function', f'a pose of shape {X.shape}', 'shape (4, 4)')
        return X.tolist()

    def columns(q: list[Any]) -> list[list[Scalar]]:
        X = pose(q)
        rates = jacobian([x for row in X[:3] for x in row], q)
        R = _transform(X).rotation
        found = []
        for k in range(n):
            rows = [[rates[4 * i + j][k] for j in range(4)] for i in range(3)]
            linear = R.transpose_apply(Vector3(*(row[3] for row in rows)))
            turning = R.T @ Matrix3([row[:3] for row in rows])
            found.append(Motion(linear, turning.unskew()).components())
        return found

    traced = trace(pose, {'q': n}, 'joint_pose')
    for q in (np.zeros(n), np.linspace(0.1, 0.2, n)):
        X = np.array(traced.interpret(q.tolist()), dtype=float).reshape(4, 4)
        rigid_pose('function', X)
        if not q.any() and not np.allclose(X, np.eye(4), atol=1e-12):
            raise InvalidArgumentError('function', f'{X.tolist()} at zero', 'the identity there')
    S = trace(columns, {'q': n}, 'joint_columns')
    slopes = derivative(S, 'q')
    entries = tuple(Entries(1, unit, f'coordinate {i}') for i, unit in enumerate(units))
    if n == 1:
        entries = (replace(entries[0], meaning=''),)
    return FunctionJoint(
        pose=traced,
        columns=S,
        slopes=slopes,
        curvatures=derivative(slopes, 'q'),
        coordinates=entries,
        velocities=entries,
        has_range=n == 1 if has_range is None else has_range,
    )


def _nested(traced: Trace | None, q: Sequence[Scalar]) -> Any:
    """Return the only output of a trace at q, an object array of its shape."""
    assert traced is not None
    found = np.empty(traced.outputs[0].size, dtype=object)
    found[:] = replay(traced, list(q))
    return found.reshape(traced.outputs[0].shape)


def _transform(X: Any) -> Transform:
    rotation = Matrix3([list(row[:3]) for row in X[:3]])
    return Transform(rotation, Vector3(*(row[3] for row in X[:3])))
