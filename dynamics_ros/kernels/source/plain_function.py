# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Callable plain Python function of a trace: no compiler, no extra package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, cast

from dynamics_ros.computed_once import computed_once
from dynamics_ros.kernels.graph.operations import ARRAY_FUNCTIONS, SCALAR_FUNCTIONS, Operation
from dynamics_ros.kernels.graph.trace import Loop, Trace
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
        if self._calls:
            return self._called(arguments, SCALAR_FUNCTIONS, PlainFunction.__call__)
        return self._of_floats(*arguments)

    def of_arrays(self, *arguments: Any) -> Any:
        """Return the outputs of many states at once, by the same function on arrays.

        Takes an array with one element per state in place of each float. Operations that Python
        refuses
        (division by zero, square root of a negative number) give inf or NaN here.
        """
        if self._calls:
            return self._called(arguments, ARRAY_FUNCTIONS, PlainFunction.of_arrays)
        return self._of_arrays(*arguments)

    @computed_once
    def _calls(self) -> dict[Operation, PlainFunction]:
        """Functions of the routines, which would make a long text if printed inline."""
        loops = any(isinstance(x.operation, Loop) for x in self._trace.nodes)
        return {} if loops else {x: PlainFunction(x.body) for x in self._trace.routines}

    def _called(
        self,
        arguments: Sequence[Any],
        functions: Mapping[str, Callable[..., Any]],
        call: Callable[..., Any],
    ) -> Any:
        """Compute step by step.

        Args:
            arguments: as for a call.
            functions: functions of the operations that are not operators.
            call: calls a function with operands of this kind.
        """
        trace, routines = self._trace, self._calls
        values: list[Any] = []
        for variable, argument in zip(trace.inputs, arguments):
            values += argument if variable.shape else [argument]
        for operation, operands in trace.nodes[len(values) :]:
            taken = [values[x] if isinstance(x, int) else x for x in operands]
            if operation in routines:
                values.append(call(routines[operation], taken))
            else:
                values.append(functions.get(operation.name, operation.evaluate)(*taken))
        found = iter([values[x] if isinstance(x, int) else x for x in trace.results])
        results = [
            [next(found) for _ in range(x.size)] if x.shape else next(found) for x in trace.outputs
        ]
        return tuple(results) if len(results) != 1 else results[0]

    @computed_once
    def _of_floats(self) -> FunctionType:
        trace = self._trace
        namespace: dict[str, Any] = dict(SCALAR_FUNCTIONS)
        exec(compile(python_source(trace), f'<trace {trace.name}>', 'exec'), namespace)
        return cast(FunctionType, namespace[function_name(trace)])

    @computed_once
    def _of_arrays(self) -> FunctionType:
        return FunctionType(self._of_floats.__code__, dict(ARRAY_FUNCTIONS), self._trace.name)
