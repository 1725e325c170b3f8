"""Why results of finite inputs are not finite: numbers that are too large, or a singular matrix."""

from __future__ import annotations

import numpy as np

from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Unanswered

from .parameters import INPUT

HUGE = 1e100
"""Positions [m or rad] beyond it are what overflows; a singular mass matrix needs none."""


def overflow_or_singular(state: Unanswered) -> Exception:
    """The error of a state whose results are not finite.

    A mass matrix does not depend on velocities, accelerations, torques and wrenches. So it is not
    singular where the same configuration has an answer at rest.

    Args:
        state: inputs by name; those that begin with q are configurations.
    """
    fixed = {x for x in state.inputs if x.startswith('q') or x == INPUT}
    at_rest = {name: x if name in fixed else np.zeros_like(x) for name, x in state.inputs.items()}
    largest = {name: float(np.abs(x).max(initial=0.0)) for name, x in state.inputs.items()}
    if max((largest[name] for name in fixed), default=0.0) < HUGE and not state.has_answer(at_rest):
        return SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    blamed = max(largest, key=largest.__getitem__)
    return InvalidArgumentError(
        blamed, f'numbers up to {largest[blamed]:.3g}', 'smaller ones: the results overflow'
    )
