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
    XLA calls the machine code on the processor, in one thread. For arrays on another device, and
    without machine code, it calls Python, which takes longer. If JAX computes with float32, machine
    code computes in single precision.

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


def _in_reverse(kernel: Kernel) -> Any:
    """JAX function of a kernel that is differentiated by the kernel's pullback."""
    import jax

    @cache
    def pullback() -> Any:
        return _in_reverse(kernel.pullback())

    def forward(*arrays: Any) -> tuple[Any, Any]:
        return function(*arrays), arrays

    def backward(arrays: Any, weights: Any) -> tuple[Any, ...]:
        found = _as_tuple(pullback()(*arrays, *_as_tuple(weights)))
        return tuple(_summed_to(x, y) for x, y in zip(found, arrays))

    function = jax.custom_vjp(_named(kernel))
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

    function = jax.custom_jvp(_named(kernel))
    function.defjvp(tangent)
    return function


MODES = {'reverse': _in_reverse, 'forward': _forward}


def _named(kernel: Kernel) -> Any:
    """Function of a kernel without derivatives; JAX uses its name for compiled code."""

    def function(*arrays: Any) -> Any:
        return _called(kernel, *arrays)

    function.__name__ = function.__qualname__ = kernel.name
    return function


def _called(kernel: Kernel, *arrays: Any) -> Any:
    """Call a kernel with JAX arrays, whose leading axes are broadcast."""
    import jax
    import jax.numpy as jnp

    taken = kernel.trace.arguments
    if len(arrays) != len(taken):
        names = ', '.join(x.name for x in taken)
        raise TypeError(f'{kernel.name}() takes {len(taken)} arrays ({names}), got {len(arrays)}')
    given = [jnp.asarray(x) for x in arrays]
    for x, variable in zip(given, taken):
        if x.shape[max(x.ndim - len(variable.shape), 0) :] != variable.shape:
            expected = ', '.join(['...', *map(str, variable.shape)])
            raise InvalidArgumentError(variable.name, f'shape {x.shape}', f'shape ({expected})')
        if x.dtype.kind == 'c':
            raise InvalidArgumentError(variable.name, f'dtype {x.dtype}', 'real numbers')
    result = jnp.result_type(float, *given)
    dtype = jnp.dtype(np.float64 if result == np.float64 else np.float32)
    own = [x.shape for x in taken]
    shape = jnp.broadcast_shapes(*(x.shape[: x.ndim - len(y)] for x, y in zip(given, own)))
    inputs = [jnp.broadcast_to(x.astype(dtype), shape + y) for x, y in zip(given, own)]
    outputs = [jax.ShapeDtypeStruct(shape + x.shape, dtype) for x in kernel.trace.outputs]
    known_as = target(kernel, dtype)
    through_python = partial(_called_back, kernel, outputs)
    if known_as is None:
        found = through_python(*inputs)
    else:
        call = jax.ffi.ffi_call(known_as, outputs, vmap_method='broadcast_all')
        found = jax.lax.platform_dependent(*inputs, cpu=call, default=through_python)
    found = tuple(x.astype(result) for x in found)
    return found[0] if len(found) == 1 else found


def _called_back(kernel: Kernel, outputs: list[Any], *arrays: Any) -> Any:
    """Call a kernel through Python."""
    import jax

    compute = kernel if outputs and outputs[0].dtype == np.float64 else kernel.float32

    def callback(*values: Any) -> list[Any]:
        found = _as_tuple(compute(*[np.asarray(x) for x in values]))
        return [np.asarray(x, y.dtype) for x, y in zip(found, outputs)]

    return jax.pure_callback(callback, outputs, *arrays, vmap_method='broadcast_all')


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _summed_to(gradient: Any, like: Any) -> Any:
    """Sum a gradient over the axes along which the input was broadcast."""
    import jax.numpy as jnp

    shape = jnp.shape(like)
    own = gradient.ndim - len(shape)
    summed = gradient.sum(axis=tuple(range(own)))
    kept = tuple(i for i, x in enumerate(shape) if x == 1 and summed.shape[i] != 1)
    return summed.sum(axis=kept, keepdims=True).astype(jnp.result_type(like))
