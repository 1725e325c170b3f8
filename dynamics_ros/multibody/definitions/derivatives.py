# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse, forward, hybrid and constrained dynamics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamics_ros.algorithms.derivatives import (
    forward_dynamics_derivatives,
    hybrid_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from dynamics_ros.model import Model

from .definition import Definition, Formula, Options, Values, square, with_wrenches


def _derivatives(
    algorithm: Callable[..., tuple[Any, Any, Any]], third: str
) -> Callable[..., Formula]:
    """Return the formula maker of an algorithm of (model, q, v, third, external), three results."""

    def named(model: Model, *arguments: Any) -> dict[str, Any]:
        matrices = [square(model, rows) for rows in algorithm(model, *arguments)]
        return dict(zip(('dq', 'dv', f'd{third}'), matrices, strict=True))

    return with_wrenches(named, third)


def _hybrid_dynamics_derivatives(model: Model, *prescribed: str) -> Formula:
    indices = frozenset(int(k) for k in prescribed)

    def function(q: Values, v: Values, a: Values, tau: Values) -> dict[str, Any]:
        of_a, of_tau = hybrid_dynamics_derivatives(model, q, v, a, tau, indices)
        return {
            f'{of}_d{by}': square(model, rows)
            for of, matrices in (('a', of_a), ('tau', of_tau))
            for by, rows in zip(('q', 'v', 'a', 'tau'), matrices, strict=True)
        }

    return Formula({'q': model.nq, 'v': model.nv, 'a': model.nv, 'tau': model.nv}, function)


DERIVATIVES = {
    'inverse_dynamics_derivatives': Definition(
        _derivatives(inverse_dynamics_derivatives, 'a'),
        'derivatives of inverse_dynamics along velocities, by v and by a',
        {'dq': 'dtau/dq', 'dv': 'dtau/dv', 'da': 'dtau/da, the mass matrix'},
        Options.WRENCHES,
        may_overflow=True,
    ),
    'forward_dynamics_derivatives': Definition(
        _derivatives(forward_dynamics_derivatives, 'tau'),
        'derivatives of forward_dynamics along velocities, by v and by tau',
        {'dq': 'da/dq', 'dv': 'da/dv', 'dtau': 'da/dtau, the inverse mass matrix'},
        Options.WRENCHES,
        may_be_singular=True,
    ),
    'hybrid_dynamics_derivatives': Definition(
        _hybrid_dynamics_derivatives,
        'derivatives of hybrid_dynamics along velocities, by v, by a and by tau where given',
        {f'{of}_d{by}': f'd{of}/d{by}' for of in ('a', 'tau') for by in ('q', 'v', 'a', 'tau')},
        Options.PRESCRIBED,
        may_be_singular=True,
    ),
}
