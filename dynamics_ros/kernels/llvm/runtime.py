# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR module of the functions that all compiled kernels share."""

from __future__ import annotations

from dynamics_ros.kernels.llvm import rows as llvm_rows
from dynamics_ros.kernels.llvm import sincos as llvm_sincos
from dynamics_ros.kernels.llvm.dialect import DOUBLE, Dialect, Number, Processor

FINITE_WIDTH = 8


def finite_name(number: Number = DOUBLE) -> str:
    """Return the name of the function that checks whether numbers are finite."""
    return f'dynamics_ros_finite{number.libm}'


def finite_signature(dialect: Dialect) -> str:
    """Return result, name and types of the finiteness check: (numbers, count)."""
    return f'i1 @{finite_name(dialect.number)}({dialect.pointer(dialect.number.type)}, i64)'


def sincos_widths(processor: Processor) -> list[int]:
    """Return the numbers of angles that one call can compute."""
    widths = [1]
    while widths[-1] < processor.lanes:
        widths.append(2 * widths[-1])
    return widths


def functions(processor: Processor, number: Number = DOUBLE) -> list[str]:
    """Return the names of all functions of the module."""
    names = [llvm_sincos.name(lanes, number) for lanes in sincos_widths(processor)]
    if processor.lanes > 1:
        names += [
            llvm_rows.gather_name(processor.lanes, number),
            llvm_rows.scatter_name(processor.lanes, number),
        ]
    return [*names, finite_name(number)]


def declarations(processor: Processor, dialect: Dialect) -> list[str]:
    """Return the declarations of all functions, for the modules that use them."""
    signatures = [llvm_sincos.signature(lanes, dialect) for lanes in sincos_widths(processor)]
    if processor.lanes > 1:
        signatures += llvm_rows.signatures(processor.lanes, dialect)
    signatures.append(finite_signature(dialect))
    return [f'declare {x}' for x in signatures]


def emit(processor: Processor, dialect: Dialect) -> str:
    """Return the module; it needs sine and cosine of libm."""
    widths = sincos_widths(processor)
    needed = {
        line: None for lanes in widths for line in llvm_sincos.declarations(lanes, dialect.number)
    }
    parts = list(needed)
    parts += [llvm_sincos.emit(lanes, dialect, processor.fused) for lanes in widths]
    if processor.lanes > 1:
        parts.append(llvm_rows.declaration(dialect))
        parts.append(llvm_rows.emit(processor.lanes, dialect))
    return '\n'.join([*parts, _finite(dialect)])


def _finite(dialect: Dialect) -> str:
    """Return the finiteness check for any count of numbers: x - x is NaN unless x is finite."""
    number = dialect.number.type
    array = dialect.pointer(number)
    kind = f'<{FINITE_WIDTH} x {number}>'
    pointer = dialect.pointer(kind)
    return f"""define i1 @{finite_name(dialect.number)}({array} %numbers, i64 %count) nounwind {{
entry:
  %end = sub i64 %count, {FINITE_WIDTH}
  br label %wide
wide:
  %i = phi i64 [ 0, %entry ], [ %i.next, %wide.body ]
  %total = phi {kind} [ zeroinitializer, %entry ], [ %total.next, %wide.body ]
  %more = icmp sle i64 %i, %end
  br i1 %more, label %wide.body, label %wide.done
wide.body:
{dialect.element('%e', number, '%numbers', '%i')}
  %p = bitcast {array} %e to {pointer}
  %x = load {kind}, {pointer} %p, align {dialect.number.size}
  %d = fsub {kind} %x, %x
  %total.next = fadd {kind} %total, %d
  %i.next = add i64 %i, {FINITE_WIDTH}
  br label %wide
wide.done:
  %flags = fcmp ord {kind} %total, %total
  %bits = bitcast <{FINITE_WIDTH} x i1> %flags to i{FINITE_WIDTH}
  %good = icmp eq i{FINITE_WIDTH} %bits, -1
  br label %single
single:
  %j = phi i64 [ %i, %wide.done ], [ %j.next, %single.body ]
  %rest = phi {number} [ 0.0, %wide.done ], [ %rest.next, %single.body ]
  %j.more = icmp slt i64 %j, %count
  br i1 %j.more, label %single.body, label %single.done
single.body:
{dialect.element('%je', number, '%numbers', '%j')}
  %y = load {number}, {array} %je
  %yd = fsub {number} %y, %y
  %rest.next = fadd {number} %rest, %yd
  %j.next = add i64 %j, 1
  br label %single
single.done:
  %last = fcmp ord {number} %rest, %rest
  %all = and i1 %good, %last
  ret i1 %all
}}
"""
