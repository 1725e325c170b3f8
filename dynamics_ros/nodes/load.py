# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity and payload of a node's robot from topics or an IMU; poses of frames from tf."""

from __future__ import annotations

import math
import time
from types import ModuleType
from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3Stamped
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.time import Time
from sensor_msgs.msg import Imu

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import GravityFilter
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.outputs import LATCHED
from dynamics_ros.nodes.reporting import (
    MIDDLEWARE_ERRORS,
    NodeTime,
    SourceLostError,
    TransformError,
    age,
    describe_error,
    steady_timer,
)
from dynamics_ros.nodes.robot_request import check_gravity
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.wire.conversions import (
    Array,
    down_of_imu,
    inertia_arrays,
    nanoseconds,
    numbers,
    pose_matrix,
)
from dynamics_ros_msgs.msg import Payload


class LoadSubscriber:
    """Applies payload and gravity that another node publishes."""

    def __init__(self, context: RobotContext) -> None:
        """Subscribe to ``payload``, and to ``gravity`` unless ``gravity_source`` is set."""
        self._context = context
        node = context.node
        node.create_subscription(Payload, 'payload', self._on_payload, LATCHED)
        if context.parameters.values.gravity_source.kind == 'parameter':
            node.create_subscription(Vector3Stamped, 'gravity', self._on_gravity, LATCHED)

    def _on_payload(self, message: Payload) -> None:
        context = self._context
        try:
            inertia = inertia_arrays(message.inertia, 'payload.inertia')
        except DynamicsRosError as error:
            context.changes.report('payload', error)
            return
        frame = context.names.frame_of(message.header.frame_id)
        payload = PayloadParameters.of(frame, *inertia)
        context.changes.change_and_report('payload', payload=payload)

    def _on_gravity(self, message: Vector3Stamped) -> None:
        try:
            gravity = gravity_in_root(self._context, message)
        except DynamicsRosError as error:
            self._context.changes.report('gravity', error)
        else:
            apply_gravity(self._context, gravity)


def apply_gravity(context: RobotContext, gravity: tuple[float, ...]) -> None:
    """Change the gravity of the robot [m/s^2] and its parameter; report a refusal."""
    context.changes.change_and_report('gravity', gravity=gravity)
    context.parameters.store({'gravity': gravity})


def gravity_in_root(context: RobotContext, message: Vector3Stamped) -> tuple[float, ...]:
    """Return the acceleration of free fall in a message, in the root frame [m/s^2].

    Before the robot is known, any frame is accepted as the root frame. With a moving base, whose
    odometry names the root frame, so is any frame that is not one of the robot.

    Raises:
        InvalidArgumentError: the vector is longer than ``MAX_GRAVITY``, or in another frame.
    """
    vector = numbers(message.vector, 'gravity.vector')
    check_gravity('gravity.vector', vector)
    frame_id, names, robot = message.header.frame_id, context.names, context.robot
    moving = robot is not None and robot.model.root_joint_nv > 0
    if not (
        robot is None
        or frame_id in ('', names.root)
        or (moving and names.frame_of(frame_id) not in robot.frame_names)
    ):
        expected = f'{names.root!r} or none'
        raise InvalidArgumentError('gravity.header.frame_id', repr(frame_id), expected)
    return tuple(vector.tolist())


class Transforms:
    """Transforms from tf, subscribed to when the first one is needed.

    Receiving /tf costs CPU time, and most processes never need a frame outside of the model.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._tf2: ModuleType | None = None
        self._buffer: Any = None
        self._listener: Any = None
        self._time = NodeTime(node, on_reset=self._clear)
        self._refusal = ''

    def subscribe(self) -> None:
        """Subscribe to tf unless that is done already; called in the executor's thread.

        Raises:
            TransformError: tf2_ros is not installed, or the middleware refuses the subscription.
        """
        if self._refusal:
            raise TransformError(self._refusal)
        if self._buffer is not None:
            return
        try:
            import tf2_ros
        except ImportError:
            raise TransformError(
                'tf2_ros is not installed, so that only frames of the model are known'
            ) from None
        self._tf2 = tf2_ros
        self._buffer = tf2_ros.Buffer()
        try:
            self._listener = tf2_ros.TransformListener(self._buffer, self._node)
        except MIDDLEWARE_ERRORS as error:
            self._refusal = f'tf cannot be listened to: {describe_error(error)}'
            raise TransformError(self._refusal) from None

    def _clear(self) -> None:
        """Clear the buffer after the clock went back: old transforms would hide the new ones."""
        if self._buffer is not None:
            self._buffer.clear()

    def knows(self, parent: str, child: str) -> bool:
        """Return whether tf has a transform between two frames; ``subscribe`` comes first."""
        return bool(self._buffer.can_transform(parent, child, Time()))

    def pose(self, parent: str, child: str, max_age: float = math.inf) -> Array:
        """Return the latest pose (4, 4) of frame ``child`` in frame ``parent``.

        Args:
            parent, child: names of the frames.
            max_age: maximum difference between its stamp and now, in either direction [s]; static
                transforms have no age.

        Raises:
            TransformError: tf has no such transform, or it is too old.
        """
        assert self._tf2 is not None, 'subscribe() must be called first'
        try:
            message = self._buffer.lookup_transform(parent, child, Time())
        except self._tf2.TransformException as error:
            raise TransformError(
                f'{child!r} is no frame of the model, and tf does not know it: {error}'
            ) from None
        stamp = Time.from_msg(message.header.stamp).nanoseconds
        old = age(self._time.now(), stamp, ahead=max_age) if stamp else 0.0
        if old > max_age:
            what = 'older than' if math.isfinite(old) else 'ahead of now by more than'
            # States the stamp, not the age: a text that always changes would fill the log.
            raise TransformError(
                f'tf of {child!r} is of {stamp * 1e-9:.3f} s, which is {what} {max_age:g} s'
            )
        return pose_matrix(message.transform, f'tf of {child!r}')


CHECK_PERIOD = 0.05
"""Period of the checks of the IMU [s]."""

MAX_AGE = 2.0
"""Maximum time without usable IMU messages [s]; then the IMU counts as lost, and the last gravity
remains."""

MIN_INTERVAL = 0.1
"""Minimum time between two changes [s], because estimators adapt to a new gravity gradually."""


class GravityFollower:
    """Changes the gravity of the robot when its base has tilted by ``least_angle``, by its IMU."""

    def __init__(self, context: RobotContext) -> None:
        """Subscribe to the IMU if the parameters ask for it.

        Raises:
            InvalidArgumentError: the model has a moving base, so its gravity is constant.
        """
        self._context = context
        node, values = context.node, context.parameters.values
        source, root = values.gravity_source, values.root_joint
        if source.kind == 'parameter':
            return
        if root != 'fixed':
            raise InvalidArgumentError(
                'gravity_source.kind',
                f'{source.kind!r} with root_joint {root!r}',
                "'parameter': gravity stays what it is in the frame that the base moves in",
            )
        self._least_angle = source.least_angle
        self._last_change = -math.inf
        self._lost, self._refused, self._last_good_stamp = '', False, 0
        self._last_message = self._last_good = time.monotonic()
        size = float(np.linalg.norm(values.gravity)) or 9.81
        self._filter = GravityFilter(size, source.time_constant)
        node.create_subscription(Imu, 'imu', self._on_imu, qos_profile_sensor_data)
        # A steady timer detects a lost IMU even if a simulated clock has stopped.
        steady_timer(node, CHECK_PERIOD, self._check)

    def _report_lost(self, reason: str) -> None:
        """Report to diagnostics that the IMU is lost, since when, and why."""
        if reason == self._lost:
            return
        self._lost = reason
        since = f'since {self._last_good_stamp * 1e-9:.3f} s' if self._last_good_stamp else 'yet'
        error = SourceLostError(f'gravity follows nothing {since}: {reason}')
        self._context.changes.report('gravity_source', error)

    def _on_imu(self, message: Imu) -> None:
        self._last_message = time.monotonic()
        context = self._context
        if context.robot is None:
            return
        self._refused = False
        try:
            usable = self._take(message)
        except DynamicsRosError as error:
            self._refused = True
            self._report_lost(str(error))
            return
        if not usable:
            return
        self._last_good, self._last_good_stamp = time.monotonic(), nanoseconds(context.now())
        if self._lost:
            self._lost = ''
            context.changes.report('gravity_source', None)
        self._apply_gravity()

    def _check(self) -> None:
        """Detect that messages are missing or unusable."""
        now = time.monotonic()
        if self._context.robot is None:
            self._last_good = now
        elif now - self._last_message > MAX_AGE:
            source = self._context.inputs.publishers.describe('imu')
            self._report_lost(f'no message for {MAX_AGE:g} s: {source}')
        elif now - self._last_good > MAX_AGE and not self._refused:
            expected = f'{self._filter.magnitude:g} m/s^2'
            self._report_lost(
                f'the IMU has no orientation, and its acceleration is not about {expected}'
            )

    def _take(self, message: Imu) -> bool:
        """Update the filter with a message; return whether it determines the direction of gravity.

        Raises:
            DynamicsRosError: the message is invalid, or its frame is not fixed to the root link.
        """
        context, stamp = self._context, nanoseconds(message.header.stamp)
        R_root_imu = context.names.fixed_rotation(
            context.required_robot(), message.header.frame_id, 'imu.header.frame_id'
        )
        down = down_of_imu(message, 'imu')
        if down is not None:
            self._filter.add(stamp, R_root_imu @ down)
            return True
        force = numbers(message.linear_acceleration, 'imu.linear_acceleration')
        return self._filter.add_specific_force(stamp, R_root_imu @ force)

    def _apply_gravity(self) -> None:
        """Change the gravity of the robot if that of the filter differs enough from it."""
        context, gravity, now = self._context, self._filter.gravity, time.monotonic()
        if gravity is None or context.built is None or context.changes.building:
            return
        differs = self._filter.differs_from(context.built.request.gravity, self._least_angle)
        if differs and now - self._last_change >= MIN_INTERVAL:
            self._last_change = now
            apply_gravity(context, tuple(gravity.tolist()))
