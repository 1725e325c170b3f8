"""What the inputs of a trace must be like for its outputs to mean something."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.expression import Scalar

if TYPE_CHECKING:
    from dynamics_ros.kernels.graph.trace import Trace


class Limits(NamedTuple):
    """Between what a value has to lie.

    Attributes:
        low, high: the limits, which are allowed.
        error: makes the error to raise from the value that lies outside.
    """

    low: float
    high: float
    error: Callable[[float], Exception]


class Requirement(NamedTuple):
    """An expression of the inputs of a trace that has to lie within limits.

    Attributes:
        value: the expression.
        low, high: the limits, which are allowed.
        error: makes the error to raise from the value that lies outside.
    """

    value: Scalar
    low: float
    high: float
    error: Callable[[float], Exception]


def unmet(trace: Trace, arrays: Sequence[Array], leading: tuple[int, ...]) -> Exception | None:
    """Return the error of the first requirement that some state does not meet.

    Args:
        arrays: one an input, leading axes to be broadcast, all finite.
        leading: the broadcast shape of the leading axes.
    """
    if trace.required is None:
        return None
    columns = states_by_element(trace, arrays, leading)
    with np.errstate(all='ignore'):
        values = trace.required.evaluate_arrays(*columns)
    for value, limits in zip(values, trace.requirements):
        outside = np.atleast_1d(~((value >= limits.low) & (value <= limits.high)))
        if outside.any():
            return limits.error(float(np.atleast_1d(value)[outside][0]))
    return None


def states_by_element(
    trace: Trace, arrays: Sequence[Array], leading: tuple[int, ...]
) -> list[Array | list[Array]]:
    """Return for each input one array over all states an element, as `Trace.evaluate_arrays`."""
    states = math.prod(leading)
    columns: list[Array | list[Array]] = []
    for x, variable in zip(arrays, trace.inputs):
        rows = np.broadcast_to(x, leading + variable.shape).reshape(states, variable.size)
        columns.append(list(rows.T) if variable.shape else rows[:, 0])
    return columns
