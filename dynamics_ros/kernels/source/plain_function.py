# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trace as a plain Python function that can be called: no compiler, no extra package."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any, cast

from dynamics_ros.computed_once import computed_once
from dynamics_ros.kernels.graph.operations import ARRAY_FUNCTIONS, SCALAR_FUNCTIONS
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.source.python import function_name, python_source


class PlainFunction:
    """The printed Python function of a trace, on floats or on arrays; made when first called."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __call__(self, *arguments: Sequence[float] | float) -> Any:
        """Return the outputs of one state.

        Args:
            arguments: one flat list of floats an input; a float for a scalar input.

        Returns:
            A flat list (a float for a scalar output); with several outputs a tuple of them.

        Raises:
            ArithmeticError, ValueError: where the mathematics has no answer, as Python does.
        """
        return self._of_floats(*arguments)

    def of_arrays(self, *arguments: Any) -> Any:
        """Return the outputs of many states at once, by the same function on arrays.

        Like a call with an array, one element a state, in place of each float. What Python
        refuses (a division by zero, the root of a negative number) is inf or NaN here.
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
