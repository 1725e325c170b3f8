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
from dynamics_ros.kernels import compile, jacobian
from dynamics_ros.multibody.arguments import check_count, finite_arrays
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .kinds import Slopes

_Kind = TypeVar('_Kind', bound='_OfFunctions')


class _Kernels(NamedTuple):
    """Functions of a constraint for one robot: kernels, or those of a matrix that is not traced.

    Attributes:
        rows: of q, v (None where J-dot v is not needed) and t: J (rows, nv), the rate of the rows
            at rest, the second time derivative of the rows at constant v, and f (rows), empty for a
            constraint without a function of the configuration.
        slopes: of q, v, a, forces and t: those of ``Slopes``, and the derivative (rows, nv) of
            J v + drift along velocities.
    """

    rows: Callable[..., Any]
    slopes: Callable[..., Any]


def _compiled(
    robot: RigidBodySystem,
    rows: int,
    value: Callable[..., Any],
    slope: Callable[..., Any],
    drift: Callable[..., Any],
    bias: Callable[..., Any],
) -> _Kernels:
    """Kernels of traced functions of q, of v in the last one, and of t."""

    def along_motion(values: Any, q: Any) -> Any:
        J = jacobian(list(values), list(q), along=robot.rate_map(q).tolist())
        return np.array(J, dtype=object).reshape(len(values), robot.nv)

    def all_rows(q: Any, v: Any, t: Any) -> dict[str, Any]:
        values = {'jacobian': slope(q, t), 'drift': drift(q, t), 'bias': bias(q, v, t)}
        return {**values, 'value': value(q, t)}

    def slopes(q: Any, v: Any, a: Any, forces: Any, t: Any) -> dict[str, Any]:
        J, second = slope(q, t), bias(q, v, t)
        by_v = np.array(jacobian(list(second), list(v)), dtype=object).reshape(rows, robot.nv)
        return {
            'torques_dq': along_motion(J.T @ forces, q),
            'rows_dq': along_motion(J @ a + second, q),
            'rows_dv': by_v,
            'rate_dq': along_motion(J @ v + np.array(drift(q, t), dtype=object), q),
        }

    n = robot.nv
    inputs: dict[str, int | tuple[int, ...]] = {'q': robot.nq, 'v': n, 't': ()}
    kernel = compile(all_rows, inputs, 'constraint_rows', backend=robot.backend)
    inputs = {'q': robot.nq, 'v': n, 'a': n, 'forces': rows, 't': ()}
    still = np.zeros(n)
    return _Kernels(
        lambda q, v, t: kernel(q, still if v is None else v, t),
        compile(slopes, inputs, 'constraint_slopes', backend=robot.backend),
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


class _OfFunctions:
    """Rows of a user's functions, evaluated at a time."""

    rows: int
    time: float | None
    _kernels: WeakKeyDictionary[RigidBodySystem, _Kernels]

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
        """Derivatives of J^T f and of J a + ``bias``.

        Raises:
            InvalidArgumentError: the constraint has a ``rate``, whose derivatives are not known.
        """
        return Slopes(*self._all_slopes(robot, q, v, a, forces)[:3])

    def rate_slope(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Derivative (..., rows, nv) of J v + drift along velocities."""
        return self._all_slopes(robot, q, v, 0.0 * v, np.zeros(self.rows))[3]

    def _all_slopes(self, robot: RigidBodySystem, *arrays: Array) -> tuple[Array, ...]:
        found: tuple[Array, ...] = self._kernels_for(robot).slopes(*arrays, float(self.time or 0.0))
        return found

    def _all_rows(
        self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        found: tuple[Array, ...] = self._kernels_for(robot).rows(q, v, float(self.time or 0.0))
        return found

    def _kernels_for(self, robot: RigidBodySystem) -> _Kernels:
        kernels = self._kernels.get(robot)
        return kernels or self._kernels.setdefault(robot, self._compile(robot))

    def _compile(self, robot: RigidBodySystem) -> _Kernels:
        raise NotImplementedError


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
    _kernels: WeakKeyDictionary[RigidBodySystem, _Kernels] = field(
        default_factory=WeakKeyDictionary, repr=False
    )

    def residual(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """f (..., rows), which is zero if the constraint is satisfied."""
        return self._all_rows(robot, q)[3]

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
class LinearConstraint(_OfFunctions):
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
        super().__post_init__()
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

    @property
    def _is_traced(self) -> bool:
        return self.target is not None or self.time is not None

    def _compile(self, robot: RigidBodySystem) -> _Kernels:
        if not self._is_traced:
            return self._of_numbers(robot.nv)

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

        return _compiled(robot, self.rows, lambda q, t: [], matrix, drift, bias)

    def _of_numbers(self, nv: int) -> _Kernels:
        nothing, flat = np.zeros(self.rows), np.zeros((self.rows, nv))

        def rows(q: Array, v: Array | None, _: float) -> tuple[Array, ...]:
            A, bias = finite_arrays('matrix', self.matrix(q), flat.shape), nothing
            if self.rate is not None and v is not None:
                bias = finite_arrays('rate', self.rate(q, v), nothing.shape)
            return A, nothing, bias, nothing[:0]

        def slopes(*_: object) -> tuple[Array, ...]:
            if self.rate is not None:
                expected = 'None, with a target or time: its derivatives are not known'
                raise InvalidArgumentError('rate', 'a function', expected)
            return np.zeros((nv, nv)), flat, flat, flat

        return _Kernels(rows, slopes)
