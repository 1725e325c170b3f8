# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Text of values and types in LLVM IR."""

from __future__ import annotations

import ctypes
import struct
from typing import NamedTuple


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
