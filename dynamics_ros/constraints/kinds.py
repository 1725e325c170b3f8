# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of constraints: contacts, closed loops, and linear constraints on v.

A constraint is an object with ``rows``, ``jacobian`` and ``bias``: it requires J(q) v = 0 and J a +
J-dot v = 0 ([RD] eq. 2.270). Its force f causes the torques J^T f. The force of the environment on
the robot is positive, with the opposite sign of F_c in [RD] eq. 3.57.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.constrained import HELD_ROWS, HELD_TOGETHER
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.joints import plane_axes
from dynamics_ros.multibody.arguments import (
    check_count,
    finite_arrays,
    finite_matrix,
    finite_vector,
    rigid_pose,
)
from dynamics_ros.multibody.end_effector.pose_error import pose_error
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import Vector3

from .points import ORIGIN, checked_point, point_bias, point_jacobian, point_position

CONTACT_KINDS = tuple(kind for kind in HELD_ROWS if kind not in HELD_TOGETHER)

UP = (0.0, 0.0, 1.0)

NO_DIRECTIONS = (ORIGIN, ORIGIN)
"""Directions of a kind that does not use them."""


class Constraint(Protocol):
    """Interface of constraints J(q) v = 0 on the velocity of a robot."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Jacobian J (..., rows, nv)."""

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Bias J-dot v (..., rows)."""


Constraints = str | Constraint | Sequence[str | Constraint]
"""One constraint or several; the name of a frame is a point contact at its origin."""


@dataclass(frozen=True)
class Contact:
    """A contact of a frame with the environment, at rest in the root frame ([RD] 2.10.4).

    Attributes:
        frame: name of the frame in contact.
        kind: 'point' constrains the position of a point, three rows; its force [N] is in axes of
            the root frame. 'surface' constrains position and rotation, six rows; its force is a
            wrench in axes of the root frame, with the torque [Nm] about the point. 'normal'
            constrains the position along the normal, one row, like ground without friction; its
            force [N] is along the normal.
        point: the point in the frame [m].
        normal: normal of the ground, away from it, in axes of the root frame; used by the kind
            'normal'.
    """

    frame: str
    kind: str = 'point'
    point: tuple[float, ...] = ORIGIN
    normal: tuple[float, ...] = UP

    def __post_init__(self) -> None:
        _check_kind('kind', self.kind, CONTACT_KINDS)
        object.__setattr__(self, 'point', checked_point('point', self.point))
        object.__setattr__(self, 'normal', _unit('normal', self.normal))

    @property
    def rows(self) -> int:
        """Number of rows: 3 for a point, 6 for a surface, 1 for a normal."""
        return HELD_ROWS[self.kind]

    @property
    def key(self) -> tuple[str, ...]:
        """Kind and frame, which are options of kernels."""
        return self.kind, self.frame

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The point in its frame, and a placeholder for the other point of a loop."""
        return self.point, ORIGIN

    @property
    def directions(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The normal, and a placeholder for the second direction of a loop."""
        return self.normal, ORIGIN

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Contact Jacobian (..., rows, nv), in axes of the root frame."""
        return self._rows(point_jacobian(robot, q, self.frame, self.point))

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Bias J-dot v (..., rows)."""
        return self._rows(point_bias(robot, q, v, self.frame, self.point)[..., None])[..., 0]

    def _rows(self, columns: Array) -> Array:
        """Constrained rows (..., rows, n) of columns (..., 6, n) of twists."""
        if self.kind == 'normal':
            return np.asarray(np.array(self.normal) @ columns[..., :3, :])[..., None, :]
        return columns[..., : self.rows, :]

    def position(self, robot: RigidBodySystem, q: Array) -> Array:
        """Position (..., 3) of the point in the root frame [m]."""
        return point_position(robot, q, self.frame, self.point)


@dataclass(frozen=True)
class ClosedLoop:
    """Closure of a kinematic loop: a joint between two frames of the robot ([Lie] 3).

    The loop has to be closed (``gap`` is zero) at the configurations at which the constraint is
    used. Otherwise the points would keep their difference in axes of the root frame, which is not
    the motion of a joint. ``closed_state`` closes the loop; ``Stabilized`` keeps it closed.

    Attributes:
        frame, other: names of the two frames.
        kind: 'position' keeps two points together, three rows; 'pose' welds the frames, six rows;
            'revolute' is a revolute joint with an axis through the points, five rows.
        point, other_point: the points in their frames [m].
        axis, other_axis: direction of the axis in both frames; used by the kind 'revolute', whose
            last two rows are along ``directions`` of the other frame.
        rotation: (3, 3) rotation of the frame in the other frame if they are welded; None to
            exclude the rotation from ``gap``.
    """

    frame: str
    other: str
    kind: str = 'position'
    point: tuple[float, ...] = ORIGIN
    other_point: tuple[float, ...] = ORIGIN
    axis: tuple[float, ...] = UP
    other_axis: tuple[float, ...] = UP
    rotation: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        _check_kind('kind', self.kind, HELD_TOGETHER)
        object.__setattr__(self, 'point', checked_point('point', self.point))
        object.__setattr__(self, 'other_point', checked_point('other_point', self.other_point))
        object.__setattr__(self, 'axis', _unit('axis', self.axis))
        object.__setattr__(self, 'other_axis', _unit('other_axis', self.other_axis))
        if self.rotation is not None:
            R = finite_matrix('rotation', self.rotation, 3)
            rigid_pose('rotation', _at_origin(R))
            object.__setattr__(self, 'rotation', tuple(map(tuple, R.tolist())))

    @classmethod
    def closed_at(
        cls,
        robot: RigidBodySystem,
        q: ArrayLike,
        frame: str,
        other: str,
        kind: str = 'position',
        point: tuple[float, ...] = ORIGIN,
        axis: tuple[float, ...] = UP,
    ) -> ClosedLoop:
        """Loop that is closed at a given configuration.

        Args:
            robot: the robot with the frames.
            q: (nq) configuration.
            frame, other, kind, point, axis: as the attributes; ``other_point``, ``other_axis`` and
                ``rotation`` are computed.
        """
        at = finite_vector('q', q, robot.nq)
        X = np.linalg.solve(
            robot.forward_kinematics(at, other), robot.forward_kinematics(at, frame)
        )
        R = X[:3, :3]
        other_point = tuple((R @ np.array(point) + X[:3, 3]).tolist())
        other_axis = tuple((R @ np.array(axis)).tolist())
        rotation = tuple(map(tuple, R.tolist()))
        return cls(frame, other, kind, point, other_point, axis, other_axis, rotation)

    @property
    def rows(self) -> int:
        """Number of rows: 3 for a position, 6 for a pose, 5 for a revolute joint."""
        return HELD_ROWS[self.kind]

    @property
    def key(self) -> tuple[str, ...]:
        """Kind and frames, which are options of kernels."""
        return self.kind, self.frame, self.other

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The points in their frames."""
        return self.point, self.other_point

    @property
    def directions(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Two unit vectors in the other frame, perpendicular to the axis and to each other."""
        first, second = plane_axes(Vector3.of(self.other_axis))
        return tuple(map(float, first)), tuple(map(float, second))

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Difference (..., rows, nv) of both Jacobians, in root frame axes ([RD] eq. 2.154)."""
        J = point_jacobian(robot, q, self.frame, self.point)
        J = J - point_jacobian(robot, q, self.other, self.other_point)
        if self.kind != 'revolute':
            return np.asarray(J[..., : self.rows, :])
        return np.concatenate([J[..., :3, :], self._across(robot, q) @ J[..., 3:, :]], axis=-2)

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Bias J-dot v (..., rows)."""
        bias = point_bias(robot, q, v, self.frame, self.point)
        bias = bias - point_bias(robot, q, v, self.other, self.other_point)
        if self.kind != 'revolute':
            return np.asarray(bias[..., : self.rows])
        B = self._across(robot, q)
        spins = [robot.frame_velocity(q, v, name)[..., 3:] for name in (self.frame, self.other)]
        # The directions are fixed to the other frame, so J-dot has a term of its rotation.
        turning = np.cross(spins[1][..., None, :], B)
        turned = apply(B, bias[..., 3:]) + apply(turning, spins[0] - spins[1])
        return np.concatenate([bias[..., :3], turned], axis=-1)

    def gap(self, robot: RigidBodySystem, q: Array) -> Array:
        """Gap of the loop; for a closed loop its rate is J v.

        The first rows are the vector (..., 3) from the other point to the point, in axes of the
        root frame [m]. A revolute joint has two more rows: the components of its axis along
        ``directions``, rotated by a quarter turn [rad]. A weld with a ``rotation`` has three more
        rows: the rotation vector from the desired to the actual rotation, in axes of the root frame
        [rad].
        """
        position = point_position(robot, q, self.frame, self.point)
        position = position - point_position(robot, q, self.other, self.other_point)
        if self.kind == 'revolute':
            axis = robot.forward_kinematics(q, self.frame)[..., :3, :3] @ np.array(self.axis)
            leaning = apply(self._across(robot, q), axis)
            quarter = np.stack([-leaning[..., 1], leaning[..., 0]], axis=-1)
            return np.concatenate([position, quarter], axis=-1)
        if self.kind == 'position' or self.rotation is None:
            return position
        poses = robot.forward_kinematics(q, self.frame), robot.forward_kinematics(q, self.other)
        turned = poses[1] @ _at_origin(self.rotation)
        return np.concatenate([position, pose_error(poses[0], turned)[..., 3:]], axis=-1)

    def residual(self, robot: RigidBodySystem, q: Array) -> Array:
        """The ``gap`` (..., rows) with as many rows as the constraint.

        Raises:
            InvalidArgumentError: a weld has no ``rotation``, so its residual is not defined.
        """
        if self.kind == 'pose' and self.rotation is None:
            expected = 'the rotation of a weld, as ClosedLoop.closed_at gives it'
            raise InvalidArgumentError('rotation', 'None', expected)
        return self.gap(robot, q)

    def _across(self, robot: RigidBodySystem, q: Array) -> Array:
        """``directions`` (..., 2, 3) in axes of the root frame."""
        R = robot.forward_kinematics(q, self.other)[..., :3, :3]
        return np.asarray(np.array(self.directions) @ transposed(R))


@dataclass(frozen=True)
class LinearConstraint:
    """Constraint A(q) v = 0 with a user's matrix A, e.g. a gear or a rolling wheel ([RD] eq. 3.35).

    Attributes:
        rows: number of rows of A.
        matrix: function of q (..., nq) that returns A (..., rows, nv).
        rate: function of q and v that returns A-dot v (..., rows); None for a constant A.
    """

    rows: int
    matrix: Callable[[Array], ArrayLike]
    rate: Callable[[Array, Array], ArrayLike] | None = None

    def __post_init__(self) -> None:
        check_count('rows', self.rows, 1)

    @classmethod
    def constant(cls, matrix: ArrayLike) -> LinearConstraint:
        """Constraint with a constant matrix A (rows, nv)."""
        A = np.array(matrix, dtype=float)
        if A.ndim != 2:
            raise InvalidArgumentError('matrix', f'shape {A.shape}', 'shape (rows, nv)')
        return cls(A.shape[0], lambda q: A)

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Matrix A (..., rows, nv)."""
        return finite_arrays('matrix', self.matrix(q), (self.rows, robot.nv))

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Bias A-dot v (..., rows)."""
        if self.rate is None:
            return np.zeros(self.rows)
        return finite_arrays('rate', self.rate(q, v), (self.rows,))


def constraint_list(contacts: Constraints) -> list[Constraint]:
    """List of the constraints of an argument: one or several constraints or names of frames.

    Raises:
        InvalidArgumentError: an entry is not a constraint.
    """
    several = (
        list(contacts)
        if isinstance(contacts, Sequence) and not isinstance(contacts, str)
        else [contacts]
    )
    constraints: list[Constraint] = []
    for entry in several:
        constraint = Contact(entry) if isinstance(entry, str) else entry
        if not all(hasattr(constraint, name) for name in ('rows', 'jacobian', 'bias')):
            expected = 'frame names, Contact, ClosedLoop or LinearConstraint'
            raise InvalidArgumentError('contacts', repr(entry), expected)
        constraints.append(constraint)
    return constraints


def contact_list(contacts: str | Contact | Sequence[str | Contact]) -> list[Contact]:
    """Like `constraint_list`, for arguments that must be contacts.

    Raises:
        InvalidArgumentError: an entry is not a contact.
    """
    constraints = constraint_list(contacts)
    found = [constraint for constraint in constraints if isinstance(constraint, Contact)]
    if len(found) < len(constraints):
        raise InvalidArgumentError('contacts', f'{constraints}', 'frame names or Contact')
    return found


def _check_kind(argument: str, kind: str, known: tuple[str, ...]) -> None:
    if kind not in known:
        raise InvalidArgumentError(argument, repr(kind), f'one of {known}')


def _at_origin(rotation: ArrayLike) -> Array:
    pose = np.eye(4)
    pose[:3, :3] = rotation
    return pose


def _unit(argument: str, direction: ArrayLike) -> tuple[float, ...]:
    vector = finite_vector(argument, direction, 3)
    length = float(np.linalg.norm(vector))
    if not length:
        raise InvalidArgumentError(argument, 'a vector of length 0', 'a direction')
    return tuple((vector / length).tolist())
