# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node leads the simulated arm: how far, how straight, and when it stops."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import NAMES, ROBOT
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from numpy.testing import assert_allclose
from ros_harness import client, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.wire.conversions import fill, pose_message

pytestmark = pytest.mark.ros

DOMAIN = 82
SERVO = '/cartesian_servo_node'
TIP = 'tool0'


# The simulated joints follow what they are sent as real ones do: within some milliseconds at the
# speeds here, which is some millimetres; and commands go out at 100 Hz on a machine that is busy.
NEAR = 5e-3

STATES, COMMANDS = 125.0, 100.0
"""Joint states of the simulated arm, and commands of the servo [Hz]."""

TRIES = 5
"""Commands of which one has to be followed for as long as it counts, on a busy machine too."""

# A condition number of 30 is met within the reach of the arm; tests of other things are not of it.
FREE = {'singularity.slow_condition': 1e6, 'singularity.stop_condition': 1e7}

CONNECTIONS = {
    'trajectory': ('joint_trajectory', 'joint_trajectory'),
    'position': ('joint_commands', 'position_commands'),
    'velocity': ('joint_commands', 'velocity_commands'),
}


class Arm:
    """The simulated arm under the servo, and what it says."""

    def __init__(self, ros):
        self.ros = ros
        self.states = ros.listen(JointState, '/joint_states', 200)
        self.statuses = ros.listen(DiagnosticStatus, f'{SERVO}/status', 100)
        ros.wait_for(lambda: self.states)
        self.wait_until_it_waits()

    @property
    def q(self):
        return np.array(self.states[-1].position)

    @property
    def speed(self):
        return np.abs(self.states[-1].velocity).max()

    @property
    def pose(self):
        return ROBOT.forward_kinematics(self.q, TIP)

    @property
    def status(self):
        return self.statuses[-1].message

    def wait_for_status(self, words, **options):
        del self.statuses[:]
        self.ros.wait_for(lambda: self.statuses and words in self.status, **options)

    def wait_until_it_waits(self):
        """For a command; that a busy machine held it up is told until the next one."""

        def settle():
            if self.statuses and ('held up' in self.status or 'have not come' in self.status):
                self.send_twist([0.0] * 6)

        self.wait_for_status('waiting for a command', meanwhile=settle, period=1.0)

    def send_twist(self, twist, frame_id=''):
        message = fill(TwistStamped(), twist)
        message.header.frame_id = frame_id
        self.ros.publish(f'{SERVO}/twist_command', message)

    def send_pose(self, matrix, frame_id=''):
        message = PoseStamped(pose=pose_message(matrix))
        message.header.frame_id = frame_id
        self.ros.publish(f'{SERVO}/pose_command', message)

    def lead(self, seconds, twist, frame_id=''):
        """Send a twist again and again until so much simulated time has passed."""
        began = stamp(self.states[-1])
        self.ros.wait_for(
            lambda: stamp(self.states[-1]) - began > seconds,
            meanwhile=lambda: self.send_twist(twist, frame_id),
        )

    def rest(self):
        self.wait_until_it_waits()
        # Slower than a hundredth of what any test moves at.
        self.ros.wait_for(lambda: self.speed < 2e-3)


def stamp(message):
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def start(kind='trajectory', domain=DOMAIN, **parameters):
    """Contexts of the simulator and the servo, connected."""
    ours, theirs = CONNECTIONS[kind]
    given = {'command_type': kind, 'rate': COMMANDS, **FREE, **parameters}
    if kind != 'trajectory':
        given.setdefault('command_joints', NAMES)
    return (
        running('robot_simulator', domain, {'motion': False, 'joint_state_rate': STATES}),
        running(
            'cartesian_servo_node',
            domain,
            given,
            remaps={f'~/{ours}': f'/robot_simulator/{theirs}'},
        ),
    )


@pytest.fixture(scope='module')
def processes():
    simulator, servo = start()
    with simulator, servo as process:
        yield process


@pytest.fixture
def arm(processes):
    with client(DOMAIN) as one:
        found = Arm(one)
        found.rest()
        yield found


def test_it_is_quiet_until_it_is_told_something(arm):
    commands = arm.ros.listen(JointTrajectory, '/robot_simulator/joint_trajectory', 100)
    count = len(arm.states)
    arm.ros.wait_for(lambda: len(arm.states) > count + 200)
    assert commands == []
    arm.ros.wait_for_status('cartesian_servo_node', 'publishing')


def moving(commands):
    """The points of the commands that move the arm."""
    return [m.points[0] for m in commands if any(m.points[0].velocities)]


def durations(commands):
    """Seconds of each of them."""
    return np.array([point.time_from_start.nanosec * 1e-9 for point in moving(commands)])


def tip_velocities(commands):
    """Where each of them sends the tip [m/s]."""
    return np.array(
        [ROBOT.jacobian(np.array(p.positions), TIP)[:3] @ p.velocities for p in moving(commands)]
    )


@pytest.mark.parametrize('frame_id', ['', TIP])
def test_a_twist_moves_the_tip_by_what_it_says(arm, frame_id):
    commands = arm.ros.listen(JointTrajectory, '/robot_simulator/joint_trajectory', 1000)
    # All commands are heard from here on.
    arm.ros.wait_for(lambda: commands, meanwhile=lambda: arm.send_twist([0.0] * 6))
    before = arm.pose
    direction = np.array([0.0, 0.6, -0.8]) if frame_id == '' else np.array([0.0, 0.0, -1.0])
    along = before[:3, :3] @ direction if frame_id else direction
    speed = 0.05
    # Where a busy machine lets the servo run less often, it moves less in the same time.
    began = time.monotonic()
    arm.ros.wait_for(
        lambda: durations(commands).sum() > 1.0,
        meanwhile=lambda: arm.send_twist([*(speed * direction), 0.0, 0.0, 0.0], frame_id),
    )
    asked = time.monotonic() - began
    arm.rest()
    moved = arm.pose[:3, 3] - before[:3, 3]
    seconds, velocities = durations(commands), tip_velocities(commands)
    # Never longer than asked for and until the last command is stale.
    assert seconds.sum() < asked + 0.25 + 0.2
    # As it says but for getting under way and stopping, and where it is sent the tip goes.
    assert_allclose(np.median(velocities, axis=0), speed * along, atol=0.02 * speed)
    assert along @ moved == pytest.approx(along @ velocities.T @ seconds, abs=NEAR / 2)
    assert np.linalg.norm(moved - along * (along @ moved)) < NEAR
    assert_allclose(arm.pose[:3, :3], before[:3, :3], atol=NEAR)
    arm.ros.wait_for(
        lambda: along @ (arm.pose[:3, 3] - before[:3, 3]) < 0.0,
        meanwhile=lambda: arm.send_twist([*(-speed * direction), 0.0, 0.0, 0.0], frame_id),
    )
    arm.rest()


def test_a_pose_is_reached(arm):
    target = arm.pose
    turn = np.array([[0.0, -0.2, 0.1], [0.2, 0.0, 0.0], [-0.1, 0.0, 0.0]])
    u, _, vt = np.linalg.svd(np.eye(3) + turn)
    target[:3, :3] = (u @ vt) @ target[:3, :3]
    target[:3, 3] += [-0.05, 0.06, -0.08]
    home = arm.pose

    def there(wanted):
        return np.abs(arm.pose - wanted).max() < 1e-3 and arm.speed < 5e-3

    for wanted in (target, home):
        arm.ros.wait_for(
            lambda wanted=wanted: there(wanted), meanwhile=lambda w=wanted: arm.send_pose(w)
        )


def test_a_pose_in_a_frame_of_the_tool_is_where_that_was(arm):
    offset = np.eye(4)
    offset[2, 3] = -0.03
    for _ in range(TRIES):
        before, count, sent = arm.pose, len(arm.states), []

        def send(sent=sent):
            sent.append(True)
            arm.send_pose(offset, TIP)

        # Again only where nothing has come of it: where a busy machine has kept it waiting until it
        # was stale, or its reader had not yet been found.
        arm.ros.wait_for(
            lambda count=count: any(np.abs(m.velocity).max() > 5e-3 for m in arm.states[count:]),
            meanwhile=send,
            period=3.0,
        )
        arm.rest()
        moved = before[:3, :3].T @ (arm.pose[:3, 3] - before[:3, 3])
        # A command: it approaches for the timeout and stops on the way, never beyond.
        assert -0.03 * len(sent) - NEAR < moved[2] < 0.0
        if moved[2] < -0.01 and len(sent) == 1:
            break
    assert len(sent) == 1
    assert moved[2] < -0.01


def test_it_stops_when_commands_cease_and_says_nothing_more(arm):
    commands = arm.ros.listen(JointTrajectory, '/robot_simulator/joint_trajectory', 1000)
    # All commands are heard from here on.
    arm.ros.wait_for(lambda: commands, meanwhile=lambda: arm.send_twist([0.0] * 6))
    arm.lead(0.3, [0.0, 0.05, 0.0, 0.0, 0.0, 0.0])
    arm.rest()
    assert commands[-1].joint_names == NAMES
    assert_allclose(commands[-1].points[0].velocities, 0.0, atol=1e-9)
    later = len(arm.states)
    arm.ros.wait_for(lambda: len(arm.states) > later + 50)  # what was on its way has come
    count = len(commands)
    arm.ros.wait_for(lambda: len(arm.states) > later + 150)
    assert len(commands) == count
    # Softly: no step of velocity above what the acceleration allows in the longest step there is.
    speeds = np.array([m.points[0].velocities for m in commands])
    assert np.abs(np.diff(speeds, axis=0)).max() < 10.0 * 2.0 / COMMANDS + 1e-6
    arm.lead(0.3, [0.0, -0.05, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ('twist', 'frame_id', 'words'),
    [
        ([math.nan, 0, 0, 0, 0, 0], '', 'not finite'),
        ([0.05, 0, 0, 0, 0, 0], 'nowhere', 'nowhere'),
    ],
)
def test_nonsense_halts_it_with_the_reason(arm, twist, frame_id, words):
    arm.lead(0.2, [0.0, 0.02, 0.0, 0.0, 0.0, 0.0])
    arm.wait_for_status(words, meanwhile=lambda: arm.send_twist(twist, frame_id))
    arm.wait_for_status('halted', meanwhile=lambda: arm.send_twist(twist, frame_id))
    arm.ros.wait_for(lambda: arm.speed < 2e-3)
    arm.ros.wait_for_status('cartesian_servo_node', words)
    arm.lead(0.2, [0.0, -0.02, 0.0, 0.0, 0.0, 0.0])
    arm.rest()


def test_while_paused_it_follows_nothing(arm):
    assert arm.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=True)).success
    before = arm.q
    arm.lead(0.4, [0.0, 0.05, 0.0, 0.0, 0.0, 0.0])
    assert_allclose(arm.q, before, atol=1e-3)
    arm.wait_for_status('paused')
    assert arm.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=False)).success
    arm.wait_for_status('waiting for a command')


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('frame', 'nowhere', 'frame: unknown frame'),
        ('frame', 'base_link', 'frame: no joint moves'),
        ('command_joints', ['nobody'], 'nobody'),
        ('command_type', 'velocity', 'command_type: set while configured'),
    ],
)
def test_a_parameter_that_does_not_fit_the_robot_is_refused_and_the_old_one_stays(
    arm, name, value, reason
):
    answer = arm.ros.set_parameter('cartesian_servo_node', name, value)
    assert not answer.successful
    assert reason in answer.reason
    arm.lead(0.2, [0.0, 0.02, 0.0, 0.0, 0.0, 0.0])
    arm.rest()


def test_it_slows_down_towards_a_singularity_and_stops_before_it():
    thresholds = {'singularity.slow_condition': 15.0, 'singularity.stop_condition': 25.0}
    simulator, servo = start('trajectory', DOMAIN + 1, **thresholds)
    with simulator, servo, client(DOMAIN + 1) as one:
        arm = Arm(one)
        outwards = arm.pose[:3, 3] - ROBOT.forward_kinematics(arm.q, 'upper_arm_link')[:3, 3]
        outwards *= 0.1 / np.linalg.norm(outwards)
        twist = [*outwards, 0.0, 0.0, 0.0]
        arm.wait_for_status('near a singularity', meanwhile=lambda: arm.send_twist(twist))
        arm.lead(3.0, twist)
        reached = arm.pose[:3, 3]
        arm.lead(0.5, twist)
        assert np.linalg.norm(arm.pose[:3, 3] - reached) < NEAR
        assert np.linalg.cond(ROBOT.jacobian(arm.q, TIP)) < 40.0
        # Away from it there is nothing to slow down for.
        arm.ros.wait_for(
            lambda: np.linalg.norm(arm.pose[:3, 3] - reached) > 0.03,
            meanwhile=lambda: arm.send_twist([-x for x in twist]),
        )


@pytest.mark.parametrize('kind', ['position', 'velocity'])
def test_arrays_lead_the_arm_as_well(kind):
    simulator, servo = start(kind, DOMAIN + 1)
    with simulator, servo, client(DOMAIN + 1) as one:
        arm = Arm(one)
        commands = one.listen(Float64MultiArray, f'/robot_simulator/{CONNECTIONS[kind][1]}', 100)
        before = arm.pose
        began = time.monotonic()
        one.wait_for(
            lambda: arm.pose[1, 3] - before[1, 3] > 0.045,
            meanwhile=lambda: arm.send_twist([0.0, 0.05, 0.0, 0.0, 0.0, 0.0]),
        )
        asked = time.monotonic() - began
        arm.rest()
        moved = arm.pose[:3, 3] - before[:3, 3]
        # For as long as it was led, and until the target was stale; less on a busy machine.
        assert 0.045 < moved[1] < 0.05 * (asked + 0.25 + 0.2)
        assert np.abs(moved[[0, 2]]).max() < NEAR
        assert len(commands[-1].data) == len(NAMES)
