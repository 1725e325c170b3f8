# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The functions that all compiled kernels share, as one module of LLVM IR."""

from __future__ import annotations

from dynamics_ros.kernels.llvm import rows as llvm_rows
from dynamics_ros.kernels.llvm import sincos as llvm_sincos
from dynamics_ros.kernels.llvm.dialect import Dialect
from dynamics_ros.kernels.llvm.processor import Processor

FINITE = 'dynamics_ros_finite'
FINITE_WIDTH = 8


def finite_signature(dialect: Dialect) -> str:
    """Return result, name and types: (numbers, how many); whether all are finite."""
    return f'i1 @{FINITE}({dialect.pointer("double")}, i64)'


def sincos_widths(processor: Processor) -> list[int]:
    """Return the numbers of angles that one call can take."""
    widths = [1]
    while widths[-1] < processor.lanes:
        widths.append(2 * widths[-1])
    return widths


def functions(processor: Processor) -> list[str]:
    """Return the names of all functions of the module."""
    names = [llvm_sincos.name(lanes) for lanes in sincos_widths(processor)]
    if processor.lanes > 1:
        names += [llvm_rows.gather_name(processor.lanes), llvm_rows.scatter_name(processor.lanes)]
    return [*names, FINITE]


def declarations(processor: Processor, dialect: Dialect) -> list[str]:
    """Return the declarations of all functions, for the modules that use them."""
    signatures = [llvm_sincos.signature(lanes, dialect) for lanes in sincos_widths(processor)]
    if processor.lanes > 1:
        signatures += llvm_rows.signatures(processor.lanes, dialect)
    signatures.append(finite_signature(dialect))
    return [f'declare {x}' for x in signatures]


def emit(processor: Processor, dialect: Dialect) -> str:
    """Return the module; it needs ``sin`` and ``cos`` of libm."""
    widths = sincos_widths(processor)
    needed = {line: None for lanes in widths for line in llvm_sincos.declarations(lanes)}
    parts = list(needed)
    parts += [llvm_sincos.emit(lanes, dialect, processor.fused) for lanes in widths]
    if processor.lanes > 1:
        parts.append(llvm_rows.declaration(dialect))
        parts.append(llvm_rows.emit(processor.lanes, dialect))
    return '\n'.join([*parts, _finite(dialect)])


def _finite(dialect: Dialect) -> str:
    """Return the function over any number of doubles: x - x is NaN unless x is finite."""
    double = dialect.pointer('double')
    kind = f'<{FINITE_WIDTH} x double>'
    pointer = dialect.pointer(kind)
    return f"""define i1 @{FINITE}({double} %numbers, i64 %count) nounwind {{
entry:
  %end = sub i64 %count, {FINITE_WIDTH}
  br label %wide
wide:
  %i = phi i64 [ 0, %entry ], [ %i.next, %wide.body ]
  %total = phi {kind} [ zeroinitializer, %entry ], [ %total.next, %wide.body ]
  %more = icmp sle i64 %i, %end
  br i1 %more, label %wide.body, label %wide.done
wide.body:
{dialect.element('%e', 'double', '%numbers', '%i')}
  %p = bitcast {double} %e to {pointer}
  %x = load {kind}, {pointer} %p, align 8
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
  %rest = phi double [ 0.0, %wide.done ], [ %rest.next, %single.body ]
  %j.more = icmp slt i64 %j, %count
  br i1 %j.more, label %single.body, label %single.done
single.body:
{dialect.element('%je', 'double', '%numbers', '%j')}
  %y = load double, {double} %je
  %yd = fsub double %y, %y
  %rest.next = fadd double %rest, %yd
  %j.next = add i64 %j, 1
  br label %single
single.done:
  %last = fcmp ord double %rest, %rest
  %all = and i1 %good, %last
  ret i1 %all
}}
"""
