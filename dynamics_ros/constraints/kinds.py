# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of constraints: contacts and closed loops.

A constraint is an object with ``rows``, ``jacobian`` and ``bias``: it requires J(q) v = 0 and J a +
J-dot v = 0 ([RD] eq. 2.270). Its force f causes the torques J^T f. The force of the environment on
the robot is positive, with the opposite sign of F_c in [RD] eq. 3.57.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.constrained import CONSTRAINT_ROWS, DIRECTED
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.description import LOOP_KINDS
from dynamics_ros.model.joints import plane_axes
from dynamics_ros.multibody.arguments import (
    finite_matrix,
    finite_vector,
    rigid_pose,
)
from dynamics_ros.multibody.end_effector import pose_error
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import Vector3

ORIGIN = (0.0, 0.0, 0.0)

CONTACT_KINDS = tuple(kind for kind in CONSTRAINT_ROWS if kind not in LOOP_KINDS)

UP = (0.0, 0.0, 1.0)

HELD = 'where it is held, as Contact.held_at gives it'


class Constraint(Protocol):
    """Interface of constraints J(q) v = 0 on the velocity of a robot."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Jacobian J (..., rows, nv)."""

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Bias J-dot v (..., rows)."""


class Slopes(NamedTuple):
    """Derivatives of the rows of a constraint, by q along velocities.

    Attributes:
        torques_dq: (..., nv, nv) of J^T f at constant forces f.
        rows_dq: (..., rows, nv) of J a + J-dot v at constant v and a.
        rows_dv: (..., rows, nv) of J-dot v.
    """

    torques_dq: Array
    rows_dq: Array
    rows_dv: Array


Constraints = str | Constraint | Sequence[str | Constraint]
"""One constraint or several; the name of a frame is a point contact at its origin."""


Places = tuple[tuple[float, ...], tuple[float, ...]]
"""Two points or directions."""


class _OfKernel(ABC):
    """Rows of a contact or a loop, from a kernel."""

    kind: str
    frame: str
    rotation: Any

    @property
    @abstractmethod
    def key(self) -> tuple[str, ...]:
        """Kind and frames, which are options of kernels."""

    @property
    @abstractmethod
    def points(self) -> Places:
        """Points in the frames, inputs of kernels."""

    @property
    @abstractmethod
    def directions(self) -> Places:
        """Directions, inputs of kernels."""

    @property
    def rows(self) -> int:
        """Number of rows of the kind."""
        return CONSTRAINT_ROWS[self.kind]

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Jacobian (..., rows, nv) in root frame axes; of a loop, the difference of two.

        [RD] eq. 2.154.
        """
        return self._rows(robot, q, np.zeros(robot.nv))[0]

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Bias J-dot v (..., rows)."""
        return self._rows(robot, q, v)[1]

    def slopes(self, robot: RigidBodySystem, q: Array, v: Array, a: Array, forces: Array) -> Slopes:
        """Derivatives of J^T f and of J a + J-dot v."""
        kernel = robot.kernel('constraint_slopes', *self.key)
        return Slopes(*kernel(q, v, a, forces, *places([self])))

    def rate_slope(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Derivative (..., rows, nv) of J v along velocities."""
        return self.slopes(robot, q, np.zeros(robot.nv), v, np.zeros(self.rows)).rows_dq

    def _rows(self, robot: RigidBodySystem, q: Array, v: Array) -> tuple[Array, Array]:
        kernel = robot.kernel('constraint_rows', *self.key)
        J, bias = kernel(q, v, *places([self]))
        return J, bias

    def _with_rotation(
        self, robot: RigidBodySystem, q: Array, offset: Array, other: Array
    ) -> Array:
        """An offset, and the rotation vector from the rotation that is held in another frame."""
        desired = other @ _at_origin(self.rotation)
        turned = pose_error(robot.forward_kinematics(q, self.frame), desired)[..., 3:]
        return np.concatenate([offset, turned], axis=-1)


def places(constraints: Sequence[_OfKernel]) -> tuple[Array, ...]:
    """Last inputs of kernels of contacts and loops.

    Returns:
        Points (m, 2, 3), and directions (m, 2, 3) if a kind needs them.
    """
    points = np.array([x.points for x in constraints]).reshape(-1, 2, 3)
    if any(x.kind in DIRECTED for x in constraints):
        return points, np.array([x.directions for x in constraints])
    return (points,)


@dataclass(frozen=True)
class Contact(_OfKernel):
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
        anchor: position in the root frame where the point is held [m], for ``residual``; None if
            it is not known.
        rotation: (3, 3) rotation of the frame in the root frame in which a surface is held, for
            ``residual``; None if it is not known.
    """

    frame: str
    kind: str = 'point'
    point: tuple[float, ...] = ORIGIN
    normal: tuple[float, ...] = UP
    anchor: tuple[float, ...] | None = None
    rotation: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        _check_kind('kind', self.kind, CONTACT_KINDS)
        object.__setattr__(self, 'point', checked_point('point', self.point))
        object.__setattr__(self, 'normal', _unit('normal', self.normal))
        if self.anchor is not None:
            object.__setattr__(self, 'anchor', checked_point('anchor', self.anchor))
        object.__setattr__(self, 'rotation', _checked_rotation(self.rotation))

    @classmethod
    def held_at(
        cls,
        robot: RigidBodySystem,
        q: ArrayLike,
        frame: str,
        kind: str = 'point',
        point: tuple[float, ...] = ORIGIN,
        normal: tuple[float, ...] = UP,
    ) -> Contact:
        """Contact that is held where it is at a given configuration.

        Args:
            robot: the robot with the frame.
            q: (nq) configuration.
            frame, kind, point, normal: as the attributes; ``anchor`` and ``rotation`` are
                computed.
        """
        pose = robot.forward_kinematics(finite_vector('q', q, robot.nq), frame)
        anchor = pose[:3, :3] @ np.array(checked_point('point', point)) + pose[:3, 3]
        rotation = tuple(map(tuple, pose[:3, :3].tolist()))
        return cls(frame, kind, point, normal, tuple(anchor.tolist()), rotation)

    @property
    def key(self) -> tuple[str, ...]:
        """Kind and frame, which are options of kernels."""
        return self.kind, self.frame

    @property
    def points(self) -> Places:
        """The point in its frame, and a placeholder for the other point of a loop."""
        return self.point, ORIGIN

    @property
    def directions(self) -> Places:
        """The normal, and a placeholder for the second direction of a loop."""
        return self.normal, ORIGIN

    def position(self, robot: RigidBodySystem, q: Array) -> Array:
        """Position (..., 3) of the point in the root frame [m]."""
        return _point_position(robot, q, self.frame, self.point)

    def residual(self, robot: RigidBodySystem, q: Array) -> Array:
        """How far the contact is from where it is held (..., rows); its rate is J v if it is small.

        The vector from the anchor to the point in axes of the root frame [m], of a 'normal' its
        part along the normal; a 'surface' has three more rows: the rotation vector from the held
        to the actual rotation, in axes of the root frame [rad].

        Raises:
            InvalidArgumentError: the contact has no ``anchor``, or a surface no ``rotation``.
        """
        if self.anchor is None:
            raise InvalidArgumentError('anchor', 'None', HELD)
        offset = self.position(robot, q) - np.array(self.anchor)
        if self.kind == 'normal':
            return np.asarray(offset @ np.array(self.normal))[..., None]
        if self.kind == 'point':
            return offset
        if self.rotation is None:
            raise InvalidArgumentError('rotation', 'None', HELD)
        return self._with_rotation(robot, q, offset, np.eye(4))


@dataclass(frozen=True)
class ClosedLoop(_OfKernel):
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
        _check_kind('kind', self.kind, LOOP_KINDS)
        object.__setattr__(self, 'point', checked_point('point', self.point))
        object.__setattr__(self, 'other_point', checked_point('other_point', self.other_point))
        object.__setattr__(self, 'axis', _unit('axis', self.axis))
        object.__setattr__(self, 'other_axis', _unit('other_axis', self.other_axis))
        object.__setattr__(self, 'rotation', _checked_rotation(self.rotation))

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
    def key(self) -> tuple[str, ...]:
        """Kind and frames, which are options of kernels."""
        return self.kind, self.frame, self.other

    @property
    def points(self) -> Places:
        """The points in their frames."""
        return self.point, self.other_point

    @property
    def directions(self) -> Places:
        """Two unit vectors in the other frame, perpendicular to the axis and to each other."""
        first, second = plane_axes(Vector3.of(self.other_axis))
        return tuple(map(float, first)), tuple(map(float, second))

    def gap(self, robot: RigidBodySystem, q: Array) -> Array:
        """Gap of the loop; for a closed loop its rate is J v.

        The first rows are the vector (..., 3) from the other point to the point, in axes of the
        root frame [m]. A revolute joint has two more rows: the components of its axis along
        ``directions``, rotated by a quarter turn [rad]. A weld with a ``rotation`` has three more
        rows: the rotation vector from the desired to the actual rotation, in axes of the root frame
        [rad].
        """
        position = _point_position(robot, q, self.frame, self.point)
        position = position - _point_position(robot, q, self.other, self.other_point)
        if self.kind == 'revolute':
            axis = robot.forward_kinematics(q, self.frame)[..., :3, :3] @ np.array(self.axis)
            R = robot.forward_kinematics(q, self.other)[..., :3, :3]
            components = apply(np.array(self.directions) @ transposed(R), axis)
            rotated = np.stack([-components[..., 1], components[..., 0]], axis=-1)
            return np.concatenate([position, rotated], axis=-1)
        if self.kind == 'position' or self.rotation is None:
            return position
        other = robot.forward_kinematics(q, self.other)
        return self._with_rotation(robot, q, position, other)

    def residual(self, robot: RigidBodySystem, q: Array) -> Array:
        """The ``gap`` (..., rows) with as many rows as the constraint.

        Raises:
            InvalidArgumentError: a weld has no ``rotation``, so its residual is not defined.
        """
        if self.kind == 'pose' and self.rotation is None:
            expected = 'the rotation of a weld, as ClosedLoop.closed_at gives it'
            raise InvalidArgumentError('rotation', 'None', expected)
        return self.gap(robot, q)


def constraint_list(contacts: Constraints) -> list[Constraint]:
    """List of the constraints of an argument: one or several constraints or names of frames.

    Raises:
        InvalidArgumentError: an entry is not a constraint.
    """
    entries = (
        list(contacts)
        if isinstance(contacts, Sequence) and not isinstance(contacts, str)
        else [contacts]
    )
    constraints: list[Constraint] = []
    for entry in entries:
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
    result = [constraint for constraint in constraints if isinstance(constraint, Contact)]
    if len(result) < len(constraints):
        raise InvalidArgumentError('contacts', f'{constraints}', 'frame names or Contact')
    return result


def checked_point(argument: str, point: tuple[float, ...]) -> tuple[float, ...]:
    """Check a point (3), and return it as a tuple.

    Raises:
        InvalidArgumentError: the point is not three finite numbers; the error names the argument.
    """
    return tuple(finite_vector(argument, point, 3).tolist())


def _point_position(
    robot: RigidBodySystem, q: Array, frame: str, point: tuple[float, ...]
) -> Array:
    """Position (..., 3) in the root frame of a point that is given in a frame [m]."""
    pose = robot.forward_kinematics(q, frame)
    return np.asarray(pose[..., :3, :3] @ np.array(point) + pose[..., :3, 3])


def _check_kind(argument: str, kind: str, known: tuple[str, ...]) -> None:
    if kind not in known:
        raise InvalidArgumentError(argument, repr(kind), f'one of {known}')


def _checked_rotation(rotation: ArrayLike | None) -> tuple[tuple[float, ...], ...] | None:
    if rotation is None:
        return None
    R = finite_matrix('rotation', rotation, 3)
    rigid_pose('rotation', _at_origin(R))
    return tuple(map(tuple, R.tolist()))


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
