# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of message objects to arrays and back; names of frames in topics; optional types.

Quaternions are (x, y, z, w), and 6-vectors are linear first, in messages and arrays. Functions that
read a message check it: a number that is not finite, or a quaternion that is not of unit length,
raises an InvalidArgumentError that names the field, given by the argument ``name``.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import groupby
from math import isfinite
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Inertia, Pose, PoseStamped, Transform, TransformStamped
from nav_msgs.msg import Odometry
from numpy.typing import ArrayLike, NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.control import JointMotion, LimitViolation
from dynamics_ros.errors import InvalidArgumentError, printable
from dynamics_ros.estimation.samples.reports import (
    NANOSECONDS,
    PoseValues,
    finite_numbers,
    unit_quaternion,
)
from dynamics_ros.multibody.end_effector import pose_numbers, pose_of_numbers
from dynamics_ros_msgs.msg import LimitViolation as LimitViolationMessage

Array = NDArray[np.float64]

Message = TypeVar('Message')


# --- time ---------------------------------------------------------------------------------------


def nanoseconds(stamp: Time) -> int:
    """Return a stamp as an integer [ns]; a float of seconds since 1970 resolves only 0.24 us."""
    return int(stamp.sec * NANOSECONDS + stamp.nanosec)


def seconds(duration: Duration) -> float:
    """Return a duration [s]."""
    return float(duration.sec + duration.nanosec / NANOSECONDS)


def duration_message(value: float) -> Duration:
    """Return the message of a duration [s]."""
    whole, part = divmod(round(value * NANOSECONDS), NANOSECONDS)
    return Duration(sec=whole, nanosec=part)


def diagnostic_status(
    level: bytes, name: str, message: str, hardware_id: str, values: Mapping[str, str]
) -> DiagnosticStatus:
    """Return a status with escaped unprintable characters, which names from outside may contain."""
    return DiagnosticStatus(
        level=level,
        name=name,
        message=printable(message),
        hardware_id=printable(hardware_id),
        values=[
            KeyValue(key=printable(key), value=printable(value)) for key, value in values.items()
        ],
    )


def time_message(stamp: int) -> Time:
    """Return the message of a stamp [ns]."""
    seconds, rest = divmod(stamp, NANOSECONDS)
    return Time(sec=seconds, nanosec=rest)


def header(stamp: Time, frame_id: str = '') -> Header:
    """Return a header."""
    return Header(stamp=stamp, frame_id=frame_id)


# --- arrays -------------------------------------------------------------------------------------


def float_sequence(values: Array) -> array[float]:
    """Return an array as a field of type float64[], without a Python object for each number."""
    return array('d', np.ascontiguousarray(values, dtype=np.float64).tobytes())


def finite_sequence(values: Array) -> array[float]:
    """Return the result of a request as a field of type float64[].

    Raises:
        InvalidArgumentError: the result is not finite, because the request has huge numbers.
    """
    if not np.isfinite(values).all():
        raise InvalidArgumentError('request', 'the result overflows', 'numbers that a robot has')
    return float_sequence(values)


def float_array(values: Sequence[float]) -> Array:
    """Return a field of type float64[] as an array that shares its memory."""
    return np.asarray(values, dtype=np.float64)


# --- numbers of messages ------------------------------------------------------------------------


@cache
def _paths(kind: Any) -> tuple[str, ...]:
    """Return the paths of the fields of type double of a message type, in their order."""
    example, paths = kind(), []
    for name, declared in kind.get_fields_and_field_types().items():
        inside: Any = type(getattr(example, name))
        if declared == 'double':
            paths.append(name)
        elif hasattr(inside, 'get_fields_and_field_types'):
            paths += [f'{name}.{path}' for path in _paths(inside)]
    return tuple(paths)


@cache
def _parts(kind: Any) -> list[tuple[Callable[[Any], Any], list[str]]]:
    """Return getters of the messages around these fields, with the names of their fields."""
    places = [path.rpartition('.') for path in _paths(kind)]
    return [
        (attrgetter(part) if part else lambda message: message, [name for *_, name in group])
        for part, group in groupby(places, key=lambda place: place[0])
    ]


def raw_numbers(message: Any) -> tuple[float, ...]:
    """Return the fields of type double of a message, in their order, unchecked."""
    kind: Any = type(message)
    parts = [(find(message), names) for find, names in _parts(kind)]
    return tuple([getattr(part, name) for part, names in parts for name in names])


def numbers(message: Any, name: str) -> Array:
    """Return the fields of type double of a message, in their order, such as (6) of a twist.

    Raises:
        InvalidArgumentError: one of them is not finite.
    """
    kind: Any = type(message)
    values = raw_numbers(message)
    if not all(map(isfinite, values)):
        path, value = next(
            (path, value)
            for path, value in zip(_paths(kind), values, strict=True)
            if not isfinite(value)
        )
        raise InvalidArgumentError(f'{name}.{path}', f'{value} is not finite', 'finite numbers')
    return np.array(values)


def fill(message: Message, values: Iterable[float]) -> Message:
    """Write numbers into the fields of type double of a message, in their order; return it."""
    kind: Any = type(message)
    rest = iter(np.asarray(values, dtype=np.float64).tolist())
    for find, names in _parts(kind):
        part = find(message)
        for name, value in zip(names, rest):
            setattr(part, name, value)
    return message


def stamped(
    kind: type[Message], stamp: Time, frame_id: str, values: Iterable[float] = ()
) -> Message:
    """Return a message of a type with header and, if given, all its numbers."""
    message: Any = kind()
    message.header.stamp, message.header.frame_id = stamp, frame_id
    return fill(message, values)


# --- poses --------------------------------------------------------------------------------------


def pose_values(message: Pose) -> PoseValues:
    """Return position and quaternion of a pose, unchecked."""
    x, y, z, a, b, c, d = raw_numbers(message)
    return PoseValues((x, y, z), (a, b, c, d))


def pose_matrix(message: Pose | Transform, name: str) -> Array:
    """Return the homogeneous matrix (4, 4) of a pose or transform."""
    x, y, z, *quaternion = raw_numbers(message)
    quaternion[:] = unit_quaternion(quaternion, f'{name}.orientation')
    return pose_of_numbers(np.array([*finite_numbers((x, y, z), f'{name}.position'), *quaternion]))


def prepare_conversions() -> None:
    """Compile the kernels of conversions, which the first message would otherwise wait for."""
    pose_message(pose_of_numbers(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])))


def pose_message(matrix: Array) -> Pose:
    """Return the message of a pose (4, 4); its quaternion has w >= 0."""
    return fill(Pose(), pose_numbers(matrix))


def pose_stamped(stamp: Time, frame_id: str, matrix: Array) -> PoseStamped:
    """Return the message of a pose (4, 4) with a header."""
    return stamped(PoseStamped, stamp, frame_id, pose_numbers(matrix))


def transform_stamped(stamp: Time, parent: str, child: str, matrix: Array) -> TransformStamped:
    """Return the transform message of a child frame with pose (4, 4) in its parent frame."""
    message = stamped(TransformStamped, stamp, parent, pose_numbers(matrix))
    message.child_frame_id = child
    return message


# --- joints, inertias ---------------------------------------------------------------------------


def odometry(stamp: Time, frame_id: str, child_frame_id: str, q: Array, v: Array) -> Odometry:
    """Return the odometry message of a floating base.

    Args:
        stamp: stamp of the message.
        frame_id: frame of the pose.
        child_frame_id: frame of the base.
        q: position and quaternion (x, y, z, w) of the base; further entries are ignored.
        v: linear and angular velocity of the base in its axes; further entries are ignored.
    """
    message = stamped(Odometry, stamp, frame_id, [*q[:7], *v[:6]])
    message.child_frame_id = child_frame_id
    return message


def joint_state(
    stamp: Time,
    names: Sequence[str],
    *,
    position: Array | None = None,
    velocity: Array | None = None,
    effort: Array | None = None,
) -> JointState:
    """Return a joint state message; quantities that are not given are empty."""
    message = JointState(header=header(stamp), name=list(names))
    if position is not None:
        message.position = float_sequence(position)
    if velocity is not None:
        message.velocity = float_sequence(velocity)
    if effort is not None:
        message.effort = float_sequence(effort)
    return message


def empty_efforts(names: Sequence[str]) -> JointState:
    """Return a joint state message with zero efforts, for a template."""
    return joint_state(Time(), names, effort=np.zeros(len(names)))


def inertia_arrays(message: Inertia, name: str) -> tuple[float, Array, Array]:
    """Return mass, centre of mass (3) and inertia about it (3, 3) of an inertia message."""
    mass, *center, ixx, ixy, ixz, iyy, iyz, izz = numbers(message, name).tolist()
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    return mass, np.array(center), inertia


def inertia_message(mass: float, center_of_mass: Sequence[float], inertia: ArrayLike) -> Inertia:
    """Return the message of mass, centre of mass (3) and inertia about it (3, 3)."""
    return fill(Inertia(), [mass, *center_of_mass, *np.asarray(inertia)[np.triu_indices(3)]])


def topic_names(frames: Iterable[str]) -> dict[str, str]:
    """Return the name within a topic of each frame, with '_' for characters that are not allowed.

    Raises:
        InvalidArgumentError: two frames would have the same name, or one is repeated.
    """
    names: dict[str, str] = {}
    for frame in frames:
        name = re.sub(r'[^A-Za-z0-9_]', '_', frame)
        if not name or name[0].isdigit():
            name = f'_{name}'
        other = next((known for known, taken in names.items() if taken == name), None)
        if other is not None:
            raise InvalidArgumentError(
                'frames',
                f'{other!r} and {frame!r} would both publish on {name!r}',
                'distinct names',
            )
        names[frame] = name
    return names


def message_type(name: str, parameter: str, otherwise: str) -> Any:
    """Import a message or service type.

    Args:
        name: name of the type, such as ``tf2_msgs/msg/TFMessage``.
        parameter: name of the parameter that requires it, for the error.
        otherwise: valid values of that parameter without the package, for the error.

    Raises:
        InvalidArgumentError: the package is not installed.
    """
    package, kind, own = name.split('/')
    try:
        return getattr(import_module(f'{package}.{kind}'), own)
    except ImportError:
        raise InvalidArgumentError(parameter, f'{package} is not installed', otherwise) from None


MAX_POINTS = 100_000
"""Maximum number of points of a trajectory."""


def motion_of(message: JointTrajectory) -> JointMotion:
    """Return the points of a trajectory, with derivatives for those that it does not give.

    Raises:
        InvalidArgumentError: the trajectory is invalid.
    """
    points = message.points
    if not 0 < len(points) <= MAX_POINTS:
        raise InvalidArgumentError('points', f'{len(points)}', f'1 to {MAX_POINTS}')
    velocities, accelerations = (
        rows if any(map(len, rows)) else None
        for rows in (
            [point.velocities for point in points],
            [point.accelerations for point in points],
        )
    )
    return JointMotion.of(
        message.joint_names,
        [seconds(point.time_from_start) for point in points],
        [point.positions for point in points],
        velocities,
        accelerations,
    )


def fill_efforts(message: JointTrajectory, motion: JointMotion, efforts: Array) -> None:
    """Write the velocities of a motion and efforts (m, k) into the m points of a trajectory."""
    for point, v, effort in zip(message.points, motion.v, efforts, strict=True):
        point.velocities = float_sequence(v)
        point.effort = float_sequence(effort)


def violation_message(violation: LimitViolation) -> LimitViolationMessage:
    """Return the message of a limit that a trajectory violates."""
    return LimitViolationMessage(
        joint=violation.joint,
        quantity=violation.quantity,
        time_from_start=duration_message(violation.time),
        value=violation.value,
        limit=violation.limit,
    )
