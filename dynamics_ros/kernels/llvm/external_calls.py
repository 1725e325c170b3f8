# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR declarations of functions of LLVM and libm that operations call."""

from __future__ import annotations

from dynamics_ros.kernels.graph.operations import OPERATIONS, Operation
from dynamics_ros.kernels.llvm.dialect import Dialect, Number, suffix, vector


def declarations(body: str, dialect: Dialect, lanes: int) -> list[str]:
    """Return declarations of the LLVM and libm functions that a body calls, and their wrappers."""
    lines = []
    number = dialect.number
    for row in OPERATIONS:
        called = _called(row)
        if (
            not called
            or f'@{called.format(suffix=suffix(lanes, number), lanes=lane_tag(lanes, number))}('
            not in body
        ):
            continue
        if 'llvm.' in called:
            kind = vector(lanes, number.type)
            intrinsic = called.format(suffix=suffix(lanes, number))
            lines.append(f'declare {kind} @{intrinsic}({kind})')
        else:
            plain = called.format(lanes=number.libm)
            operands = ', '.join([number.type] * row.arity)
            lines.append(f'declare {number.type} @{plain}({operands})')
            if lanes > 1:
                lines.append(_each_lane(plain, row.arity, lanes, number))
    return lines


def _called(row: Operation) -> str:
    """Return the format of the function name that an operation calls; '' for none."""
    calls = [line for line in row.llvm if ' call ' in line]
    return calls[0].split('@')[1].split('(')[0] if calls else ''


def lane_tag(lanes: int, number: Number) -> str:
    """Return the suffix of a libm function's wrapper for some lanes."""
    return number.libm if lanes == 1 else f'{number.libm}.{lanes}'


def _each_lane(name: str, arity: int, lanes: int, number: Number) -> str:
    """Return a function that calls a libm function once per lane."""
    kind = vector(lanes, number.type)
    arguments = ', '.join(f'{kind} %a{i}' for i in range(arity))
    lines = [f'define internal {kind} @{name}.{lanes}({arguments}) nounwind {{']
    result = 'undef'
    for lane in range(lanes):
        for i in range(arity):
            lines.append(f'  %x{i}.{lane} = extractelement {kind} %a{i}, i64 {lane}')
        values = ', '.join(f'{number.type} %x{i}.{lane}' for i in range(arity))
        lines.append(f'  %y{lane} = call {number.type} @{name}({values})')
        lines.append(
            f'  %r{lane} = insertelement {kind} {result}, {number.type} %y{lane}, i64 {lane}'
        )
        result = f'%r{lane}'
    return '\n'.join([*lines, f'  ret {kind} {result}', '}'])
