# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Programs: sequences of kernels and copies on fixed arrays, run by one call without arguments.

A caller that repeats the same computation a thousand times a second avoids passing and allocating
arrays: a program reads its inputs and writes its outputs in place. An output array of one kernel
may be an input of the next.
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

# Layout of a table: number of steps, then for each its machine code and pointers to the addresses
# and strides of its arrays.
STEPS, FIRST_STEP = 0, 1
CODE, POINTERS, STRIDES = range(3)
STEP = 3


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
        source, target: C-contiguous float64 of equal size that share no memory.
    """

    source: Array
    target: Array


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
        """Return a builtin that runs the steps, or None if one of them has no machine code."""
        kernels = [step.kernel for step in self.steps if isinstance(step, Step)]
        if not self.steps or any(kernel.machine_code is None for kernel in kernels):
            return None
        try:
            shared = _compiled()
        except (CompilerUnavailableError, UnknownLayoutError):
            return None
        table = np.zeros(FIRST_STEP + STEP * len(self.steps), np.int64)
        keep: list[Any] = [shared.token]
        table[STEPS] = len(self.steps)
        for i, step in enumerate(self.steps):
            if isinstance(step, Copy):
                code, arrays = shared.address('copy'), list(step)
                strides = np.array([step.source.size], dtype=np.int64)
            else:
                machine, bound = step.kernel.machine_code, step.kernel.bound
                assert machine is not None, 'seen above'
                code = machine.address('batch')
                arrays = [*step.inputs, *([] if bound is None else [bound]), *step.outputs]
                strides = np.zeros(len(arrays), dtype=np.int64)
                keep.append(machine.token)
            pointers = np.array([arguments.address(x) for x in arrays], dtype=np.int64)
            keep += [pointers, strides, *arrays]
            start = FIRST_STEP + STEP * i
            table[start : start + STEP] = (
                code,
                arguments.address(pointers),
                arguments.address(strides),
            )
        docstring = 'Compute all, one after the other.'
        address = shared.address('program')
        return builtin(address, _no_arguments, 'run', docstring, *keep, table=table)


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


def _check_copy(copy: Copy) -> None:
    variable = Variable('copy', (copy.source.size,))
    for array in copy:
        _check_array(array, variable)
    if not copy.target.flags.writeable:
        raise InvalidArgumentError('copy', 'read-only target', 'a writeable array')
    if np.may_share_memory(*copy):
        raise InvalidArgumentError('copy', 'source and target share memory', 'two arrays')


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
    return llvm_compiler.compile_module(emit(dialect), ['program', 'copy'])


def emit(dialect: Dialect) -> str:
    """Return the functions that all programs share.

    ``program`` is of METH_FASTCALL | METH_KEYWORDS; ``copy`` is called like a kernel, with the
    addresses of source and target and, in place of the first stride, the count of numbers.
    """
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
{_copy(dialect)}
"""


def _copy(dialect: Dialect) -> str:
    number, double = dialect.pointer('i64'), dialect.pointer('double')
    return f"""
define i64 @copy(i64 %lanes, {number} %pointers, {number} %strides) {{
entry:
  %count = load i64, {number} %strides
  %source.address = load i64, {number} %pointers
{dialect.element('%second', 'i64', '%pointers', 1)}
  %target.address = load i64, {number} %second
  %source = inttoptr i64 %source.address to {double}
  %target = inttoptr i64 %target.address to {double}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %all
body:
{dialect.element('%from', 'double', '%source', '%i')}
{dialect.element('%to', 'double', '%target', '%i')}
  %value = load double, {double} %from
  store double %value, {double} %to
  %next = add i64 %i, 1
  br label %head
all:
  ret i64 1
}}"""
