# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of JAX arrays, in ``jit``, ``vmap`` and ``grad``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dynamics_ros.bindings import check_kernel
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel


def jax_function(kernel: Kernel) -> Any:
    """A kernel as a function of JAX arrays; its gradient is a kernel, created when first needed.

    Derivatives are vector-Jacobian products (``grad``, ``vjp``, ``jacrev``), exact, of any order,
    and by coordinates: of a quaternion by its four numbers. Compiled programs call kernels on the
    processor by ``jax.pure_callback``, in some 0.5 ms: map over many states. Kernels compute in
    double precision; if JAX computes with float32, the results are rounded.

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
        return _call(kernel, arrays)

    values.__name__ = values.__qualname__ = kernel.name  # of JAX's compiled code
    function = jax.custom_vjp(values)
    function.defvjp(forward, backward)
    return function


def _call(kernel: Kernel, arrays: Sequence[Any]) -> Any:
    """Call a kernel with JAX arrays, whose leading axes are broadcast."""
    import jax
    import jax.numpy as jnp

    arguments = kernel.trace.arguments
    if len(arrays) != len(arguments):
        names = ', '.join(x.name for x in arguments)
        raise TypeError(
            f'{kernel.name}() takes {len(arguments)} arrays ({names}), got {len(arrays)}'
        )
    converted = [jnp.asarray(x) for x in arrays]
    for x, variable in zip(converted, arguments):
        if x.shape[max(x.ndim - len(variable.shape), 0) :] != variable.shape:
            expected = ', '.join(['...', *map(str, variable.shape)])
            raise InvalidArgumentError(variable.name, f'shape {x.shape}', f'shape ({expected})')
        if x.dtype.kind == 'c':
            raise InvalidArgumentError(variable.name, f'dtype {x.dtype}', 'real numbers')
    result = jnp.result_type(float, *converted)
    dtype = jnp.dtype(np.float64 if result == np.float64 else np.float32)
    own_shapes = [x.shape for x in arguments]
    shape = jnp.broadcast_shapes(
        *(x.shape[: x.ndim - len(y)] for x, y in zip(converted, own_shapes))
    )
    inputs = [jnp.broadcast_to(x.astype(dtype), shape + y) for x, y in zip(converted, own_shapes)]
    outputs = [jax.ShapeDtypeStruct(shape + x.shape, dtype) for x in kernel.trace.outputs]

    def callback(*values: Any) -> list[Any]:
        found = _as_tuple(kernel(*[np.asarray(x) for x in values]))
        return [np.asarray(x, dtype) for x in found]

    found = jax.pure_callback(callback, outputs, *inputs, vmap_method='broadcast_all')
    results = tuple(x.astype(result) for x in found)
    return results[0] if len(results) == 1 else results


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
