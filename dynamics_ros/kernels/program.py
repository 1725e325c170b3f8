# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Programs: sequences of kernels and copies on fixed arrays, run by one call without arguments.

A caller that repeats the same computation a thousand times a second avoids passing and allocating
arrays: a program reads its inputs and writes its outputs in place. An output array of one kernel
may be an input of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import calls
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.trace import Variable
from dynamics_ros.kernels.kernel import Kernel
from dynamics_ros.kernels.llvm.compiler import MachineCode


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
            if isinstance(step, Copy):
                _check_copy(step)
            else:
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
        """Return a function that runs the steps, or None if one of them has no machine code."""
        made: list[tuple[MachineCode | None, Sequence[NDArray[Any]]]] = []
        for step in self.steps:
            if isinstance(step, Copy):
                made.append((None, step))
                continue
            code, bound = step.kernel.machine_code, step.kernel.bound
            if code is None:
                return None
            arrays = [*step.inputs, *([] if bound is None else [bound]), *step.outputs]
            made.append((code, arrays))
        return calls.run_of(made)


def _check(step: Step) -> None:
    trace = step.kernel.trace
    given = (*step.inputs, *step.outputs)
    variables = (*trace.arguments, *trace.outputs)
    if len(step.inputs) != len(trace.arguments) or len(step.outputs) != len(trace.outputs):
        names = ', '.join(variable.name for variable in variables)
        raise InvalidArgumentError('step', f'{len(given)} arrays for {trace.name}', names)
    for array, variable in zip(given, variables):
        _check_array(array, variable)
    for i, output in enumerate(step.outputs):
        if not output.flags.writeable:
            raise InvalidArgumentError(trace.outputs[i].name, 'read-only', 'a writeable array')
        others = [*step.inputs, *step.outputs[:i]]
        if any(np.may_share_memory(output, other) for other in others):
            problem = 'shares memory with another array of the step'
            raise InvalidArgumentError(trace.outputs[i].name, problem, 'an array of its own')


def _check_copy(copy: Copy) -> None:
    variable = Variable('copy', (copy.source.size,))
    _check_array(copy.source, variable)
    _check_array(copy.target, variable, (np.float64, np.uint8))
    if not copy.target.flags.writeable:
        raise InvalidArgumentError('copy', 'read-only target', 'a writeable array')
    if np.may_share_memory(*copy):
        raise InvalidArgumentError('copy', 'source and target share memory', 'two arrays')


def _check_array(
    array: NDArray[Any], variable: Variable, types: Sequence[type] = (np.float64,)
) -> None:
    flags = array.flags
    if (
        array.dtype not in types
        or not (flags.c_contiguous and flags.aligned)
        or array.size != variable.size
    ):
        raise InvalidArgumentError(
            variable.name,
            f'{array.dtype} array of shape {array.shape}',
            f'a C-contiguous float64 array of {variable.size} numbers',
        )
