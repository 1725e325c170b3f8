# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of JAX arrays, in ``jit``, ``vmap`` and ``grad``."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from dynamics_ros.bindings.checked import check_kernel
from dynamics_ros.bindings.xla_target import target
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel


def jax_function(kernel: Kernel, mode: str = 'reverse') -> Any:
    """A kernel as a function of JAX arrays; derivatives are kernels, created when first needed.

    Derivatives are exact, of any order, and by coordinates: of a quaternion by its four numbers.
    XLA calls kernels on the processor through Python, with the arrays in place. Arrays on another
    device are copied. If JAX computes with float32, batches are computed in single precision.

    Args:
        kernel: a kernel of a robot or of ``kernels.compile``.
        mode: ``'reverse'``: differentiated by vector-Jacobian products (``grad``, ``vjp``,
            ``jacrev``). ``'forward'``: differentiated by whole Jacobians, for forward mode
            (``jvp``, ``jacfwd``, ``hessian``) and reverse mode.

    Raises:
        ImportError: jax is not installed.
        InvalidArgumentError: the mode is unknown, or the argument is not a kernel.
    """
    import jax  # noqa: F401  fails early if jax is not installed

    check_kernel(kernel)
    if mode not in MODES:
        raise InvalidArgumentError('mode', repr(mode), f'one of {tuple(MODES)}')
    return MODES[mode](kernel)


def _reverse(kernel: Kernel) -> Any:
    """JAX function of a kernel that is differentiated by the kernel's pullback."""
    import jax

    @cache
    def pullback() -> Any:
        return _reverse(kernel.pullback())

    def forward(*arrays: Any) -> tuple[Any, Any]:
        return function(*arrays), arrays

    def backward(arrays: Any, weights: Any) -> tuple[Any, ...]:
        gradients = _as_tuple(pullback()(*arrays, *_as_tuple(weights)))
        return tuple(_sum_to_shape(x, y) for x, y in zip(gradients, arrays))

    function = jax.custom_vjp(_without_derivatives(kernel))
    function.defvjp(forward, backward)
    return function


def _forward(kernel: Kernel) -> Any:
    """JAX function of a kernel that is differentiated by Jacobians."""
    import jax
    import jax.numpy as jnp

    names = [x.name for x in kernel.trace.arguments]
    ranks = [len(x.shape) for x in kernel.trace.arguments]

    @cache
    def jacobian(output: str, by: str) -> Any:
        return _forward(kernel.derivative(by, output))

    def tangent(arrays: Any, moved: Any) -> tuple[Any, Any]:
        values = function(*arrays)
        slopes = []
        for output, value in zip(kernel.trace.outputs, _as_tuple(values), strict=True):
            total = jnp.zeros_like(value)
            for name, rank, direction in zip(names, ranks, moved, strict=True):
                J = jacobian(output.name, name)(*arrays)
                own = tuple(range(-rank, 0))
                leading = direction.shape[: direction.ndim - rank]
                middle = (1,) * len(output.shape)
                along = direction.reshape(leading + middle + direction.shape[len(leading) :])
                total = total + (J * along).sum(axis=own)
            slopes.append(total.astype(value.dtype))
        return values, tuple(slopes) if isinstance(values, tuple) else slopes[0]

    function = jax.custom_jvp(_without_derivatives(kernel))
    function.defjvp(tangent)
    return function


MODES = {'reverse': _reverse, 'forward': _forward}


def _without_derivatives(kernel: Kernel) -> Any:
    """Function of a kernel without derivatives; JAX uses its name for compiled code."""

    def function(*arrays: Any) -> Any:
        return _call_broadcast(kernel, *arrays)

    function.__name__ = function.__qualname__ = kernel.name
    return function


def _call_broadcast(kernel: Kernel, *arrays: Any) -> Any:
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
    name = target(kernel, dtype) if outputs else None
    through_python = partial(_call_python, kernel, outputs)
    if name is None:
        results = through_python(*inputs)
    else:
        call = jax.ffi.ffi_call(name, outputs, vmap_method='broadcast_all')
        results = jax.lax.platform_dependent(*inputs, cpu=call, default=through_python)
    results = tuple(x.astype(result) for x in results)
    return results[0] if len(results) == 1 else results


def _call_python(kernel: Kernel, outputs: list[Any], *arrays: Any) -> Any:
    """Call a kernel through Python."""
    import jax

    compute = kernel if outputs and outputs[0].dtype == np.float64 else kernel.float32

    def callback(*values: Any) -> list[Any]:
        results = _as_tuple(compute(*[np.asarray(x) for x in values]))
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
