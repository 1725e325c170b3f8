# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Registration of kernels as custom call targets of XLA programs on the processor.

XLA calls a C function with a frame that has the addresses of all arrays. The structures here are
the beginnings of those of major version 0 of its public header ``xla/ffi/api/c_api.h``; minor
versions only append to them.
"""

from __future__ import annotations

import ctypes
import logging
import math
import threading
from ctypes import POINTER, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy as np

from dynamics_ros.kernels import Kernel, llvm_ir
from dynamics_ros.kernels.process import disk_cache

MAJOR, METADATA, INVALID_ARGUMENT = 0, 1, 3

_log = logging.getLogger('dynamics_ros.bindings')

_targets: dict[str, Any] = {}
"""C functions of registered targets by name; None if XLA has rejected one.

They are kept until the process ends, because compiled XLA programs may call them at any time.
"""

_registering = threading.Lock()


def _structure(name: str, **fields: Any) -> Any:
    """A structure of the header, which begins with its size and a list of extensions."""
    head = {'size': c_size_t, 'extensions': c_void_p}
    return type(name, (ctypes.Structure,), {'_fields_': [*(head | fields).items()]})


Version = _structure('XLA_FFI_Api_Version', major=c_int, minor=c_int)
Metadata = _structure('XLA_FFI_Metadata', extensions=Version, traits=c_int)
Query = _structure(
    'XLA_FFI_Metadata_Extension', extensions=c_int, next=c_void_p, metadata=POINTER(Metadata)
)
Error = _structure('XLA_FFI_Error_Create_Args', text=ctypes.c_char_p, code=c_int)
Api = _structure(
    'XLA_FFI_Api',
    version=Version,
    internal=c_void_p,
    create_error=ctypes.CFUNCTYPE(c_void_p, POINTER(Error)),
)
Buffer = _structure(
    'XLA_FFI_Buffer', dtype=c_int, data=c_void_p, rank=c_int64, shape=POINTER(c_int64)
)
Arrays = _structure('XLA_FFI_Args', count=c_int64, types=c_void_p, buffers=POINTER(POINTER(Buffer)))
Frame = _structure(
    'XLA_FFI_CallFrame',
    extensions=POINTER(Query),
    api=POINTER(Api),
    context=c_void_p,
    stage=c_int,
    inputs=Arrays,
    outputs=Arrays,
)


def target(kernel: Kernel, dtype: Any) -> str | None:
    """Register a kernel as a target on the processor; return its name, None if XLA rejects it.

    The name is derived from the computation, so a program in JAX's disk cache finds the same
    function in another process. Arrays have the shape (..., input shape) with the same leading
    axes, in row-major order.

    Args:
        kernel: the kernel.
        dtype: data type of all arrays, float64 or float32.
    """
    import jax

    bound = b'' if kernel.bound is None else kernel.bound.tobytes()
    content = kernel.trace.origin or llvm_ir(kernel.trace)
    name = f'dynamics_ros_{disk_cache.key(content, bound.hex(), np.dtype(dtype).name)[:32]}'
    with _registering:
        if name not in _targets:
            function = _c_function(kernel, np.dtype(dtype))
            try:
                capsule = jax.ffi.pycapsule(ctypes.cast(function, c_void_p))
                jax.ffi.register_ffi_target(name, capsule, platform='cpu')
            except Exception as reason:  # the exceptions of XLA are not documented
                _log.warning('XLA calls %s by pure_callback, slower: %s', kernel.name, reason)
                function = None
            _targets[name] = function
        return name if _targets[name] else None


def _c_function(kernel: Kernel, dtype: np.dtype[Any]) -> Any:
    """Return the C function that XLA calls; its result is the address of an error, or None."""
    compute = kernel if dtype == np.float64 else kernel.float32

    def function(given: Any) -> Any:
        frame = given[0]
        if frame.extensions and frame.extensions[0].extensions == METADATA:
            version = frame.extensions[0].metadata[0].extensions
            version.major, version.minor = MAJOR, frame.api[0].version.minor
            return None
        try:
            results = _arrays(frame.outputs, dtype)
            out = results[0] if len(results) == 1 else tuple(results)
            compute(*_arrays(frame.inputs, dtype), out=out)
        except BaseException as reason:  # exceptions must not propagate through machine code
            text = f'{kernel.name}: {reason}'.encode(errors='replace')
            error = Error(ctypes.sizeof(Error), None, text, INVALID_ARGUMENT)
            return frame.api[0].create_error(error)
        return None

    return ctypes.CFUNCTYPE(c_void_p, POINTER(Frame))(function)


def _arrays(given: Any, dtype: np.dtype[Any]) -> list[Any]:
    """Return the arrays of a frame, without copies."""
    arrays = []
    for pointer in given.buffers[: given.count]:
        buffer = pointer[0]
        shape = buffer.shape[: buffer.rank]
        size = math.prod(shape) * dtype.itemsize
        content = (ctypes.c_char * size).from_address(buffer.data or 0)
        arrays.append(np.ndarray(shape, dtype, content))
    return arrays
