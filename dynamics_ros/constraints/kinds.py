# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of constraints: contacts, closed loops, and functions of a user.

A constraint is an object with ``rows``, ``jacobian`` and ``bias``: it requires J(q) v = 0 and J a +
J-dot v = 0 ([RD] eq. 2.270). Its force f causes the torques J^T f. The force of the environment on
the robot is positive, with the opposite sign of F_c in [RD] eq. 3.57.

Functions of a user, of the configuration or linear in the velocity, are traced once for each robot
and differentiated automatically. They take arrays, use the operations that docs/kernels.md lists,
and may call methods of the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.constrained import CONSTRAINT_ROWS
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, compile, jacobian
from dynamics_ros.model.description import LOOP_KINDS
from dynamics_ros.model.joints import plane_axes
from dynamics_ros.multibody.arguments import (
    check_count,
    finite_arrays,
    finite_vector,
    rigid_pose,
)
from dynamics_ros.multibody.end_effector import pose_error
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.quantities import slopes_of_rows
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import Vector3

_Kind = TypeVar('_Kind', bound='_OfFunctions')
_Kernels = WeakKeyDictionary[RigidBodySystem, dict[str, Kernel]]

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


class _OfKernel:
    """Rows of a contact or a loop, from a kernel; a contact is a loop with the root frame.

    Attributes:
        key: kind and frames, which are options of kernels.
        places: inputs of kernels (2, 2, 3): its points, then its directions, as of
            ``algorithms.constrained.rows_of_constraint``.
    """

    kind: str
    frame: str
    rotation: Any
    key: tuple[str, ...]
    places: tuple[tuple[tuple[float, ...], ...], ...]

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
        (point, other_point), directions = np.array(self.places)
        R, R_other = X[..., :3, :3], Y[..., :3, :3]
        offset = R @ point + X[..., :3, 3] - (R_other @ other_point + Y[..., :3, 3])
        if self.kind == 'normal':
            return np.asarray(offset @ directions[0])[..., None]
        if self.kind in ('point', 'position'):
            return np.asarray(offset)
        if isinstance(self, ClosedLoop) and self.kind == 'revolute':
            axis = R @ np.array(self.axis)
            components = apply(directions @ transposed(R_other), axis)
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
            R = finite_arrays('rotation', self.rotation, (3, 3), many=False)
            rigid_pose('rotation', _at_origin(R))
            object.__setattr__(self, 'rotation', tuple(map(tuple, R.tolist())))

    def _rows(self, robot: RigidBodySystem, q: Array, v: Array) -> tuple[Array, Array]:
        J, bias = robot.kernel('constraint_rows', *self.key)(q, v, *places([self]))
        return J, bias


def places(constraints: Sequence[_OfKernel]) -> tuple[Array, Array]:
    """Last inputs of kernels of contacts and loops: points and directions, (m, 2, 3) each."""
    points, directions = (
        np.array([x.places[i] for x in constraints]).reshape(-1, 2, 3) for i in range(2)
    )
    return points, directions


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
        object.__setattr__(self, 'key', (self.kind, self.frame))
        # The second direction is that of a loop, and not read.
        points = self.point, self.anchor or ORIGIN
        object.__setattr__(self, 'places', (points, (self.normal, ORIGIN)))

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
        object.__setattr__(self, 'key', (self.kind, self.frame, self.other))
        x, y = (tuple(map(float, e)) for e in plane_axes(Vector3.of(self.other_axis)))
        object.__setattr__(self, 'places', ((self.point, self.other_point), (x, y)))

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


class _OfFunctions:
    """Rows of a user's functions, evaluated at a time."""

    rows: int
    time: float | None
    _kernels: _Kernels

    def __post_init__(self) -> None:
        check_count('rows', self.rows, 1)

    def at(self: _Kind, time: float) -> _Kind:
        """The same constraint at another time [s]; nothing is compiled.

        Raises:
            InvalidArgumentError: the constraint does not depend on time.
        """
        if self.time is None:
            raise InvalidArgumentError('time', f'{time}', 'a constraint that depends on it')
        return replace(self, time=time)  # type: ignore[type-var]

    def jacobian(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Jacobian (..., rows, nv) along velocities, or the matrix A."""
        return self._all_rows(robot, q)[0]

    def drift(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Rate (..., rows) at rest: df/dt, or -a_0; zero without a time and a target."""
        return self._all_rows(robot, q)[1]

    def bias(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike) -> Array:
        """Time derivative (..., rows) of J v + drift at constant v; J-dot v without a time."""
        return self._all_rows(robot, q, v)[2]

    def slopes(self, robot: RigidBodySystem, q: Array, v: Array, a: Array, forces: Array) -> Slopes:
        """Derivatives of J^T f, of J a + ``bias``, and of J v + ``drift``."""
        return Slopes(*self._run('slopes', robot, q, v, a, forces))

    def _all_rows(
        self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        return self._run('rows', robot, q, np.zeros(robot.nv) if v is None else v)

    def _run(self, name: str, robot: RigidBodySystem, *values: ArrayLike) -> tuple[Array, ...]:
        """Run the kernel of a function of a robot, which is compiled when it is first needed."""
        kernels = self._kernels.setdefault(robot, {})
        if name not in kernels:
            sizes = {'q': robot.nq, 'v': robot.nv, 'a': robot.nv, 'forces': self.rows}
            inputs: dict[str, int | tuple[()]] = dict([*sizes.items()][: len(values)])
            inputs['t'] = ()
            function = partial(getattr(self, f'_{name}'), robot)
            made = compile(function, inputs, f'constraint_{name}', backend=robot.backend)
            kernels.setdefault(name, made)
        found: tuple[Array, ...] = kernels[name](*values, float(self.time or 0.0))
        return found

    def _rows(self, robot: RigidBodySystem, q: Any, v: Any, t: Any) -> dict[str, Any]:
        value, J, drift = self._traced(robot, q, t)
        along = [[rate] for rate in [*robot.configuration_rate(q, v), 1.0]]
        # The time derivative of J v + drift at constant v.
        rates = [x + y for x, y in zip(J @ v, drift, strict=True)]
        bias = [x[0] for x in jacobian(rates, [*q, t], along=along)]
        return {'J': J, 'drift': drift, 'bias': bias, 'value': value}

    def _slopes(
        self, robot: RigidBodySystem, q: Any, v: Any, a: Any, forces: Any, t: Any
    ) -> dict[str, Any]:
        rows = self._rows(robot, q, v, t)
        J, drift, bias = rows['J'].tolist(), rows['drift'], rows['bias']
        return slopes_of_rows(robot.model, J, drift, bias, q, v, a, forces)

    def _traced(self, robot: RigidBodySystem, q: Any, t: Any) -> tuple[list[Any], Any, list[Any]]:
        """f (rows), or nothing without a function of the configuration; J (rows, nv); the drift."""
        raise NotImplementedError

    def _of(self, function: Callable[..., Any], q: Any, t: Any) -> Any:
        """Result of a user's function of q, and of t for a constraint with a time."""
        return function(q) if self.time is None else function(q, t)

    def _rows_of(self, function: Callable[..., Any], q: Any, t: Any) -> list[Any]:
        result = self._of(function, q, t)
        values = [result] if self.rows == 1 and np.ndim(result) == 0 else list(result)
        if len(values) != self.rows:
            raise InvalidArgumentError('function', f'{len(values)} rows', f'{self.rows} rows')
        return values


@dataclass(frozen=True, eq=False)
class ConfigurationConstraint(_OfFunctions):
    """Constraint f(q) = 0 or f(q, t) = 0 of a user's function f ([RD] eq. 3.37).

    A constraint with a time is rheonomic: the velocity satisfies J v + df/dt = 0, and ``bias``
    includes the derivatives by time.

    Attributes:
        rows: number of rows.
        function: function of q (nq), and of t for a constraint with a time, that returns f (rows).
        time: time t at which the constraint is evaluated [s]; None if f does not depend on time.
    """

    rows: int
    function: Callable[..., Any]
    time: float | None = None
    _kernels: _Kernels = field(default_factory=WeakKeyDictionary, repr=False, kw_only=True)

    def residual(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """f (..., rows), which is zero if the constraint is satisfied."""
        return self._all_rows(robot, q)[3]

    def _traced(self, robot: RigidBodySystem, q: Any, t: Any) -> tuple[list[Any], Any, list[Any]]:
        value = self._rows_of(self.function, q, t)
        J = jacobian(value, list(q), along=robot.rate_map(q).tolist())
        drift = [x[0] for x in jacobian(value, [t])]
        return value, np.array(J, dtype=object).reshape(self.rows, robot.nv), drift


@dataclass(frozen=True, eq=False)
class LinearConstraint(_OfFunctions):
    """Motion constraint A v = a_0 with a user's matrix A, e.g. a rolling wheel ([RD] eq. 3.35).

    The time derivatives of A and a_0 are automatic.

    Attributes:
        rows: number of rows of A.
        matrix: function of q (nq), and of t for a constraint with a time, that returns A
            (rows, nv).
        target: function of q, and of t for a constraint with a time, that returns a_0 (rows); None
            for zero.
        time: time t at which the constraint is evaluated [s]; None if it does not depend on time.
    """

    rows: int
    matrix: Callable[..., Any]
    target: Callable[..., Any] | None = field(default=None, kw_only=True)
    time: float | None = field(default=None, kw_only=True)
    _kernels: _Kernels = field(default_factory=WeakKeyDictionary, repr=False, kw_only=True)

    @classmethod
    def constant(cls, matrix: ArrayLike) -> LinearConstraint:
        """Constraint with a constant matrix A (rows, nv)."""
        A = np.array(matrix, dtype=float)
        if A.ndim != 2:
            raise InvalidArgumentError('matrix', f'shape {A.shape}', 'shape (rows, nv)')
        return cls(A.shape[0], lambda q: A)

    def _traced(self, robot: RigidBodySystem, q: Any, t: Any) -> tuple[list[Any], Any, list[Any]]:
        A = np.array(self._of(self.matrix, q, t), dtype=object)
        if A.shape != (self.rows, robot.nv):
            expected = f'shape ({self.rows}, {robot.nv})'
            raise InvalidArgumentError('matrix', f'shape {A.shape}', expected)
        target = [] if self.target is None else self._rows_of(self.target, q, t)
        return [], A, [-x for x in target] or [0.0] * self.rows


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


def differentiable(constraint: Any) -> Any:
    """The constraint, if its derivatives (``Slopes``) are known.

    Raises:
        InvalidArgumentError: they are not.
    """
    if not hasattr(constraint, 'slopes'):
        expected = 'a constraint of this package, whose derivatives are known'
        raise InvalidArgumentError('contacts', repr(constraint), expected)
    return constraint


def _at_origin(rotation: ArrayLike) -> Array:
    pose = np.eye(4)
    pose[:3, :3] = rotation
    return pose
