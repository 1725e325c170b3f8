# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How values and types are written in LLVM IR."""

from __future__ import annotations

import ctypes
import struct
from typing import NamedTuple


class Number(NamedTuple):
    """The kind of number that code computes with.

    Attributes:
        type: what LLVM calls it.
        size: in bytes.
        libm: what the names of its functions in libm end in.
    """

    type: str
    size: int
    libm: str

    @property
    def suffix(self) -> str:
        """How LLVM ends the name of an intrinsic function of one of them."""
        return f'f{8 * self.size}'

    @property
    def whole(self) -> str:
        """The integer of as many bits."""
        return f'i{8 * self.size}'


DOUBLE = Number('double', 8, '')
SINGLE = Number('float', 4, 'f')


class Dialect(NamedTuple):
    """How values are written for the LLVM at hand, and with which numbers it computes.

    Attributes:
        opaque_pointers: whether pointers are ``ptr``, as from 16 on; ``double*`` before.
        number: that the code computes with.
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
    """Return a constant; the bits of the nearest number, as a double in hexadecimal, are exact."""
    if number is SINGLE:
        value = ctypes.c_float(value).value
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def vector(lanes: int, element: str = 'double') -> str:
    """Return the type of so many numbers side by side; one of them is a scalar."""
    return element if lanes == 1 else f'<{lanes} x {element}>'


def splat(value: str, lanes: int, element: str = 'double') -> str:
    """Return a constant repeated in every lane."""
    return value if lanes == 1 else f'<{", ".join([f"{element} {value}"] * lanes)}>'


def suffix(lanes: int, number: Number = DOUBLE) -> str:
    """Return how LLVM ends the name of an intrinsic function of so many numbers."""
    return number.suffix if lanes == 1 else f'v{lanes}{number.suffix}'


class Writer:
    """Writes a function line after line.

    Attributes:
        lines: so far.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def emit(self, text: str) -> str:
        """Write a line that computes a value, and return the name of that."""
        self._count += 1
        self.lines.append(f'  %t{self._count} = {text}')
        return f'%t{self._count}'
