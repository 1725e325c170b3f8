# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node: follows twists, poses or a wrench by joint commands at a fixed rate.

Every motion ends with a velocity ramp to rest, which ``Commands`` sends: step by step in ``tick``,
and completely in ``deactivate`` before the node or the process ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dynamics_ros.commanding.joint_states import UnseenTime, describe_old
from dynamics_ros.commanding.joints import check_order_is_known
from dynamics_ros.commanding.prepared_servo import (
    CommandedPositions,
    PreparedServo,
    check_servo,
    frame_and_joints,
    limits_of,
)
from dynamics_ros.control import JointCommand, JointStop, required_damping, wrench_at
from dynamics_ros.control.admittance import refused
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation.samples.robot_state import (
    RobotState,
    describe_not_finite,
    describe_stale,
)
from dynamics_ros.inverse_kinematics.differential import ServoStep
from dynamics_ros.inverse_kinematics.differential.bounded import SUBSTITUTE
from dynamics_ros.nodes.commander import (
    MAX_BYTES,
    POSE,
    TWIST,
    ArrayCommands,
    Commander,
    FramePose,
    TargetKind,
)
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.lifecycle import ManagedNode
from dynamics_ros.nodes.obstacles import Obstacles
from dynamics_ros.nodes.robot_request import Description
from dynamics_ros.parameters.servo import AdmittanceParameters, ServoParameters
from dynamics_ros.reasons import Explanation, Reason, reason_of
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import deserialized
from dynamics_ros.wire.conversions import Array, duration_message, float_sequence, numbers

STOPPING = Explanation(Reason.BRAKING, 'stopping')
PAUSED = Explanation(Reason.PAUSED, 'paused')
READY = Explanation(Reason.WAITING_FOR_COMMAND, 'waiting for a command')

AT_LARGEST_SPEED = ' at the largest speed, which is below what it asks for'


def following(target: str, step: ServoStep, notes: Iterable[str] = ()) -> Explanation:
    """Return the text that a target is followed, with the limits and notes that slow the motion."""
    # For a pose target, the distance often asks for more than the largest speed; that is normal.
    scaled = step.scaled < 1.0 and target == TWIST.name
    doing = f'following {target}' + (AT_LARGEST_SPEED if scaled else '')
    limits = [*limits_of(step), *notes]
    reason = Reason.LIMITED if limits else Reason.FOLLOWING
    return Explanation(reason, '; '.join([doing, *limits]))


FINISH_PERIOD = 0.02
"""Maximum period of the commands of a stop that ``finish`` sends [s]."""


class Commands(ArrayCommands):
    """Topic of joint commands, with the velocity ramp that ends a motion.

    Attributes:
        kind: 'trajectory', 'position' or 'velocity'.
    """

    def __init__(self, node: Node, kind: str) -> None:
        """Create the topic of a ``command_type``."""
        self.kind = kind
        others = (JointTrajectory, '~/joint_trajectory') if kind == 'trajectory' else ()
        super().__init__(node, *others)
        self._stop = JointStop()

    @property
    def last(self) -> JointCommand | None:
        """Last command; None if the joints have been brought to rest."""
        return self._stop.last

    def move(self, command: JointCommand, dt: float, acceleration: float) -> None:
        """Send a command of a motion.

        Args:
            command: the command.
            dt: time until the next command [s].
            acceleration: deceleration of the ramp to rest [rad/s^2 or m/s^2].
        """
        # Before sending, because the middleware may raise an error after it has sent the command.
        self._stop.moved(command, acceleration)
        self._send(command, dt)

    def brake(self, dt: float) -> bool:
        """Send the next command of the ramp to rest, for a time [s]; return whether it exists."""
        command = self._stop.step(dt)
        if command is None:
            return False
        self._send(command, dt)
        return True

    def finish(self, period: float) -> None:
        """Send the ramp to rest with a period [s], and wait until subscribers have received it."""
        if self.last is None:
            return
        period = min(period, FINISH_PERIOD)
        elapsed, before = period, time.monotonic()
        while self.brake(min(elapsed, 2.0 * period)):
            time.sleep(period)
            elapsed, before = time.monotonic() - before, time.monotonic()
        self.wait_until_received()

    def _send(self, command: JointCommand, dt: float) -> None:
        if self.kind != 'trajectory':
            self.command(command.v if self.kind == 'velocity' else command.q)
            return
        point = JointTrajectoryPoint(
            positions=float_sequence(command.q),
            velocities=float_sequence(command.v),
            time_from_start=duration_message(dt),
        )
        # A zero stamp means that the trajectory starts at once.
        self.publish(JointTrajectory(joint_names=list(command.joints), points=[point]))


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


NAME = 'cartesian_servo_node'


class Servo(Commander[ServoParameters, Commands, PreparedServo]):
    """Component that moves a frame by joint commands, and ramps to rest when it cannot continue."""

    subject = 'servo'

    def __init__(self, node: ManagedNode, context: RobotContext) -> None:
        super().__init__(node, context, ServoParameters)
        self.parameters.add_check(self._check_robot)
        self.parameters.add_listener(self._changed)
        self._commanded = CommandedPositions()
        self._state_time = self._heard = 0.0
        self._ending = False
        self._fault = describe_not_finite(())
        self._unseen, self._interrupted = UnseenTime(), False
        self._obstacles = Obstacles(node, context)
        self._admittance, self._gains = AdmittanceInput(self.frame_pose), ''
        self.subscribe_targets((TWIST, POSE, ENABLE))
        topic = self.values.admittance.wrench_topic
        if topic:
            self.subscribe(WrenchStamped, topic, self._on_wrench)
        if SUBSTITUTE:
            node.get_logger().info(SUBSTITUTE)

    # --- lifecycle ------------------------------------------------------------------------------

    def configure(self) -> None:
        """Create the topic of the commands.

        Raises:
            DynamicsRosError: the parameters contradict each other or do not fit the robot.
        """
        values = self.values
        self._check_robot(values)
        check_order_is_known(values.command_joints, values.command_type)
        self.commands = Commands(self.node, values.command_type)

    def activate(self) -> None:
        """Follow targets that arrive from now on."""
        self.targets.drop('')
        self._commanded.forget()
        self._ending = False
        self._unseen, self._interrupted = UnseenTime(), False

    def deactivate(self) -> None:
        """Bring the robot to rest; after it returns, nothing more is sent."""
        self.targets.drop('')
        if self.commands is not None:
            self.commands.finish(self.period)

    def cleanup(self) -> None:
        """Destroy the topic of the commands."""
        super().cleanup()
        self._ending = False

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, description: Description) -> PreparedServo:
        """Check frame and joints, compile the kernels, and read the shapes of links."""
        values, links = self.values, None
        if values.avoid_collisions:
            links = self._obstacles.links(robot, description, values.collision_margin)
        return PreparedServo.of(robot, values, robot.tool_frame, links)

    def adopt(self, prepared: PreparedServo) -> None:
        """Switch to another robot, which is moved once the current motion has come to rest."""
        self._prepared, self.state = prepared, None
        # Targets are ignored until the motion of the previous robot is at rest.
        self.targets.drop('')
        self._ending = True
        self._admittance.adopt(prepared, self.values.admittance)
        self._report_gains()

    def observe(self, state: RobotState) -> None:
        """Store the state, unless a joint is not reported; then stop."""
        prepared, self._heard = self._prepared, time.monotonic()
        if prepared is not None:
            places = dict(zip(prepared.joints, prepared.v_places, strict=True))
            missing = describe_not_finite(name for name in state.not_finite if name in places)
            self._fault = missing or describe_old(state, places, self.values.joint_state_timeout)
        if self._fault:
            self.targets.drop(self._fault)
        self.unavailable_reason = self.reason_not_to_send() or describe_stale(state)
        if not (state.stale or self._fault):
            self.state, self._state_time = state, self._heard

    def reason_not_to_send(self) -> str:
        """Return why no commands are sent; '' if they may be."""
        return self.node.inactive() or self.targets.problem

    def _check_robot(self, values: ServoParameters) -> None:
        check_servo(values)
        if self.commands is not None and self.commands.kind != values.command_type:
            raise InvalidArgumentError('command_type', 'set while configured', 'cleanup before')
        if self.context.robot is not None and self.context.built is not None:
            frame_and_joints(self.context.robot, values, self.context.robot.tool_frame)

    def _changed(self, names: frozenset[str]) -> None:
        if names - {'command_timeout', 'joint_state_timeout', 'following_tolerance'}:
            self.context.changes.rebuild(NAME)

    # --- commands -------------------------------------------------------------------------------

    def follow_target(self, kind: TargetKind, data: bytes, state: RobotState) -> None:
        """Follow a target from now on, or come to rest if it is invalid."""
        if kind is not ENABLE:
            if self._admittance.pressed(self.values.command_timeout):
                self._admittance.ignored = kind.name
                return
        elif not self._admittance.pressed():
            if self._following_wrench or self.targets.problem == RELEASE:
                self.targets.drop('')
            return
        elif not self._following_wrench:
            last = self.commands.last if self.commands is not None else None
            moving = self._ending or (last is not None and bool(last.v.any()))
            refused = self._admittance.begin(state.q, moving=moving)
            if refused:
                # Why the motion before has ended stays the reason until the switch is released.
                problem = (self.targets.problem or refused) if refused is RELEASE else refused
                self.targets.drop(problem)
                self.unavailable_reason = problem
                return
        self.targets.take(kind, data, state.q)
        self.unavailable_reason = self.targets.problem

    def pause(self) -> None:
        """Come to rest, until the next target; to resume accepts the reported positions."""
        self.targets.drop('')
        if not self.paused:
            self._commanded.forget()

    def tick(self, now: float, elapsed: float) -> None:
        """Send the next command of the motion, or of the ramp to rest."""
        # After a stall of the machine, one step is not longer than two regular steps.
        dt = min(elapsed, 2.0 * self.period)
        commands = self.commands
        if commands is None or not self.active:
            self.publish_status(self.idle())
            return
        try:
            if commands.kind == 'velocity':
                self._commanded.passed(commands.last, elapsed)
            status_text = self._follow(commands, now, dt)
        except Exception as error:
            # The robot must not continue to move after an unexpected error.
            text = f'unexpected error: {type(error).__name__}: {error}'
            self.targets.drop(Explanation(Reason.UNEXPECTED_ERROR, text))
            self.faults.report('leading the frame', error)
            status_text = None
        if not status_text:
            status_text = STOPPING if commands.brake(dt) else self.idle()
        self.publish_status(status_text)

    def _follow(self, commands: Commands, now: float, dt: float) -> Explanation | None:
        """Send the next command towards the target; return the status, None without a target."""
        timeout, incoming = self.values.joint_state_timeout, self.context.inputs.incoming
        if now - self._state_time > timeout:
            incoming.process_waiting()  # after a pause of this process
        prepared, state, values = self._prepared, self.state, self.values
        self._ending = self._ending and commands.last is not None
        if prepared is None or state is None:
            return None
        last, commanded = commands.last, self._commanded
        if last is None and math.isinf(values.following_tolerance):
            commanded.forget()
        reported = prepared.reported(state.q, commanded)
        commanded.update(prepared.joints, reported, last, commands.kind != 'velocity')
        if self._ending or self.problem:
            return None
        age = max(now - self._state_time, 0.0)
        awaited = last is not None or self.targets.age() < values.command_timeout
        fault, inputs = self._fault, self.context.inputs
        silent = now - self._heard > timeout
        if not fault and silent:
            fault = inputs.describe_stopped()
        self._interrupted = bool(fault) and (self._interrupted or last is not None)
        known = 0.0 if fault.reason is Reason.POSITION_NOT_FINITE else timeout
        if self._unseen.lasts(timeout, self.lived, known if self._interrupted else None):
            self.node.give_up(fault)
            return None
        if not fault and age > timeout:
            # Of a joint that is not commanded, or the base: the robot goes on when it is back.
            fault = describe_stale(inputs.state or state)
        reason: str = fault if awaited else ''
        reason = reason or commanded.departure(reported, age, last, values.following_tolerance)
        if reason:
            self.targets.drop(reason)
        target = None if self.paused else self.targets.fresh(values.command_timeout)
        if target is not None and target.kind is ENABLE:
            reason = self._admittance.problem(prepared, now)
            if reason:
                self.targets.drop(reason)
                return None
        if target is None:
            return None
        q = prepared.begin_step(state.q, commanded.q, last)
        try:
            if prepared.links is not None:
                prepared.servo.collisions = self._obstacles.around(prepared.links)
            if target.kind is ENABLE:
                step = self._admittance.step(prepared, q, dt)
            elif target.kind is POSE:
                step = prepared.servo.follow_pose(q, target.values, dt)
            else:
                step = prepared.servo.follow_twist(q, target.in_root_axes(self.frame_pose, q), dt)
        except DynamicsRosError as error:  # tf no longer has its frame, or an obstacle is wrong
            self.targets.drop(f'{target.kind.name} ended: {error}')
            return None
        command = prepared.command(q, step, dt)
        commands.move(command, dt, prepared.servo.settings.joint_acceleration)
        if target.kind is ENABLE:
            return following('the wrench', step, self._admittance.notes(prepared))
        return following(target.kind.name, step)

    # --- admittance -----------------------------------------------------------------------------

    @property
    def _following_wrench(self) -> bool:
        target = self.targets.of()
        return target is not None and target.kind is ENABLE

    def _on_target(self, kind: TargetKind, data: bytes) -> None:
        if kind is ENABLE:
            usable = self.state is not None and self.active and not self.paused
            self._admittance.hear(data, usable)
        super()._on_target(kind, data)

    def _on_wrench(self, data: bytes) -> None:
        if self.state is not None:
            self._admittance.add(data, self.state.q)

    def _report_gains(self) -> None:
        """Log which stiffness a contact may have, at start and when that changes."""
        values = self.values
        text, enough = describe_gains(values.admittance, self.period)
        if values.admittance.wrench_topic and text != self._gains:
            self._gains = text
            logger = self.node.get_logger()
            (logger.info if enough else logger.warning)(text)

    # --- status ---------------------------------------------------------------------------------

    def idle(self) -> Explanation:
        """Return why the robot is not moved."""
        if not self.active or self._prepared is None or self.state is None or self.problem:
            return super().idle()
        if self.paused:
            return PAUSED
        problem = self.targets.problem
        if not problem:
            return READY
        known = reason_of(problem) is not Reason.OTHER
        return Explanation(reason_of(problem) if known else Reason.HALTED, f'halted: {problem}')
