# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints given by a user's functions: of the configuration, or linear in the velocity.

Functions are traced once for each robot and differentiated automatically. They take arrays, use the
operations that docs/kernels.md lists, and may call methods of the robot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, compile, jacobian
from dynamics_ros.multibody.arguments import check_count
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.quantities import slopes_of_rows
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .kinds import Slopes

_Kind = TypeVar('_Kind', bound='_OfFunctions')
_Kernels = tuple[Kernel, Kernel]


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
        """Derivatives of J^T f, of J a + ``bias``, and of J v + ``drift``."""
        kernel = self._kernels_for(robot)[1]
        return Slopes(*kernel(q, v, a, forces, float(self.time or 0.0)))

    def _all_rows(
        self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        kernel = self._kernels_for(robot)[0]
        given = np.zeros(robot.nv) if v is None else v
        rows: tuple[Array, ...] = kernel(q, given, float(self.time or 0.0))
        return rows

    def _kernels_for(self, robot: RigidBodySystem) -> _Kernels:
        """The kernels of the rows and of the ``slopes`` for one robot."""
        kernels = self._kernels.get(robot)
        if kernels is None:
            inputs: dict[str, int | tuple[int, ...]] = {'q': robot.nq, 'v': robot.nv}
            more: dict[str, int | tuple[int, ...]] = {'a': robot.nv, 'forces': self.rows}

            def all_rows(q: Any, v: Any, t: Any) -> dict[str, Any]:
                value, J, drift = self._traced(robot, q, t)
                bias = _bias(robot, J, drift, q, v, t)
                return {'J': J, 'drift': drift, 'bias': bias, 'value': value}

            def slopes(q: Any, v: Any, a: Any, forces: Any, t: Any) -> dict[str, Any]:
                _, J, drift = self._traced(robot, q, t)
                bias = _bias(robot, J, drift, q, v, t)
                return slopes_of_rows(robot.model, J.tolist(), drift, bias, q, v, a, forces)

            def compiled(function: Any, name: str, **inputs: int | tuple[int, ...]) -> Kernel:
                return compile(function, {**inputs, 't': ()}, name, backend=robot.backend)

            made = (
                compiled(all_rows, 'constraint_rows', **inputs),
                compiled(slopes, 'constraint_slopes', **inputs, **more),
            )
            kernels = self._kernels.setdefault(robot, made)
        return kernels

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


def _bias(robot: RigidBodySystem, J: Any, drift: Any, q: Any, v: Any, t: Any) -> list[Any]:
    """Time derivative (rows) of J v + drift at constant v."""
    along = [[rate] for rate in [*robot.configuration_rate(q, v), 1.0]]
    rates = [x + y for x, y in zip(J @ v, drift, strict=True)]
    return [x[0] for x in jacobian(rates, [*q, t], along=along)]


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
        default_factory=WeakKeyDictionary, repr=False, kw_only=True
    )

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
    _kernels: WeakKeyDictionary[RigidBodySystem, _Kernels] = field(
        default_factory=WeakKeyDictionary, repr=False, kw_only=True
    )

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
