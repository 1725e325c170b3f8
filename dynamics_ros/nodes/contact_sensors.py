# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors of contact_node: a force-torque sensor at the wrist; the IMU of a legged robot."""

from __future__ import annotations

import math
import time
from dataclasses import fields, replace
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu
from std_srvs.srv import Trigger

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoStateError
from dynamics_ros.estimation import ContactPipeline, ContactState, ExternalTorques
from dynamics_ros.estimation.base_estimator import (
    MAX_GAP,
    BaseEstimate,
    BaseEstimator,
    LoadedFeet,
    Mask,
)
from dynamics_ros.estimation.contact.detector import ContactReport
from dynamics_ros.estimation.contact.location import SensorWrench
from dynamics_ros.estimation.payload_identification import MAX_STATIC_SPEED
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.estimation.wrist_sensor import (
    LEVER,
    Place,
    SensorEstimate,
    SensorLoad,
    WristSensor,
    WristSensorIdentifier,
)
from dynamics_ros.nodes.context import Component
from dynamics_ros.nodes.lifecycle import other_publishers
from dynamics_ros.nodes.outputs import Output
from dynamics_ros.nodes.services import LoadAction, LoadWatch
from dynamics_ros.parameters.contact import ContactParameters, WristSensorParameters
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    Array,
    header,
    nanoseconds,
    numbers,
    odometry,
    stamped,
    time_message,
)
from dynamics_ros.wire.services import fill_payload
from dynamics_ros_msgs.msg import ExternalWrench

SILENCE = 0.1
"""Time without a reading, and difference between its stamp and that of the joint state, after which
nothing is measured [s]."""

LEAST_DEVIATION = 0.1
"""Least standard deviation of its force, over that of a contact: errors of weight and time."""

DURATION = 60.0
"""Default duration of an identification [s]."""


class WristSensorInput:
    """Readings of the sensor, and the wrench of the environment that remains of them.

    Attributes:
        problem: why nothing is measured at present; '' if it is.
        warning: contradiction between sensor and joint torques; '' without one.
        place: where both show a contact.
        reading: mean of the readings before the last state, (6) [N, Nm]; None if unknown.
        is_new: whether one of them came after the state before.
        output: publisher of the measured wrench.
    """

    def __init__(self, component: Component[ContactParameters]) -> None:
        """Subscribe to the topic of the parameters, and create output, action and service."""
        self._component, self._context = component, component.context
        node, self._topic = component.node, self.values.topic
        self.problem = Explanation(Reason.OTHER, f'no reading on {self._topic} so far')
        self.warning, self.place = '', Place.NOWHERE
        self.reading: Array | None = None
        self.is_new = False
        self._frame_id, self._last, self._stamp = '', 0.0, 0
        self._sum, self._count = np.zeros(6), 0
        self._averaged = 1
        self._sensor: WristSensor | None = None
        self._since = 0
        self._output = Output(node, WrenchStamped, '~/measured_wrench')
        self._estimate = Output(node, ExternalWrench, '~/measured_estimate')
        self._action = WristSensorAction(component, self)
        node.create_service(Trigger, '~/tare_wrist_sensor', self._tare)
        node.create_subscription(WrenchStamped, self._topic, self._take, qos_profile_sensor_data)

    @property
    def values(self) -> WristSensorParameters:
        """Parameters of the sensor."""
        return self._component.values.wrist_sensor

    def _take(self, message: WrenchStamped) -> None:
        self._last = time.monotonic()
        try:
            values = numbers(message.wrench, 'wrench')
        except InvalidArgumentError as error:
            text = f'reading on {self._topic} refused: {error}'
            self._refuse(Reason.MESSAGES_REFUSED, text)
            return
        self._frame_id, self._stamp = message.header.frame_id, nanoseconds(message.header.stamp)
        self._sum += values
        self._count += 1

    def _refuse(self, reason: Reason, text: str) -> None:
        self._sum, self._count = np.zeros(6), 0
        self.reading, self.problem = None, Explanation(reason, text)
        if self._sensor is not None:
            self._sensor.restart()

    def frame(self, robot: Robot) -> str:
        """Return the frame of the readings.

        Raises:
            UnknownFrameError: the model has no such frame.
            NoStateError: no parameter names it, and there is no reading yet.
        """
        if self.values.frame:
            return self._context.names.required_frame(
                robot, self.values.frame, 'wrist_sensor.frame'
            )
        if not self._frame_id:
            raise NoStateError(self.problem)
        return self._context.names.required_frame(robot, self._frame_id, f'frame of {self._topic}')

    def restart(self) -> None:
        """Use robot and parameters anew."""
        self._sensor = None

    def update(self, state: RobotState) -> None:
        """Process the readings since the last state, publish the wrench, and record for a goal."""
        self.is_new = self._count > 0
        if self.is_new:
            self.reading, self.problem = self._sum / self._count, Explanation(Reason.OK, '')
            self._averaged = self._count
            self._sum, self._count = np.zeros(6), 0
            if self._stamp and abs(state.time - self._stamp) * 1e-9 > SILENCE:
                text = f'stamps of {self._topic} and joint states differ by more than {SILENCE:g} s'
                self._refuse(Reason.JOINTS_STALE, text)
        elif self.reading is not None and time.monotonic() - self._last > SILENCE:
            text = f'no reading on {self._topic} for more than {SILENCE:g} s'
            self._refuse(Reason.STATES_STOPPED, text)
        if self.reading is None:
            return
        try:
            sensor = self._sensor or self._made()
            wrench = sensor.update(state.time, state.q, state.v, self.reading, self._averaged)
        except DynamicsRosError as error:
            self._refuse(Reason.OTHER, str(error))
            return
        now = time.monotonic()
        measured = self._output.has_subscribers(now)
        estimated = any(sensor.load.noise) and self._estimate.has_subscribers(now)
        if not (measured or estimated):
            return
        frame_id = self._context.names.frame_id_of(sensor.frame)
        message = stamped(WrenchStamped, time_message(state.time), frame_id, wrench)
        if measured:
            self._output.publish(message)
        if estimated:
            self._estimate.publish(
                ExternalWrench(
                    header=message.header,
                    frame=sensor.frame,
                    wrench=message.wrench,
                    covariance=sensor.covariance.ravel(),
                    observable=[True] * 6,
                )
            )

    def _made(self) -> WristSensor:
        values, robot = self.values, self._context.required_robot()
        load = SensorLoad(**{x.name: getattr(values, x.name) for x in fields(SensorLoad)})
        self._sensor = WristSensor(robot, self.frame(robot), load, values.gain)
        return self._sensor

    def judge(
        self, state: RobotState, external: ExternalTorques | None, pipeline: ContactPipeline
    ) -> ExternalTorques | None:
        """Return the external torques with a contact that the sensor shows.

        Joint torques show a contact on any link, the sensor smaller ones behind it; what each of
        them should see of the other's is compared. Without joint torques the contact of the sensor
        is returned alone, with torques NaN, or None without a reading.
        """
        self.warning, self.place, sensor = '', Place.NOWHERE, self._sensor
        if sensor is None or self.reading is None:
            return external
        touched = sensor.touched
        if sensor.touches(self.values.contact_force) != touched:
            self._since = state.time
        found, link, robot = ContactState.NONE, '', sensor.robot
        if sensor.touched:
            found = ContactState.CONTACT
            link = robot.body_names[robot.model.frame(sensor.frame).body]
        latched = pipeline.detector.report.collision_latched
        found_here = ContactReport(found, link, latched, self._since)
        if external is None:
            self.place = Place.BEHIND if sensor.touched else Place.NOWHERE
            return ExternalTorques(np.full(robot.nv, np.nan), found_here)
        self.place = sensor.compared(state.q, external.values, pipeline.detector.thresholds[0])
        if self.place is Place.CONTRADICTED:
            force = float(np.linalg.norm(sensor.wrench[:3]))
            self.warning = Explanation(
                Reason.TORQUES_UNEXPECTED,
                f'the wrist sensor shows {force:.0f} N, and joint torques do not: check its bias '
                f'(~/tare_wrist_sensor), its frame {sensor.frame!r}, and effort.*',
            )
        alone = sensor.touched and external.report.state is ContactState.NONE
        return external._replace(report=found_here) if alone else external

    @property
    def shown(self) -> SensorWrench | None:
        """What locates a single contact together with joint torques, where both agree on it."""
        sensor = self._sensor
        if sensor is None or self.place not in (Place.BEHIND, Place.BEFORE):
            return None
        least = LEAST_DEVIATION * self.values.contact_force * np.array([1.0] * 3 + [LEVER] * 3)
        deviation = np.maximum(np.sqrt(np.diag(sensor.covariance)), least)
        touched = self.place is Place.BEHIND
        return SensorWrench(sensor.frame, sensor.wrench.copy(), deviation, touched)

    def details(self) -> dict[str, str]:
        """Return what diagnostics says of the sensor."""
        values = {'wrist sensor': self.problem or 'ok', 'wrist sensor: contact': self.place.value}
        if not any(self.values.noise):
            values['wrist sensor: deviation [N, Nm]'] = 'unknown: ~/identify_wrist_sensor'
        if self._sensor is not None and self.reading is not None:
            wrench = ' '.join(f'{value:.3g}' for value in self._sensor.wrench)
            values['wrist sensor: wrench [N, Nm]'] = wrench
        return values

    def apply(self, load: SensorLoad) -> None:
        """Set the parameters of the load."""
        values = {f'wrist_sensor.{x.name}': getattr(load, x.name) for x in fields(load)}
        self._component.parameters.store(values)
        self.restart()

    def _tare(self, _request: Any, response: Any) -> Any:
        """Take the present wrench for zero."""
        state, sensor = self._context.inputs.latest(), self._sensor
        if self.problem or sensor is None or not np.isfinite(sensor.wrench).all():
            raise NoStateError(self.problem or 'nothing has been measured yet')
        if (np.abs(state.v) > MAX_STATIC_SPEED * motion_scales(sensor.robot)).any():
            raise DynamicsRosError('the robot moves: tare at rest')
        bias = np.asarray(sensor.load.bias) + sensor.wrench
        deviation = tuple(np.sqrt(sensor.variance).tolist())
        self.apply(replace(sensor.load, bias=tuple(bias.tolist()), bias_deviation=deviation))
        response.success = True
        response.message = 'bias is now ' + ' '.join(f'{value:.4g}' for value in bias)
        return response


class WristSensorAction(LoadAction[SensorEstimate]):
    """Identifies weight, centre of mass, bias and sign from several postures at rest."""

    name = 'identify_wrist_sensor'

    def __init__(self, component: Component[ContactParameters], sensor: WristSensorInput) -> None:
        """Create the action."""
        super().__init__(component)
        self._sensor = sensor

    def begin(self, request: Any) -> LoadWatch[SensorEstimate]:
        """Return the recorder for a goal, after checking the goal."""
        robot, sensor = self.context.required_robot(), self._sensor
        frame = sensor.frame(robot)
        if request.frame and self.context.names.frame_of(request.frame) != frame:
            raise InvalidArgumentError('frame', repr(request.frame), f"the sensor's: {frame!r}")
        duration = self.checked_duration(request.duration, DURATION)
        identifier = WristSensorIdentifier(robot, frame, was_reversed=sensor.values.reversed)

        def add(state: RobotState) -> None:
            reading = sensor.reading if sensor.is_new else None
            if reading is not None and not state.stale and not state.velocity_missing:
                identifier.add(state.time, state.q, state.v, reading)

        return LoadWatch(identifier, add, duration)

    async def finish(self, estimate: SensorEstimate, request: Any, result: Any) -> None:
        """Fill the result, log the bias, and apply both if the goal asks for it."""
        load, frame_id = estimate.load, self.context.names.frame_id_of(estimate.payload.frame)
        fill_payload(result, estimate.payload, header(self.context.now(), frame_id))
        bias = ' '.join(f'{value:.4g}' for value in load.bias)
        sign = ', reversed' if load.reversed else ''
        self.component.node.get_logger().info(f'{self.name}: bias {bias} N, Nm{sign}')
        if request.apply:
            self._sensor.apply(load)


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
