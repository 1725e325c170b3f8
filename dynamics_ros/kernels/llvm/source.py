# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR module of a trace, written as text from its instructions.

The module for one state at a time has a public function ``i64 @batch(i64 states, addresses,
strides)``. ``addresses`` and ``strides`` point to one entry per array, inputs first; a stride is in
bytes from state to state, 0 for an array that all states share. The function returns the number of
states computed. It stops before a state that it refuses: an input is not finite, a requirement is
not met, or a result is not finite and the trace wants finite results.

No output may overlap an input or another output.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.kernels.graph.trace import Trace, Variable
from dynamics_ros.kernels.llvm import external_calls
from dynamics_ros.kernels.llvm import line as llvm_line
from dynamics_ros.kernels.llvm import runtime as llvm_runtime
from dynamics_ros.kernels.llvm.dialect import Dialect, constant, splat, vector
from dynamics_ros.kernels.llvm.line import parameters
from dynamics_ros.kernels.llvm.processor import PLAIN, Processor

CHECK_WIDTH = 8
"""Number of doubles per check for NaN and infinity."""


def emit(trace: Trace, dialect: Dialect, processor: Processor) -> str:
    """Return a module that computes one state or many states of a trace in sequence.

    It calls functions of `runtime.py` and libm.
    """
    sections = [
        f'; {trace.name}: {trace.operation_count} operations',
        llvm_line.emit(trace, 'state', dialect, processor, 1),
        *required_function(trace, dialect, processor, 1),
        _check_function(trace, dialect),
        *_results_function(trace, dialect),
        _batch_function(trace, dialect),
    ]
    return with_declarations(sections, dialect, processor, 1)


def llvm_ir(trace: Trace, opaque_pointers: bool = True) -> str:
    """Return a trace as a module of LLVM IR for any processor.

    Args:
        trace: the trace to print.
        opaque_pointers: whether pointers are written ``ptr``, as LLVM requires from 16 on.
    """
    return emit(trace, Dialect(opaque_pointers), PLAIN)


def with_declarations(
    sections: Sequence[str], dialect: Dialect, processor: Processor, lanes: int
) -> str:
    """Return a module of some functions and the declarations of what they call."""
    body = '\n'.join(sections)
    declared = external_calls.declarations(body, dialect, lanes)
    for line in llvm_runtime.declarations(processor, dialect):
        name = line.split(' ', 2)[2].split('(')[0]
        if f'{name}(' in body:
            declared.append(line)
    return '\n'.join([body, *declared, ''])


def required_function(
    trace: Trace, dialect: Dialect, processor: Processor, lanes: int
) -> list[str]:
    """Return the functions that check whether all requirements are met, if there are any."""
    required = trace.required
    if required is None:
        return []
    line = llvm_line.emit(required, 'required', dialect, processor, lanes)
    number = dialect.number
    kind, flag = vector(lanes, number.type), vector(lanes, 'i1')
    array, pointer = dialect.pointer(number.type), dialect.pointer(kind)
    inputs = parameters(trace, dialect)[: len(trace.inputs)]
    count = len(trace.requirements)
    lines = [
        f'define internal i1 @meets({", ".join(inputs)}) nounwind {{',
        f'  %values = alloca {kind}, i64 {count}, align 64',
        f'  %plain = bitcast {pointer} %values to {array}',
        f'  call void @required({", ".join([*inputs, f"{array} %plain"])})',
    ]
    total = splat('true', lanes, 'i1')
    for i, (low, high) in enumerate((x.low, x.high) for x in trace.requirements):
        lines += [
            dialect.element(f'%p{i}', kind, '%values', i),
            f'  %x{i} = load {kind}, {pointer} %p{i}, align {number.size}',
            f'  %l{i} = fcmp oge {kind} %x{i}, {splat(constant(low, number), lanes, number.type)}',
            f'  %h{i} = fcmp ole {kind} %x{i}, {splat(constant(high, number), lanes, number.type)}',
            f'  %b{i} = and {flag} %l{i}, %h{i}',
            f'  %a{i} = and {flag} {total}, %b{i}',
        ]
        total = f'%a{i}'
    if lanes > 1:
        lines += [
            f'  %bits = bitcast {flag} {total} to i{lanes}',
            f'  %all = icmp eq i{lanes} %bits, -1',
        ]
        total = '%all'
    return [line, '\n'.join([*lines, f'  ret i1 {total}', '}'])]


def _check_function(trace: Trace, dialect: Dialect) -> str:
    """Return the function that checks whether a state can be computed."""
    inputs = parameters(trace, dialect)[: len(trace.inputs)]
    lines, finite = _finite_flag(trace.inputs, 'in', dialect)
    if trace.requirements:
        lines += [
            f'  br i1 {finite}, label %more, label %refuse',
            'refuse:',
            '  ret i1 false',
            'more:',
            f'  %met = call i1 @meets({", ".join(inputs)})',
        ]
        finite = '%met'
    head = f'define internal i1 @check({", ".join(inputs)}) nounwind {{'
    return '\n'.join([head, *lines, f'  ret i1 {finite}', '}'])


def _finite_flag(
    variables: Sequence[Variable], prefix: str, dialect: Dialect
) -> tuple[list[str], str]:
    """Return instructions and the flag whether all are finite: x - x is NaN otherwise."""
    pointer = dialect.pointer('double')
    lines = []
    flags = []
    for argument, variable in enumerate(variables):
        for first in range(0, variable.size, CHECK_WIDTH):
            width = min(CHECK_WIDTH, variable.size - first)
            kind = f'<{width} x double>'
            n = f'%x{argument}.{first}'
            kind_pointer = dialect.pointer(kind)
            lines += [
                dialect.element(f'{n}.e', 'double', f'%{prefix}{argument}', first),
                f'  {n}.p = bitcast {pointer} {n}.e to {kind_pointer}',
                f'  {n} = load {kind}, {kind_pointer} {n}.p, align 8',
                f'  {n}.d = fsub {kind} {n}, {n}',
                f'  {n}.c = fcmp uno {kind} {n}.d, {n}.d',
                f'  {n}.b = bitcast <{width} x i1> {n}.c to i{width}',
                f'  {n}.f = icmp eq i{width} {n}.b, 0',
            ]
            flags.append(f'{n}.f')
    total = 'true'
    for i, flag in enumerate(flags):
        lines.append(f'  %a{i} = and i1 {total}, {flag}')
        total = f'%a{i}'
    return lines, total


def _results_function(trace: Trace, dialect: Dialect) -> list[str]:
    """Return the function that checks whether all results are finite; none if they need not be."""
    if trace.finite_results is None:
        return []
    outputs = parameters(trace, dialect)[len(trace.inputs) :]
    lines = [f'define internal i1 @good_results({", ".join(outputs)}) nounwind {{']
    total = 'true'
    for i, (variable, output) in enumerate(zip(trace.outputs, outputs)):
        lines += [
            f'  %f{i} = call i1 @{llvm_runtime.finite_name()}({output}, i64 {variable.size})',
            f'  %a{i} = and i1 {total}, %f{i}',
        ]
        total = f'%a{i}'
    return ['\n'.join([*lines, f'  ret i1 {total}', '}'])]


def array_setup(trace: Trace, dialect: Dialect) -> list[str]:
    """Return the instructions that read addresses and strides: ``%<array>.base``, ``.stride``."""
    byte = dialect.pointer('i8')
    lines = []
    for i, name in enumerate(array_names(trace)):
        lines += [
            dialect.element(f'%{name}.bp', byte, '%addresses', i),
            f'  %{name}.base = load {byte}, {dialect.pointer(byte)} %{name}.bp',
            dialect.element(f'%{name}.sp', 'i64', '%strides', i),
            f'  %{name}.stride = load i64, {dialect.pointer("i64")} %{name}.sp',
        ]
    return lines


def array_names(trace: Trace) -> list[str]:
    """Return the names of the arrays: in0, ..., out0, ..."""
    inputs = [f'in{i}' for i in range(len(trace.inputs))]
    return inputs + [f'out{i}' for i in range(len(trace.outputs))]


def row_address(name: str, dialect: Dialect, state: str) -> list[str]:
    """Return the instructions that set ``%<array>.byte`` to the address of a state."""
    byte = dialect.pointer('i8')
    return [
        f'  %{name}.offset = mul i64 %{name}.stride, {state}',
        f'  %{name}.byte = getelementptr i8, {byte} %{name}.base, i64 %{name}.offset',
    ]


def _batch_function(trace: Trace, dialect: Dialect) -> str:
    byte, double = dialect.pointer('i8'), dialect.pointer('double')
    everything = parameters(trace, dialect)
    inputs, outputs = everything[: len(trace.inputs)], everything[len(trace.inputs) :]
    lines = array_setup(trace, dialect)
    lines += [
        '  br label %head',
        'head:',
        '  %i = phi i64 [ 0, %entry ], [ %next, %computed ]',
        '  %more = icmp slt i64 %i, %states',
        '  br i1 %more, label %body, label %done',
        'body:',
    ]
    for name in array_names(trace):
        lines += row_address(name, dialect, '%i')
        lines.append(f'  %{name} = bitcast {byte} %{name}.byte to {double}')
    lines += [
        f'  %allowed = call i1 @check({", ".join(inputs)})',
        '  br i1 %allowed, label %compute, label %done',
        'compute:',
        f'  call void @state({", ".join(everything)})',
    ]
    good = 'true'
    if trace.finite_results is not None:
        lines.append(f'  %good = call i1 @good_results({", ".join(outputs)})')
        good = '%good'
    lines += [
        f'  br i1 {good}, label %computed, label %done',
        'computed:',
        '  %next = add i64 %i, 1',
        '  br label %head',
        'done:',
        '  ret i64 %i',
    ]
    numbers = dialect.pointer('i64')
    arguments = f'i64 %states, {dialect.pointer(byte)} %addresses, {numbers} %strides'
    body = '\n'.join(lines)
    return f'define i64 @batch({arguments}) nounwind {{\nentry:\n{body}\n}}'
