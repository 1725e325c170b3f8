"""A trace for many states at once as a module of LLVM IR: each lane of a vector is a state.

``i64 @batch(i64 states, addresses, strides, scratch)`` is what the function of this name in
`llvm_source` is, with a scratch memory of ``scratch_size`` vectors, aligned to a vector. It stops
at the first block of states with one that is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamics_ros.kernels import llvm_line, llvm_rows, llvm_runtime
from dynamics_ros.kernels.llvm_dialect import Dialect
from dynamics_ros.kernels.llvm_source import (
    array_names,
    array_setup,
    required_function,
    row_address,
    with_declarations,
)
from dynamics_ros.kernels.processor import Processor

if TYPE_CHECKING:
    from dynamics_ros.kernels.trace import Trace


def scratch_size(trace: Trace) -> int:
    """Return the number of vectors that a call needs."""
    return sum(x.size for x in (*trace.inputs, *trace.outputs))


def emit(trace: Trace, dialect: Dialect, processor: Processor) -> str:
    """Return the module; it calls functions of `llvm_runtime` and libm."""
    sections = [
        f'; {trace.name}: {trace.operation_count} operations, {processor.lanes} states a vector',
        llvm_line.emit(trace, 'states', dialect, processor, processor.lanes),
        *required_function(trace, dialect, processor, processor.lanes),
        _batch_function(trace, dialect, processor.lanes),
    ]
    return with_declarations(sections, dialect, processor, processor.lanes)


def _batch_function(trace: Trace, dialect: Dialect, lanes: int) -> str:
    byte, double = dialect.pointer('i8'), dialect.pointer('double')
    names = array_names(trace)
    variables = (*trace.inputs, *trace.outputs)
    lines = array_setup(trace, dialect)
    place = 0
    for name, variable in zip(names, variables):
        lines.append(dialect.element(f'%{name}', 'double', '%scratch', place * lanes))
        place += variable.size
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
            f'  %{name}.good = call i1 @{llvm_rows.gather_name(lanes)}({byte} %{name}.byte, '
            f'i64 %{name}.stride, i64 %last, i64 {variable.size}, {double} %{name})'
        )
        flags.append(f'%{name}.good')
    inputs = ', '.join(f'{double} %{x}' for x in names[: len(trace.inputs)])
    everything = ', '.join(f'{double} %{x}' for x in names)
    if trace.requirements:
        lines.append(f'  %met = call i1 @meets({inputs})')
        flags.append('%met')
    lines += _branch(flags, 'inputs', 'compute')
    lines += ['compute:', f'  call void @states({everything})']
    flags = []
    if trace.finite_results is not None:
        for name, variable in zip(names[len(trace.inputs) :], trace.outputs):
            lines.append(
                f'  %{name}.good = call i1 @{llvm_runtime.FINITE}({double} %{name}, '
                f'i64 {variable.size * lanes})'
            )
            flags.append(f'%{name}.good')
    lines += _branch(flags, 'outputs', 'write')
    lines.append('write:')
    for name, variable in zip(names[len(trace.inputs) :], trace.outputs):
        lines += row_address(name, dialect, '%i')
        lines.append(
            f'  call void @{llvm_rows.scatter_name(lanes)}({byte} %{name}.byte, '
            f'i64 %{name}.stride, i64 %last, i64 {variable.size}, {double} %{name})'
        )
    lines += [
        '  %next = add i64 %i, %rows',
        '  br label %head',
        'done:',
        '  ret i64 %i',
    ]
    arguments = (
        f'i64 %states, {dialect.pointer(byte)} %addresses, {dialect.pointer("i64")} %strides, '
        f'{double} %scratch'
    )
    body = '\n'.join(lines)
    return f'define i64 @batch({arguments}) nounwind {{\nentry:\n{body}\n}}'


def _branch(flags: list[str], prefix: str, label: str) -> list[str]:
    """Return the instructions that go on only where all flags hold."""
    lines = []
    total = 'true'
    for i, flag in enumerate(flags):
        lines.append(f'  %{prefix}.{i} = and i1 {total}, {flag}')
        total = f'%{prefix}.{i}'
    return [*lines, f'  br i1 {total}, label %{label}, label %done']
