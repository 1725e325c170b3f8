"""The compiled entry point of a kernel as a builtin function of Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class _MethodDefinition(ctypes.Structure):
    """struct PyMethodDef."""

    _fields_ = (
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('documentation', ctypes.c_char_p),
    )


def builtin(
    address: int, slow_path: Callable[..., Any], name: str, documentation: str, keep: Any
) -> Callable[..., Any]:
    """Return a builtin function that runs machine code at an address.

    Args:
        address: a C function of METH_FASTCALL | METH_KEYWORDS.
        slow_path: called with the arguments that the machine code does not take.
        keep: what has to live as long as the builtin, such as the machine code.
    """

    # A plain Python function, which the machine code can call on every Python; the builtin owns
    # it as its self, and it owns the rest.
    def otherwise(*values: Any, **named: Any) -> Any:
        return slow_path(*values, **named)

    otherwise.__dict__['keep_alive'] = keep
    return builtin_with_self(address, otherwise, name, documentation)


def builtin_with_self(
    address: int, target: Any, name: str, documentation: str
) -> Callable[..., Any]:
    """Return a builtin function that runs machine code at an address.

    Args:
        address: a C function of METH_FASTCALL | METH_KEYWORDS.
        target: an object with attributes, what the machine code gets as its self.
    """
    definition = _MethodDefinition(
        name.encode(), address, METH_FASTCALL_KEYWORDS, documentation.encode()
    )
    target.__dict__['definition'] = definition
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )
    make = prototype(('PyCFunction_NewEx', ctypes.pythonapi))
    function: Callable[..., Any] = make(ctypes.addressof(definition), target, None)
    return function
