# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Memory layouts of CPython and NumPy objects that the entry point reads, checked on live objects.

The entry point reads arrays without calling the interpreter, so it has to know object layouts. The
C ABIs of CPython and NumPy fix the layouts for a given build. A probe compares them with real
objects; if it disagrees there is no entry point. Versions that the package was not tested with are
first tried in a separate process (`trial.py`).
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dynamics_ros.kernels.cpython import trial

TESTED_PYTHON = ((3, 10), (3, 13))
TESTED_NUMPY = ((1, 22), (2, 4))

# struct PyObject, PyFloatObject
OBJECT_TYPE = 8
FLOAT_VALUE = 16
# struct PyTupleObject, which has gained a field in Python 3.14
TUPLE_ITEMS = tuple.__basicsize__
# struct PyArrayObject_fields
ARRAY_DATA = 16
ARRAY_NDIM = 24
ARRAY_DIMENSIONS = 32
ARRAY_DTYPE = 56
ARRAY_FLAGS = 64
# NPY_ARRAY_C_CONTIGUOUS, ALIGNED and WRITEABLE
CONTIGUOUS_AND_ALIGNED = 0x0101
WRITEABLE = 0x0400
# Indices into the table of NumPy's C API
API_ARRAY_TYPE = 2
API_SCALAR = 60
API_NEW_FROM_DESCR = 94


class UnknownLayoutError(Exception):
    """Raised when the object layouts of this interpreter or NumPy are unknown."""


@dataclass(frozen=True)
class Addresses:
    """Addresses of objects and functions of this process, as integers."""

    array_type: int
    float_type: int
    float64_type: int
    text_type: int
    float64_dtype: int
    true_object: int
    false_object: int
    new_array: int
    new_scalar: int
    vectorcall: int
    incref: int
    decref: int
    tuple_new: int
    tuple_set_item: int
    tuple_get_item: int
    tuple_size: int
    text_compare: int


def symbol(name: str) -> str:
    """Return the symbol of an address in machine code."""
    return f'dynamics_ros_python_{name}'


_FLOAT64 = np.dtype(np.float64)


@lru_cache(maxsize=1)
def addresses() -> Addresses:
    """Return the addresses that the entry point needs.

    Raises:
        UnknownLayoutError: this interpreter's layout is unknown.
    """
    _require_kind()
    # In another process first: if a version moved a pointer, the probe itself may crash.
    problem = None if _is_tested() else trial.problem()
    if problem is not None:
        raise UnknownLayoutError(problem)
    _probe()
    try:
        return _collected()
    except (AttributeError, ImportError, ValueError) as error:
        raise UnknownLayoutError(f'a function of the interpreter is missing: {error}') from None


def _collected() -> Addresses:
    api = _numpy_api()
    python = ctypes.pythonapi
    # PyObject_Vectorcall became a function in 3.11; before, a Python function's own one will do.
    vectorcall = getattr(python, 'PyObject_Vectorcall', None) or python._PyFunction_Vectorcall
    return Addresses(
        array_type=id(np.ndarray),
        float_type=id(float),
        float64_type=id(np.float64),
        text_type=id(str),
        float64_dtype=id(_FLOAT64),
        true_object=id(True),
        false_object=id(False),
        new_array=api[API_NEW_FROM_DESCR],
        new_scalar=api[API_SCALAR],
        vectorcall=_address(vectorcall),
        incref=_address(python.Py_IncRef),
        decref=_address(python.Py_DecRef),
        tuple_new=_address(python.PyTuple_New),
        tuple_set_item=_address(python.PyTuple_SetItem),
        tuple_get_item=_address(python.PyTuple_GetItem),
        tuple_size=_address(python.PyTuple_Size),
        text_compare=_address(python.PyUnicode_Compare),
    )


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _is_tested() -> bool:
    """Return whether the package was tested with these versions of Python and NumPy."""
    numpy = tuple(int(x) for x in re.findall(r'\d+', np.__version__)[:2])
    return (
        TESTED_PYTHON[0] <= sys.version_info[:2] <= TESTED_PYTHON[1]
        and TESTED_NUMPY[0] <= numpy <= TESTED_NUMPY[1]
        and not hasattr(sys, 'gettotalrefcount')  # a debug build
    )


def _require_kind() -> None:
    known = {
        'interpreter': sys.implementation.name == 'cpython',
        'free threading': not sysconfig.get_config_var('Py_GIL_DISABLED'),
        'pointer size': ctypes.sizeof(ctypes.c_void_p) == 8,
        'byte order': sys.byteorder == 'little',
    }
    unknown = [name for name, good in known.items() if not good]
    if unknown:
        raise UnknownLayoutError(f'unknown {", ".join(unknown)}')


def _numpy_api() -> Any:
    """Return NumPy's table of C functions as an array of addresses."""
    # NumPy 2 has renamed its core.
    package = 'numpy._core' if np.__version__.startswith('2.') else 'numpy.core'
    core = importlib.import_module(f'{package}._multiarray_umath')
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table = prototype(('PyCapsule_GetPointer', ctypes.pythonapi))(core._ARRAY_API, None)
    api = (ctypes.c_size_t * (API_NEW_FROM_DESCR + 1)).from_address(table)
    if api[API_ARRAY_TYPE] != id(np.ndarray):
        raise UnknownLayoutError("NumPy's table of C functions is unknown")
    return api


def _probe() -> None:
    """Compare the known layouts with real objects."""
    matrix = np.arange(6.0).reshape(2, 3)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    seen = []
    for array in (matrix, matrix.T, matrix[:, 1:], frozen, np.empty((4, 0, 2)), np.array(1.0)):
        base = id(array)
        dimensions = _read(ctypes.c_size_t, base + ARRAY_DIMENSIONS)
        shape = tuple(_read(ctypes.c_ssize_t, dimensions + 8 * i) for i in range(array.ndim))
        flags = array.flags
        expected = flags.c_contiguous * 0x1 + flags.aligned * 0x100 + flags.writeable * WRITEABLE
        seen += [
            _read(ctypes.c_size_t, base + OBJECT_TYPE) == id(np.ndarray),
            _read(ctypes.c_size_t, base + ARRAY_DATA) == array.ctypes.data,
            _read(ctypes.c_int, base + ARRAY_NDIM) == array.ndim,
            shape == array.shape,
            _read(ctypes.c_size_t, base + ARRAY_DTYPE) == id(_FLOAT64) == id(array.dtype),
            _read(ctypes.c_int, base + ARRAY_FLAGS) & (CONTIGUOUS_AND_ALIGNED | WRITEABLE)
            == expected,
        ]
    for number in (2.5, np.float64(2.5)):
        seen.append(_read(ctypes.c_size_t, id(number) + OBJECT_TYPE) == id(type(number)))
        seen.append(_read(ctypes.c_double, id(number) + FLOAT_VALUE) == 2.5)
    three = (matrix, frozen, seen)
    for i, item in enumerate(three):
        seen.append(_read(ctypes.c_size_t, id(three) + TUPLE_ITEMS + 8 * i) == id(item))
    if not all(seen):
        raise UnknownLayoutError('objects are laid out in an unknown way')


def _read(kind: Any, address: int) -> Any:
    return kind.from_address(address).value
