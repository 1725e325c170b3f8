# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node follows a wrench while a switch is held, and stops when either fails."""

from __future__ import annotations

import math
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import WrenchStamped
from ros_harness import shared
from servo_harness import ROBOT, SERVO, MovingPlay, Q, play
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from dynamics_ros.wire.conversions import fill

pytestmark = pytest.mark.ros

DOMAIN = 121
NODE = SERVO.strip('/')
SENSOR = '/ft_sensor/wrench'
DAMPING, MASS = 100.0, 5.0
TRIES = 10
BIAS = np.array([4.0, -7.0, 20.0, 0.2, -0.1, 0.3])

PARAMETERS = {
    # Far more than in a robot, because tests share the processors.
    'command_timeout': 1.5,
    'joint_state_timeout': 1.0,
    'following_tolerance': 0.2,
    'admittance': {
        'wrench_topic': SENSOR,
        'frame': ROBOT.root_frame,
        'mass': [MASS] * 3 + [0.5] * 3,
        'damping': [DAMPING] * 3 + [8.0] * 3,
        'dead_zone': [1.0, 0.2],
        'sensor_timeout': 0.5,
    },
}


class Guided(MovingPlay):
    """An arm that moves as it is commanded, a wrist sensor, and a hand at its switch.

    Attributes:
        force: of the hand on the sensor's origin, in root axes [N].
        held: what the switch says; None if it is silent.
        wrench_of: the reading (6) of an honest one; None is none.
        frame: of the sensor.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.force, self.held, self.frame = np.zeros(3), None, 'tool0'
        self.wrench_of = lambda wrench: wrench
        self.speeds, self._random = [], np.random.default_rng(0)

    def report(self):
        before, then = self.q, self.time
        super().report()
        if self.time > then:
            moved = (ROBOT.jacobian(self.q, 'tool0') @ (self.q - before))[:3]
            self.speeds.append(float(np.linalg.norm(moved)) / (self.time - then))

    def sense(self):
        R = ROBOT.forward_kinematics(self.q, 'tool0')[:3, :3]
        noise = self._random.uniform(-0.05, 0.05, 6)
        wrench = self.wrench_of(np.concatenate([R.T @ self.force, np.zeros(3)]) + BIAS + noise)
        if wrench is not None:
            message = fill(WrenchStamped(), wrench)
            message.header.frame_id = self.frame
            self.ros.publish(SENSOR, message)

    def live(self):
        self.report()
        self.sense()
        if self.held is not None:
            self.ros.publish(f'{SERVO}/admittance/enable', Bool(data=self.held))

    def spend(self, seconds):
        self.pass_time(seconds, self.live)

    def wait(self, words):
        return self.wait_for_status(words, self.live)

    @property
    def tool(self):
        return ROBOT.forward_kinematics(self.q, 'tool0')[:3, 3]


def reason_of(status):
    return next(value.value for value in status.values if value.key == 'reason')


moving = shared(play, DOMAIN, 'velocity', robot=Guided, **PARAMETERS)


@pytest.fixture
def arm(moving):
    """At rest, honest, with the switch released."""
    moving.force, moving.held, moving.frame = np.zeros(3), False, 'tool0'
    moving.wrench_of = lambda wrench: wrench
    moving.report_of = lambda q: q
    moving.twist, moving.frame_id = [0.0] * 6, ''
    moving.spend(0.3)
    moving.q = Q.copy()
    moving.spend(0.3)
    for _ in range(TRIES):  # it may see later on a busy machine that the arm is elsewhere
        moving.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=False))
        moving.spend(0.3)
        if 'halted' not in moving.status:
            break
    moving.path.clear()
    moving.speeds.clear()
    return moving


def press(arm):
    """Hold the switch; on a busy machine or before discovery the sensor is late, so try again."""
    for _ in range(TRIES):
        arm.held = True
        del arm.statuses[:]
        arm.ros.wait_for(
            lambda: 'following the wrench' in arm.status or 'halted' in arm.status,
            meanwhile=arm.live,
            period=0.004,
        )
        if 'following the wrench' in arm.status:
            return
        arm.held = False
        arm.spend(0.5)
    pytest.fail(f'refused {TRIES} times: {arm.status}')


def begin(arm, force=(0.0, 10.0, 0.0)):
    """Hold the switch, then push; the speed that follows, which the arm has."""
    speed = (np.linalg.norm(force) - 1.0) / DAMPING
    for _ in range(TRIES):
        press(arm)
        arm.force = np.array(force)
        arm.ros.wait_for(
            lambda: (
                'halted' in arm.status
                or (len(arm.speeds) > 20 and np.mean(arm.speeds[-20:]) > 0.8 * speed)
            ),
            meanwhile=arm.live,
            period=0.004,
        )
        if 'halted' not in arm.status:
            return speed
        arm.held, arm.force = False, np.zeros(3)
        arm.spend(0.5)
    pytest.fail(f'halted {TRIES} times: {arm.status}')


def assert_stopped(arm, reason=None):
    """The arm has been sent a stop, and stands although it is pushed and the switch is held."""
    arm.ros.wait_for(
        lambda: arm.commands and not arm.velocity.any(), meanwhile=arm.live, period=0.004
    )
    before = arm.tool
    arm.spend(0.5)
    assert np.linalg.norm(arm.tool - before) < 1e-4
    if reason is not None:
        status = arm.wait('halted')
        assert reason_of(status) == reason


def test_a_push_moves_the_tool_with_the_force_over_the_damping(arm):
    speed = begin(arm)
    start = arm.tool
    then = arm.time
    arm.spend(1.0)
    moved, passed = arm.tool - start, arm.time - then
    assert moved[1] == pytest.approx(speed * passed, rel=0.1)
    assert np.abs(moved[[0, 2]]).max() < 0.1 * moved[1]
    arm.force = np.zeros(3)
    arm.ros.wait_for(lambda: np.abs(arm.velocity).max() < 1e-3, meanwhile=arm.live, period=0.004)
    assert 'following the wrench' in arm.status
    arm.held = False
    assert_stopped(arm)


def none_of(wrench):
    return None


FAULTS = {
    'silence of the sensor': (lambda arm: setattr(arm, 'wrench_of', none_of), 'wrench_stopped'),
    'no number': (lambda arm: setattr(arm, 'wrench_of', lambda w: w * math.nan), 'wrench_invalid'),
    'an absurd force': (lambda arm: setattr(arm, 'wrench_of', lambda w: w + 1e3), 'wrench_invalid'),
    'a frozen sensor': (
        lambda arm: setattr(arm, 'wrench_of', lambda w, x=BIAS + 8.0: x),
        'wrench_frozen',
    ),
    'another frame': (lambda arm: setattr(arm, 'frame', 'nowhere'), 'wrench_invalid'),
    'an unstable contact': (
        lambda arm: setattr(
            arm,
            'wrench_of',
            lambda w: (
                w
                + 80.0 * math.copysign(1.0, math.sin(75.0 * time.monotonic())) * (np.arange(6) == 1)
            ),
        ),
        'contact_unstable',
    ),
    'frozen joint states': (
        lambda arm: setattr(arm, 'report_of', lambda _, q=arm.q: q),
        'not_following',
    ),
    'a position that is no number': (
        lambda arm: setattr(arm, 'report_of', lambda q: q * math.nan),
        'position_not_finite',
    ),
    'silence of the switch': (lambda arm: setattr(arm, 'held', None), None),
    'its release': (lambda arm: setattr(arm, 'held', False), None),
    'a parameter': (
        lambda arm: arm.ros.set_parameter(NODE, 'gain', float(np.random.uniform(3.0, 5.0))),
        None,
    ),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_ends_the_motion_by_a_stop_that_is_sent(arm, fault):
    begin(arm)
    change, reason = FAULTS[fault]
    fastest = max(arm.speeds[-20:])
    arm.speeds.clear()
    change(arm)
    assert_stopped(arm, reason)
    if fault not in ('an unstable contact',):
        assert np.percentile(arm.speeds, 95) < 1.5 * fastest
    # What is right again moves nothing before the switch has been released.
    arm.wrench_of, arm.report_of, arm.frame = (lambda w: w), (lambda q: q), 'tool0'
    if arm.held is not False:
        arm.held = True
        arm.spend(0.5)
        before = arm.tool
        arm.spend(0.5)
        assert np.linalg.norm(arm.tool - before) < 1e-4
        if fault == 'silence of the switch':
            arm.wait('the switch has to be released first')
    arm.held, arm.force = False, np.zeros(3)
    arm.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=False))
    arm.spend(0.5)
    begin(arm)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda arm: setattr(arm, 'wrench_of', none_of), 'no wrench has come'),
        (lambda arm: setattr(arm, 'frame', 'nowhere'), "'nowhere'"),
        (lambda arm: setattr(arm, 'frame', ''), 'not that of a sensor'),
        (
            lambda arm: setattr(arm, 'wrench_of', lambda w: w + np.random.uniform(-5.0, 5.0)),
            'let go of the tool',
        ),
    ],
)
def test_a_start_is_refused_with_its_reason(arm, change, words):
    change(arm)
    for _ in range(TRIES):
        arm.held = False
        arm.spend(0.6)
        arm.held = True
        status = arm.wait('halted')
        if words in status.message:
            break
    assert words in status.message
    assert reason_of(status) in ('enable_refused', 'wrench_stopped', 'wrench_invalid')
    arm.force = np.array([0.0, 30.0, 0.0])
    arm.spend(0.5)
    assert max(arm.speeds) < 1e-6


def test_while_the_switch_is_held_other_commands_are_ignored(arm):
    begin(arm, [0.0, 0.0, 10.0])
    arm.twist = [0.0, 0.1, 0.0, 0.0, 0.0, 0.0]
    before = arm.tool

    def both():
        arm.live()
        arm.lead()

    status = arm.wait_for_status('twist_command is ignored', both)
    assert 'following the wrench' in status.message
    assert abs((arm.tool - before)[1]) < 1e-3


def test_a_switch_that_is_held_during_a_pause_does_not_move_the_arm_after_it(arm):
    begin(arm)
    for pause in (True, False):
        assert arm.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=pause)).success
        arm.spend(0.6)
    assert_stopped(arm)
    arm.held, arm.force = False, np.zeros(3)
    arm.spend(0.4)
    begin(arm)


def test_while_a_twist_moves_the_arm_the_switch_ends_that_and_is_refused(arm):
    arm.twist = [0.0, 0.05, 0.0, 0.0, 0.0, 0.0]

    def both():
        arm.live()
        arm.lead()

    arm.wait_for_status('following twist_command', both)
    arm.ros.wait_for(lambda: arm.velocity.any(), meanwhile=both)
    arm.held = True
    status = arm.wait_for_status('the arm still moves', both)
    assert reason_of(status) == 'enable_refused'
    arm.ros.wait_for(lambda: not arm.velocity.any(), meanwhile=both)


@pytest.mark.parametrize('name', ['admittance.frame', 'admittance.mass'])
def test_wrong_parameters_are_refused_by_name(arm, name):
    value = 'nowhere' if name.endswith('frame') else [0.0] * 6
    result = arm.ros.set_parameter(NODE, name, value)
    assert not result.successful and name in result.reason


@pytest.mark.parametrize('kind', ['position', 'trajectory'])
def test_other_interfaces_yield_and_are_stopped_by_a_signal_too(kind):
    with play(DOMAIN + 1, kind, robot=Guided, **PARAMETERS) as one:
        one.spend(0.5)
        start = one.tool
        press(one)
        one.force = np.array([0.0, 20.0, 0.0])
        one.ros.wait_for(lambda: one.tool[1] > start[1] + 0.05, meanwhile=one.live, period=0.004)
        code, _ = one.servo.end(signal.SIGTERM)
        assert code == 0, one.servo.printed
        one.ros.wait_for(lambda: one.stopped, meanwhile=one.live)
        assert 'contact is stable up to 1e+04 N/m' in one.servo.printed


def test_a_damping_that_is_too_small_for_the_environment_is_a_warning_with_one_that_is_not():
    values = PARAMETERS['admittance'] | {'environment_stiffness': 1e5, 'delay': 0.004}
    with play(DOMAIN + 1, 'velocity', robot=Guided, **PARAMETERS | {'admittance': values}) as one:
        one.wait('waiting for a command')
        assert '1e+05 N/m need a damping of 400 Ns/m' in one.servo.printed
