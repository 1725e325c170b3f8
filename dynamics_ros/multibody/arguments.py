# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Argument checks, whose errors name the argument."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.arguments import FLOAT64, broadcast
from dynamics_ros.kernels.arguments import real_array as real_array
from dynamics_ros.model.hardened_xml import MAXIMUM_NUMBER
from dynamics_ros.spatial import (
    Inertia,
    Matrix3,
    Transform,
    Vector3,
    quaternion_normalized,
    quaternion_to_matrix,
)

ORTHOGONALITY = 1e-6
"""Largest deviation of R R^T from the identity: a tenth of a solution's default tolerance."""

UNIT_LENGTH_TOLERANCE = 1e-3
"""Largest error of the length of a quaternion; it accepts quaternions written with three digits."""

POSE = 'shape (4, 4), (position, quaternion x y z w), or these 7 numbers'


def check_positive(argument: str, value: float) -> None:
    """Check that a value is a positive number, at most ``MAXIMUM_NUMBER``.

    Raises:
        InvalidArgumentError: it is not; names the argument.
    """
    # isinstance against an abstract class takes longer than everything else.
    if not (type(value) is float or isinstance(value, Real)) or not 0.0 < value <= MAXIMUM_NUMBER:
        expected = f'a positive number, at most {MAXIMUM_NUMBER:g}'
        raise InvalidArgumentError(argument, repr(value), expected)


def check_not_negative(argument: str, value: float, most: float = sys.float_info.max) -> None:
    """Check that a value is a finite number from zero to ``most``.

    Raises:
        InvalidArgumentError: it is not; names the argument.
    """
    if not isinstance(value, Real) or not 0.0 <= value <= most:
        at_most = f' and at most {most:g}' if most < sys.float_info.max else ''
        raise InvalidArgumentError(argument, repr(value), f'a finite number, 0 or more{at_most}')


def check_flag(argument: str, value: bool) -> None:
    """Check that a value is True or False.

    Raises:
        InvalidArgumentError: it is not; names the argument.
    """
    if not (value is True or value is False or isinstance(value, np.bool_)):
        raise InvalidArgumentError(argument, repr(value), 'True or False')


def check_count(argument: str, value: int, least: int) -> None:
    """Check that a value is an integer of at least ``least``.

    Raises:
        InvalidArgumentError: it is not; names the argument.
    """
    if type(value) is int and value >= least:
        return
    if not isinstance(value, Integral) or value < least:
        raise InvalidArgumentError(argument, repr(value), f'a whole number, {least} or more')


def finite_vector(argument: str, value: ArrayLike, size: int) -> NDArray[np.float64]:
    """Return a vector of finite numbers; the caller's own array if it is one already.

    Raises:
        InvalidArgumentError: it is not such a vector; names the argument.
    """
    # The sum is finite if all entries are, unless it overflows, and is much faster to check.
    if (
        type(value) is np.ndarray
        and value.dtype is FLOAT64
        and value.shape == (size,)
        and math.isfinite(sum(value.tolist()))
    ):
        return value
    return finite_arrays(argument, value, (size,), many=False)


def finite_arrays(
    argument: str, value: ArrayLike, shape: tuple[int, ...], many: bool = True, finite: bool = True
) -> NDArray[np.float64]:
    """Return one array of a shape, or many over leading axes: shape (..., *shape).

    Args:
        argument: name of the argument.
        value: the array.
        shape: its own axes.
        many: whether it may have leading axes.
        finite: whether NaN and infinity are refused.

    Raises:
        InvalidArgumentError: names the argument.
    """
    expected = f'shape (..., {", ".join(map(str, shape))})' if many else f'shape {shape}'
    array = real_array(argument, value, expected)
    if (array.shape[-len(shape) :] if many else array.shape) != shape:
        raise InvalidArgumentError(argument, f'shape {array.shape}', expected)
    if finite and not np.isfinite(array).all():
        raise InvalidArgumentError(argument, 'NaN or infinite entries', 'finite numbers')
    return array


def refuse_overflow(*results: NDArray[np.float64], **arguments: ArrayLike) -> None:
    """Refuse arguments whose results are not finite.

    Args:
        results: the computed results.
        arguments: finite arguments by name; the error names the one with the largest number.

    Raises:
        InvalidArgumentError: a result is NaN or infinite.
    """
    # For one state the sum is faster to check; it is finite if all entries are, or overflows.
    for x in results:
        if not (x.ndim == 1 and math.isfinite(sum(x.tolist()))) and not np.isfinite(x).all():
            raise overflow(arguments)


def overflow(arguments: Mapping[str, ArrayLike]) -> InvalidArgumentError:
    """Return the error of finite arguments by name whose results are not finite."""
    largest = {name: float(np.abs(a).max(initial=0.0)) for name, a in arguments.items()}
    blamed = max(largest, key=largest.__getitem__)
    problem = f'numbers up to {largest[blamed]:.3g}'
    return InvalidArgumentError(blamed, problem, 'smaller ones: the results overflow')


def finite_together(**arguments: tuple[Any, ...]) -> list[NDArray[np.float64]]:
    """Return arrays of finite numbers whose leading axes broadcast.

    Args:
        arguments: by name, the value followed by its own axes: ``v=(v, 7)`` has shape (..., 7).

    Raises:
        InvalidArgumentError: names the argument, or all of them if they do not broadcast.
    """
    own = {name: tuple(axes) for name, (_, *axes) in arguments.items()}
    arrays = [finite_arrays(name, arguments[name][0], axes) for name, axes in own.items()]
    leading = [x.shape[: x.ndim - len(axes)] for x, axes in zip(arrays, own.values(), strict=True)]
    broadcast(arguments, leading)
    return arrays


def per_entry(
    argument: str, value: ArrayLike, size: int, *, least: float = -math.inf, infinite: bool = False
) -> NDArray[np.float64]:
    """Return a setting per entry of a vector, from one number for all or one each; always a copy.

    Args:
        argument: name of the argument.
        value: scalar or (size).
        size: number of entries.
        least: smallest allowed value.
        infinite: whether inf is allowed.

    Raises:
        InvalidArgumentError: names the argument.
    """
    expected = f'a number or shape ({size},)'
    entries = real_array(argument, value, expected)
    if entries.shape not in ((), (size,)):
        raise InvalidArgumentError(argument, f'shape {entries.shape}', expected)
    allowed = ~np.isnan(entries) if infinite else np.isfinite(entries)
    if not np.all(allowed & (entries >= least)):
        kind = 'numbers' if infinite else 'finite numbers'
        bound = f' of at least {least:g}' if math.isfinite(least) else ''
        raise InvalidArgumentError(argument, f'{entries.tolist()}', kind + bound)
    return np.full(size, entries)


def rigid_pose(
    argument: str, value: ArrayLike, *, position_only: bool = False
) -> NDArray[np.float64]:
    """Return a finite (4, 4) pose; its rotation is not checked if only the position counts.

    Args:
        argument: name of the argument.
        value: a pose in any form of ``pose_matrices``.
        position_only: whether only the position counts.

    Raises:
        InvalidArgumentError: names the argument.
    """
    pose = real_array(argument, pose_matrices(argument, value), POSE)
    if pose.shape != (4, 4):
        raise InvalidArgumentError(argument, f'shape {pose.shape}', POSE)
    if not np.isfinite(pose[:3, 3] if position_only else pose).all():
        raise InvalidArgumentError(argument, 'NaN or infinite entries', 'finite numbers')
    rotation = pose[:3, :3]
    if not position_only and (
        np.abs(rotation @ rotation.T - np.eye(3)).max() > ORTHOGONALITY
        or np.linalg.det(rotation) < 0.0
        or not np.array_equal(pose[3], (0.0, 0.0, 0.0, 1.0))
    ):
        expected = 'a rotation matrix, a position and the row 0 0 0 1'
        raise InvalidArgumentError(argument, 'not a rigid pose', expected)
    return pose


def pose_matrices(argument: str, value: Any) -> Any:
    """Return poses in any form as matrices; values of other forms are returned unchanged.

    Args:
        argument: name of the argument.
        value: (..., 4, 4); a pair of positions (..., 3) and quaternions x y z w (..., 4); or both
            as one array (..., 7).

    Raises:
        InvalidArgumentError: a text, a quaternion before its position, numbers that are not finite,
            or a quaternion that is not of unit length; names the argument.
    """
    if isinstance(value, str):
        expected = f'the pose before the name of the frame: {POSE}'
        raise InvalidArgumentError(argument, f'the text {value!r}', expected)
    if isinstance(value, np.ndarray) and value.shape[-2:] == (4, 4):
        return value
    try:
        pair = isinstance(value, (tuple, list)) and len(value) == 2
        parts = [np.asarray(part) for part in (value if pair else [value])]
    except ValueError:
        return value
    sizes = [part.shape[-1:] for part in parts]
    if sizes == [(4,), (3,)]:
        raise InvalidArgumentError(argument, 'a quaternion before its position', POSE)
    if sizes == [(3,), (4,)]:
        leading = broadcast((argument,), [part.shape[:-1] for part in parts])
        given = [np.broadcast_to(x, leading + x.shape[-1:]) for x in parts]
        numbers = np.concatenate(given, axis=-1)
    elif set(sizes) == {(7,)}:
        numbers = np.asarray(value)
    else:
        return value
    numbers = finite_arrays(argument, numbers, (7,))
    lengths = np.linalg.norm(numbers[..., 3:], axis=-1)
    wrong = np.abs(lengths - 1.0) > UNIT_LENGTH_TOLERANCE
    if wrong.any():
        problem = f'a quaternion of length {lengths[wrong][0]:.6g}'
        raise InvalidArgumentError(argument, problem, 'a unit quaternion (x, y, z, w)')
    x, y, z, *quaternion = np.moveaxis(numbers, -1, 0)
    rotation = quaternion_to_matrix(quaternion_normalized(tuple(quaternion)))
    return Transform(rotation, Vector3(x, y, z)).array()


def boolean_mask(
    argument: str, value: Sequence[bool] | NDArray[np.bool_], size: int
) -> NDArray[np.bool_]:
    """Return one boolean per entry.

    Raises:
        InvalidArgumentError: names the argument.
    """
    try:
        mask = np.asarray(value)
    except ValueError:
        mask = np.asarray(None)
    if np.ma.is_masked(value):
        raise InvalidArgumentError(argument, 'masked entries', f'booleans of shape ({size},)')
    if mask.size == 0:
        mask = mask.astype(np.bool_)
    if mask.shape != (size,) or mask.dtype != np.bool_:
        problem = f'{mask.dtype} of shape {mask.shape}'
        raise InvalidArgumentError(argument, problem, f'booleans of shape ({size},)')
    return mask


def payload_inertia(mass: float, center_of_mass: ArrayLike, inertia: ArrayLike | None) -> Inertia:
    """Return the inertia of a payload from the arguments of ``with_payload``.

    Raises:
        InvalidArgumentError: a negative mass, a wrong shape, or an invalid inertia.
    """
    check_not_negative('mass', mass, MAXIMUM_NUMBER)
    center = finite_vector('center_of_mass', center_of_mass, 3)
    rotational = finite_arrays(
        'inertia', np.zeros((3, 3)) if inertia is None else inertia, (3, 3), many=False
    )
    scale = max(float(np.abs(rotational).max()), 1e-12)
    symmetric = scale <= MAXIMUM_NUMBER and np.abs(rotational - rotational.T).max() <= 1e-9 * scale
    if not symmetric or np.linalg.eigvalsh(rotational).min() < -1e-9 * scale:
        raise InvalidArgumentError(
            'inertia', f'{rotational.tolist()}', 'a symmetric positive semidefinite matrix'
        )
    small, middle, large = np.linalg.eigvalsh(rotational).tolist()
    # Six decimals, as in descriptions; a milligram at a millimetre is negligible.
    if small + middle < large * (1.0 - 1e-6) - 1e-12:
        problem = f'principal moments {small:.6g}, {middle:.6g} and {large:.6g} kg m^2'
        raise InvalidArgumentError(
            'inertia', problem, 'none above the sum of the other two; check the units and the axes'
        )
    return Inertia(float(mass), Vector3(*center.tolist()), Matrix3(rotational.tolist()))
