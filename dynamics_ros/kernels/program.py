# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Programs: sequences of kernels and copies on fixed arrays, run by one call without arguments.

A caller that repeats the same computation a thousand times a second avoids passing and allocating
arrays: a program reads its inputs and writes its outputs in place. An output array of one kernel
may be an input of the next. `in_turn` runs one kernel over many states, each with the memory left
by the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import arguments
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.trace import Variable
from dynamics_ros.kernels.kernel import Kernel, native


class Step(NamedTuple):
    """Kernel and the arrays that it works on.

    Attributes:
        kernel: the kernel, run for one state.
        inputs, outputs: an array for each argument and output of its trace, C-contiguous float64
            of the same size; no output shares memory with another array of the step.
    """

    kernel: Kernel
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


class Copy(NamedTuple):
    """Copy of numbers between arrays, such as values that occur in two messages.

    Attributes:
        source: C-contiguous float64.
        target: C-contiguous float64 or uint8 of equal size that shares no memory with the source;
            uint8 takes flags and enums, whose sources are 0, 1, .. 255.
    """

    source: Array
    target: Array | NDArray[np.uint8]


class Program:
    """Sequence of kernels and copies that runs on fixed arrays.

    Attributes:
        steps: the kernels and copies.
        run: runs the program; returns whether all kernels accept their inputs and results. Steps
            after a refusal are not run.
        final: whether rebuilding the program cannot make it faster; False while a kernel is still
            being compiled.
    """

    run: Callable[[], bool]

    def __init__(self, steps: Sequence[Step | Copy]) -> None:
        """Build the program.

        Raises:
            InvalidArgumentError: an array does not fit.
        """
        for step in steps:
            _check(step)
        self.steps = tuple(steps)
        self.final = all(isinstance(step, Copy) or step.kernel.ready for step in steps)
        self.run = self._machine_code() or self._run_one_by_one

    def explain(self) -> None:
        """Run the ordinary kernel calls, which raise the error of invalid numbers.

        Raises:
            Exception: the error of the first kernel that refuses its inputs or results.
        """
        for step in self.steps:
            if isinstance(step, Copy):
                step.target[...] = step.source.reshape(step.target.shape)
                continue
            kernel, inputs, outputs = step
            shaped = [
                x.reshape(variable.shape) if variable.shape else float(x.ravel()[0])
                for x, variable in zip(inputs, kernel.trace.arguments)
            ]
            results = kernel.call(*shaped)
            for output, result in zip(outputs, results if len(outputs) > 1 else (results,)):
                output[...] = np.reshape(result, output.shape)

    def _run_one_by_one(self) -> bool:
        try:
            self.explain()
        except Exception:
            return False
        return True

    def _machine_code(self) -> Callable[[], bool] | None:
        """Return a function that runs the steps.

        None if one of them has no machine code, or without the extension module.
        """
        if native is None:
            return None
        made: list[tuple[int, tuple[NDArray[Any], ...], object]] = []
        for step in self.steps:
            if isinstance(step, Copy):
                made.append((0, tuple(step), None))
                continue
            code, bound = step.kernel.compilation.code, step.kernel.bound
            if code is None:
                return None
            arrays = (*step.inputs, *(() if bound is None else (bound,)), *step.outputs)
            made.append((code.addresses['batch'], arrays, code.token))
        run: Callable[[], bool] = native.Program(tuple(made))
        return run


def _check(step: Step | Copy) -> None:
    """Check the arrays of a step.

    Raises:
        InvalidArgumentError: an array does not fit.
    """
    if isinstance(step, Copy):
        variables = [Variable('copy', (step.source.size,))] * 2
        given, taken = [*step], 1
    else:
        trace, taken = step.kernel.trace, len(step.inputs)
        variables, given = [*trace.arguments, *trace.outputs], [*step.inputs, *step.outputs]
        if (taken, len(given)) != (len(trace.arguments), len(variables)):
            names = ', '.join(variable.name for variable in variables)
            raise InvalidArgumentError('step', f'{len(given)} arrays for {trace.name}', names)
    for i, (array, variable) in enumerate(zip(given, variables)):
        flags, flagged = array.flags, isinstance(step, Copy) and i and array.dtype == np.uint8
        if (
            not (array.dtype == np.float64 or flagged)
            or not (flags.c_contiguous and flags.aligned)
            or array.size != variable.size
        ):
            raise InvalidArgumentError(
                variable.name,
                f'{array.dtype} array of shape {array.shape}',
                f'a C-contiguous float64 array of {variable.size} numbers',
            )
        if i >= taken and not flags.writeable:
            raise InvalidArgumentError(variable.name, 'read-only', 'a writeable array')
        if i >= taken and any(np.may_share_memory(array, other) for other in given[:i]):
            problem = 'shares memory with another array of the step'
            raise InvalidArgumentError(variable.name, problem, 'an array of its own')


def in_turn(kernel: Kernel, *values: Any) -> tuple[Array, ...]:
    """Run a kernel over many states, each with the memory left by the previous one, in one call.

    Args:
        kernel: has an input ``memory``, and an output ``next_memory`` or ``memory``.
        values: one array per input: with one leading axis of states, or of the input's own shape if
            all states share it; for the memory, the value before the first state.

    Returns:
        Each output with a leading axis of states; row k of the memory is its value after state k.

    Raises:
        InvalidArgumentError: an argument has a wrong shape or is not finite.
        Exception: the error of the trace for inputs and results that it does not allow.
    """
    variables, outputs = kernel.trace.arguments, kernel.trace.outputs
    arrays = [arguments.as_input(x, value) for x, value in zip(variables, values)]
    before = [x.name for x in variables].index('memory')
    after = [x.name.removeprefix('next_') for x in outputs].index('memory')
    others = [i for i in range(len(arrays)) if i != before]
    (count,) = arguments.leading_shape([variables[i] for i in others], [arrays[i] for i in others])
    results = [np.empty((count, *x.shape)) for x in outputs]
    # The memory output of a state is stored where the next state reads its input.
    chain = np.empty((count + 1, *variables[before].shape))
    chain[0], results[after] = arrays[before], chain[1:]
    arrays[before] = chain[:-1]
    run, bound = kernel.compilation, [] if kernel.bound is None else [kernel.bound]
    if run.code is None or not run.run([*arrays, *bound], (count,), results, True):
        for i in range(count):
            # Without machine code, or if a state is refused: the ordinary call raises the error.
            one = (x[i] if x.ndim > len(y.shape) else x for x, y in zip(arrays, variables))
            found = kernel.call(*one)
            for result, value in zip(results, found if len(results) > 1 else (found,)):
                result[i] = value
    return tuple(results)
