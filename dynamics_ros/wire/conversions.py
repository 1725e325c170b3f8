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
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import (
    Accel,
    Inertia,
    Point,
    Pose,
    PoseStamped,
    Quaternion,
    Transform,
    TransformStamped,
    Twist,
    TwistStamped,
    Vector3,
    Wrench,
    WrenchStamped,
)
from nav_msgs.msg import Odometry
from numpy.typing import ArrayLike, NDArray
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.control import JointMotion, LimitViolation
from dynamics_ros.errors import InvalidArgumentError, printable
from dynamics_ros.estimation.samples.reports import (
    NANOSECONDS,
    JointValues,
    OdometryValues,
    PoseValues,
    finite_numbers,
    unit_quaternion,
)
from dynamics_ros.multibody.end_effector import pose_numbers, pose_of_numbers
from dynamics_ros.spatial import quaternion_to_matrix
from dynamics_ros_msgs.msg import LimitViolation as LimitViolationMessage

Array = NDArray[np.float64]


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


# --- points, vectors, six-vectors ---------------------------------------------------------------


def vector_array(message: Vector3 | Point, name: str) -> Array:
    """Return the array (3) of a vector or a point."""
    return np.array(finite_numbers((message.x, message.y, message.z), name))


def vector_message(values: Iterable[float]) -> Vector3:
    """Return the message of a vector (3)."""
    x, y, z = map(float, values)
    return Vector3(x=x, y=y, z=z)


def point_message(values: Iterable[float]) -> Point:
    """Return the message of a point (3)."""
    x, y, z = map(float, values)
    return Point(x=x, y=y, z=z)


def _six_vector(linear: Vector3, angular: Vector3, name: str) -> Array:
    values = (linear.x, linear.y, linear.z, angular.x, angular.y, angular.z)
    return np.array(finite_numbers(values, name))


def twist_array(message: Twist, name: str) -> Array:
    """Return the array (6) of a twist: linear, angular."""
    return _six_vector(message.linear, message.angular, name)


def twist_message(values: Array) -> Twist:
    """Return the message of a twist (6)."""
    return Twist(linear=vector_message(values[:3]), angular=vector_message(values[3:]))


def twist_stamped(stamp: Time, frame_id: str, values: Array) -> TwistStamped:
    """Return the message of a twist (6) with a header."""
    return TwistStamped(header=header(stamp, frame_id), twist=twist_message(values))


def accel_array(message: Accel, name: str) -> Array:
    """Return the array (6) of an acceleration: linear, angular."""
    return _six_vector(message.linear, message.angular, name)


def accel_message(values: Array) -> Accel:
    """Return the message of an acceleration (6)."""
    return Accel(linear=vector_message(values[:3]), angular=vector_message(values[3:]))


def wrench_array(message: Wrench, name: str) -> Array:
    """Return the array (6) of a wrench: force, torque."""
    return _six_vector(message.force, message.torque, name)


def wrench_message(values: Array) -> Wrench:
    """Return the message of a wrench (6)."""
    return Wrench(force=vector_message(values[:3]), torque=vector_message(values[3:]))


def wrench_stamped(stamp: Time, frame_id: str, values: Array) -> WrenchStamped:
    """Return the message of a wrench (6) with a header."""
    return WrenchStamped(header=header(stamp, frame_id), wrench=wrench_message(values))


# --- poses --------------------------------------------------------------------------------------


def quaternion_is_zero(message: Quaternion) -> bool:
    """Return whether all four components are zero, which means that no orientation is given."""
    return not (message.x or message.y or message.z or message.w)


def _quaternion(message: Quaternion) -> tuple[float, float, float, float]:
    return message.x, message.y, message.z, message.w


def pose_values(message: Pose) -> PoseValues:
    """Return position and quaternion of a pose, unchecked."""
    position = message.position
    return PoseValues((position.x, position.y, position.z), _quaternion(message.orientation))


def rotation_array(message: Quaternion, name: str) -> Array:
    """Return the rotation matrix (3, 3) of a quaternion."""
    rotation: Array = quaternion_to_matrix(unit_quaternion(_quaternion(message), name)).array()
    return rotation


def down_of_imu(message: Imu, name: str) -> Array | None:
    """Return the direction of gravity (3) in the axes of an IMU; None if it has no orientation."""
    # REP 145: a covariance of -1 says that there is no orientation; otherwise it is that of the
    # sensor in axes whose z points up.
    known = message.orientation_covariance[0] >= 0.0
    if not known or quaternion_is_zero(message.orientation):
        return None
    return -rotation_array(message.orientation, f'{name}.orientation')[2]


def pose_matrix(message: Pose, name: str) -> Array:
    """Return the homogeneous matrix (4, 4) of a pose."""
    values = pose_values(message)
    quaternion = unit_quaternion(values.orientation, f'{name}.orientation')
    position = finite_numbers(values.position, f'{name}.position')
    return pose_of_numbers(np.array([*position, *quaternion]))


def quaternion_message(matrix: Array) -> Quaternion:
    """Return the quaternion of a pose (4, 4), with w >= 0."""
    x, y, z, w = pose_numbers(matrix)[3:].tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def prepare_conversions() -> None:
    """Compile the kernels of conversions, which the first message would otherwise wait for."""
    pose_message(pose_of_numbers(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])))


def pose_message(matrix: Array) -> Pose:
    """Return the message of a pose (4, 4)."""
    return Pose(
        position=point_message(matrix[:3, 3].tolist()), orientation=quaternion_message(matrix)
    )


def pose_stamped(stamp: Time, frame_id: str, matrix: Array) -> PoseStamped:
    """Return the message of a pose (4, 4) with a header."""
    return PoseStamped(header=header(stamp, frame_id), pose=pose_message(matrix))


def transform_stamped(stamp: Time, parent: str, child: str, matrix: Array) -> TransformStamped:
    """Return the transform message of a child frame with pose (4, 4) in its parent frame."""
    return TransformStamped(
        header=header(stamp, parent),
        child_frame_id=child,
        transform=Transform(
            translation=vector_message(matrix[:3, 3].tolist()),
            rotation=quaternion_message(matrix),
        ),
    )


def transform_matrix(message: Transform, name: str) -> Array:
    """Return the homogeneous matrix (4, 4) of a transform."""
    translation = message.translation
    position = Point(x=translation.x, y=translation.y, z=translation.z)
    return pose_matrix(Pose(position=position, orientation=message.rotation), name)


# --- joints, inertias ---------------------------------------------------------------------------


def joint_values(message: JointState) -> JointValues:
    """Return the values of a joint state, unchecked."""
    stamp = message.header.stamp
    return JointValues(
        stamp.sec,
        stamp.nanosec,
        tuple(message.name),
        float_array(message.position),
        float_array(message.velocity),
        float_array(message.effort),
    )


def odometry_values(message: Odometry) -> OdometryValues:
    """Return the values of an odometry message, unchecked."""
    stamp, twist = message.header.stamp, message.twist.twist
    v, w = twist.linear, twist.angular
    return OdometryValues(
        stamp.sec,
        stamp.nanosec,
        message.header.frame_id,
        message.child_frame_id,
        pose_values(message.pose.pose),
        (v.x, v.y, v.z, w.x, w.y, w.z),
    )


def odometry(stamp: Time, frame_id: str, child_frame_id: str, q: Array, v: Array) -> Odometry:
    """Return the odometry message of a floating base.

    Args:
        stamp: stamp of the message.
        frame_id: frame of the pose.
        child_frame_id: frame of the base.
        q: position and quaternion (x, y, z, w) of the base; further entries are ignored.
        v: linear and angular velocity of the base in its axes; further entries are ignored.
    """
    x, y, z, w = map(float, q[3:7])
    message = Odometry(header=header(stamp, frame_id), child_frame_id=child_frame_id)
    message.pose.pose.position = point_message(q[:3])
    message.pose.pose.orientation = Quaternion(x=x, y=y, z=z, w=w)
    message.twist.twist.linear = vector_message(v[:3])
    message.twist.twist.angular = vector_message(v[3:6])
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


def empty_pose(frame_id: str) -> PoseStamped:
    """Return the identity in a frame, for a template."""
    return pose_stamped(Time(), frame_id, np.eye(4))


def empty_twist(frame_id: str) -> TwistStamped:
    """Return a zero twist in a frame, for a template."""
    return twist_stamped(Time(), frame_id, np.zeros(6))


def empty_efforts(names: Sequence[str]) -> JointState:
    """Return a joint state message with zero efforts, for a template."""
    return joint_state(Time(), names, effort=np.zeros(len(names)))


def inertia_arrays(message: Inertia, name: str) -> tuple[float, Array, Array]:
    """Return mass, centre of mass (3) and inertia about it (3, 3) of an inertia message."""
    mass = finite_numbers((message.m,), f'{name}.m')[0]
    ixx, ixy, ixz, iyy, iyz, izz = finite_numbers(
        (message.ixx, message.ixy, message.ixz, message.iyy, message.iyz, message.izz),
        f'{name}.ixx .. izz',
    )
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    return mass, vector_array(message.com, f'{name}.com'), inertia


def inertia_message(mass: float, center_of_mass: Sequence[float], inertia: ArrayLike) -> Inertia:
    """Return the message of mass, centre of mass (3) and inertia about it (3, 3)."""
    (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = np.asarray(inertia, dtype=float).tolist()
    return Inertia(
        m=float(mass),
        com=vector_message(center_of_mass),
        ixx=ixx,
        ixy=ixy,
        ixz=ixz,
        iyy=iyy,
        iyz=iyz,
        izz=izz,
    )


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
    count = len(message.joint_names)
    return JointMotion.of(
        message.joint_names,
        [seconds(point.time_from_start) for point in points],
        _rows('positions', [point.positions for point in points], count),
        _rows_if_given('velocities', [point.velocities for point in points], count),
        _rows_if_given('accelerations', [point.accelerations for point in points], count),
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


def _rows(argument: str, rows: Sequence[Any], count: int) -> list[Any]:
    index = next((i for i, row in enumerate(rows) if len(row) != count), None)
    if index is not None:
        problem = f'{len(rows[index])} in point {index}'
        raise InvalidArgumentError(argument, problem, f'one for each of {count} joints')
    return list(rows)


def _rows_if_given(argument: str, rows: Sequence[Any], count: int) -> list[Any] | None:
    """Return the rows, or None if no point has values."""
    return _rows(argument, rows, count) if any(len(row) for row in rows) else None
