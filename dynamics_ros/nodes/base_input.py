# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base of a legged robot in contact_node: odom from an IMU and the feet that stand."""

from __future__ import annotations

import math
import time

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation.base_estimator import (
    MAX_GAP,
    BaseEstimate,
    BaseEstimator,
    LoadedFeet,
    Mask,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.context import Component
from dynamics_ros.nodes.lifecycle import other_publishers
from dynamics_ros.nodes.outputs import Output
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import Array, nanoseconds, numbers, odometry, time_message

FRAME = 'odom'
"""Frame in which the robot started."""

BLIND = 1_000_000_000
"""Time in motion without known loads after which nothing is published [ns]; until then, no foot is
used."""

SMOOTHING = 0.1
"""Weight of a new reading in the velocities by which a robot rests."""

AT_REST, STILL = 0.05, 0.05
"""Relative deviation of the specific force from gravity, and largest velocity of base and joints
[rad/s or m/s], at which a robot rests on all of its feet if their contacts are unknown."""

QUERY_PERIOD, OVERDUE = 1.0, 0.5
"""Time between two queries for other publishers, and after which a missing input is named [s]."""


class BaseInput:
    """Readings of an IMU, and the odometry that comes of them and of the feet."""

    def __init__(self, component: Component[ContactParameters]) -> None:
        """Subscribe to the topic of the parameters, and create the publisher."""
        self._component, self._context = component, component.context
        self._topic = component.values.base.imu_topic
        self._problem, self._others = Explanation(Reason.OK, ''), ''
        self._read = self._published = self._query = -math.inf
        node = component.node
        self.output = Output(node, Odometry, 'odom')
        self._estimator: BaseEstimator | None = None
        self._forget()
        node.create_subscription(Imu, self._topic, self._take, qos_profile_sensor_data)

    def _forget(self) -> None:
        self._time, self._known = 0, -BLIND
        self._loads: LoadedFeet | None = None
        self._estimate: BaseEstimate | None = None
        self._rates: Array | None = None
        if self._estimator is not None:
            self._estimator.reset()

    def restart(self) -> None:
        """Use robot and parameters anew; the same legs go on where they are."""
        robot, estimator = self._context.robot, self._estimator
        values = self._component.values
        if robot is None or estimator is None:
            return
        before = estimator.robot
        if (
            robot.joint_names == before.joint_names
            and robot.frame_names == before.frame_names
            and tuple(values.feet.frames) == estimator.feet
            and robot.nq == before.nq
            and np.allclose(_mounted(robot, estimator), _mounted(before, estimator))
        ):
            estimator.robot, estimator.foot_radius = robot, values.base.foot_radius
            self._loads = None
        else:
            self._estimator = None
            self._forget()

    @property
    def problem(self) -> Explanation:
        """Why no odometry is published at present; '' if it is."""
        now = time.monotonic()
        if now - self._read > OVERDUE:
            return Explanation(Reason.STATES_STOPPED, f'no reading on {self._topic}')
        if self._problem or now - self._published <= OVERDUE:
            return self._problem
        return Explanation(Reason.STATES_STOPPED, 'no new joint states')

    def _take(self, message: Imu) -> None:
        robot = self._context.robot
        if robot is None:
            return
        self._read = time.monotonic()
        try:
            estimate, stamp = self._estimated(robot, message)
        except DynamicsRosError as error:
            text = f'reading on {self._topic} refused: {error}'
            self._problem = Explanation(Reason.MESSAGES_REFUSED, text)
            return
        if estimate is not None:
            self._publish(robot, estimate, stamp)

    def _estimated(self, robot: Robot, message: Imu) -> tuple[BaseEstimate | None, int]:
        """Process a reading; the estimate and its stamp [ns]."""
        stamp, names = nanoseconds(message.header.stamp), self._context.names
        for name in ('angular_velocity', 'linear_acceleration'):
            if getattr(message, f'{name}_covariance')[0] == -1.0:
                expected = 'a gyroscope and an accelerometer'
                raise InvalidArgumentError(name, 'the covariance says: not measured', expected)
        if stamp <= 0:
            raise InvalidArgumentError('header.stamp', str(stamp), 'the time of the reading')
        w = numbers(message.angular_velocity, 'angular_velocity')
        f = numbers(message.linear_acceleration, 'linear_acceleration')
        values, estimator = self._component.values, self._estimator
        if estimator is None:
            frame = message.header.frame_id or names.frame_id_of(robot.model.frames[0].name)
            frame = names.required_frame(robot, frame, 'header.frame_id')
            radius = values.base.foot_radius
            estimator = BaseEstimator(robot, values.feet.frames, frame, foot_radius=radius)
            self._estimator = estimator
        if estimator.stamp and 0 <= estimator.stamp - stamp <= MAX_GAP:
            return None, stamp  # older, or repeated
        estimator.add_imu(stamp, w, f)
        buffer = self._context.buffer
        state = None if buffer is None else buffer.state(base_required=False)
        if state is None or state.time == self._time:
            known = self._estimate is not None and abs(stamp - self._time) < MAX_GAP
            return estimator.estimate() if known else None, stamp
        if state.time < self._time:
            self._forget()  # the clock was set back
        self._time = state.time
        standing = self._standing(robot, estimator, state, w, f)
        if standing is None:
            rates = self._rates
            self._forget()
            self._rates = rates
            self._problem = self._why_not(state)
            return None, stamp
        estimate = self._estimate = estimator.update(state.time, state.q, standing)
        code = Reason.OK if estimate is not None else Reason.STATES_STOPPED
        self._problem = Explanation(code, estimator.waiting)
        return estimate, stamp

    def _standing(
        self, robot: Robot, estimator: BaseEstimator, state: RobotState, w: Array, f: Array
    ) -> Mask | None:
        """Feet that stand in a state; None if that has been unknown for too long."""
        stale = bool(state.stale_mask[6:].any())  # of the base's own, this is the source
        measured = not (stale or state.effort_missing or state.velocity_missing)
        if self._estimate is None or not measured:
            self._loads = None
        else:
            self._loads = self._loads or LoadedFeet(robot, estimator.feet)
            given = state.q, state.v, state.effort
            standing = self._loads.update(state.time, self._estimate, *given)
            if standing is not None:
                self._known = state.time
                return standing
        rates, before = np.concatenate([w, state.v[6:]]), self._rates
        if before is not None and before.shape == rates.shape:
            rates = before + SMOOTHING * (rates - before)  # noise is no motion
        self._rates = rates
        g = np.linalg.norm(robot.model.gravity.array())
        at_rest = np.abs(rates).max() < STILL and abs(np.linalg.norm(f) / g - 1.0) < AT_REST
        if at_rest and not stale:
            self._known = state.time
            return np.ones(len(estimator.feet), dtype=bool)
        if self._estimate is not None and state.time - self._known <= BLIND:
            return np.zeros(len(estimator.feet), dtype=bool)
        return None

    def _why_not(self, state: RobotState) -> Explanation:
        if state.stale_mask[6:].any():
            return Explanation(Reason.JOINTS_STALE, 'no news of joints of the legs')
        if state.effort_missing or state.velocity_missing:
            text = 'the robot moves without efforts or velocities: which feet stand is unknown'
            return Explanation(Reason.EFFORT_MISSING, text)
        return Explanation(
            Reason.STATES_STOPPED, 'the robot moves; the estimate starts at rest, on all feet'
        )

    def _publish(self, robot: Robot, estimate: BaseEstimate, stamp: int) -> None:
        names, output, now = self._context.names, self.output, time.monotonic()
        if output.missing:
            text = f'{output.topic} cannot be published: {output.missing}'
            self._problem = Explanation(Reason.OTHER, text)
            return
        if now - self._query > QUERY_PERIOD:
            self._query = now
            self._others = ', '.join(other_publishers(self._component.node, output.topic))
        if self._others:
            text = f'{self._others} publishes {output.topic}: base.imu_topic has to be empty then'
            self._problem = Explanation(Reason.OTHER, text)
            return
        child = names.frame_id_of(robot.model.frames[0].name)
        message = odometry(time_message(stamp), FRAME, child, estimate.q, estimate.v)
        message.pose.covariance = estimate.pose_covariance.ravel()
        message.twist.covariance = estimate.twist_covariance.ravel()
        output.publish(message)
        self._published = now


def _mounted(robot: Robot, estimator: BaseEstimator) -> Array:
    """Pose (4, 4) of the IMU in the frame of the root link."""
    return robot.forward_kinematics(robot.neutral(), estimator.imu_frame)
