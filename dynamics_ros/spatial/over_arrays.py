# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decorators that let functions of vectors, quaternions and matrices also take NumPy arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, split, stack
from .scalar import Scalar
from .vector import Matrix3, Vector3

P = ParamSpec('P')
R_co = TypeVar('R_co', covariant=True)

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]
"""Unit quaternion (x, y, z, w)."""

Parameters = Sequence[Scalar]
"""The parameters of a parametrization of rotations, in the order of its ``parameters``."""

SHAPES: dict[Any, tuple[tuple[int | None, ...], Callable[[Any], Any]]] = {
    Vector3: ((3,), Vector3.of),
    Matrix3: ((3, 3), Matrix3),
    Quaternion: ((4,), tuple),
    Parameters: ((None,), tuple),
}
"""For each type: the last axes of an array of such values, and a constructor from its entries."""


class OverArrays(Protocol[P, R_co]):
    """Type of a function that also takes arrays, and then returns an array.

    A vector has the shape (..., 3), a quaternion (..., 4), a matrix (..., 3, 3), a scalar (...).
    Leading axes are broadcast. The function returns an array if at least one vector, quaternion or
    matrix among its arguments is a ``numpy.ndarray``.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: ArrayLike, **kwargs: Any) -> Array: ...


def over_arrays(function: Callable[P, R_co]) -> OverArrays[P, R_co]:
    """Decorate a function to take arrays for the parameters whose types are in `SHAPES`."""
    call: Callable[..., R_co] = function

    @functools.cache
    def signature() -> tuple[inspect.Signature, list[tuple[int, str, Any]]]:
        # Evaluated at the first call, because annotations may name types that are defined later.
        signature = inspect.signature(function, eval_str=True)
        kinds = [(name, SHAPES.get(x.annotation)) for name, x in signature.parameters.items()]
        return signature, [(i, name, kind) for i, (name, kind) in enumerate(kinds) if kind]

    @functools.wraps(function)
    def wrapper(*arguments: Any, **by_name: Any) -> Any:
        own, structured = signature()
        if by_name or len(arguments) != len(own.parameters):
            arguments = own.bind(*arguments, **by_name).args
        # Arrays as scalars do not count: they are also the components of vectors of many states.
        if not any(isinstance(arguments[i], np.ndarray) for i, _, _ in structured):
            return call(*arguments)
        converted = list(arguments)
        leading: tuple[int, ...] = ()
        for i, name, (shape, make) in structured:
            if isinstance(arguments[i], (np.ndarray, list)):
                converted[i] = make(split(arguments[i], shape, name))
                own_leading = np.shape(arguments[i])[: -len(shape)]
                leading = np.broadcast_shapes(leading, own_leading)
        return stack(call(*converted), leading)

    return cast('OverArrays[P, R_co]', wrapper)


def over_arrays_method(
    method: Callable[Concatenate[Any, P], R_co],
) -> OverArrays[P, R_co]:
    """Decorate a method like `over_arrays`; the type of the result omits ``self``."""
    return cast('OverArrays[P, R_co]', over_arrays(method))
