"""cartesian_servo_node: twists or poses of a frame in, joint commands out at a fixed rate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_srvs.srv import SetBool

from ..errors import DynamicsRosError, InvalidArgumentError
from ..inverse_kinematics.differential import CartesianServo, ServoSettings, ServoStep
from ..inverse_kinematics.differential.bounded import SUBSTITUTE
from ..robot import Robot
from .conversions import Array
from .declaration import ParameterSet
from .outputs import Output
from .part import Part, known_frames
from .robot_context import RobotContext
from .servo_commands import Commands, commanded_joints
from .servo_parameters import ServoParameters
from .servo_targets import Frames, PoseTarget, Targets, TwistTarget
from .standalone import run_alone
from .state import RobotState
from .transforms import Transforms

NAME = 'cartesian_servo_node'

# The newest command alone counts, and comes from whatever a joystick driver is.
COMMAND_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)

HOLD = 0.1
"""Seconds that the command to stand still is repeated after a stop."""

STATUS_PERIOD = 0.1
"""Seconds between two messages on ~/status; a change is told at once."""


@dataclass(frozen=True)
class Prepared:
    """What is configured, checked against a robot."""

    robot: Robot
    servo: CartesianServo
    joints: tuple[str, ...]


class Servo(Part):
    """Leads a frame; stops softly whenever it does not know what to do."""

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context)
        self.parameters = ParameterSet(node, ServoParameters)
        self.parameters.add_check(self._check_robot)
        _check(self.parameters.values)
        self.parameters.add_listener(self._changed)
        self._prepared: Prepared | None = None
        self._state: RobotState | None = None
        self._state_time = 0.0
        self._q: Array | None = None
        self._tick_time = 0.0
        self._moved = 0.0
        self._paused = False
        self._said, self._said_time = '', 0.0
        self._last: ServoStep | None = None
        self._targets = Targets(
            Frames(context, Transforms(node), lambda: self.parameters.values.transform_timeout)
        )
        self._commands = Commands(node, self.parameters.values.command_type)
        self._status = Output(node, DiagnosticStatus, '~/status')
        for kind, target in ((TwistStamped, TwistTarget), (PoseStamped, PoseTarget)):
            node.create_subscription(
                kind, f'~/{target.name}', lambda m, t=target: self._take(t, m), COMMAND_QOS
            )
        node.create_service(SetBool, '~/pause', self._pause)
        # Steady: a simulated clock that stands still must not leave the robot moving.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(1.0 / self.parameters.values.rate, self._tick, clock=steady)
        if SUBSTITUTE:
            node.get_logger().info(SUBSTITUTE)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str) -> Prepared:
        """Check frame and joints, and compile the kernels."""
        values = self.parameters.values
        frame, joints = _selected(robot, values, default_frame)
        others = [name for name in robot.joint_v_indices if name not in joints]
        servo = CartesianServo(robot, frame, _settings(values), others)
        q = robot.neutral()
        servo.follow_pose(q, robot.forward_kinematics(q, frame), 1.0)
        servo.reset()
        return Prepared(robot, servo, joints)

    def adopt(self, prepared: Prepared) -> None:
        """Begin from rest."""
        self._prepared, self._state, self._q = prepared, None, None
        self._targets.drop('')

    def outputs(self) -> list[Output]:
        """Commands and status."""
        return [self._commands.output, self._status]

    def details(self) -> dict[str, str]:
        """What it is doing."""
        return {'servo': self._said}

    def update(self, state: RobotState) -> None:
        """Remember where the robot is."""
        self.silence = self.stale_silence(state) or self._targets.problem
        if not state.stale:
            self._state, self._state_time = state, time.monotonic()

    def _check_robot(self, values: ServoParameters) -> None:
        _check(values)
        if self.context.robot is not None and self.context.built is not None:
            _selected(self.context.robot, values, self.context.built.default_frame)

    def _changed(self, names: frozenset[str]) -> None:
        values = self.parameters.values
        if 'command_type' in names:
            self._commands.output.close()
            self._commands = Commands(self.node, values.command_type)
        if names - {'command_timeout', 'joint_state_timeout', 'following_tolerance'}:
            self.context.rebuild(NAME)

    # --- commands -------------------------------------------------------------------------------

    def _take(self, kind: Any, message: Any) -> None:
        if self._state is None or self._paused:
            return
        self._targets.take(kind, message, self._state.q)
        self.silence = self._targets.problem

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = bool(request.data)
        self._targets.drop('')
        response.success = True
        response.message = 'paused' if self._paused else 'resumed: waiting for a command'
        return response

    def _tick(self) -> None:
        now = time.monotonic()
        if self._prepared is None or self._state is None:
            self._tell('waiting: ' + (self.problem or self.context.waiting_for()))
            return
        values, period = self.parameters.values, 1.0 / self.parameters.values.rate
        elapsed = now - self._tick_time
        if elapsed < 0.5 * period:
            return  # timers that were held up fire in a burst
        # After a pause of the machine one step goes no farther than two would have.
        dt = min(elapsed, 2.0 * period)
        self._tick_time = now
        stop = self._reason_to_stop(now)
        if stop:
            self._targets.drop(stop)
        target = None if self._paused else self._targets.fresh(values.command_timeout)
        if self._q is None:
            if target is None:
                self._tell(self._idle())
                return
            self._q = self._state.q.copy()
            self._prepared.servo.reset()
            dt = period
        q = self._here()
        if target is None:
            step, doing = self._prepared.servo.stop(q, dt), 'stopping'
        else:
            doing, self._moved = f'following {target.name}', now
            try:
                step = target.step(self._prepared.servo, q, dt)
            except DynamicsRosError as error:  # tf no longer knows its frame
                self._targets.drop(f'{target.name} ended: {error}')
                step, doing = self._prepared.servo.stop(q, dt), 'stopping'
        self._go(q, step, dt)
        self._last = step
        if target is None and not step.stopped:
            self._moved = now
        if target is None and now - self._moved > HOLD:
            self._q, doing = None, self._idle()
        self._tell(_described(doing, step) if self._q is not None else doing)

    def _reason_to_stop(self, now: float) -> str:
        values = self.parameters.values
        assert self._state is not None
        age = now - self._state_time
        if age > values.joint_state_timeout and (
            self._q is not None or self._targets.age() < values.command_timeout
        ):
            return f'joint states have not come for {values.joint_state_timeout:g} s'
        if self._q is None or values.command_type == 'velocity':
            return ''
        assert self._prepared is not None
        off = np.abs(self._prepared.robot.difference(self._state.q, self._q))
        if off.max() > values.following_tolerance:
            index = int(off.argmax())
            names = {i: name for name, i in self._prepared.robot.joint_v_indices.items()}
            return f'{names.get(index, index)} is {off[index]:.3g} from where it was sent'
        return ''

    def _here(self) -> Array:
        """Where the robot is; for positions, where it was sent: what follows them lags behind."""
        assert self._q is not None
        assert self._state is not None
        return self._state.q if self._commands.kind == 'velocity' else self._q

    def _go(self, q: Array, step: ServoStep, dt: float) -> None:
        assert self._prepared is not None
        robot = self._prepared.robot
        self._q = robot.integrate(q, dt * step.v)
        self._commands.publish(robot, self._prepared.joints, self._q, step.v, dt)

    # --- status ---------------------------------------------------------------------------------

    def _idle(self) -> str:
        if self._paused:
            return 'paused'
        problem = self._targets.problem
        return f'halted: {problem}' if problem else 'waiting for a command'

    def _tell(self, text: str) -> None:
        now = time.monotonic()
        if text == self._said and now - self._said_time < STATUS_PERIOD:
            return
        self._said, self._said_time = text, now
        fine = text.startswith(('following', 'waiting for a command', 'stopping', 'paused'))
        slowed = '; ' in text
        level = DiagnosticStatus.WARN if slowed or not fine else DiagnosticStatus.OK
        values = self._values()
        self._status.publish(
            DiagnosticStatus(
                level=level,
                name=f'{self.node.get_name()}: servo',
                message=text,
                hardware_id=self._prepared.robot.name if self._prepared else '',
                values=[KeyValue(key=key, value=value) for key, value in values.items()],
            )
        )

    def _values(self) -> dict[str, str]:
        if self._last is None or self._q is None:
            return {}
        return {
            'speed': f'{self._last.speed:.3f}',
            'condition number': f'{self._last.condition:.1f}',
            'near singularity': str(self._last.near_singularity).lower(),
            'at limit': ', '.join(f'{name}: {kind}' for name, kind in self._last.at_limit.items()),
        }


def _described(doing: str, step: ServoStep) -> str:
    """What it does, and what slows it down."""
    notes = []
    if step.near_singularity:
        notes.append('near a singularity')
    stuck: Sequence[str] = sorted(n for n, kind in step.at_limit.items() if kind == 'position')
    if stuck:
        notes.append(f'at the limit of {", ".join(stuck)}')
    return '; '.join([doing, *notes])


def _selected(
    robot: Robot, values: ServoParameters, default_frame: str
) -> tuple[str, tuple[str, ...]]:
    """The frame that is led and the joints that are commanded.

    Raises:
        DynamicsRosError: the robot does not have them.
    """
    asked = (values.frame,) if values.frame else ()
    (frame,) = known_frames(robot, asked, default_frame, 'frame')
    return frame, commanded_joints(robot, frame, values.command_joints, values.command_type)


def _settings(values: ServoParameters) -> ServoSettings:
    return ServoSettings(
        follow=values.follow,
        gain=values.gain,
        linear_speed=values.speed.linear,
        angular_speed=values.speed.angular,
        joint_velocity=values.speed.joint,
        velocity_scale=values.speed.joint_scale,
        joint_acceleration=values.speed.joint_acceleration,
        joint_margin=values.joint_margin,
        slow_condition=values.singularity.slow_condition,
        stop_condition=values.singularity.stop_condition,
    )


def _check(values: ServoParameters) -> None:
    if not values.singularity.stop_condition > values.singularity.slow_condition:
        raise InvalidArgumentError(
            'singularity.stop_condition',
            f'{values.singularity.stop_condition:g}',
            f'above slow_condition, {values.singularity.slow_condition:g}',
        )
    if len(set(values.command_joints)) != len(values.command_joints):
        raise InvalidArgumentError('command_joints', 'a joint is named twice', 'each joint once')


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Servo, arguments, subscribe_payload=True)


if __name__ == '__main__':
    main()
