# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of JAX arrays, in ``jit``, ``vmap`` and ``grad``.

On the processor kernels are custom call targets of XLA, which calls a C function with a frame that
has the addresses of all arrays. The structures here are the beginnings of those of major version 0
of its public header ``xla/ffi/api/c_api.h``; minor versions only append to them.
"""

from __future__ import annotations

import ctypes
import logging
import math
import threading
from ctypes import POINTER, c_int, c_int64, c_size_t, c_void_p
from functools import cache, partial
from typing import Any

import numpy as np

from dynamics_ros.bindings import check_kernel
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, llvm_ir
from dynamics_ros.kernels.process import disk_cache

MAJOR, METADATA, INVALID_ARGUMENT = 0, 1, 3

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
            except Exception as reason:  # those of XLA are not documented; older JAX has no ffi
                text = 'XLA calls %s by pure_callback, slower: %s'
                logging.getLogger('dynamics_ros.bindings').warning(text, kernel.name, reason)
                function = None
            _targets[name] = function
        return name if _targets[name] else None


def _c_function(kernel: Kernel, dtype: np.dtype[Any]) -> Any:
    """Return the C function that XLA calls; its result is the address of an error, or None."""

    def function(given: Any) -> Any:
        frame = given[0]
        if frame.extensions and frame.extensions[0].extensions == METADATA:
            version = frame.extensions[0].metadata[0].extensions
            version.major, version.minor = MAJOR, frame.api[0].version.minor
            return None
        try:
            inputs, results = _arrays(frame.inputs, dtype), _arrays(frame.outputs, dtype)
            if dtype == np.float64:
                kernel(*inputs, out=results[0] if len(results) == 1 else tuple(results))
            else:
                for result, exact in zip(results, _as_tuple(kernel(*inputs))):
                    result[...] = exact
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


def jax_function(kernel: Kernel) -> Any:
    """A kernel as a function of JAX arrays; its gradient is a kernel, created when first needed.

    Derivatives are vector-Jacobian products (``grad``, ``vjp``, ``jacrev``), exact, of any order,
    and by coordinates: of a quaternion by its four numbers. XLA calls kernels on the processor
    through Python, with the arrays in place. Arrays on another device are copied. Kernels compute
    in double precision; if JAX computes with float32, the results are rounded.

    Args:
        kernel: a kernel of a robot or of ``kernels.compile``.

    Raises:
        ImportError: jax is not installed.
        InvalidArgumentError: the argument is not a kernel.
    """
    import jax

    check_kernel(kernel)

    @cache
    def pullback() -> Any:
        return jax_function(kernel.pullback())

    def forward(*arrays: Any) -> tuple[Any, Any]:
        return function(*arrays), arrays

    def backward(arrays: Any, weights: Any) -> tuple[Any, ...]:
        gradients = _as_tuple(pullback()(*arrays, *_as_tuple(weights)))
        return tuple(_sum_to_shape(x, y) for x, y in zip(gradients, arrays))

    def values(*arrays: Any) -> Any:
        return _call_broadcast(kernel, *arrays)

    values.__name__ = values.__qualname__ = kernel.name  # JAX uses it for compiled code
    function = jax.custom_vjp(values)
    function.defvjp(forward, backward)
    return function


def _call_broadcast(kernel: Kernel, *arrays: Any) -> Any:
    """Call a kernel with JAX arrays, whose leading axes are broadcast."""
    import jax
    import jax.numpy as jnp

    arguments = kernel.trace.arguments
    if len(arrays) != len(arguments):
        names = ', '.join(x.name for x in arguments)
        takes = f'{kernel.name}() takes {len(arguments)} arrays ({names})'
        raise TypeError(f'{takes}, got {len(arrays)}')
    converted = [jnp.asarray(x) for x in arrays]
    for x, variable in zip(converted, arguments):
        if x.shape[max(x.ndim - len(variable.shape), 0) :] != variable.shape:
            expected = ', '.join(['...', *map(str, variable.shape)])
            raise InvalidArgumentError(variable.name, f'shape {x.shape}', f'shape ({expected})')
        if x.dtype.kind == 'c':
            raise InvalidArgumentError(variable.name, f'dtype {x.dtype}', 'real numbers')
    result = jnp.result_type(float, *converted)
    dtype = jnp.dtype(np.float64 if result == np.float64 else np.float32)
    own = [x.shape for x in arguments]
    shape = jnp.broadcast_shapes(*(x.shape[: x.ndim - len(y)] for x, y in zip(converted, own)))
    inputs = [jnp.broadcast_to(x.astype(dtype), shape + y) for x, y in zip(converted, own)]
    outputs = [jax.ShapeDtypeStruct(shape + x.shape, dtype) for x in kernel.trace.outputs]
    if not outputs:
        return ()
    elsewhere = partial(_call_python, kernel, outputs)
    if name := target(kernel, dtype):
        call = jax.ffi.ffi_call(name, outputs, vmap_method='broadcast_all')
        results = jax.lax.platform_dependent(*inputs, cpu=call, default=elsewhere)
    else:
        results = elsewhere(*inputs)
    results = tuple(x.astype(result) for x in results)
    return results[0] if len(results) == 1 else results


def _call_python(kernel: Kernel, outputs: list[Any], *arrays: Any) -> Any:
    """Call a kernel through Python."""
    import jax

    def callback(*values: Any) -> list[Any]:
        results = _as_tuple(kernel(*[np.asarray(x) for x in values]))
        return [np.asarray(x, y.dtype) for x, y in zip(results, outputs)]

    return jax.pure_callback(callback, outputs, *arrays, vmap_method='broadcast_all')


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _sum_to_shape(gradient: Any, like: Any) -> Any:
    """Sum a gradient over the axes along which the input was broadcast."""
    import jax.numpy as jnp

    shape = jnp.shape(like)
    extra_axes = gradient.ndim - len(shape)
    summed = gradient.sum(axis=tuple(range(extra_axes)))
    summed_axes = tuple(i for i, x in enumerate(shape) if x == 1 and summed.shape[i] != 1)
    return summed.sum(axis=summed_axes, keepdims=True).astype(jnp.result_type(like))
