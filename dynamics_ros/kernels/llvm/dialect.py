# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Text of values, types and declarations in LLVM IR, and the processors that it is written for."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from typing import NamedTuple

from dynamics_ros.kernels.graph.operations import OPERATIONS, Operation


class Number(NamedTuple):
    """Floating-point format that code computes with.

    Attributes:
        type: LLVM type.
        size: size [bytes].
        libm: suffix of libm function names.
    """

    type: str
    size: int
    libm: str

    @property
    def suffix(self) -> str:
        """Suffix of LLVM intrinsics for this type."""
        return f'f{8 * self.size}'

    @property
    def whole(self) -> str:
        """LLVM integer type of the same size."""
        return f'i{8 * self.size}'


DOUBLE = Number('double', 8, '')
SINGLE = Number('float', 4, 'f')


class Dialect(NamedTuple):
    """Syntax of the installed LLVM, and the number format of the code.

    Attributes:
        opaque_pointers: whether pointers are ``ptr``, as from LLVM 16 on; ``double*`` before.
        number: number format of the code.
    """

    opaque_pointers: bool
    number: Number = DOUBLE

    def pointer(self, pointee: str) -> str:
        """Return the type of a pointer."""
        return 'ptr' if self.opaque_pointers else f'{pointee}*'

    def element(self, name: str, kind: str, array: str, index: int | str) -> str:
        """Return the instruction that makes a pointer to an element of an array."""
        return f'  {name} = getelementptr {kind}, {self.pointer(kind)} {array}, i64 {index}'


def constant(value: float, number: Number = DOUBLE) -> str:
    """Return a constant: the nearest number, as an exact hexadecimal double."""
    if number is SINGLE:
        value = ctypes.c_float(value).value
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def vector(lanes: int, element: str = 'double') -> str:
    """Return the type of a vector with some lanes; one lane is a scalar."""
    return element if lanes == 1 else f'<{lanes} x {element}>'


def splat(value: str, lanes: int, element: str = 'double') -> str:
    """Return a constant repeated in every lane."""
    return value if lanes == 1 else f'<{", ".join([f"{element} {value}"] * lanes)}>'


def suffix(lanes: int, number: Number = DOUBLE) -> str:
    """Return the suffix of LLVM intrinsics for a vector with some lanes."""
    return number.suffix if lanes == 1 else f'v{lanes}{number.suffix}'


class Writer:
    """Writer of a function, line by line.

    Attributes:
        lines: the lines so far.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def emit(self, text: str) -> str:
        """Append a line that computes a value; return the name of the value."""
        self._count += 1
        self.lines.append(f'  %t{self._count} = {text}')
        return f'%t{self._count}'


class Processor(NamedTuple):
    """Vector width of a processor, and whether it has fused multiply-add.

    Attributes:
        lanes: numbers in a vector, doubles unless stated otherwise; 1 where vectors do not pay off.
        fused: whether a*b + c is one instruction with one rounding.
    """

    lanes: int
    fused: bool


PLAIN = Processor(1, False)
"""Baseline that any processor supports."""


def of_target(triple: str, features: Mapping[str, bool]) -> Processor:
    """Return the features of an LLVM target.

    Args:
        triple: LLVM target triple, architecture first.
        features: processor features that LLVM detected, by name.
    """
    architecture = triple.split('-', 1)[0]
    if architecture in ('aarch64', 'arm64'):
        return Processor(2, True)
    if architecture == 'x86_64' and features.get('fma') and features.get('avx2'):
        wide = features.get('avx512f') and features.get('avx512dq') and features.get('avx512vl')
        return Processor(8 if wide else 4, True)
    return PLAIN


def libm_declarations(body: str, dialect: Dialect, lanes: int) -> list[str]:
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
