# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""robot_simulator: topics of a simulated robot, with the ground truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from geometry_msgs.msg import PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.clock import Clock
from rclpy.executors import Executor
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.estimation.samples.reports import NANOSECONDS
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.parameters import ParameterSet, check_undeclared
from dynamics_ros.nodes.process import Application, run
from dynamics_ros.nodes.reporting import steady_timer
from dynamics_ros.nodes.robot_request import FILE, FrameNames, description_path, read_description_of
from dynamics_ros.nodes.services import serve
from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.simulation import (
    TIME_STEP_NS,
    Assembly,
    Sample,
)
from dynamics_ros.simulation.engines import wrench_about
from dynamics_ros.wire.contact_messages import true_foot_contacts
from dynamics_ros.wire.conversions import (
    float_array,
    joint_state,
    motion_of,
    numbers,
    odometry,
    pose_stamped,
    seconds,
    stamped,
    time_message,
)
from dynamics_ros.wire.services import by_name
from dynamics_ros_msgs.msg import FootContacts
from dynamics_ros_msgs.srv import ApplyWrench

DEFAULT_ROBOT = 'seven_joint_arm.urdf'

ODOMETRY_FRAME = 'odom'
"""Frame of the pose of a moving base."""

TRUTH_RATE = 250.0
"""Rate of each ground truth topic in simulated time, at stamps of joint states [Hz]."""

COMMAND_TIMEOUT = 0.2
"""Longest time for which a command of velocities applies without a new one [s]."""

_QUEUE = 100  # joint states; covers a reader that stalls for 0.2 s at 500 Hz
_MAX_LAG = 0.5  # longest stall that is caught up [s of real time]
_POSITION_TIME = 0.01  # s in which a commanded position is reached
_MAX_STEPS = 50  # per timer callback, so that services are answered while catching up


class RobotSimulator(GuardedNode):
    """Node that steps a SimulatedRobot in real time and publishes its sensors and ground truth.

    Stamps start at the time of the clock and advance by exactly the simulated time. After a short
    stall the missing steps are made up. After a longer one the robot goes on as if it had paused:
    stamps jump to the clock, since joint states would look late for ever. A published ``/clock``
    stays behind instead, with the stamps, and never jumps.
    """

    def __init__(self) -> None:
        super().__init__('robot_simulator')
        self.parameters = ParameterSet(self, SimulatorParameters)
        check_undeclared([self])
        values = self.parameters.values
        urdf = values.robot_description or description_of(values)
        prefix = values.frame_prefix
        frame_of = FrameNames('', prefix).frame_of
        self._feet = tuple(frame_of(foot) for foot in values.feet)
        assembly = Assembly(
            values.root_joint,
            values.engine,
            frame_of(values.tool_frame),
            values.posture,
            values.motion,
            self._feet,
            values.foot_radius,
            values.ground_friction,
        )
        self._simulated, self.tool, remarks = assembly.of(urdf)
        self.robot = self._simulated.robot
        for remark in remarks:
            self.get_logger().warning(remark)
        self._base_nq = self.robot.model.root_joint_nq
        root = ODOMETRY_FRAME if self._base_nq else self.robot.root_frame
        self._names = FrameNames(prefix + root, prefix)
        self._publish_every = max(1, round(1000.0 / values.joint_state_rate)) * TIME_STEP_NS
        ratio = NANOSECONDS / (TRUTH_RATE * self._publish_every)
        self._truth_every = max(1, round(ratio)) * self._publish_every
        self._was_pushed = False
        # Compiles the kernels, including those of a push at the tool, before the simulation starts.
        self.robot.jacobian(self.robot.neutral(), self.tool)
        self._simulated.step()

        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self.create_publisher(String, 'robot_description', latched)
        self._description.publish(String(data=urdf))
        topic = partial(self.create_publisher, qos_profile=QoSProfile(depth=_QUEUE))
        self._states = topic(JointState, 'joint_states')
        self._odometry = topic(Odometry, 'odom') if self._base_nq else None
        self._clock_topic = None
        if values.publish_clock:
            self._clock_topic = self.create_publisher(ClockMessage, '/clock', QoSProfile(depth=10))
        self._pose = topic(PoseStamped, '~/ground_truth/pose')
        self._torques = topic(JointState, '~/ground_truth/external_torques')
        self._wrench = topic(WrenchStamped, '~/ground_truth/wrench')
        feet = '~/ground_truth/foot_contacts'
        self._foot_contacts = topic(FootContacts, feet) if self._feet else None
        for kind, name, handler in (
            (Float64MultiArray, 'forward_effort_commands', self._on_efforts),
            (Float64MultiArray, 'velocity_commands', self._on_velocities),
            (Float64MultiArray, 'position_commands', self._on_positions),
            (JointTrajectory, 'joint_trajectory', self._on_trajectory),
        ):
            callback = partial(self._follow, handler)
            self.create_subscription(kind, f'~/{name}', callback, qos_profile_sensor_data)
        serve(self, ApplyWrench, '~/apply_wrench', self._on_apply_wrench)
        self._start_stamp = self._left_out = 0
        self._start_time = 0.0
        self.get_logger().info(
            f'simulating {self.robot.name}: {len(self.robot.joint_names)} joints, tool {self.tool}'
        )

    def start(self, _executor: Executor) -> None:
        """Start the simulation."""
        period = self._publish_every / NANOSECONDS / self.parameters.values.speed
        self._timer = steady_timer(self, period, self._catch_up)

    def end(self) -> None:
        """Do nothing: the simulator has no last messages."""

    def _catch_up(self) -> None:
        """Step until simulated time has reached real time since the start."""
        if not self._start_stamp:
            # Time starts with the first call, after the start of the process. A publisher of /clock
            # uses the system clock, since its own clock would wait for itself.
            clock = Clock() if self._clock_topic is not None else self.get_clock()
            self._start_stamp = clock.now().nanoseconds
            self._start_time = time.monotonic()
        speed = self.parameters.values.speed * NANOSECONDS
        elapsed = round(speed * (time.monotonic() - self._start_time))
        lag = elapsed - self._simulated.time - self._left_out
        if lag > max(_MAX_LAG * speed, 3 * self._publish_every):
            # In whole periods, so that stamps stay multiples of them.
            left_out = (lag // self._publish_every - 1) * self._publish_every
            self._left_out, lag = self._left_out + left_out, lag - left_out
            self.get_logger().warning(
                'the machine is too slow or has slept: simulated time has slipped by '
                f'{self._left_out / NANOSECONDS:.1f} s',
                throttle_duration_sec=5.0,
            )
        steps = lag // TIME_STEP_NS
        try:
            for _ in range(min(steps, _MAX_STEPS)):
                self._simulated.step()
                if self._simulated.time % self._publish_every == 0:
                    self._publish(self._simulated.sample())
        except Exception:
            # A signal may have shut the context down between two messages; that is no error.
            if self.context.ok():
                raise

    def _publish(self, sample: Sample) -> None:
        left_out = self._left_out if self._clock_topic is None else 0
        stamp = time_message(self._start_stamp + sample.time + left_out)
        if self._clock_topic is not None:
            self._clock_topic.publish(ClockMessage(clock=stamp))
        names = self.robot.joint_names
        q, v = sample.q[self._base_nq :], sample.v[self.robot.model.root_joint_nv :]
        if self._odometry is not None:
            base = self._names.frame_id_of(self.robot.body_names[0])
            message = odometry(stamp, self._names.root, base, sample.q, sample.v)
            self._odometry.publish(message)
        self._states.publish(
            joint_state(stamp, names, position=q, velocity=v, effort=sample.effort)
        )
        # The start and the end of a push are published at their exact stamps.
        pushed = bool(sample.pushes)
        if sample.time % self._truth_every and pushed == self._was_pushed:
            return
        self._was_pushed = pushed
        pose = self.robot.forward_kinematics(sample.q, self.tool)
        self._pose.publish(pose_stamped(stamp, self._names.root, pose))
        self._torques.publish(joint_state(stamp, names, effort=sample.external_torque))
        wrench = wrench_about(pose, sample.pushes, self.robot, sample.q)
        self._wrench.publish(
            stamped(WrenchStamped, stamp, self._names.frame_id_of(self.tool), wrench)
        )
        if self._foot_contacts is not None:
            feet = {self._names.frame_id_of(foot): sample.touching.get(foot) for foot in self._feet}
            self._foot_contacts.publish(true_foot_contacts(stamp, self._names.root, feet))

    def _follow(self, handler: Callable[[Any], None], message: Any) -> None:
        """Apply a command; log the reason if it is refused."""
        try:
            handler(message)
        except InvalidArgumentError as error:
            self.get_logger().warning(f'command refused: {error}', throttle_duration_sec=5.0)

    # Topics with the behaviour of ros2_control controllers:

    def _on_efforts(self, message: Float64MultiArray) -> None:
        self._simulated.follow_efforts(float_array(message.data) if message.data else None)

    def _on_velocities(self, message: Float64MultiArray) -> None:
        self._simulated.follow_velocities(float_array(message.data), COMMAND_TIMEOUT)

    def _on_positions(self, message: Float64MultiArray) -> None:
        self._reach(self.robot.joint_names, message.data, _POSITION_TIME)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if len(message.points) == 1:  # of a servo: from wherever the joints are
            (point,) = message.points
            self._reach(message.joint_names, point.positions, seconds(point.time_from_start))
            return
        motion, joints = motion_of(message), self.robot.joint_names
        if sorted(motion.names) != sorted(joints):
            raise InvalidArgumentError('joint_names', ', '.join(motion.names), ', '.join(joints))
        self._simulated.follow_trajectory(motion.names, motion.time, motion.q, motion.v)

    def _reach(self, names: Sequence[str], positions: Sequence[float], duration: float) -> None:
        self._simulated.follow_positions(by_name('positions', names, positions), duration)

    async def _on_apply_wrench(
        self, request: ApplyWrench.Request, _response: ApplyWrench.Response
    ) -> None:
        self._simulated.push(
            self._names.frame_of(request.frame),
            numbers(request.wrench, 'wrench'),
            seconds(request.duration),
            self._names.frame_of(request.expressed_in),
            numbers(request.point, 'point'),
        )


def description_of(values: SimulatorParameters) -> str:
    """Return the URDF text of the file of the parameters, or of the arm of this package.

    Raises:
        ModelError: the file cannot be read, or is not URDF.
    """
    file = description_path(values)
    if file is not None:
        urdf = read_description_of(file, values.robot_description_arguments).urdf
        if not urdf:
            raise ModelError(FILE, f'{str(file)!r} is not URDF, which the simulator needs')
        return urdf
    folder = Path(get_package_share_directory('dynamics_ros'), 'urdf')
    return (folder / DEFAULT_ROBOT).read_text(encoding='utf-8')


def build() -> Application:
    """Create the simulator."""
    node = RobotSimulator()
    return Application([node], node)


main = partial(run, build)
