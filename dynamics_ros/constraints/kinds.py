# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can constrain a robot: contacts, closed loops, and linear constraints on v.

A constraint is anything with ``rows``, ``jacobian`` and ``bias``: it demands J(q) v = 0 of the
velocity and J a + J-dot v = 0 of the acceleration ([RD] eq. 2.270). Its force pushes the robot with
J^T f: positive is the environment on the robot, the opposite of F_c in [RD] eq. 3.57.
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
"""Of a kind that reads none."""


class Constraint(Protocol):
    """Anything that demands J(q) v = 0 of the velocity of a robot."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """J (..., rows, nv)."""

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """J-dot v (..., rows)."""


Constraints = str | Constraint | Sequence[str | Constraint]
"""One constraint or several; a plain name is a point contact at the origin of that frame."""


@dataclass(frozen=True)
class Contact:
    """A place of the robot that rests in the root frame ([RD] 2.10.4).

    Attributes:
        frame: what touches the environment.
        kind: 'point' holds a point, three rows; its force [N] is in root axes. 'surface' holds the
            rotation too, six rows; its force is a wrench in root axes, the torque [Nm] about the
            point. 'normal' holds the point along the normal alone, one row, as ground without
            friction does; its force [N] is along the normal.
        point: the point in the frame [m].
        normal: of the ground, away from it, in root axes; read by the kind 'normal'.
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
        """3 of a point, 6 of a surface, 1 of a normal."""
        return HELD_ROWS[self.kind]

    @property
    def key(self) -> tuple[str, ...]:
        """Kind and frame, as options of a kernel."""
        return self.kind, self.frame

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The point in its frame, and one that nothing reads."""
        return self.point, ORIGIN

    @property
    def directions(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The normal, and one that nothing reads."""
        return self.normal, ORIGIN

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Contact Jacobian (..., rows, nv), in root axes."""
        return self._rows(point_jacobian(robot, q, self.frame, self.point))

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """J-dot v (..., rows)."""
        return self._rows(point_bias(robot, q, v, self.frame, self.point)[..., None])[..., 0]

    def _rows(self, columns: Array) -> Array:
        """Those that are held of columns (..., 6, n) of twists."""
        if self.kind == 'normal':
            return np.asarray(np.array(self.normal) @ columns[..., :3, :])[..., None, :]
        return columns[..., : self.rows, :]

    def position(self, robot: RigidBodySystem, q: Array) -> Array:
        """Where the point is (..., 3) in the root frame [m]."""
        return point_position(robot, q, self.frame, self.point)


@dataclass(frozen=True)
class ClosedLoop:
    """Two frames of the robot that stay together: the joint at which a loop was cut ([Lie] 3).

    The loop has to be closed in the configurations it is asked at, as ``gap`` tells: points that
    are apart would keep their distance in root axes, which no joint does. ``closed_state`` closes
    it, ``Stabilized`` keeps it closed.

    Attributes:
        frame, other: the two frames.
        kind: 'position' keeps two points together, three rows; 'pose' welds the frames, six;
            'revolute' is a joint about an axis through the points, five.
        point, other_point: the points in their frames [m].
        axis, other_axis: direction of that axis in the two frames; read by the kind 'revolute',
            whose last two rows are along ``directions`` of the other frame.
        rotation: (3, 3) of the frame in the other one where they are welded; None where ``gap``
            need not tell of it.
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
        """The loop that is closed at a configuration.

        Args:
            robot: whose frames.
            q: (nq).
            frame, other, kind, point, axis: as above; what they are in the other frame follows.
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
        """3 of a position, 6 of a pose, 5 of a revolute joint."""
        return HELD_ROWS[self.kind]

    @property
    def key(self) -> tuple[str, ...]:
        """Kind and frames, as options of a kernel."""
        return self.kind, self.frame, self.other

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The points in their frames."""
        return self.point, self.other_point

    @property
    def directions(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Two unit directions of the other frame, perpendicular to the axis and to each other."""
        first, second = plane_axes(Vector3.of(self.other_axis))
        return tuple(map(float, first)), tuple(map(float, second))

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Difference of the Jacobians ([RD] eq. 2.154) (..., rows, nv), in root axes."""
        J = point_jacobian(robot, q, self.frame, self.point)
        J = J - point_jacobian(robot, q, self.other, self.other_point)
        if self.kind != 'revolute':
            return np.asarray(J[..., : self.rows, :])
        return np.concatenate([J[..., :3, :], self._across(robot, q) @ J[..., 3:, :]], axis=-2)

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """J-dot v (..., rows)."""
        bias = point_bias(robot, q, v, self.frame, self.point)
        bias = bias - point_bias(robot, q, v, self.other, self.other_point)
        if self.kind != 'revolute':
            return np.asarray(bias[..., : self.rows])
        B = self._across(robot, q)
        spins = [robot.frame_velocity(q, v, name)[..., 3:] for name in (self.frame, self.other)]
        # The directions turn with the other frame.
        turning = np.cross(spins[1][..., None, :], B)
        turned = apply(B, bias[..., 3:]) + apply(turning, spins[0] - spins[1])
        return np.concatenate([bias[..., :3], turned], axis=-1)

    def gap(self, robot: RigidBodySystem, q: Array) -> Array:
        """How far the loop is from being closed; J v is its rate where it is closed.

        From the other point to the point (..., 3) in root axes [m]. Of a revolute joint two more:
        by how much the axis leans along ``directions``, turned by a quarter [rad]. Of a weld with a
        ``rotation`` three more: the rotation vector of what is too much, in root axes [rad].
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
        """The ``gap`` (..., rows), all rows of it.

        Raises:
            InvalidArgumentError: a weld without ``rotation``, which does not know when it is met.
        """
        if self.kind == 'pose' and self.rotation is None:
            expected = 'the rotation of a weld, as ClosedLoop.closed_at gives it'
            raise InvalidArgumentError('rotation', 'None', expected)
        return self.gap(robot, q)

    def _across(self, robot: RigidBodySystem, q: Array) -> Array:
        """``directions`` (..., 2, 3) in root axes."""
        R = robot.forward_kinematics(q, self.other)[..., :3, :3]
        return np.asarray(np.array(self.directions) @ transposed(R))


@dataclass(frozen=True)
class LinearConstraint:
    """A(q) v = 0 with an A of your own, e.g. a gear or a wheel that rolls ([RD] eq. 3.35).

    Attributes:
        rows: number of rows of A.
        matrix: q (..., nq) to A (..., rows, nv).
        rate: q, v to A-dot v (..., rows); None for a constant A.
    """

    rows: int
    matrix: Callable[[Array], ArrayLike]
    rate: Callable[[Array, Array], ArrayLike] | None = None

    def __post_init__(self) -> None:
        check_count('rows', self.rows, 1)

    @classmethod
    def constant(cls, matrix: ArrayLike) -> LinearConstraint:
        """The constraint of a constant matrix A (rows, nv)."""
        A = np.array(matrix, dtype=float)
        if A.ndim != 2:
            raise InvalidArgumentError('matrix', f'shape {A.shape}', 'shape (rows, nv)')
        return cls(A.shape[0], lambda q: A)

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """A (..., rows, nv)."""
        return finite_arrays('matrix', self.matrix(q), (self.rows, robot.nv))

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """A-dot v (..., rows)."""
        if self.rate is None:
            return np.zeros(self.rows)
        return finite_arrays('rate', self.rate(q, v), (self.rows,))


def constraint_list(contacts: Constraints) -> list[Constraint]:
    """The constraints of an argument that may be one, several, or names of frames.

    Raises:
        InvalidArgumentError: something that is no constraint.
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
    """As ``constraint_list``, where only contacts make sense.

    Raises:
        InvalidArgumentError: something that is no contact.
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
