# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity of a robot on a tilting base, from an IMU or from tf."""

from __future__ import annotations

import math
import time

import numpy as np
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import GravityFilter
from dynamics_ros.nodes.reporting.clocks import steady_timer
from dynamics_ros.nodes.reporting.refusals import SourceLostError
from dynamics_ros.wire.conversions import down_of_imu, nanoseconds, vector_array

from .context import RobotContext
from .transforms import Transforms

CHECK_PERIOD = 0.05
"""Period of the checks of tf or of the IMU [s]."""

MAX_AGE = 2.0
"""Maximum age of a transform by its stamp, and maximum time without usable IMU messages [s]; after
that the source counts as lost, and the last gravity remains."""

MIN_INTERVAL = 0.1
"""Minimum time between two changes [s], because estimators adapt to a new gravity gradually."""


class GravityFollower:
    """Changes the gravity of the robot when its base has tilted by ``least_angle``."""

    def __init__(self, context: RobotContext) -> None:
        """Subscribe to the configured source, if any.

        Raises:
            InvalidArgumentError: the model has a moving base, so its gravity is constant.
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
        self._last_change = -math.inf
        self._reported = ''
        self._refused = False
        self._last_good_stamp = 0
        self._last_message = self._last_good = time.monotonic()
        self._filter = GravityFilter(
            float(np.linalg.norm(context.parameters.values.gravity)) or 9.81, values.time_constant
        )
        # A steady timer detects a lost source even if a simulated clock has stopped.
        if values.kind == 'imu':
            node.create_subscription(Imu, 'imu', self._on_imu, qos_profile_sensor_data)
            steady_timer(node, CHECK_PERIOD, self._check_imu)
        elif values.kind == 'tf':
            self._transforms = Transforms(node)
            steady_timer(node, CHECK_PERIOD, self._check_tf)

    # --- state of the source --------------------------------------------------------------------

    def _report_lost(self, reason: str) -> None:
        """Report to diagnostics that the source is lost, since when, and why."""
        if reason == self._reported:
            return
        self._reported = reason
        since = f'since {self._last_good_stamp * 1e-9:.3f} s' if self._last_good_stamp else 'yet'
        error = SourceLostError(f'gravity follows nothing {since}: {reason}')
        self._context.changes.report('gravity_source', error)

    def _report_found(self) -> None:
        """Record that the source works, and apply the gravity of the filter."""
        self._last_good = time.monotonic()
        self._last_good_stamp = nanoseconds(self._context.now())
        if self._reported:
            self._reported = ''
            self._context.changes.report('gravity_source', None)
        self._apply_gravity()

    # --- an IMU ---------------------------------------------------------------------------------

    def _on_imu(self, message: Imu) -> None:
        self._last_message = time.monotonic()
        if self._context.robot is None:
            return
        self._refused = False
        try:
            usable = self._take_imu(message)
        except DynamicsRosError as error:
            self._refused = True
            self._report_lost(str(error))
        else:
            if usable:
                self._report_found()

    def _check_imu(self) -> None:
        """Detect that messages are missing or unusable."""
        now = time.monotonic()
        if self._context.robot is None:
            self._last_good = now
        elif now - self._last_message > MAX_AGE:
            self._report_lost(
                f'no message for {MAX_AGE:g} s: {self._context.inputs.publishers.describe("imu")}'
            )
        elif now - self._last_good > MAX_AGE and not self._refused:
            expected = f'{self._filter.magnitude:g} m/s^2'
            self._report_lost(
                f'the IMU has no orientation, and its acceleration is not about {expected}'
            )

    def _take_imu(self, message: Imu) -> bool:
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
        force = vector_array(message.linear_acceleration, 'imu.linear_acceleration')
        return self._filter.add_specific_force(stamp, R_root_imu @ force)

    # --- tf -------------------------------------------------------------------------------------

    def _check_tf(self) -> None:
        now = time.monotonic()
        if self._context.robot is None:
            self._last_good = now
            return
        try:
            self._transforms.subscribe()
            level = self._values.level_frame
            pose = self._transforms.pose(level, self._context.root_frame_id(), max_age=MAX_AGE)
        except DynamicsRosError as error:
            # The first transform may still arrive; later ones have already exceeded ``max_age``.
            if self._last_good_stamp or now - self._last_good > MAX_AGE:
                self._report_lost(str(error))
            return
        self._filter.add(nanoseconds(self._context.now()), -pose[2, :3])
        self._report_found()

    # --- gravity of the robot -------------------------------------------------------------------

    def _apply_gravity(self) -> None:
        """Change the gravity of the robot if that of the filter differs enough from it."""
        context, gravity = self._context, self._filter.gravity
        now = time.monotonic()
        if gravity is None or context.built is None or context.changes.building:
            return
        current = context.built.request.gravity
        if now - self._last_change < MIN_INTERVAL or not self._filter.differs_from(
            current, self._values.least_angle
        ):
            return
        self._last_change = now
        values = tuple(gravity.tolist())
        context.changes.change_and_report('gravity', gravity=values)
        context.parameters.store({'gravity': values})
