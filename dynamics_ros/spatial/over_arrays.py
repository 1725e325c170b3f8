"""Lets a function of vectors, quaternions and matrices take NumPy arrays of them as well."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, split, stack
from .scalar import Scalar
from .vector import Matrix3, Quaternion, Vector3

P = ParamSpec('P')
R_co = TypeVar('R_co', covariant=True)

Parameters = Sequence[Scalar]
"""The numbers of a parametrization, in its order."""

SHAPES: dict[Any, tuple[tuple[int | None, ...], Callable[[Any], Any]]] = {
    Vector3: ((3,), Vector3.of),
    Matrix3: ((3, 3), Matrix3),
    Quaternion: ((4,), tuple),
    Parameters: ((None,), tuple),
}
"""Shape of the array that stands for a type, and how the type is made of its entries."""


class OverArrays(Protocol[P, R_co]):
    """A function that also takes arrays, and then returns an array.

    A vector is (..., 3), a quaternion (..., 4), a matrix (..., 3, 3), a scalar (...). Leading axes
    broadcast. Arrays are told by being ``numpy.ndarray``.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: ArrayLike, **kwargs: Any) -> Array: ...


def over_arrays(function: Callable[P, R_co]) -> OverArrays[P, R_co]:
    """Let a function take arrays, by the types of its parameters (`SHAPES`)."""
    kinds = [
        (name, SHAPES.get(parameter.annotation))
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items()
    ]

    @functools.wraps(function)
    def wrapper(*arguments: Any, **others: Any) -> Any:
        if not any(isinstance(x, np.ndarray) for x in arguments):
            return function(*arguments, **others)
        converted = []
        for (name, kind), value in zip(kinds, arguments):
            if kind is not None and isinstance(value, (np.ndarray, list, tuple)):
                value = kind[1](split(value, kind[0], name))
            converted.append(value)
        return stack(function(*converted, **others))

    return cast('OverArrays[P, R_co]', wrapper)
