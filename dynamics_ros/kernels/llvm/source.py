# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR modules of a trace, written as text from its instructions.

The module for one state at a time has a public function ``i64 @batch(i64 states, addresses,
strides)``. ``addresses`` and ``strides`` point to one entry per array, inputs first; a stride is in
bytes from state to state, 0 for an array that all states share. The function returns the number of
states computed. It stops before a state that it refuses: an input is not finite, a quaternion
is not of length 1, or a result is not finite and the trace wants finite results.

In the module for batches each vector lane computes one state. Its ``@batch`` stops at the first
block of states that contains a refused one. A scratch memory holds the constants among the results,
the inputs, and each computed result once; the results are copied from these.

No output may overlap an input or another output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynamics_ros.kernels.graph.operations import INPUT
from dynamics_ros.kernels.graph.trace import UNIT_QUATERNION_TOLERANCE, Trace, Variable
from dynamics_ros.kernels.llvm import line as llvm_line
from dynamics_ros.kernels.llvm import runtime as llvm_runtime
from dynamics_ros.kernels.llvm.line import (
    ANY_PROCESSOR,
    Target,
    constant,
    element_at,
    every,
    libm_declarations,
    splat,
    vector,
)

CHECK_WIDTH = 8
"""Number of doubles per check for NaN and infinity."""

MAX_SCRATCH = 256 * 2**10
"""Largest memory for the inputs and results of a block of states [bytes]. It is on the stack, which
is as small as 512 kB in some threads."""

Block = tuple[list[str], list[str]]
"""Instructions, and the flags that must hold for the next block to run."""


def emit(trace: Trace, target: Target) -> str:
    """Return a module that computes one state or many states of a trace in sequence.

    It calls functions of `runtime.py` and libm.
    """
    inputs, outputs = _names(trace)
    blocks = [_state_and_flags(trace)]
    if trace.unit_quaternions:
        blocks.append(_unit_quaternions(trace, 1))
    compute = [f'  call void @state({_pointers([*inputs, *outputs])})']
    good = []
    if trace.finite_results is not None:
        good = [f'%{name}.good' for name in outputs]
        compute += [
            f'  {flag} = call i1 @{llvm_runtime.FINITE}(ptr %{name}, i64 {variable.size})'
            for flag, name, variable in zip(good, outputs, trace.outputs)
        ]
    sections = [
        f'; {trace.name}: {trace.operation_count} operations',
        llvm_line.emit(trace, 'state', target, 1),
        _batch_function(trace, [], [*blocks, (compute, good)], ['  %rows = add i64 0, 1']),
    ]
    return _with_declarations(sections, target, 1)


def llvm_ir(trace: Trace) -> str:
    """Return a trace as a module of LLVM IR for any processor."""
    return emit(trace, ANY_PROCESSOR)


def _names(trace: Trace) -> tuple[list[str], list[str]]:
    """Return the names of inputs and outputs in a module."""
    inputs = [f'in{i}' for i in range(len(trace.inputs))]
    return inputs, [f'out{i}' for i in range(len(trace.outputs))]


def _pointers(names: Sequence[str]) -> str:
    return ', '.join(f'ptr %{name}' for name in names)


def _with_declarations(sections: Sequence[str], target: Target, lanes: int) -> str:
    """Return a module of some functions and the declarations of what they call."""
    body = '\n'.join(sections)
    shared = llvm_runtime.declarations(target).items()
    declared = libm_declarations(body, lanes)
    declared += [text for name, text in shared if f'@{name}(' in body]
    return '\n'.join([body, *declared, ''])


def _unit_quaternions(trace: Trace, lanes: int) -> Block:
    """Return the block that computes whether quaternions of the inputs are of length 1."""
    kind, flag = vector(lanes), vector(lanes, 'i1')
    low, high = (
        splat(constant(1.0 + x), lanes)
        for x in (-UNIT_QUATERNION_TOLERANCE, UNIT_QUATERNION_TOLERANCE)
    )
    lines, flags = [], []
    for place, first in trace.unit_quaternions:
        n = f'%unit{place}.{first}'
        total = splat(constant(0.0), lanes)
        for i in range(4):
            lines += [
                element_at(f'{n}.p{i}', kind, f'%in{place}', first + i),
                f'  {n}.x{i} = load {kind}, ptr {n}.p{i}, align 8',
                f'  {n}.y{i} = fmul contract {kind} {n}.x{i}, {n}.x{i}',
                f'  {n}.s{i} = fadd contract {kind} {total}, {n}.y{i}',
            ]
            total = f'{n}.s{i}'
        lines += [
            f'  {n}.l = fcmp oge {kind} {total}, {low}',
            f'  {n}.h = fcmp ole {kind} {total}, {high}',
            f'  {n}.b = and {flag} {n}.l, {n}.h',
            *every(f'{n}.b', lanes, f'{n}.f'),
        ]
        flags.append(f'{n}.f')
    return lines, flags


def _state_and_flags(trace: Trace) -> Block:
    """Return the block that finds the arrays of a state, with the flags whether all are finite."""
    inputs, outputs = _names(trace)
    lines = [line for name in (*inputs, *outputs) for line in _row(name, name)]
    flags = []
    for name, variable in zip(inputs, trace.inputs):
        for first in range(0, variable.size, CHECK_WIDTH):
            width = min(CHECK_WIDTH, variable.size - first)
            kind, n = f'<{width} x double>', f'%{name}.{first}'
            lines += [
                element_at(f'{n}.e', 'double', f'%{name}', first),
                f'  {n} = load {kind}, ptr {n}.e, align 8',
                f'  {n}.d = fsub {kind} {n}, {n}',  # NaN unless it is finite
                f'  {n}.c = fcmp ord {kind} {n}.d, {n}.d',
                f'  {n}.f.b = bitcast <{width} x i1> {n}.c to i{width}',
                f'  {n}.f = icmp eq i{width} {n}.f.b, -1',
            ]
            flags.append(f'{n}.f')
    return lines, flags


def _row(name: str, result: str) -> list[str]:
    """Return the instructions that find a state of an array."""
    return [
        f'  %{name}.offset = mul i64 %{name}.stride, %i',
        f'  %{result} = getelementptr i8, ptr %{name}.base, i64 %{name}.offset',
    ]


def _batch_function(
    trace: Trace, setup: Sequence[str], blocks: Sequence[Block], last: Sequence[str]
) -> str:
    """Return the function of many states.

    Args:
        trace: the trace.
        setup: instructions before the first state.
        blocks: the blocks for one turn, which begins at state %i.
        last: instructions of a turn that is accepted; one sets %rows to the number of its states.
    """
    inputs, outputs = _names(trace)
    lines = [
        'define i64 @batch(i64 %states, ptr %addresses, ptr %strides) nounwind {',
        'entry:',
    ]
    for i, name in enumerate((*inputs, *outputs)):
        lines += [
            element_at(f'%{name}.bp', 'ptr', '%addresses', i),
            f'  %{name}.base = load ptr, ptr %{name}.bp',
            element_at(f'%{name}.sp', 'i64', '%strides', i),
            f'  %{name}.stride = load i64, ptr %{name}.sp',
        ]
    lines += [
        *setup,
        '  br label %head',
        'head:',
        f'  %i = phi i64 [ 0, %entry ], [ %next, %block{len(blocks)} ]',
        '  %left = sub i64 %states, %i',
        '  %more = icmp sgt i64 %left, 0',
        '  br i1 %more, label %block0, label %done',
        'block0:',
    ]
    for place, (instructions, flags) in enumerate(blocks):
        lines += instructions
        total = 'true'
        for i, flag in enumerate(flags):
            lines.append(f'  %all{place}.{i} = and i1 {total}, {flag}')
            total = f'%all{place}.{i}'
        following = f'block{place + 1}'
        lines += [f'  br i1 {total}, label %{following}, label %done', f'{following}:']
    lines += [*last, '  %next = add i64 %i, %rows', '  br label %head']
    return '\n'.join([*lines, 'done:', '  ret i64 %i', '}'])


def emit_batch(trace: Trace, target: Target) -> str:
    """Return the module; it calls functions of `runtime.py` and libm.

    Raises:
        RuntimeError: the values of a block of states are more than the stack has room for.
    """
    lanes = target.lanes
    kind = vector(lanes)
    inputs, outputs = _names(trace)
    # Places of the scratch memory, in vectors. Constants come first, of these 0, as `runtime.py`
    # requires; they are compared by text, which distinguishes -0.0 from 0.0.
    found = [x for x in trace.results if not isinstance(x, int)]
    constants = list({repr(x): x for x in (0.0, *map(float, found))}.values())
    place_of: dict[int | str, int] = {repr(x): i for i, x in enumerate(constants)}
    starts = [len(constants)]
    for variable in trace.inputs:
        starts.append(starts[-1] + variable.size)
    size, computed = starts[-1], []
    for position in dict.fromkeys(x for x in trace.results if isinstance(x, int)):
        operation, operands = trace.nodes[position]
        if operation is INPUT:
            place_of[position] = starts[int(operands[0])] + int(operands[1])
        else:
            place_of[position] = size
            computed.append(position)
            size += 1
    keys = [x if isinstance(x, int) else repr(float(x)) for x in trace.results]
    if 8 * lanes * size > MAX_SCRATCH:
        raise RuntimeError(f'{trace.name} has more results than the stack has room for')
    values = (Variable('values', (len(computed),)),) if computed else ()
    computing = replace(trace, outputs=values, results=tuple(computed))
    setup = [f'  %scratch = alloca {kind}, i64 {size}, align 64']
    for i, value in enumerate(constants):
        everywhere = splat(constant(value), lanes)
        setup += [
            element_at(f'%c{i}', kind, '%scratch', i),
            f'  store {kind} {everywhere}, ptr %c{i}, align 8',
        ]
    for name, place in zip([*inputs, 'values', 'checked'], [*starts, starts[0]]):
        setup.append(element_at(f'%{name}', kind, '%scratch', place))
    read = [
        f'  %full = icmp sge i64 %left, {lanes}',
        f'  %rows = select i1 %full, i64 {lanes}, i64 %left',
        '  %last = sub i64 %rows, 1',
    ]
    for name, variable in zip(inputs, trace.inputs):
        read += [
            *_row(name, f'{name}.row'),
            f'  call void @{llvm_runtime.gather_name(target)}(ptr %{name}.row, '
            f'i64 %{name}.stride, i64 %last, i64 {variable.size}, ptr %{name})',
        ]
    unit, flags = _unit_quaternions(trace, lanes)
    # The inputs and the computed results are one array.
    checked = size if trace.finite_results is not None else starts[-1]
    read += [
        *unit,
        f'  call void @states({_pointers([*inputs, *(["values"] if values else [])])})',
        f'  %good = call i1 @{llvm_runtime.FINITE}(ptr %checked, '
        f'i64 {(checked - len(constants)) * lanes})',
    ]
    table = f'[{len(keys)} x i32]'
    write = []
    first = 0
    for name, variable in zip(outputs, trace.outputs):
        write += [
            *_row(name, f'{name}.row'),
            f'  %{name}.places = getelementptr {table}, ptr @places, i64 0, i64 {first}',
            f'  call void @{llvm_runtime.scatter_name(target)}(ptr %{name}.row, '
            f'i64 %{name}.stride, i64 %last, i64 {variable.size}, ptr %scratch, '
            f'ptr %{name}.places)',
        ]
        first += variable.size
    entries = ', '.join(f'i32 {8 * lanes * place_of[x]}' for x in keys)
    sections = [
        f'; {trace.name}: {trace.operation_count} operations, {lanes} states a vector',
        llvm_line.emit(computing, 'states', target, lanes),
        f'@places = private constant {table} [{entries}]',
        _batch_function(trace, setup, [(read, [*flags, '%good'])], write),
    ]
    return _with_declarations(sections, target, lanes)
