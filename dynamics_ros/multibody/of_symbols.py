"""Quantities of a robot within a function that is being traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.symbols import symbols
from dynamics_ros.model import Model

from .definitions import Key, define


def of_symbols(model: Model, key: Key, arrays: Sequence[Any]) -> Any:
    """What a kernel computes, as expressions of its inputs instead of numbers.

    Args:
        model: of the robot, all of it constant.
        key: of the kernel.
        arrays: its inputs, one state: arrays or nested lists of numbers and traced values.

    Returns:
        An array of traced values, or a tuple of them.

    Raises:
        InvalidArgumentError: an input of another shape.
        UnknownFrameError: as ``define`` raises it.
    """
    formula = define(model, key)
    inputs = []
    for (name, shape), value in zip(formula.inputs.items(), arrays, strict=True):
        expected = (shape,) if isinstance(shape, int) else tuple(shape)
        array = np.array(value, dtype=object)
        if array.shape != expected:
            problem = f'traced values of shape {array.shape}'
            raise InvalidArgumentError(name, problem, f'shape {expected}, of one state')
        inputs.append(array.tolist())
    result = formula.function(*inputs)
    if isinstance(result, Mapping):
        return tuple(symbols(x) for x in result.values())
    return symbols(result)
