# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inputs of the admittance of cartesian_servo_node: the wrench, and the switch that enables it."""

from __future__ import annotations

import math
import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Bool

from dynamics_ros.commanding.prepared_servo import PreparedServo
from dynamics_ros.control import required_damping, wrench_at
from dynamics_ros.control.admittance import refused
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.inverse_kinematics.differential import ServoStep
from dynamics_ros.nodes.commander import MAX_BYTES, FramePose, TargetKind
from dynamics_ros.parameters.servo import AdmittanceParameters
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.wire.cdr import deserialized
from dynamics_ros.wire.conversions import Array, numbers

ENABLE = TargetKind('admittance/enable', Bool, lambda *_: np.zeros(0))
"""Switch that a person holds; the wrench is followed while it is repeated. Only true is a target,
without values."""


RELEASE = refused('the switch has to be released first, by false')


def describe_gains(values: AdmittanceParameters, period: float) -> tuple[str, bool]:
    """Return how stiff an environment may be, and whether that is enough.

    Args:
        values: parameters.
        period: of the commands [s].
    """
    most = np.array(values.damping) / required_damping(1.0, values.delay, period)
    linear, angular = most[:3].min(), most[3:].min()
    text = (
        f'admittance: contact is stable up to {linear:.3g} N/m and {angular:.3g} Nm/rad with '
        f'admittance.damping and a delay of {values.delay:g} s'
    )
    wanted = values.environment_stiffness
    enough = bool(linear >= wanted)
    if not enough:
        damping = required_damping(wanted, values.delay, period)
        text += f'; {wanted:.3g} N/m need a damping of {damping:.3g} Ns/m'
    return text, enough


class AdmittanceInput:
    """Wrench of a sensor and the enabling switch, as the admittance of a servo needs them.

    Attributes:
        armed: whether false has come since the switch last began or failed to begin a motion. Its
            silence does not count: a tare while a hand still pushes would turn the push around.
        ignored: name of a command that came while the switch was pressed; '' for none.
    """

    def __init__(self, frame_pose: FramePose) -> None:
        self._frame_pose, self._frame_id = frame_pose, ''
        self.armed, self._pressed, self.ignored = False, -math.inf, ''
        self._prepared: PreparedServo | None = None
        self._values = AdmittanceParameters()

    def adopt(self, prepared: PreparedServo, values: AdmittanceParameters) -> None:
        """Use another servo, and the parameters that it was made from."""
        self._prepared, self._values = prepared, values

    def hear(self, data: bytes, usable: bool) -> None:
        """Read a message of the switch.

        Args:
            data: serialized message.
            usable: whether a motion could begin; a switch that is pressed before must be released.
        """
        try:
            pressed = bool(deserialized(data, Bool, MAX_BYTES).data)
        except DynamicsRosError:
            pressed = False
        self._pressed = time.monotonic() if pressed else -math.inf
        self.armed = not pressed or (usable and self.armed)

    def pressed(self, timeout: float = math.inf) -> bool:
        """Return whether the switch was pressed at its last message, within a timeout [s]."""
        return time.monotonic() - self._pressed < timeout

    def add(self, data: bytes, q: Array) -> None:
        """Read a message of the sensor, at a configuration q (nq) of the robot."""
        if self._prepared is None:
            return
        now, measured = time.monotonic(), self._prepared.wrench
        try:
            message = deserialized(data, WrenchStamped, MAX_BYTES)
            wrench = numbers(message.wrench, 'wrench')
        except DynamicsRosError as error:
            measured.refuse(now, f'wrench refused: {error}')
            return
        if message.header.frame_id != self._frame_id:
            self._frame_id = message.header.frame_id
            measured.refuse(now, f'the frame of the wrench changes to {self._frame_id!r}')
            return
        measured.add(now, wrench, q)

    def begin(self, q: Array, *, moving: bool) -> Explanation:
        """Tare the wrench and begin at rest; return why not, '' if it begins.

        Args:
            q: reported configuration (nq).
            moving: whether the last command is not at rest.
        """
        ready, self.armed, self.ignored = self.armed, False, ''
        if self._prepared is None or not ready:
            return RELEASE
        if not self._values.wrench_topic:
            return refused('the parameter admittance.wrench_topic is not set')
        if moving:
            return refused('the arm still moves')
        problem = self._prepared.wrench.tare(time.monotonic(), self._values.dead_zone)
        if problem:
            return problem
        try:
            pose = self._frame_pose(self._frame_id, q, 'wrench.header.frame_id')
        except DynamicsRosError as error:
            return refused(str(error))
        if np.array_equal(pose, np.eye(4)):
            return refused(f'wrench.header.frame_id is {self._frame_id!r}, not that of a sensor')
        self._prepared.admittance.begin()
        return Explanation(Reason.OK, '')

    def problem(self, prepared: PreparedServo, now: float) -> Explanation:
        """Return why the motion must end at a time of the steady clock [s]; '' if it may go on."""
        if not prepared.admittance.oscillates:
            return prepared.wrench.problem(now)
        damping = min(self._values.damping[:3])
        text = f'a damping of {damping:.3g} Ns/m is too little for this contact'
        return Explanation(
            Reason.CONTACT_UNSTABLE, f'the tool oscillates: {text}; raise admittance.damping'
        )

    def step(self, prepared: PreparedServo, q: Array, dt: float) -> ServoStep:
        """Return the next step by the wrench from a configuration q (nq), for a time [s].

        Raises:
            DynamicsRosError: tf no longer provides the frame of the sensor.
        """
        robot, servo, law = prepared.robot, prepared.servo, prepared.admittance
        pose = robot.forward_kinematics(q, servo.frame)
        axes = np.eye(3)
        if prepared.axes != robot.root_frame:
            axes = robot.forward_kinematics(q, prepared.axes)[:3, :3]
        sensor = self._frame_pose(self._frame_id, q)
        wrench = wrench_at(prepared.wrench.value, sensor, pose)
        step = servo.follow_twist(q, law.twist(wrench, pose, axes, dt), dt)
        law.moved(robot.jacobian(q, servo.frame) @ step.v)
        return step

    def notes(self, prepared: PreparedServo) -> list[str]:
        """Return what limits the motion, beside the limits of the servo."""
        notes = ['at the end of its reach'] if prepared.admittance.at_reach else []
        return [*notes, f'{self.ignored} is ignored'] if self.ignored else notes
