# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Wrist sensor of contact_node: ~/measured_wrench, its identification, and contact from both."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from std_srvs.srv import Trigger

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoStateError
from dynamics_ros.estimation import ContactPipeline, ContactState, ExternalTorques
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
            self._refuse(f'reading on {self._topic} refused: {error}')
            return
        self._frame_id, self._stamp = message.header.frame_id, nanoseconds(message.header.stamp)
        self._sum += values
        self._count += 1

    def _refuse(self, text: str) -> None:
        self._sum, self._count = np.zeros(6), 0
        self.reading, self.problem = None, Explanation(Reason.MESSAGES_REFUSED, text)
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
                self.reading, self.problem = None, Explanation(Reason.JOINTS_STALE, text)
        elif self.reading is not None and time.monotonic() - self._last > SILENCE:
            text = f'no reading on {self._topic} for more than {SILENCE:g} s'
            self.reading, self.problem = None, Explanation(Reason.STATES_STOPPED, text)
        if self.reading is None:
            if self._sensor is not None:
                self._sensor.restart()
            return
        try:
            sensor = self._sensor or self._made()
            wrench = sensor.update(state.time, state.q, state.v, self.reading, self._averaged)
        except DynamicsRosError as error:
            self.reading, self.problem = None, Explanation(Reason.OTHER, str(error))
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
        report, link = pipeline.detector.report, self._link(sensor) if sensor.touched else ''
        found = ContactState.CONTACT if sensor.touched else ContactState.NONE
        found_here = ContactReport(found, link, report.collision_latched, self._since)
        if external is None:
            self.place = Place.BEHIND if sensor.touched else Place.NOWHERE
            return ExternalTorques(np.full(sensor.robot.nv, np.nan), found_here)
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

    @staticmethod
    def _link(sensor: WristSensor) -> str:
        return sensor.robot.body_names[sensor.robot.model.frame(sensor.frame).body]

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
