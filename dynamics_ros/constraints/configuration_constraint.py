# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints given by a function of the configuration, with automatic derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, compile, jacobian
from dynamics_ros.multibody.arguments import check_count
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


@dataclass(frozen=True, eq=False)
class ConfigurationConstraint:
    """Constraint f(q) = 0 or f(q, t) = 0 of a user's function f ([RD] eq. 3.37).

    f is traced once for each robot, and differentiated automatically. It takes an array (nq), uses
    the operations that docs/kernels.md lists, may call methods of the robot, and returns an array
    (rows). A constraint with a time is rheonomic ([RD] eq. 3.35): the velocity satisfies J v +
    df/dt = 0, and ``bias`` includes the derivatives by time.

    Attributes:
        rows: number of rows.
        function: function of q (nq), and of t for a constraint with a time, that returns f (rows).
        time: time t at which the constraint is evaluated [s]; None if f does not depend on time.
    """

    rows: int
    function: Callable[..., Any]
    time: float | None = None
    _kernels: WeakKeyDictionary[RigidBodySystem, tuple[Kernel, Kernel, Kernel, Kernel]] = field(
        default_factory=WeakKeyDictionary, repr=False
    )

    def __post_init__(self) -> None:
        check_count('rows', self.rows, 1)

    def at(self, time: float) -> ConfigurationConstraint:
        """The same constraint at another time [s]; nothing is compiled.

        Raises:
            InvalidArgumentError: the constraint does not depend on time.
        """
        if self.time is None:
            raise InvalidArgumentError('time', f'{time}', 'a constraint that depends on it')
        return replace(self, time=time)

    def residual(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """f (..., rows), which is zero if the constraint is satisfied."""
        return np.asarray(self._made(robot)[0](q, self._t))

    def jacobian(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Jacobian J (..., rows, nv) along velocities: J v = df/dq q-dot."""
        return np.asarray(self._made(robot)[1](q, self._t))

    def drift(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Partial derivative df/dt (..., rows), the rate of f at rest; zero without a time."""
        return np.asarray(self._made(robot)[2](q, self._t))

    def bias(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike) -> Array:
        """Second time derivative of f (..., rows) at constant v; J-dot v if f has no time."""
        return np.asarray(self._made(robot)[3](q, v, self._t))

    @property
    def _t(self) -> float:
        return 0.0 if self.time is None else float(self.time)

    def _made(self, robot: RigidBodySystem) -> tuple[Kernel, Kernel, Kernel, Kernel]:
        kernels = self._kernels.get(robot)
        if kernels is None:
            kernels = self._kernels.setdefault(robot, self._compiled(robot))
        return kernels

    def _compiled(self, robot: RigidBodySystem) -> tuple[Kernel, Kernel, Kernel, Kernel]:
        def value(q: Any, t: Any) -> list[Any]:
            result = self.function(q) if self.time is None else self.function(q, t)
            rows = [result] if self.rows == 1 and np.ndim(result) == 0 else list(result)
            if len(rows) != self.rows:
                raise InvalidArgumentError('function', f'{len(rows)} rows', f'{self.rows} rows')
            return rows

        def slope(q: Any, t: Any) -> Any:
            rows = jacobian(value(q, t), list(q), along=robot.rate_map(q).tolist())
            return np.array(rows, dtype=object).reshape(self.rows, robot.nv)

        def drift(q: Any, t: Any) -> Any:
            return [row[0] for row in jacobian(value(q, t), [t])]

        def bias(q: Any, v: Any, t: Any) -> Any:
            moving = [*q, t]
            along = [[rate] for rate in [*robot.configuration_rate(q, v), 1.0]]
            rates = [row[0] for row in jacobian(value(q, t), moving, along=along)]
            return [row[0] for row in jacobian(rates, moving, along=along)]

        place: dict[str, int | tuple[int, ...]] = {'q': robot.nq, 't': ()}
        backend = robot.backend
        state: dict[str, int | tuple[int, ...]] = {'q': robot.nq, 'v': robot.nv, 't': ()}
        return (
            compile(value, place, 'constraint', backend=backend),
            compile(slope, place, 'constraint_jacobian', backend=backend),
            compile(drift, place, 'constraint_drift', backend=backend),
            compile(bias, state, 'constraint_bias', backend=backend),
        )
