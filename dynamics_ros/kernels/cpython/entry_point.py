# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled entry points of kernels as builtin functions of Python.

A builtin refers to its definition (a struct PyMethodDef and its texts) without owning it, and the
machine code reads the builtin's self. Both must outlive the builtin in whatever order the cyclic
garbage collector clears objects. The self is therefore a tuple, which the collector traverses but
cannot clear, of bytes and plain arrays, which the collector does not track.
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
"""The only keyword argument of a kernel."""

# Indices into the self of a builtin, which machine code reads.
SLOW_PATH, KEYWORD, TABLE = range(3)


class MachineCall(tuple[Any, ...]):
    """Self of a builtin: holds what its machine code reads and must outlive it.

    Its items: the Python callable for arguments that the machine code does not take, the name of
    the
    accepted keyword (None for none), the table (None if not needed), the object that represents the
    builtin in a pickle (None for none), and other objects to keep alive.
    """

    __slots__ = ()

    def __reduce__(self) -> Any:
        # A builtin is pickled as an attribute of its self; let it be an attribute of the owner
        # instead.
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
        keep: objects that must live as long as the builtin: tokens and plain arrays.
        keyword: name of the keyword argument that the machine code takes.
        table: a plain array that the machine code reads.
        owner: a copy of the builtin becomes the attribute ``name`` of this object.
    """

    # A plain Python function, because machine code can call it on every Python version.
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
    """Return the C function that makes a builtin of a definition, its self and no module."""
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )
    return prototype(('PyCFunction_NewEx', ctypes.pythonapi))


def like_method(
    address: int, method: Callable[..., Any], *keep: Any, table: Any = None
) -> Callable[..., Any]:
    """Return a builtin that replaces a bound method and falls back to it.

    It shows the method's signature and documentation, and is pickled as the method.

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
    """Return the address of a bytes object's characters."""
    return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0


@lru_cache(maxsize=256)
def documentation_of(function: Callable[..., Any]) -> str:
    """Return a docstring that makes a builtin show a method's signature and documentation.

    Args:
        function: the method as an attribute of its class.
    """
    shown = str(plain_signature(function).replace(return_annotation=inspect.Signature.empty))
    name = function.__name__
    return f'{name}{shown.replace("(self", "($self", 1)}\n--\n\n{function.__doc__ or ""}'


def plain_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return a signature without annotations, which builtins cannot show."""
    signature = inspect.signature(function)
    plain = [x.replace(annotation=inspect.Parameter.empty) for x in signature.parameters.values()]
    return inspect.Signature(plain)
