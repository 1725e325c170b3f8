# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR modules of a trace, written as text from its instructions.

The module for one state at a time has a public function ``i64 @batch(i64 states, addresses,
strides)``. ``addresses`` and ``strides`` point to one entry per array, inputs first; a stride is in
bytes from state to state, 0 for an array that all states share. The function returns the number of
states computed. It stops before a state that it refuses: an input is not finite, a requirement is
not met, or a result is not finite and the trace wants finite results.

In the module for batches each vector lane computes one state. Its ``@batch`` has one more argument,
a scratch memory of ``scratch_size`` vectors, aligned to a vector, and stops at the first block of
states that contains a refused one. The scratch memory holds the constants among the results, the
inputs, and each computed result once; the results are copied from these.

No output may overlap an input or another output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dynamics_ros.kernels.graph.operations import INPUT
from dynamics_ros.kernels.graph.trace import Trace, Variable
from dynamics_ros.kernels.llvm import line as llvm_line
from dynamics_ros.kernels.llvm import rows as llvm_rows
from dynamics_ros.kernels.llvm import runtime as llvm_runtime
from dynamics_ros.kernels.llvm.dialect import (
    PLAIN,
    Dialect,
    Processor,
    constant,
    libm_declarations,
    splat,
    vector,
)
from dynamics_ros.kernels.llvm.line import parameters

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
    declared = libm_declarations(body, dialect, lanes)
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


@dataclass(frozen=True)
class _Scratch:
    """Layout of the scratch memory of a batch, in vectors.

    Attributes:
        constants: the first is 0, as `rows.py` requires.
        inputs: offset of each input.
        values: offset of the computed results.
        computed: positions of the computed results.
        places: offset of each result's vector.
        size: total size.
    """

    constants: list[float]
    inputs: list[int]
    values: int
    computed: list[int]
    places: list[int]
    size: int

    @classmethod
    def of(cls, trace: Trace) -> _Scratch:
        found = [x for x in trace.results if not isinstance(x, int)]
        # Compared by text, which distinguishes -0.0 from 0.0.
        constants = list({repr(x): x for x in (0.0, *map(float, found))}.values())
        place_of: dict[int | str, int] = {repr(x): i for i, x in enumerate(constants)}
        inputs = []
        size = len(constants)
        for variable in trace.inputs:
            inputs.append(size)
            size += variable.size
        values, computed = size, []
        for position in dict.fromkeys(x for x in trace.results if isinstance(x, int)):
            operation, operands = trace.nodes[position]
            if operation is INPUT:
                place_of[position] = inputs[int(operands[0])] + int(operands[1])
            else:
                place_of[position] = size
                computed.append(position)
                size += 1
        keys = [x if isinstance(x, int) else repr(float(x)) for x in trace.results]
        return cls(constants, inputs, values, computed, [place_of[x] for x in keys], size)


def scratch_size(trace: Trace) -> int:
    """Return the number of scratch vectors that a call needs."""
    return _Scratch.of(trace).size


def emit_batch(trace: Trace, dialect: Dialect, processor: Processor) -> str:
    """Return the module; it calls functions of `runtime.py` and libm."""
    scratch = _Scratch.of(trace)
    values = (Variable('values', (len(scratch.computed),)),) if scratch.computed else ()
    computing = replace(trace, outputs=values, results=tuple(scratch.computed))
    lanes = processor.lanes
    entries = ', '.join(f'i32 {dialect.number.size * lanes * x}' for x in scratch.places)
    sections = [
        f'; {trace.name}: {trace.operation_count} operations, {lanes} states a vector',
        llvm_line.emit(computing, 'states', dialect, processor, lanes),
        *required_function(trace, dialect, processor, lanes),
        f'@places = private constant [{len(scratch.places)} x i32] [{entries}]',
        _vector_function(trace, scratch, dialect, lanes),
    ]
    return with_declarations(sections, dialect, processor, lanes)


def _vector_function(trace: Trace, scratch: _Scratch, dialect: Dialect, lanes: int) -> str:
    number = dialect.number
    byte, array, entry = (dialect.pointer(x) for x in ('i8', number.type, 'i32'))
    kind = vector(lanes, number.type)
    names = array_names(trace)
    lines = array_setup(trace, dialect)
    for i, value in enumerate(scratch.constants):
        everywhere = splat(constant(value, number), lanes, number.type)
        lines += [
            dialect.element(f'%c{i}.d', number.type, '%scratch', i * lanes),
            f'  %c{i} = bitcast {array} %c{i}.d to {dialect.pointer(kind)}',
            f'  store {kind} {everywhere}, {dialect.pointer(kind)} %c{i}, align {number.size}',
        ]
    for name, place in zip(names, scratch.inputs):
        lines.append(dialect.element(f'%{name}', number.type, '%scratch', place * lanes))
    lines.append(dialect.element('%values', number.type, '%scratch', scratch.values * lanes))
    lines += [
        '  br label %head',
        'head:',
        '  %i = phi i64 [ 0, %entry ], [ %next, %write ]',
        '  %left = sub i64 %states, %i',
        '  %more = icmp sgt i64 %left, 0',
        '  br i1 %more, label %read, label %done',
        'read:',
        f'  %full = icmp sge i64 %left, {lanes}',
        f'  %rows = select i1 %full, i64 {lanes}, i64 %left',
        '  %last = sub i64 %rows, 1',
    ]
    flags = []
    for name, variable in zip(names, trace.inputs):
        lines += row_address(name, dialect, '%i')
        lines.append(
            f'  %{name}.good = call i1 @{llvm_rows.gather_name(lanes, number)}('
            f'{byte} %{name}.byte, i64 %{name}.stride, i64 %last, i64 {variable.size}, '
            f'{array} %{name})'
        )
        flags.append(f'%{name}.good')
    inputs = ', '.join(f'{array} %{x}' for x in names[: len(trace.inputs)])
    if trace.requirements:
        lines.append(f'  %met = call i1 @meets({inputs})')
        flags.append('%met')
    lines += _branch(flags, 'inputs', 'compute')
    pointers = [*names[: len(trace.inputs)], *(['values'] if scratch.computed else [])]
    both = ', '.join(f'{array} %{x}' for x in pointers)
    lines += ['compute:', f'  call void @states({both})']
    flags = []
    if trace.finite_results is not None:
        lines.append(
            f'  %good = call i1 @{llvm_runtime.finite_name(number)}({array} %values, '
            f'i64 {len(scratch.computed) * lanes})'
        )
        flags.append('%good')
    lines += _branch(flags, 'outputs', 'write')
    lines.append('write:')
    table = f'[{len(scratch.places)} x i32]'
    first = 0
    for name, variable in zip(names[len(trace.inputs) :], trace.outputs):
        lines += row_address(name, dialect, '%i')
        lines += [
            f'  %{name}.places = getelementptr {table}, {dialect.pointer(table)} @places, '
            f'i64 0, i64 {first}',
            f'  call void @{llvm_rows.scatter_name(lanes, number)}({byte} %{name}.byte, '
            f'i64 %{name}.stride, i64 %last, i64 {variable.size}, {array} %scratch, '
            f'{entry} %{name}.places)',
        ]
        first += variable.size
    lines += [
        '  %next = add i64 %i, %rows',
        '  br label %head',
        'done:',
        '  ret i64 %i',
    ]
    arguments = (
        f'i64 %states, {dialect.pointer(byte)} %addresses, {dialect.pointer("i64")} %strides, '
        f'{array} %scratch'
    )
    body = '\n'.join(lines)
    return f'define i64 @batch({arguments}) nounwind {{\nentry:\n{body}\n}}'


def _branch(flags: list[str], prefix: str, label: str) -> list[str]:
    """Return the instructions that continue only if all flags hold."""
    lines = []
    total = 'true'
    for i, flag in enumerate(flags):
        lines.append(f'  %{prefix}.{i} = and i1 {total}, {flag}')
        total = f'%{prefix}.{i}'
    return [*lines, f'  br i1 {total}, label %{label}, label %done']
