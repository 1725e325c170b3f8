"""Gravity of a robot on a base that tilts, followed from an IMU or from tf."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu

from ..errors import DynamicsRosError, InvalidArgumentError, UnknownFrameError
from ..estimation import GravityFilter
from ..model.model import ROOT
from .conversions import Array, nanoseconds, rotation_array, vector_array
from .robot_context import RobotContext
from .transforms import Transforms

LOOK = 0.05
"""s between two looks at tf."""

OLDEST = 2.0
"""s that a transform may be old by its stamp; the gravity that it told last stays in force."""

APART = 0.5
"""s at least between two changes: each makes another robot, whose kernels take a while."""


class GravityFollower:
    """Changes the gravity of a context's robot when its base has tilted far enough."""

    def __init__(self, context: RobotContext) -> None:
        """Begin, if a source is configured.

        Raises:
            InvalidArgumentError: the base moves in the model; then gravity does not.
        """
        self._context = context
        node, values = context.node, context.parameters.values.gravity_source
        self._values = values
        root = context.parameters.values.root_joint
        if values.kind != 'parameter' and root != 'fixed':
            raise InvalidArgumentError(
                'gravity_source.kind',
                f'{values.kind!r} with root_joint {root!r}',
                "'parameter': gravity stays what it is in the frame that the base moves in",
            )
        self._changed = -math.inf
        self._filter = GravityFilter(
            float(np.linalg.norm(context.parameters.values.gravity)) or 9.81, values.time_constant
        )
        if values.kind == 'imu':
            node.create_subscription(Imu, 'imu', self._on_imu, qos_profile_sensor_data)
        elif values.kind == 'tf':
            self._transforms = Transforms(node)
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            node.create_timer(LOOK, self._look_at_tf, clock=steady)

    def _on_imu(self, message: Imu) -> None:
        try:
            self._take_imu(message)
        except DynamicsRosError as error:
            self._context.report('gravity_source', error)
        else:
            self._context.report('gravity_source', None)
            self._follow()

    def _take_imu(self, message: Imu) -> None:
        if self._context.robot is None:
            return
        R_root_imu = self._rotation_of(message.header.frame_id)
        stamp = nanoseconds(message.header.stamp)
        # REP 145: -1 says that there is no orientation; otherwise it is that of the sensor in axes
        # whose z points up.
        x, y, z, w = (getattr(message.orientation, name) for name in 'xyzw')
        if message.orientation_covariance[0] >= 0.0 and (x or y or z or w):
            R_world_imu = rotation_array(message.orientation, 'imu.orientation')
            self._filter.add(stamp, R_root_imu @ -R_world_imu[2])
            return
        force = vector_array(message.linear_acceleration, 'imu.linear_acceleration')
        self._filter.add_specific_force(stamp, R_root_imu @ force)

    def _rotation_of(self, frame_id: str) -> Array:
        """R_root_imu (3, 3) of an IMU that is fixed to the root link; no name is the root link."""
        robot = self._context.required_robot()
        name = self._context.frame_name(frame_id) or robot.root_frame
        if name not in robot.frame_names:
            raise UnknownFrameError('imu.header.frame_id', frame_id, robot.frame_names)
        frame = robot.model.frame(name)
        if frame.body != ROOT:
            raise DynamicsRosError(
                f'imu.header.frame_id: {frame_id!r} is moved by joints; expected a link that is '
                f'fixed to {robot.root_frame!r}'
            )
        return np.array([[*row] for row in frame.placement.rotation])

    def _look_at_tf(self) -> None:
        if self._context.robot is None:
            return
        try:
            self._transforms.listen()
            level = self._values.level_frame
            pose = self._transforms.pose(level, self._context.root_frame_id(), max_age=OLDEST)
        except DynamicsRosError as error:
            self._context.report('gravity_source', error)
            return
        self._context.report('gravity_source', None)
        self._filter.add(nanoseconds(self._context.now()), -pose[2, :3])
        self._follow()

    def _follow(self) -> None:
        """Put the gravity that was found in force when it differs enough from that in force."""
        context, gravity = self._context, self._filter.gravity
        now = time.monotonic()
        if gravity is None or context.built is None or context.building:
            return
        if now - self._changed < APART:
            return
        before = np.array(context.built.request.gravity)
        least = 2.0 * math.sin(0.5 * self._values.least_angle) * self._filter.magnitude
        if np.linalg.norm(gravity - before) < least:
            return
        self._changed = now
        found = tuple(gravity.tolist())
        context.change_reported('gravity', lambda request: replace(request, gravity=found))
        context.parameters.store({'gravity': found})
