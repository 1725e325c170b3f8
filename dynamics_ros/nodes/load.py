# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity and payload of a node's robot from topics; poses of frames from tf."""

from __future__ import annotations

import math
from typing import Any

from geometry_msgs.msg import Vector3Stamped
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.outputs import LATCHED
from dynamics_ros.nodes.reporting import (
    MIDDLEWARE_ERRORS,
    TransformError,
    age,
    describe_error,
)
from dynamics_ros.nodes.robot_request import check_gravity
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.wire.conversions import (
    Array,
    inertia_arrays,
    numbers,
    pose_matrix,
)
from dynamics_ros_msgs.msg import Payload


class LoadSubscriber:
    """Applies payload and gravity that another node publishes."""

    def __init__(self, context: RobotContext) -> None:
        """Subscribe to ``payload`` and ``gravity``."""
        self._context = context
        node = context.node
        node.create_subscription(Payload, 'payload', self._on_payload, LATCHED)
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
        context = self._context
        try:
            gravity = gravity_in_root(context, message)
        except DynamicsRosError as error:
            context.changes.report('gravity', error)
            return
        context.changes.change_and_report('gravity', gravity=gravity)


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
        self._buffer: Any = None
        self._listener: Any = None
        self._refusal = ''
        self._clock: Any = node.get_clock()
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1))
        # Old transforms would hide those of after a reset.
        self._jumps = self._clock.create_jump_callback(back, post_callback=self._clear)

    def _subscribe(self) -> None:
        if self._refusal:
            raise TransformError(self._refusal)
        if self._buffer is not None:
            return
        try:
            import tf2_ros

            self._buffer = tf2_ros.Buffer()
            self._listener = tf2_ros.TransformListener(self._buffer, self._node)
        except ImportError:
            raise TransformError(
                'tf2_ros is not installed, so that only frames of the model are known'
            ) from None
        except MIDDLEWARE_ERRORS as error:
            self._refusal = f'tf cannot be listened to: {describe_error(error)}'
            raise TransformError(self._refusal) from None

    def _clear(self, _jump: object) -> None:
        if self._buffer is not None:
            self._buffer.clear()

    def knows(self, parent: str, child: str) -> bool:
        """Return whether tf has a transform between two frames, or can never have one."""
        return self._listener is None or self._buffer.can_transform(parent, child, Time())

    def pose(self, parent: str, child: str, max_age: float = math.inf) -> Array:
        """Return the latest pose (4, 4) of a frame; called in the executor's thread.

        Args:
            parent, child: names of the frames; the pose is that of ``child`` in ``parent``.
            max_age: maximum difference between its stamp and now, in either direction [s]; static
                transforms have no age.

        Raises:
            TransformError: tf has no such transform, or it is too old; tf2_ros is not installed, or
                the middleware refuses the subscription.
        """
        self._subscribe()
        from tf2_ros import TransformException

        try:
            message = self._buffer.lookup_transform(parent, child, Time())
        except TransformException as error:
            raise TransformError(
                f'{child!r} is no frame of the model, and tf does not know it: {error}'
            ) from None
        stamp = Time.from_msg(message.header.stamp).nanoseconds
        old = age(self._clock.now().nanoseconds, stamp, ahead=max_age) if stamp else 0.0
        if old > max_age:
            what = 'older than' if math.isfinite(old) else 'ahead of now by more than'
            # States the stamp, not the age: a text that always changes would fill the log.
            raise TransformError(
                f'tf of {child!r} is of {stamp * 1e-9:.3f} s, which is {what} {max_age:g} s'
            )
        return pose_matrix(message.transform, f'tf of {child!r}')
