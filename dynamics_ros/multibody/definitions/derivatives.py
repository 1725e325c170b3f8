"""Definitions of the derivatives of inverse and forward dynamics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamics_ros.algorithms.derivatives import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from dynamics_ros.model import Model

from .definition import Definition, Formula, Values, square


def _derivatives(
    algorithm: Callable[..., tuple[Any, Any, Any]], third: str
) -> Callable[[Model], Formula]:
    """An algorithm of (model, q, v, third) with three results."""

    def make(model: Model) -> Formula:
        def function(q: Values, v: Values, x: Values) -> dict[str, Any]:
            matrices = [square(model, rows) for rows in algorithm(model, q, v, x)]
            return dict(zip(('dq', 'dv', f'd{third}'), matrices, strict=True))

        return Formula({'q': model.nq, 'v': model.nv, third: model.nv}, function)

    return make


DERIVATIVES = {
    'inverse_dynamics_derivatives': Definition(
        _derivatives(inverse_dynamics_derivatives, 'a'),
        'derivatives of inverse_dynamics along velocities, by v and by a',
        {'dq': 'dtau/dq', 'dv': 'dtau/dv', 'da': 'dtau/da, the mass matrix'},
        may_overflow=True,
    ),
    'forward_dynamics_derivatives': Definition(
        _derivatives(forward_dynamics_derivatives, 'tau'),
        'derivatives of forward_dynamics along velocities, by v and by tau',
        {'dq': 'da/dq', 'dv': 'da/dv', 'dtau': 'da/dtau, the inverse mass matrix'},
        may_be_singular=True,
    ),
}
