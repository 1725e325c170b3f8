# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Text of values, types and declarations in LLVM IR, and the processors that it is written for.

All pointers are written ``ptr``; LLVM before 16 gets `typed_pointers` of the text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import NamedTuple

from dynamics_ros.kernels.graph.operations import OPERATIONS, Operation


class Target(NamedTuple):
    """Vectors of the processor that code is written for.

    Attributes:
        lanes: numbers in a vector; 1 where vectors do not pay off.
        fused: whether a*b + c is one instruction with one rounding.
    """

    lanes: int = 1
    fused: bool = False


ANY_PROCESSOR = Target()


def target_of(triple: str, features: Mapping[str, bool]) -> Target:
    """Return the target for an LLVM target.

    Args:
        triple: LLVM target triple, architecture first.
        features: processor features that LLVM detected, by name.
    """
    architecture = triple.split('-', 1)[0]
    if architecture in ('aarch64', 'arm64'):
        return Target(2, True)
    if architecture == 'x86_64' and features.get('fma') and features.get('avx2'):
        wide = features.get('avx512f') and features.get('avx512dq') and features.get('avx512vl')
        return Target(8 if wide else 4, True)
    return ANY_PROCESSOR


def constant(value: float) -> str:
    """Return a constant, as an exact hexadecimal double."""
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def element_at(name: str, kind: str, array: str, index: int | str) -> str:
    """Return the instruction that makes a pointer to an element of an array."""
    return f'  {name} = getelementptr {kind}, ptr {array}, i64 {index}'


def vector(lanes: int, element: str = 'double') -> str:
    """Return the type of a vector with some lanes; one lane is a scalar."""
    return element if lanes == 1 else f'<{lanes} x {element}>'


def splat(value: str, lanes: int, element: str = 'double') -> str:
    """Return a constant repeated in every lane."""
    return value if lanes == 1 else f'<{", ".join([f"{element} {value}"] * lanes)}>'


def suffix(lanes: int) -> str:
    """Return the suffix of LLVM intrinsics for a vector with some lanes."""
    return 'f64' if lanes == 1 else f'v{lanes}f64'


def every(flag: str, lanes: int, result: str) -> list[str]:
    """Return the instructions that set a flag if it is set in every lane."""
    bits = f'bitcast {vector(lanes, "i1")} {flag} to i{lanes}'
    return [f'  {result}.b = {bits}', f'  {result} = icmp eq i{lanes} {result}.b, -1']


def libm_declarations(body: str, lanes: int) -> list[str]:
    """Return declarations of the LLVM and libm functions that a body calls, and their wrappers."""
    lines = []
    for row in OPERATIONS:
        called = _called(row)
        name = called.format(suffix=suffix(lanes), lanes=lane_tag(lanes))
        if not called or f'@{name}(' not in body:
            continue
        if 'llvm.' in called:
            kind = vector(lanes)
            lines.append(f'declare {kind} @{name}({", ".join([kind] * row.arity)})')
        else:
            plain = called.format(lanes='')
            operands = ', '.join(['double'] * row.arity)
            lines.append(f'declare double @{plain}({operands})')
            if lanes > 1:
                lines.append(_each_lane(plain, row.arity, lanes))
    return lines


def _called(row: Operation) -> str:
    """Return the format of the function name that an operation calls; '' for none."""
    calls = [line for line in row.llvm if ' call ' in line]
    return calls[0].split('@')[1].split('(')[0] if calls else ''


def lane_tag(lanes: int) -> str:
    """Return the suffix of a libm function's wrapper for some lanes."""
    return '' if lanes == 1 else f'.{lanes}'


def _each_lane(name: str, arity: int, lanes: int) -> str:
    """Return a function that calls a libm function once per lane."""
    kind = vector(lanes)
    arguments = ', '.join(f'{kind} %a{i}' for i in range(arity))
    lines = [f'define internal {kind} @{name}.{lanes}({arguments}) nounwind {{']
    result = 'undef'
    for lane in range(lanes):
        for i in range(arity):
            lines.append(f'  %x{i}.{lane} = extractelement {kind} %a{i}, i64 {lane}')
        values = ', '.join(f'double %x{i}.{lane}' for i in range(arity))
        lines.append(f'  %y{lane} = call double @{name}({values})')
        lines.append(f'  %r{lane} = insertelement {kind} {result}, double %y{lane}, i64 {lane}')
        result = f'%r{lane}'
    return '\n'.join([*lines, f'  ret {kind} {result}', '}'])


_ACCESS = re.compile(
    r'  (?P<made>%\S+ = )?(?P<what>load volatile|load|store volatile|store|getelementptr|alloca) '
    r'(?P<kind><\d+ x \w+>|\[\d+ x \w+\]|\w+)(?P<value>.*?)(?:, ptr (?P<place>[%@][\w.]+))?'
    r'(?P<rest>, (?:i64|align|!).*)?'
)


def typed_pointers(ir: str) -> str:
    """Return a module as LLVM before 16 reads it: pointers are ``i8*``, cast where they are used.

    It covers the instructions that this package writes, one a line.
    """
    lines = []
    for number, line in enumerate(ir.split('\n')):
        access = _ACCESS.fullmatch(line)
        if access is None:
            lines.append(line)
            continue
        made, what, kind, value, place, rest = access.group(*_ACCESS.groupindex)
        typed, made, rest = f'%cast.{number}', made or '', rest or ''
        if place and place[0] == '%':
            lines.append(f'  {typed} = bitcast ptr {place} to {kind}*')
            place = typed
        after = f', {kind}* {place}{rest}' if place else rest
        if what in ('getelementptr', 'alloca'):
            name = made.removesuffix(' = ')
            result = kind.partition('x ')[2].rstrip(']') if kind[0] == '[' else kind
            lines.append(f'  {name}.typed = {what} {kind}{value}{after}')
            lines.append(f'  {name} = bitcast {result}* {name}.typed to ptr')
        else:
            lines.append(f'  {made}{what} {kind}{value}{after}')
    return re.sub(r'\bptr\b', 'i8*', '\n'.join(lines)).replace('prefetch.p0(', 'prefetch.p0i8(')
