# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base of a legged robot in contact_node: odom from an IMU and the feet that stand."""

from __future__ import annotations

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.estimation.base_estimator import BaseEstimate, BaseEstimator
from dynamics_ros.estimation.legged import IN_CONTACT
from dynamics_ros.nodes.context import RobotComponent
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import nanoseconds, numbers, odometry, time_message

FRAME = 'odom'
"""Frame in which the robot started."""

SILENCE = 100_000_000
"""Age from which the contacts of the feet are unknown [ns]; then none is used."""

BLIND = 1_000_000_000
"""Time without known contacts after which nothing is published [ns]."""

AT_REST, STILL = 0.05, 0.05
"""Relative deviation of the specific force from gravity, and largest velocity of base and joints
[rad/s or m/s], at which a robot rests on all of its feet if their contacts are unknown."""


class BaseInput:
    """Readings of an IMU, and the odometry that comes of them and of the feet.

    Attributes:
        problem: why no odometry is published at present; '' if it is.
    """

    def __init__(self, component: RobotComponent[ContactParameters]) -> None:
        """Subscribe to the topic of the parameters, and create the publisher."""
        self._component, self._context = component, component.context
        self._topic = self.values.imu_topic
        self.problem = Explanation(Reason.STATES_STOPPED, f'no reading on {self._topic} so far')
        node = component.node
        self._output = node.create_publisher(Odometry, 'odom', 10)
        self.restart()
        node.create_subscription(Imu, self._topic, self._take, qos_profile_sensor_data)

    @property
    def values(self) -> Any:
        """Parameters of the base."""
        return self._component.values.base

    def restart(self) -> None:
        """Start anew, with the present robot and parameters."""
        self._estimator: BaseEstimator | None = None
        self._time = self._known = 0
        self._standing = np.zeros(0, dtype=bool)

    def observe(self, time: int, pipeline: ContactPipeline) -> None:
        """Take the contacts of the feet that a state at a time [ns] showed."""
        if pipeline.feet is not None and pipeline.feet.results:
            self._known, self._standing = time, pipeline.feet.results[IN_CONTACT] > 0.5

    def _take(self, message: Imu) -> None:
        robot = self._context.robot
        if robot is None:
            return
        try:
            estimate, stamp = self._estimated(robot, message)
        except DynamicsRosError as error:
            text = f'reading on {self._topic} refused: {error}'
            self.problem = Explanation(Reason.MESSAGES_REFUSED, text)
            return
        if estimate is not None:
            self.problem = Explanation(Reason.OK, '')
            self._publish(robot, estimate, stamp)

    def _estimated(self, robot: Robot, message: Imu) -> tuple[BaseEstimate | None, int]:
        """Process a reading; the estimate, if a joint state has come since the last one."""
        stamp = nanoseconds(message.header.stamp)
        for name in ('angular_velocity', 'linear_acceleration'):
            if getattr(message, f'{name}_covariance')[0] == -1.0:
                expected = 'a gyroscope and an accelerometer'
                raise InvalidArgumentError(name, 'the covariance says: not measured', expected)
        w = numbers(message.angular_velocity, 'angular_velocity')
        f = numbers(message.linear_acceleration, 'linear_acceleration')
        if self._estimator is None:
            frame = message.header.frame_id
            frame = (
                self._context.names.required_frame(robot, frame, 'header.frame_id')
                if frame
                else robot.model.frames[0].name
            )
            feet = self._component.values.feet.frames
            radius = self.values.foot_radius
            self._estimator = BaseEstimator(robot, feet, frame, foot_radius=radius)
        estimator = self._estimator
        estimator.add_imu(stamp, w, f)
        buffer = self._context.buffer
        state = None if buffer is None else buffer.state(base_required=False)
        if state is None or state.time <= self._time:
            return None, stamp
        self._time = state.time
        count, g = len(estimator.feet), np.linalg.norm(robot.model.gravity.array())
        if state.time - self._known <= SILENCE:
            standing = self._standing
        elif (
            not state.velocity_missing
            and max(np.abs(w).max(), np.abs(state.v[6:]).max(initial=0.0)) < STILL
            and abs(np.linalg.norm(f) / g - 1.0) < AT_REST
        ):
            standing = np.ones(count, dtype=bool)
        elif state.time - self._known <= BLIND:
            standing = np.zeros(count, dtype=bool)
        else:
            estimator.reset()
            text = 'it moves, and it is unknown which feet stand: '
            text += self._component.unavailable_reason or 'no contacts yet'
            self.problem = Explanation(Reason.EFFORT_MISSING, text)
            return None, stamp
        estimate = estimator.update(state.time, state.q, standing)
        if estimate is None:
            self.problem = Explanation(Reason.STATES_STOPPED, estimator.waiting)
        return estimate, stamp

    def _publish(self, robot: Robot, estimate: BaseEstimate, stamp: int) -> None:
        names, node = self._context.names, self._component.node
        if node.count_publishers('odom') > 1:
            text = 'another node publishes odom; expected none, or base.imu_topic empty'
            self.problem = Explanation(Reason.OTHER, text)
            return
        child = names.frame_id_of(robot.model.frames[0].name)
        message = odometry(time_message(stamp), FRAME, child, estimate.q, estimate.v)
        message.pose.covariance = estimate.pose_covariance.ravel()
        message.twist.covariance = estimate.twist_covariance.ravel()
        self._output.publish(message)
