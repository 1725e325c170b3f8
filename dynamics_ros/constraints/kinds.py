# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of constraints: contacts and closed loops.

A constraint is an object with ``rows``, ``jacobian`` and ``bias``: it requires J(q) v = 0 and J a +
J-dot v = 0 ([RD] eq. 2.270). Its force f causes the torques J^T f. The force of the environment on
the robot is positive, with the opposite sign of F_c in [RD] eq. 3.57.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.constrained import CONSTRAINT_ROWS
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

HELD = 'where it is held, as Contact.held_at or ClosedLoop.closed_at gives it'


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
        rates_dq: (..., rows, nv) of J v, plus the rate at rest of a constraint that has one.
    """

    torques_dq: Array
    rows_dq: Array
    rows_dv: Array
    rates_dq: Array


Constraints = str | Constraint | Sequence[str | Constraint]
"""One constraint or several; the name of a frame is a point contact at its origin."""


Places = tuple[tuple[float, ...], tuple[float, ...]]
"""Two points or directions."""


class _OfKernel:
    """Rows of a contact or a loop, from a kernel; a contact is a loop with the root frame.

    Attributes:
        key: kind and frames, which are options of kernels.
        points, directions: inputs of kernels, as of ``algorithms.constrained.rows_of_constraint``.
    """

    kind: str
    frame: str
    rotation: Any
    key: tuple[str, ...]
    points: Places
    directions: Places

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
        """Derivatives of J^T f, of J a + J-dot v, and of J v."""
        kernel = robot.kernel('constraint_slopes', *self.key)
        return Slopes(*kernel(q, v, a, forces, *places([self])))

    def residual(self, robot: RigidBodySystem, q: Array) -> Array:
        """How far the constraint is from being satisfied (..., rows); its rate is J v if small.

        The vector from the place where the point is held, or from the other point, to the point, in
        axes of the root frame [m]; of a 'normal' contact its part along the normal. A revolute
        joint has two more rows, the components of its axis along ``directions``, rotated by a
        quarter turn [rad]; a surface or a weld three, the rotation vector from the held to the
        actual rotation in axes of the root frame [rad].

        Raises:
            InvalidArgumentError: the place or rotation that is held is not known.
        """
        for name in ('anchor', 'rotation')[: 2 if self.kind in ('surface', 'pose') else 1]:
            if getattr(self, name, ORIGIN) is None:
                raise InvalidArgumentError(name, 'None', HELD)
        X = robot.forward_kinematics(q, self.frame)
        Y = robot.forward_kinematics(q, self.key[2]) if len(self.key) > 2 else np.eye(4)
        point, other_point = map(np.array, self.points)
        R, R_other = X[..., :3, :3], Y[..., :3, :3]
        offset = R @ point + X[..., :3, 3] - (R_other @ other_point + Y[..., :3, 3])
        if self.kind == 'normal':
            return np.asarray(offset @ np.array(self.directions[0]))[..., None]
        if self.kind in ('point', 'position'):
            return np.asarray(offset)
        if isinstance(self, ClosedLoop) and self.kind == 'revolute':
            axis = R @ np.array(self.axis)
            components = apply(np.array(self.directions) @ transposed(R_other), axis)
            turned = np.stack([-components[..., 1], components[..., 0]], axis=-1)
        else:
            turned = pose_error(X, Y @ _at_origin(self.rotation))[..., 3:]
        return np.concatenate([offset, turned], axis=-1)

    def _check(self, kinds: Sequence[str], *vectors: str) -> None:
        """Check the attributes; vectors and the rotation become tuples of floats.

        Args:
            kinds: the kinds that there are.
            vectors: names of points and, with a length of 1 afterwards, of directions.
        """
        if self.kind not in kinds:
            raise InvalidArgumentError('kind', repr(self.kind), f'one of {tuple(kinds)}')
        for name in vectors:
            vector = finite_vector(name, getattr(self, name), 3)
            if name in ('normal', 'axis', 'other_axis'):
                length = float(np.linalg.norm(vector))
                if not length:
                    raise InvalidArgumentError(name, 'a vector of length 0', 'a direction')
                vector = vector / length
            object.__setattr__(self, name, tuple(vector.tolist()))
        if self.rotation is not None:
            R = finite_matrix('rotation', self.rotation, 3)
            rigid_pose('rotation', _at_origin(R))
            object.__setattr__(self, 'rotation', tuple(map(tuple, R.tolist())))

    def _set(self, key: tuple[str, ...], points: Places, directions: Places) -> None:
        for name, value in (('key', key), ('points', points), ('directions', directions)):
            object.__setattr__(self, name, value)

    def _rows(self, robot: RigidBodySystem, q: Array, v: Array) -> tuple[Array, Array]:
        J, bias = robot.kernel('constraint_rows', *self.key)(q, v, *places([self]))
        return J, bias


def places(constraints: Sequence[_OfKernel]) -> tuple[Array, Array]:
    """Last inputs of kernels of contacts and loops.

    Returns:
        Points and directions, (m, 2, 3) each.
    """
    points = np.array([x.points for x in constraints]).reshape(-1, 2, 3)
    return points, np.array([x.directions for x in constraints]).reshape(-1, 2, 3)


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
        anchored = () if self.anchor is None else ('anchor',)
        self._check(CONTACT_KINDS, 'point', *anchored, 'normal')
        # The second direction is that of a loop, and not read.
        points, directions = (self.point, self.anchor or ORIGIN), (self.normal, ORIGIN)
        self._set((self.kind, self.frame), points, directions)

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
        contact = cls(frame, kind, point, normal)
        X = robot.forward_kinematics(finite_vector('q', q, robot.nq), frame)
        anchor = tuple((X[:3, :3] @ np.array(contact.point) + X[:3, 3]).tolist())
        return replace(contact, anchor=anchor, rotation=tuple(map(tuple, X[:3, :3].tolist())))


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
            last two rows are along ``directions`` of the other frame, perpendicular to the axis.
        rotation: (3, 3) rotation of the frame in the other frame if they are welded, for ``gap``;
            None if it is not known.
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
        self._check(LOOP_KINDS, 'point', 'other_point', 'axis', 'other_axis')
        x, y = (tuple(map(float, e)) for e in plane_axes(Vector3.of(self.other_axis)))
        self._set((self.kind, self.frame, self.other), (self.point, self.other_point), (x, y))

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

    gap = _OfKernel.residual
    """The ``residual`` of a loop."""


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


def _at_origin(rotation: ArrayLike) -> Array:
    pose = np.eye(4)
    pose[:3, :3] = rotation
    return pose
