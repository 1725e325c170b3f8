# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled entry point of a kernel as a builtin function of Python.

A builtin refers to its definition (a struct PyMethodDef with its texts) without owning it, and the
machine code reads what the builtin's self holds. All of that has to outlive the builtin in whatever
order the cyclic collector takes things apart: the self is a tuple, which the collector follows and
cannot clear, of bytes and plain arrays, tokens among them, which it does not see.
"""

from __future__ import annotations

import ctypes
import inspect
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002

DEFINITION = struct.Struct('PPiP')
"""struct PyMethodDef: name, function, flags, documentation."""

OUT = sys.intern('out')
"""The keyword that a kernel takes."""

# Places in the self of a builtin, where machine code finds them.
SLOW_PATH, KEYWORD, TABLE = range(3)


class MachineCall(tuple[Any, ...]):
    """What the machine code of a builtin gets as its self, and what has to live as long.

    Its items: the Python callable for what the machine code does not take, the name of the keyword
    that it takes (None for none), its table (None where it needs none), what to stand for in a
    pickle (None where there is nothing), and what else is kept.
    """

    __slots__ = ()

    def __reduce__(self) -> Any:
        # A builtin is pickled as an attribute of its self: as that of the object it stands for.
        owner = self[TABLE + 1]
        if owner is None:
            raise TypeError('machine code cannot be pickled')
        return _itself, (owner,)


def _itself(value: Any) -> Any:
    return value


def builtin(
    address: int,
    slow_path: Callable[..., Any],
    name: str,
    documentation: str,
    *keep: Any,
    keyword: str | None = None,
    table: Any = None,
    owner: Any = None,
) -> Callable[..., Any]:
    """Return a builtin function that runs machine code at an address.

    Args:
        address: a C function of METH_FASTCALL | METH_KEYWORDS.
        slow_path: called with the arguments that the machine code does not take.
        keep: what has to live as long as the builtin: tokens and plain arrays.
        keyword: the one that the machine code takes.
        table: a plain array that the machine code reads.
        owner: the object whose attribute ``name`` a copy of the builtin is to be.
    """

    # A plain Python function, which the machine code can call on every Python.
    def otherwise(*values: Any, **named: Any) -> Any:
        return slow_path(*values, **named)

    texts = (name.encode(), documentation.encode())
    definition = DEFINITION.pack(
        _address(texts[0]), address, METH_FASTCALL_KEYWORDS, _address(texts[1])
    )
    target = MachineCall((otherwise, keyword, table, owner, definition, texts, *keep))
    function: Callable[..., Any] = _maker()(_address(definition), target, None)
    return function


@lru_cache(maxsize=1)
def _maker() -> Callable[..., Any]:
    """Return what makes a builtin of a definition, its self and no module."""
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )
    return prototype(('PyCFunction_NewEx', ctypes.pythonapi))


def like_method(
    address: int, method: Callable[..., Any], *keep: Any, table: Any = None
) -> Callable[..., Any]:
    """Return a builtin in the place of a bound method, which is its slow path.

    It shows the method's signature and documentation, and is pickled as it.

    Args:
        address, keep, table: as for ``builtin``, whose keyword is ``out``.
    """
    function, owner = method.__func__, method.__self__  # type: ignore[attr-defined]
    documentation = documentation_of(function)
    name = function.__name__
    return builtin(
        address, method, name, documentation, *keep, keyword=OUT, table=table, owner=owner
    )


def _address(text: bytes) -> int:
    """Return where the characters are."""
    return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0


@lru_cache(maxsize=256)
def documentation_of(function: Callable[..., Any]) -> str:
    """Return what makes a builtin show the signature and documentation of a method.

    Args:
        function: the method as its class has it.
    """
    shown = str(plain_signature(function).replace(return_annotation=inspect.Signature.empty))
    name = function.__name__
    return f'{name}{shown.replace("(self", "($self", 1)}\n--\n\n{function.__doc__ or ""}'


def plain_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return a signature without annotations, which is what a builtin can show."""
    signature = inspect.signature(function)
    plain = [x.replace(annotation=inspect.Parameter.empty) for x in signature.parameters.values()]
    return inspect.Signature(plain)
