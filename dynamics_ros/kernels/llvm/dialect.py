# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How values and types are written in LLVM IR."""

from __future__ import annotations

import struct
from typing import NamedTuple


class Dialect(NamedTuple):
    """How the LLVM at hand writes pointers: ``ptr`` from 16 on, ``double*`` before.

    Attributes:
        opaque_pointers: whether it is ``ptr``.
    """

    opaque_pointers: bool

    def pointer(self, pointee: str) -> str:
        """Return the type of a pointer."""
        return 'ptr' if self.opaque_pointers else f'{pointee}*'

    def element(self, name: str, kind: str, array: str, index: int | str) -> str:
        """Return the instruction that makes a pointer to an element of an array."""
        return f'  {name} = getelementptr {kind}, {self.pointer(kind)} {array}, i64 {index}'


def constant(value: float) -> str:
    """Return a double constant; the bits in hexadecimal are exact."""
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def vector(lanes: int, element: str = 'double') -> str:
    """Return the type of so many numbers side by side; one of them is a scalar."""
    return element if lanes == 1 else f'<{lanes} x {element}>'


def splat(value: str, lanes: int, element: str = 'double') -> str:
    """Return a constant repeated in every lane."""
    return value if lanes == 1 else f'<{", ".join([f"{element} {value}"] * lanes)}>'


def suffix(lanes: int) -> str:
    """Return how LLVM ends the name of an intrinsic function of doubles."""
    return 'f64' if lanes == 1 else f'v{lanes}f64'


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
