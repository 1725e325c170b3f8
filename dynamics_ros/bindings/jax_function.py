# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of JAX arrays, in ``jit``, ``vmap`` and ``grad``."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from dynamics_ros.kernels import Kernel


def jax_function(kernel: Kernel) -> Any:
    """A kernel as a function of arrays; its gradient is another kernel, made when first needed.

    Derivatives are by coordinates, of a quaternion by its four numbers, in reverse mode and of any
    order. The kernel runs on the processor, called back by XLA. Where JAX computes with float32,
    batches are computed in single precision.

    Args:
        kernel: of a robot or of ``kernels.compile``.

    Raises:
        ImportError: jax is not installed.
    """
    import jax

    @cache
    def pullback() -> Any:
        return jax_function(kernel.pullback())

    def forward(*arrays: Any) -> tuple[Any, Any]:
        return function(*arrays), arrays

    def backward(arrays: Any, weights: Any) -> tuple[Any, ...]:
        given = weights if isinstance(weights, tuple) else (weights,)
        found = pullback()(*arrays, *given)
        gradients = found if isinstance(found, tuple) else (found,)
        return tuple(_summed_to(x, y) for x, y in zip(gradients, arrays))

    function = jax.custom_vjp(partial(_called_back, kernel))
    function.defvjp(forward, backward)
    return function


def _called_back(kernel: Kernel, *arrays: Any) -> Any:
    import jax
    import jax.numpy as jnp

    given = [jnp.asarray(x) for x in arrays]
    dtype = jnp.result_type(float, *given)
    inputs = kernel.trace.arguments
    leading = [x.shape[: x.ndim - len(y.shape)] for x, y in zip(given, inputs, strict=True)]
    shape = jnp.broadcast_shapes(*leading)
    outputs = [jax.ShapeDtypeStruct(shape + x.shape, dtype) for x in kernel.trace.outputs]
    compute = kernel.float32 if dtype == np.float32 else kernel

    def callback(*values: Any) -> Any:
        found = compute(*[np.asarray(x) for x in values])
        if isinstance(found, tuple):
            return tuple(np.asarray(x, dtype) for x in found)
        return np.asarray(found, dtype)

    wanted = outputs[0] if len(outputs) == 1 else tuple(outputs)
    return jax.pure_callback(callback, wanted, *given, vmap_method='broadcast_all')


def _summed_to(gradient: Any, like: Any) -> Any:
    """What several states share gets the sum of their gradients."""
    import jax.numpy as jnp

    shape = jnp.shape(like)
    own = gradient.ndim - len(shape)
    summed = gradient.sum(axis=tuple(range(own)))
    kept = tuple(i for i, x in enumerate(shape) if x == 1 and summed.shape[i] != 1)
    return summed.sum(axis=kept, keepdims=True).astype(jnp.result_type(like))
