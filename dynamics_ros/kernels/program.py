# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several kernels one after the other, on arrays that stay: one call without arguments.

Whoever computes the same things again and again, a thousand times a second, neither passes arrays
nor makes new ones: a program reads its inputs where they are and writes into its outputs, those of
one kernel being inputs of the next where they are the same array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.cpython import arguments, entry_source
from dynamics_ros.kernels.cpython.arguments import Array
from dynamics_ros.kernels.cpython.entry_point import builtin
from dynamics_ros.kernels.cpython.interpreter import provide_interpreter
from dynamics_ros.kernels.cpython.layout import UnknownLayoutError, symbol
from dynamics_ros.kernels.graph.trace import Variable
from dynamics_ros.kernels.kernel import Kernel
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError, MachineCode
from dynamics_ros.kernels.llvm.dialect import Dialect

# Of a table: how many steps there are, then for each its machine code and where it finds the
# addresses of its arrays and how far states are apart.
STEPS, FIRST_STEP = 0, 1
CODE, POINTERS, STRIDES = range(3)
STEP = 3


class Step(NamedTuple):
    """A kernel and the arrays that it works on.

    Attributes:
        kernel: what is computed, for one state.
        inputs, outputs: an array for each argument and output of its trace, C-contiguous float64
            of as many numbers; of its outputs none shares memory with another array of the step.
    """

    kernel: Kernel
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


class Program:
    """Several kernels that run one after the other, on arrays that stay.

    Attributes:
        steps: the kernels.
        run: computes; returns whether all inputs and results were as the kernels want them. Where
            they were not, what comes after is as it was before.
        final: whether it will run no faster if it is made anew, as it might once a kernel that is
            still being compiled is ready.
    """

    run: Callable[[], bool]

    def __init__(self, steps: Sequence[Step]) -> None:
        """Make a program.

        Raises:
            InvalidArgumentError: an array does not fit.
        """
        for step in steps:
            _check(step)
        self.steps = tuple(steps)
        self.final = all(step.kernel.ready for step in steps)
        self.run = self._machine_code() or self._run_one_by_one

    def explain(self) -> None:
        """Compute by the ordinary calls, which say what is wrong with the numbers.

        Raises:
            Exception: as the first kernel that refuses its inputs or results raises it.
        """
        for kernel, inputs, outputs in self.steps:
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
        """A builtin that goes through the steps; None where one of them has no machine code."""
        codes = [step.kernel.machine_code for step in self.steps]
        if not codes or None in codes:
            return None
        try:
            shared = _compiled()
        except (CompilerUnavailableError, UnknownLayoutError):
            return None
        table = np.zeros(FIRST_STEP + STEP * len(codes), np.int64)
        keep: list[Any] = [shared.token]
        table[STEPS] = len(codes)
        for i, (step, code) in enumerate(zip(self.steps, codes, strict=True)):
            assert code is not None, 'seen above'
            bound = step.kernel.bound
            arrays = [*step.inputs, *([] if bound is None else [bound]), *step.outputs]
            pointers = np.array([arguments.address(x) for x in arrays], dtype=np.int64)
            strides = np.zeros(len(arrays), dtype=np.int64)
            keep += [code.token, pointers, strides, *arrays]
            start = FIRST_STEP + STEP * i
            table[start : start + STEP] = (
                code.address('batch'),
                arguments.address(pointers),
                arguments.address(strides),
            )
        told = 'Compute all, one after the other.'
        address = shared.address('program')
        return builtin(address, _no_arguments, 'run', told, *keep, table=table)


def _no_arguments(*_: Any, **__: Any) -> bool:
    raise TypeError('run() takes no arguments')


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


def _check_array(array: Array, variable: Variable) -> None:
    flags = array.flags
    if (
        array.dtype != np.float64
        or not (flags.c_contiguous and flags.aligned)
        or array.size != variable.size
    ):
        raise InvalidArgumentError(
            variable.name,
            f'{array.dtype} array of shape {array.shape}',
            f'a C-contiguous float64 array of {variable.size} numbers',
        )


_SYMBOLS = ('incref', 'true_object', 'false_object', *entry_source.SLOW_PATH_SYMBOLS)


@lru_cache(maxsize=1)
def _compiled() -> MachineCode:
    provide_interpreter()
    dialect = llvm_compiler.platform().dialect
    return llvm_compiler.compile_module(emit(dialect), ['program'])


def emit(dialect: Dialect) -> str:
    """Return the function that all programs share, of METH_FASTCALL | METH_KEYWORDS."""
    byte, number = dialect.pointer('i8'), dialect.pointer('i64')
    code = dialect.pointer(f'i64 (i64, {number}, {number})')
    reference = dialect.pointer(f'void ({byte})')

    def field(name: str, row: str, place: int) -> str:
        return (
            f'{dialect.element(f"%{name}.p", "i64", row, place)}\n'
            f'  %{name} = load i64, {number} %{name}.p'
        )

    def answer(name: str) -> str:
        known = f'@{symbol(name)}'
        return (
            f'  %incref.{name} = bitcast {byte} @{symbol("incref")} to {reference}\n'
            f'  call void %incref.{name}({byte} {known})\n'
            f'  ret {byte} {known}'
        )

    others = f'{dialect.pointer(byte)} %arguments, i64 %count, {byte} %names'
    return f"""{entry_source.declarations(_SYMBOLS)}
define {byte} @program({byte} %self, {others}) {{
entry:
  %none = icmp eq i64 %count, 0
  %plain = icmp eq {byte} %names, null
  %fits = and i1 %none, %plain
  br i1 %fits, label %start, label %slow
start:
{entry_source.table_pointer(dialect)}
{field('steps', '%table', STEPS)}
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %next, %done ]
  %more = icmp slt i64 %i, %steps
  br i1 %more, label %body, label %all
body:
  %offset = mul i64 %i, {STEP}
  %first = add i64 %offset, {FIRST_STEP}
{dialect.element('%row', 'i64', '%table', '%first')}
{field('code', '%row', CODE)}
{field('pointers', '%row', POINTERS)}
{field('strides', '%row', STRIDES)}
  %function = inttoptr i64 %code to {code}
  %its.pointers = inttoptr i64 %pointers to {number}
  %its.strides = inttoptr i64 %strides to {number}
  %computed = call i64 %function(i64 1, {number} %its.pointers, {number} %its.strides)
  %good = icmp eq i64 %computed, 1
  br i1 %good, label %done, label %refused
done:
  %next = add i64 %i, 1
  br label %head
all:
{answer('true_object')}
refused:
{answer('false_object')}
slow:
{entry_source.slow_path(dialect)}
}}
"""
