# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces as plain Python, which needs no compiler: as text and as functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.operations import ARRAY_FUNCTIONS, SCALAR_FUNCTIONS
from dynamics_ros.kernels.graph.trace import UNIT_QUATERNION_TOLERANCE, Trace
from dynamics_ros.kernels.source import Language, Printed, header

PYTHON = Language(
    text_of='python',
    value='{name} = {text}',
    condition='{name} = {text}',
    loop=(
        '{name} = {first}',
        '{going} = 1.0',
        'for {turn} in range({limit}):',
        '{body}',
        '    {next} = select({going}, {text}, {name})',
        '    {going} = {going} * {go_on}',
        '    {name} = {next}',
        # A loop over many states runs until all have ended.
        '    if not some({going}):',
        '        break',
    ),
)


def function_name(trace: Trace) -> str:
    """Return the name of the printed function: a function named `sin` would call itself."""
    return f'{trace.name}_' if trace.name in SCALAR_FUNCTIONS else trace.name


def python_source(trace: Trace) -> str:
    """Return a trace as the source of a plain Python function of flat lists."""
    text = Printed(trace, PYTHON)
    first, *rest = [line.replace('\\', '\\\\').replace('"', "'") for line in header(trace)]
    lines = [f'def {function_name(trace)}({", ".join(text.arguments)}):']
    lines += [f'    """{first}', *[f'    {line}'.rstrip() for line in rest], '    """']
    lines += ['    # Inputs']
    for variable, argument, names in zip(trace.inputs, text.arguments, text.elements):
        if variable.shape and names:
            lines.append(f'    ({", ".join(names)},) = {argument}')
    lines += ['    # Intermediates']
    lines += [f'    {line}' for step in text.steps for line in step.lines]
    lines += ['    # Outputs']
    for variable, name, values in zip(trace.outputs, text.output_names, text.results):
        value = f'[{", ".join(values)}]' if variable.shape else values[0]
        lines.append(f'    {name} = {value}')
    lines.append(f'    return {", ".join(text.output_names) or "()"}')
    return '\n'.join(lines) + '\n'


ARRAY_STATES = 16
"""From this many states on, the function is faster on arrays than state by state."""


class PlainFunction:
    """Trace as a Python function, on floats for a few states and on arrays for many.

    The function is printed when it is first called.
    """

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

    @computed_once
    def _of_floats(self) -> FunctionType:
        trace = self._trace
        namespace: dict[str, Any] = dict(SCALAR_FUNCTIONS)
        exec(compile(python_source(trace), f'<trace {trace.name}>', 'exec'), namespace)
        return cast(FunctionType, namespace[function_name(trace)])

    @computed_once
    def _of_arrays(self) -> FunctionType:
        """The same function of arrays with one element per state in place of each float.

        Operations that Python refuses (division by zero, square root of a negative number) give inf
        or NaN here.
        """
        return FunctionType(self._of_floats.__code__, dict(ARRAY_FUNCTIONS), self._trace.name)

    def run(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> bool:
        """Fill the result arrays; return whether the trace allows all inputs and results.

        Args:
            arrays: one per input, leading axes to be broadcast.
            leading: the broadcast shape of the leading axes.
            results: one per output, C-contiguous, shape (leading + output shape).
        """
        trace, states = self._trace, math.prod(leading)
        if not all(np.isfinite(x).all() for x in arrays) or self.unmet(arrays) is not None:
            return False
        columns = [
            np.broadcast_to(x, leading + variable.shape).reshape(states, variable.size)
            for x, variable in zip(arrays, trace.inputs)
        ]
        targets = [x.reshape(states, variable.size) for x, variable in zip(results, trace.outputs)]
        if states >= ARRAY_STATES:
            self._run_arrays(columns, targets)
        else:
            for i in range(states):
                try:
                    self._run_state([x[i] for x in columns], [x[i] for x in targets])
                except (ArithmeticError, ValueError):
                    # Machine code and arrays return inf or NaN here, as IEEE 754 defines.
                    one = slice(i, i + 1)
                    self._run_arrays([x[one] for x in columns], [x[one] for x in targets])
        return trace.finite_results is None or all(bool(np.isfinite(x).all()) for x in results)

    def unmet(self, arrays: Sequence[Array]) -> Exception | None:
        """Return the error of the first quaternion that is not of length 1.

        Args:
            arrays: one per input, all finite.
        """
        for place, first in self._trace.unit_quaternions:
            with np.errstate(over='ignore'):
                squared = np.square(arrays[place][..., first : first + 4]).sum(-1, keepdims=True)
            # A little less, so that what machine code refuses by other rounding is named.
            wrong = squared[np.abs(squared - 1.0) > UNIT_QUATERNION_TOLERANCE - 1e-14]
            if wrong.size:
                name, problem = self._trace.inputs[place].name, math.sqrt(wrong[0])
                expected = 'a unit quaternion (x, y, z, w)'
                return InvalidArgumentError(name, f'quaternion of length {problem:.6g}', expected)
        return None

    def _run_state(self, state: Sequence[Array], targets: Sequence[Array]) -> None:
        values = self._of_floats(
            *[
                x.item() if variable.shape == () else x.tolist()
                for x, variable in zip(state, self._trace.inputs)
            ]
        )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            target[:] = value

    def _run_arrays(self, columns: Sequence[Array], targets: Sequence[Array]) -> None:
        with np.errstate(all='ignore'):
            values = self._of_arrays(
                *[
                    x[:, 0] if variable.shape == () else list(x.T)
                    for x, variable in zip(columns, self._trace.inputs)
                ]
            )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            for i, element in enumerate(value if isinstance(value, list) else [value]):
                target[:, i] = element
