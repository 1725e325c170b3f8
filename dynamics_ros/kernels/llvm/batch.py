# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR module of a trace for batches: each vector lane computes one state.

``i64 @batch(i64 states, addresses, strides, scratch)`` has the arguments of the function of this
name in `source.py`, and a scratch memory of ``scratch_size`` vectors, aligned to a vector. It stops
at the first block of states that contains a refused one.

The scratch memory holds the constants among the results, the inputs, and each computed result
once; the results are copied from these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynamics_ros.kernels.graph.operations import INPUT
from dynamics_ros.kernels.graph.trace import Trace, Variable
from dynamics_ros.kernels.llvm import line as llvm_line
from dynamics_ros.kernels.llvm import rows as llvm_rows
from dynamics_ros.kernels.llvm import runtime as llvm_runtime
from dynamics_ros.kernels.llvm.dialect import Dialect, constant, splat, vector
from dynamics_ros.kernels.llvm.processor import Processor
from dynamics_ros.kernels.llvm.source import (
    array_names,
    array_setup,
    required_function,
    row_address,
    with_declarations,
)


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


def emit(trace: Trace, dialect: Dialect, processor: Processor) -> str:
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
        _batch_function(trace, scratch, dialect, lanes),
    ]
    return with_declarations(sections, dialect, processor, lanes)


def _batch_function(trace: Trace, scratch: _Scratch, dialect: Dialect, lanes: int) -> str:
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
