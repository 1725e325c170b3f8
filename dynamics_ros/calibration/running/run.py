# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subcommand ``calibrate_robot run``: moves a robot, records it and identifies it.

The robot is stopped on any error.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import rclpy
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from numpy.typing import NDArray
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from dynamics_ros.calibration import command
from dynamics_ros.calibration.outputs import check_outputs
from dynamics_ros.calibration.plan import read_trajectory, without_shapes
from dynamics_ros.calibration.recorded import add_robot_options
from dynamics_ros.calibration.tables import write_table
from dynamics_ros.command_line import finite
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.files import use_writable_log_folder
from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.excitation.way import Clearance, Motion, check_motion, straight_way
from dynamics_ros.identification.uncertainty import Recorder
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.nodes.entry import ending_signals
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

TIMEOUT = 10.0
"""Maximum time to wait for a controller, for joint states, and for a robot to come to rest [s]."""

LOST_AFTER = 0.5
"""Time without joint states after which they count as lost [s]."""

REST_TOLERANCE, REST_TIME = 0.002, 0.5
"""A robot is at rest if its joints stay within the first value [rad], of sliding joints times their
``motion_scales``, for the second [s]."""

MAX_DELAY = 5.0
"""Maximum time that a controller may exceed the duration of the trajectory [s]."""


class Mover:
    """Sends trajectories and monitors joint states; a context manager."""

    def __init__(self, robot: Robot, action: str, topic: str) -> None:
        """Subscribes to joint states and connects to the action.

        Args:
            robot: the robot with the joints that move.
            action: name of the FollowJointTrajectory action of their controller.
            topic: topic of the joint states.
        """
        self._robot, self._action, self._topic = robot, action, topic
        self._rests_within = REST_TOLERANCE * motion_scales(robot)
        use_writable_log_folder()
        self._context = rclpy.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node('calibrate_robot', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._client = ActionClient(self._node, FollowJointTrajectory, action)
        self._node.create_subscription(JointState, topic, self._on_state, qos_profile_sensor_data)
        self._columns: list[int] = []
        self._names: list[str] = []
        self._q: Array | None = None
        self._last_state = -np.inf
        self._problem = 'no joint states'
        self._recorder: Recorder | None = None
        self._interrupted = False
        self._still: tuple[Array, float] | None = None

    def __enter__(self) -> Mover:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._client.destroy()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def resting_place(self) -> Array:
        """Returns the configuration (nv) once the robot is at rest.

        Raises:
            DynamicsRosError: the robot moves, or there are no valid joint states.
        """
        self._still = None
        deadline = time.monotonic() + TIMEOUT
        while not self._rests():
            self._spin()
            if time.monotonic() > deadline:
                problem = self._problem if self._states_lost() else 'the robot moves'
                raise DynamicsRosError(f'{self._topic}: {problem}')
        assert self._q is not None
        return self._q

    def follow(self, motion: Motion) -> JointSamples:
        """Executes a motion and returns the recorded samples.

        The robot is stopped on any error, also on a signal that would end the process.

        Raises:
            DynamicsRosError: the motion failed; says why, and whether the robot is at rest.
            KeyboardInterrupt: a signal interrupted the motion; the robot is at rest.
        """
        if not self._client.server_is_ready() and not self._wait_for(self._client.server_is_ready):
            raise DynamicsRosError(f'{self._action}: no controller offers this action')
        with self._signals_kept():
            return self._followed(motion)

    def _followed(self, motion: Motion) -> JointSamples:
        self._recorder = recorder = Recorder(self._robot, 'the motion')
        sent = self._client.send_goal_async(_goal(motion))
        if not self._wait_for(sent.done):
            # The goal may still be accepted later.
            sent.add_done_callback(lambda done: done.result().cancel_goal_async())
            raise self._stopped(None, f'{self._action} has not answered')
        handle = sent.result()
        if not handle.accepted:
            raise DynamicsRosError(f'{self._action} refused the trajectory; nothing has moved')
        ended = handle.get_result_async()
        try:
            reason = self._watched(ended, recorder, motion.duration + MAX_DELAY)
        except BaseException:
            self._stopped(handle, 'unexpected error')
            raise
        if reason is not None:
            raise self._stopped(handle, reason)
        result = ended.result().result
        if ended.result().status != GoalStatus.STATUS_SUCCEEDED:
            reason = result.error_string or f'error {result.error_code}'
            raise self._stopped(None, f'{self._action} aborted the trajectory: {reason}')
        self._recorder = None
        return _with_known_velocities(recorder.samples)

    def _watched(self, ended: Any, recorder: Recorder, longest: float) -> str | None:
        """Returns why a motion has to be cancelled, '' after a signal; None if it has ended.

        Time is that of the joint states, since a simulated robot may be slower than real time.
        """
        while not ended.done():
            self._spin()
            if self._interrupted:
                return ''
            if self._states_lost():
                return f'{self._topic}: {self._problem}'
            if recorder.duration > longest:
                return f'{self._action} takes longer than the trajectory'
        return None

    @contextmanager
    def _signals_kept(self) -> Iterator[None]:
        """Defers signals that would end the process while the robot moves."""
        before = {number: signal.signal(number, self._interrupt) for number in ending_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stopped(self, handle: Any, reason: str) -> BaseException:
        """Cancels the goal, waits until the robot is at rest; returns the exception to raise."""
        self._recorder = None
        if handle is not None:
            self._wait_for(handle.cancel_goal_async().done)
        self._still = None
        rests = self._wait_for(self._rests)
        outcome = 'the robot rests' if rests else 'IT IS NOT KNOWN WHETHER THE ROBOT RESTS'
        if not reason and rests:
            print('stopped: the robot rests')
            return KeyboardInterrupt()
        return DynamicsRosError(f'{reason or "interrupted"}: cancelled, {outcome}')

    def _wait_for(self, condition: Callable[[], Any]) -> bool:
        """Spins until a condition holds, for at most ``TIMEOUT``; returns whether it holds."""
        deadline = time.monotonic() + TIMEOUT
        while not condition() and time.monotonic() < deadline:
            self._spin()
        return bool(condition())

    def _spin(self) -> None:
        self._executor.spin_once(timeout_sec=0.02)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupted = True

    def _states_lost(self) -> bool:
        return time.monotonic() - self._last_state > LOST_AFTER

    def _rests(self) -> bool:
        if self._states_lost() or self._q is None:
            self._still = None
            return False
        now = time.monotonic()
        if self._still is None or (np.abs(self._q - self._still[0]) > self._rests_within).any():
            self._still = self._q, now
        return now - self._still[1] >= REST_TIME

    def _on_state(self, message: JointState) -> None:
        if list(message.name) != self._names:
            missing = [n for n in self._robot.joint_names if n not in message.name]
            if missing:
                self._problem = f'joint states without {", ".join(missing)}'
                return
            self._names = list(message.name)
            self._columns = [self._names.index(n) for n in self._robot.joint_names]
        count = len(self._names)
        if len(message.position) != count or len(message.effort) != count:
            self._problem = 'joint states without positions or efforts'
            return
        q, effort = (np.array(x)[self._columns] for x in (message.position, message.effort))
        if not (np.isfinite(q).all() and np.isfinite(effort).all()):
            self._problem = 'joint states with positions or efforts that are not finite'
            return
        self._problem = f'no joint states for {LOST_AFTER:g} s'
        self._q, self._last_state = q, time.monotonic()
        if self._recorder is not None:
            known = len(message.velocity) == count
            v = np.array(message.velocity)[self._columns] if known else np.full(len(q), np.nan)
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            stamp = stamp or time.monotonic_ns()
            self._recorder.add(stamp, q, v, effort)


def _goal(motion: Motion) -> Any:
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = list(motion.joint_names)
    for t, q, v, a in zip(motion.time, motion.q, motion.v, motion.a, strict=True):
        point = JointTrajectoryPoint(
            positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist()
        )
        nanoseconds = round(t * 1e9)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(nanoseconds, 10**9)
        goal.trajectory.points.append(point)
    return goal


def _with_known_velocities(samples: JointSamples) -> JointSamples:
    assert samples.velocity is not None
    return samples if np.isfinite(samples.velocity).all() else replace(samples, velocity=None)


START_TOLERANCE = 0.05
"""Maximum distance of a joint from where it was commanded [rad], times its ``motion_scales``."""

DEFAULT_ACTION = '/joint_trajectory_controller/follow_joint_trajectory'


def run(arguments: list[str]) -> None:
    """Moves, records and identifies the robot.

    Raises:
        DynamicsRosError, OSError: it failed; if the robot moved, says whether it is at rest.
        KeyboardInterrupt: a signal interrupted the motion; the robot is at rest.
    """
    options, rest = _parser().parse_known_args(arguments)
    identification = [str(options.record), '--robot', options.robot, *_robot_args(options), *rest]
    # Checks before anything moves.
    outputs = command.output_files(command.parser().parse_args(identification))
    check_outputs(
        {'--record': options.record, **outputs}, [Path(options.robot), options.trajectory]
    )
    text = read_description_file(options.robot)
    robot = Robot.from_urdf(text, gravity=options.gravity, locked_joints=dict(options.lock))
    planned = _planned(robot, read_trajectory(options.trajectory))
    geometry = read_collision_geometry(text)
    clearance = Clearance(robot, geometry, options.floor) if geometry.triangles else None
    if clearance is None:
        print(without_shapes(options.floor))
    check_motion(robot, planned, 'the trajectory', clearance)
    with Mover(robot, options.action, options.joint_states) as mover:
        here = mover.resting_place()
        near = START_TOLERANCE * motion_scales(robot)
        way = straight_way(robot, here, planned.q[0], options.speed)
        check_motion(robot, way, 'the way to its start', clearance)
        print(_announcement(robot, options.action, way, planned))
        _ask(options.yes)
        if (np.abs(mover.resting_place() - here) > near).any():
            raise DynamicsRosError('the robot has been moved meanwhile: nothing was sent')
        mover.follow(way)
        if (np.abs(mover.resting_place() - planned.q[0]) > near).any():
            raise DynamicsRosError('the robot did not reach the start of the trajectory')
        samples = mover.follow(planned)
        mover.resting_place()
    write_table(options.record, samples)
    print(f'{options.record}: {len(samples)} samples; the robot rests')
    command.calibrate(identification)


def _robot_args(options: argparse.Namespace) -> list[str]:
    """Returns robot options to pass on to the identification."""
    arguments = ['--gravity', *map(str, options.gravity)]
    if options.lock:
        arguments += ['--lock', *(f'{name}={value}' for name, value in options.lock)]
    return arguments


def _planned(robot: Robot, motion: Motion) -> Motion:
    if set(motion.joint_names) != set(robot.joint_names):
        raise InvalidArgumentError(
            'the trajectory',
            f'is of {", ".join(motion.joint_names)}',
            f'{", ".join(robot.joint_names)}; lock other joints with --lock',
        )
    if np.abs(motion.v[[0, -1]]).max() > 1e-3:
        raise InvalidArgumentError(
            'the trajectory', 'does not begin and end at rest', 'one that does'
        )
    return motion.of(robot.joint_names)


def _announcement(robot: Robot, action: str, way: Motion, planned: Motion) -> str:
    rows = [
        f'  {name:24} {here:8.3f} -> {start:8.3f}, then {low:.3f} to {high:.3f}, at most {v:.3f}/s'
        for name, here, start, low, high, v in zip(
            robot.joint_names,
            way.q[0],
            planned.q[0],
            planned.q.min(axis=0),
            planned.q.max(axis=0),
            np.abs(planned.v).max(axis=0),
            strict=True,
        )
    ]
    return '\n'.join(
        [
            f'{action} moves the robot for {way.duration:.1f} s to the start, at most '
            f'{np.abs(way.v).max():.2f}/s, then {planned.duration:.1f} s through the trajectory:',
            *rows,
            'What stands around the robot is not known here. Keep a hand on the emergency stop.',
        ]
    )


def _ask(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise DynamicsRosError('no terminal to confirm that the robot may move: --yes says so')
    if input('Move the robot? [y/N] ').strip().lower() not in ('y', 'yes'):
        raise DynamicsRosError('nothing was sent')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f'{command.NAME} run',
        description='Moves a robot along a planned trajectory, records it, and identifies it. '
        f'All other options are those of {command.NAME}.',
    )
    add_robot_options(parser)
    parser.add_argument(
        '--trajectory',
        type=Path,
        required=True,
        metavar='YAML',
        help=f'trajectory written by {command.NAME} plan',
    )
    parser.add_argument(
        '--action',
        default=DEFAULT_ACTION,
        help='FollowJointTrajectory action of the controller (default: %(default)s)',
    )
    parser.add_argument(
        '--joint-states',
        default='/joint_states',
        metavar='TOPIC',
        help='topic of the joint states (default: %(default)s)',
    )
    parser.add_argument(
        '--record',
        type=Path,
        default=Path('recording.csv'),
        metavar='CSV',
        help='file for the recorded joint states (default: %(default)s)',
    )
    parser.add_argument(
        '--speed',
        type=_speed,
        default=0.2,
        help='largest joint speed to the start [rad/s or m/s] (default: %(default)s)',
    )
    parser.add_argument(
        '--floor',
        type=finite,
        metavar='HEIGHT',
        help='least height of links in the root frame [m] (default: not checked)',
    )
    parser.add_argument('--yes', action='store_true', help='move without confirmation')
    return parser


def _speed(text: str) -> float:
    speed = float(text)
    if not 0.0 < speed <= 1.0:
        raise argparse.ArgumentTypeError(f'{text} is not between 0 and 1 rad/s or m/s')
    return speed
