# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints given by a user's functions: of the configuration, or linear in the velocity.

Functions are traced once for each robot and differentiated automatically. They take arrays, use the
operations that docs/kernels.md lists, and may call methods of the robot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, compile, jacobian
from dynamics_ros.multibody.arguments import check_count, finite_arrays
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .kinds import Slopes

Timed = TypeVar('Timed', 'ConfigurationConstraint', 'LinearConstraint')


class _Kernels(NamedTuple):
    """Kernels of a constraint for one robot.

    Attributes:
        value: f of q and t; None if the constraint has no function of the configuration.
        jacobian: J (rows, nv) of q and t.
        drift: rate of the rows at rest (rows), of q and t.
        bias: second time derivative of the rows at constant v, of q, v and t.
        slopes: those of ``Slopes``, of q, v, a, forces and t.
        rate_slope: derivative (rows, nv) of J v + drift along velocities, of q, v and t.
    """

    value: Kernel | None
    jacobian: Kernel
    drift: Kernel
    bias: Kernel
    slopes: Kernel
    rate_slope: Kernel


def _at(constraint: Timed, time: float) -> Timed:
    if constraint.time is None:
        raise InvalidArgumentError('time', f'{time}', 'a constraint that depends on it')
    return replace(constraint, time=time)


def _seconds(time: float | None) -> float:
    return 0.0 if time is None else float(time)


def _compiled(
    robot: RigidBodySystem,
    rows: int,
    value: Callable[..., Any] | None,
    slope: Callable[..., Any],
    drift: Callable[..., Any],
    bias: Callable[..., Any],
) -> _Kernels:
    """Kernels of traced functions of q, of v in the last one, and of t."""

    def along_motion(values: Any, q: Any) -> Any:
        J = jacobian(list(values), list(q), along=robot.rate_map(q).tolist())
        return np.array(J, dtype=object).reshape(len(values), robot.nv)

    def slopes(q: Any, v: Any, a: Any, forces: Any, t: Any) -> dict[str, Any]:
        J, second = slope(q, t), bias(q, v, t)
        by_v = np.array(jacobian(list(second), list(v)), dtype=object).reshape(rows, robot.nv)
        return {
            'torques_dq': along_motion(J.T @ forces, q),
            'rows_dq': along_motion(J @ a + second, q),
            'rows_dv': by_v,
        }

    def rate_slope(q: Any, v: Any, t: Any) -> Any:
        return along_motion(slope(q, t) @ v + np.array(drift(q, t), dtype=object), q)

    def of(name: str, function: Any, **more: int) -> Kernel:
        inputs: dict[str, int | tuple[int, ...]] = {'q': robot.nq, **more, 't': ()}
        return compile(function, inputs, f'constraint_{name}', backend=robot.backend)

    nv = robot.nv
    return _Kernels(
        None if value is None else of('value', value),
        of('jacobian', slope),
        of('drift', drift),
        of('bias', bias, v=nv),
        of('slopes', slopes, v=nv, a=nv, forces=rows),
        of('rate_slope', rate_slope, v=nv),
    )


def _time_derivative(robot: RigidBodySystem, rows: list[Any], q: Any, v: Any, t: Any) -> list[Any]:
    """Derivative of traced rows along the motion of q and of time, at constant v."""
    along = [[rate] for rate in [*robot.configuration_rate(q, v), 1.0]]
    return [row[0] for row in jacobian(rows, [*q, t], along=along)]


def _rows(function: Callable[..., Any], rows: int, q: Any, time: float | None, t: Any) -> list[Any]:
    """Rows of a user's function of q, and of t for a constraint with a time."""
    result = function(q) if time is None else function(q, t)
    values = [result] if rows == 1 and np.ndim(result) == 0 else list(result)
    if len(values) != rows:
        raise InvalidArgumentError('function', f'{len(values)} rows', f'{rows} rows')
    return values


@dataclass(frozen=True, eq=False)
class ConfigurationConstraint:
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
    _kernels: WeakKeyDictionary[RigidBodySystem, _Kernels] = field(
        default_factory=WeakKeyDictionary, repr=False
    )

    def __post_init__(self) -> None:
        check_count('rows', self.rows, 1)

    def at(self, time: float) -> ConfigurationConstraint:
        """The same constraint at another time [s]; nothing is compiled.

        Raises:
            InvalidArgumentError: the constraint does not depend on time.
        """
        return _at(self, time)

    def residual(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """f (..., rows), which is zero if the constraint is satisfied."""
        kernel = self._kernels_for(robot).value
        assert kernel is not None
        return np.asarray(kernel(q, _seconds(self.time)))

    def jacobian(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Jacobian J (..., rows, nv) along velocities: J v = df/dq q-dot."""
        return np.asarray(self._kernels_for(robot).jacobian(q, _seconds(self.time)))

    def drift(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Partial derivative df/dt (..., rows), the rate of f at rest; zero without a time."""
        return np.asarray(self._kernels_for(robot).drift(q, _seconds(self.time)))

    def bias(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike) -> Array:
        """Second time derivative of f (..., rows) at constant v; J-dot v if f has no time."""
        return np.asarray(self._kernels_for(robot).bias(q, v, _seconds(self.time)))

    def slopes(self, robot: RigidBodySystem, q: Array, v: Array, a: Array, forces: Array) -> Slopes:
        """Derivatives of J^T f and of J a + ``bias``."""
        return Slopes(*self._kernels_for(robot).slopes(q, v, a, forces, _seconds(self.time)))

    def rate_slope(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Derivative (..., rows, nv) of J v + drift along velocities."""
        return np.asarray(self._kernels_for(robot).rate_slope(q, v, _seconds(self.time)))

    def _kernels_for(self, robot: RigidBodySystem) -> _Kernels:
        kernels = self._kernels.get(robot)
        return kernels or self._kernels.setdefault(robot, self._compile(robot))

    def _compile(self, robot: RigidBodySystem) -> _Kernels:
        def value(q: Any, t: Any) -> list[Any]:
            return _rows(self.function, self.rows, q, self.time, t)

        def slope(q: Any, t: Any) -> Any:
            rows = jacobian(value(q, t), list(q), along=robot.rate_map(q).tolist())
            return np.array(rows, dtype=object).reshape(self.rows, robot.nv)

        def drift(q: Any, t: Any) -> Any:
            return [row[0] for row in jacobian(value(q, t), [t])]

        def bias(q: Any, v: Any, t: Any) -> Any:
            rates = _time_derivative(robot, value(q, t), q, v, t)
            return _time_derivative(robot, rates, q, v, t)

        return _compiled(robot, self.rows, value, slope, drift, bias)


@dataclass(frozen=True, eq=False)
class LinearConstraint:
    """Motion constraint A v = a_0 with a user's matrix A, e.g. a rolling wheel ([RD] eq. 3.35).

    With a ``target`` or a ``time`` the functions are traced, and the time derivatives of A and a_0
    are automatic. Without, ``matrix`` may be any function of q, also for batches.

    Attributes:
        rows: number of rows of A.
        matrix: function of q (nq), and of t for a constraint with a time, that returns A
            (rows, nv).
        rate: function of q and v that returns A-dot v (..., rows); None for a constant A, and with
            a target or a time.
        target: function of q, and of t for a constraint with a time, that returns a_0 (rows); None
            for zero.
        time: time t at which the constraint is evaluated [s]; None if it does not depend on time.
    """

    rows: int
    matrix: Callable[..., Any]
    rate: Callable[[Array, Array], ArrayLike] | None = None
    target: Callable[..., Any] | None = None
    time: float | None = None
    _kernels: WeakKeyDictionary[RigidBodySystem, _Kernels] = field(
        default_factory=WeakKeyDictionary, repr=False
    )

    def __post_init__(self) -> None:
        check_count('rows', self.rows, 1)
        if self.rate is not None and self._is_traced:
            raise InvalidArgumentError(
                'rate', 'a function', 'None: with a target or time it is known'
            )

    @classmethod
    def constant(cls, matrix: ArrayLike) -> LinearConstraint:
        """Constraint with a constant matrix A (rows, nv)."""
        A = np.array(matrix, dtype=float)
        if A.ndim != 2:
            raise InvalidArgumentError('matrix', f'shape {A.shape}', 'shape (rows, nv)')
        return cls(A.shape[0], lambda q: A)

    def at(self, time: float) -> LinearConstraint:
        """The same constraint at another time [s]; nothing is compiled.

        Raises:
            InvalidArgumentError: the constraint does not depend on time.
        """
        return _at(self, time)

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Matrix A (..., rows, nv)."""
        if self._is_traced:
            return np.asarray(self._kernels_for(robot).jacobian(q, _seconds(self.time)))
        return finite_arrays('matrix', self.matrix(q), (self.rows, robot.nv))

    def drift(self, robot: RigidBodySystem, q: Array) -> Array:
        """Rate -a_0 (..., rows) of the rows at rest."""
        if self._is_traced:
            return np.asarray(self._kernels_for(robot).drift(q, _seconds(self.time)))
        return np.zeros(self.rows)

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Bias A-dot v - d/dt a_0 (..., rows) at constant v."""
        if self._is_traced:
            return np.asarray(self._kernels_for(robot).bias(q, v, _seconds(self.time)))
        if self.rate is None:
            return np.zeros(self.rows)
        return finite_arrays('rate', self.rate(q, v), (self.rows,))

    def slopes(self, robot: RigidBodySystem, q: Array, v: Array, a: Array, forces: Array) -> Slopes:
        """Derivatives of J^T f and of J a + ``bias``.

        Raises:
            InvalidArgumentError: the constraint has a ``rate``, whose derivatives are not known.
        """
        if self._is_traced:
            return Slopes(*self._kernels_for(robot).slopes(q, v, a, forces, _seconds(self.time)))
        if self.rate is not None:
            expected = 'None, with a target or a time: the derivatives of a function are not known'
            raise InvalidArgumentError('rate', 'a function', expected)
        flat = np.zeros((self.rows, robot.nv))
        return Slopes(np.zeros((robot.nv, robot.nv)), flat, flat)

    def rate_slope(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Derivative (..., rows, nv) of A v - a_0 along velocities."""
        if self._is_traced:
            return np.asarray(self._kernels_for(robot).rate_slope(q, v, _seconds(self.time)))
        return np.zeros((self.rows, robot.nv))

    @property
    def _is_traced(self) -> bool:
        return self.target is not None or self.time is not None

    def _kernels_for(self, robot: RigidBodySystem) -> _Kernels:
        kernels = self._kernels.get(robot)
        return kernels or self._kernels.setdefault(robot, self._compile(robot))

    def _compile(self, robot: RigidBodySystem) -> _Kernels:
        def matrix(q: Any, t: Any) -> Any:
            A = np.array(self.matrix(q) if self.time is None else self.matrix(q, t), dtype=object)
            if A.shape != (self.rows, robot.nv):
                expected = f'shape ({self.rows}, {robot.nv})'
                raise InvalidArgumentError('matrix', f'shape {A.shape}', expected)
            return A

        def drift(q: Any, t: Any) -> list[Any]:
            if self.target is None:
                return [0.0] * self.rows
            return [-x for x in _rows(self.target, self.rows, q, self.time, t)]

        def bias(q: Any, v: Any, t: Any) -> Any:
            rows = [a + x for a, x in zip(matrix(q, t) @ v, drift(q, t), strict=True)]
            return _time_derivative(robot, rows, q, v, t)

        return _compiled(robot, self.rows, None, matrix, drift, bias)
