# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Callable plain Python function of a trace: no compiler, no extra package."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any, cast

from dynamics_ros.computed_once import computed_once
from dynamics_ros.kernels.graph.operations import ARRAY_FUNCTIONS, SCALAR_FUNCTIONS
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.source.python import function_name, python_source


class PlainFunction:
    """Printed Python function of a trace, on floats or arrays; created when first called."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __call__(self, *arguments: Sequence[float] | float) -> Any:
        """Return the outputs of one state.

        Args:
            arguments: one flat list of floats per input; a float for a scalar input.

        Returns:
            A flat list (a float for a scalar output); a tuple of them for several outputs.

        Raises:
            ArithmeticError, ValueError: an operation is undefined, as in Python.
        """
        return self._of_floats(*arguments)

    def of_arrays(self, *arguments: Any) -> Any:
        """Return the outputs of many states at once, by the same function on arrays.

        Takes an array with one element per state in place of each float. Operations that Python
        refuses (division by zero, square root of a negative number) give inf or NaN here.
        """
        return self._of_arrays(*arguments)

    @computed_once
    def _of_floats(self) -> FunctionType:
        trace = self._trace
        namespace: dict[str, Any] = dict(SCALAR_FUNCTIONS)
        exec(compile(python_source(trace), f'<trace {trace.name}>', 'exec'), namespace)
        return cast(FunctionType, namespace[function_name(trace)])

    @computed_once
    def _of_arrays(self) -> FunctionType:
        return FunctionType(self._of_floats.__code__, dict(ARRAY_FUNCTIONS), self._trace.name)
