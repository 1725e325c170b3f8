# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a motion of the servo, the controller is sent a ramp to rest."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Inertia, Vector3, Vector3Stamped
from ros_harness import LATCHED, description, faulty
from servo_harness import CAMERA, NAMES, SERVO, SPEED, Q, play
from std_msgs.msg import String
from std_srvs.srv import SetBool

from dynamics_ros.control.joint_stop import MAX_DURATION
from dynamics_ros_msgs.msg import Payload

pytestmark = pytest.mark.ros

DOMAIN = 41
NODE = SERVO.strip('/')

RATE, ACCELERATION = 200.0, 0.5
"""Of the commands; small enough that the way to rest is many commands long."""

ENDS_WITHIN = 5.0
"""Seconds in which a motion ends that is not ended by the age of its target."""

TRIES = 10
"""On a busy machine it may take longer than that, whatever has ended it."""

# A target holds on: only what a test does ends the motion.
LASTING = {
    'command_timeout': 2.0 * ENDS_WITHIN,
    'joint_state_timeout': 10.0,
    'transform_timeout': 0.5,
    'speed.joint_acceleration': ACCELERATION,
}


def velocities(play, commands):
    """(m, n) of the joints; for positions, steps per period, which are no shorter."""
    if play.kind == 'velocity':
        return np.array([m.data for m in commands])
    if play.kind == 'trajectory':
        return np.array([m.points[0].velocities for m in commands])
    return np.diff([m.data for m in commands], axis=0) * RATE


def get_going(play):
    """Lead it until it moves as fast as it is told to."""
    del play.commands[:]

    def steady():
        v = velocities(play, play.commands[-12:]) if len(play.commands) > 40 else np.zeros((1, 7))
        # The first sixty commands at most are the way there.
        return np.abs(v).max() > 0.02 and len(play.commands) > 60

    play.ros.wait_for(steady, meanwhile=play.all)


def assert_it_came_to_rest(play):
    """Softly, and to the end."""
    v = velocities(play, play.commands)
    assert np.abs(v).max() > 0.02, 'it has never moved'
    assert not v[-1].any(), f'still moving at {np.abs(v[-1]).max():.3g}'
    if play.kind != 'position':  # whose periods are not told
        # A step is two periods at most; the way to rest is at most so long.
        steepest = max(ACCELERATION, np.abs(v).max() / MAX_DURATION)
        assert np.abs(np.diff(v, axis=0)).max() < steepest * 2.0 / RATE + 1e-9


def is_at_rest(play):
    """Whether rest has been commanded for a while."""
    return len(play.commands) > 20 and not velocities(play, play.commands[-6:]).any()


def change(name, value):
    def end(play):
        assert play.ros.set_parameter(NODE, name, value).successful

    return end


def carry(play):
    inertia = Inertia(m=0.5, ixx=1e-3, iyy=1e-3, izz=1e-3, com=Vector3(z=0.05))
    message = Payload(inertia=inertia)
    message.header.frame_id = 'tool0'
    play.ros.publish('/payload', message, LATCHED)


def another_robot(play):
    """With other names of joints: those of before are to be stopped all the same."""
    text = description()
    for name in NAMES:
        text = text.replace(f'"{name}"', f'"other_{name}"')
    play.ros.publish('/robot_description', String(data=text), LATCHED)


def pause(play):
    assert play.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=True)).success


def deactivate(play):
    assert play.change('deactivate')


def tell_no_numbers(play):
    """Joint states of NaN are refused, so there are none."""
    assert play.ros.set_parameter(NODE, 'joint_state_timeout', 0.05).successful
    play.q = play.q * np.nan


def send_nonsense(play):
    play.twist = [np.nan] * 6
    play.lead()


ENDINGS = {
    'a parameter that makes the robot anew': change('gain', 4.0),
    'the age of transforms': change('transform_timeout', 0.6),
    'gravity': lambda play: play.ros.publish(
        '/gravity', Vector3Stamped(vector=Vector3(z=-1.62)), LATCHED
    ),
    'a payload': carry,
    'a pause': pause,
    'a stale command': change('command_timeout', 0.05),
    'joint states that fail to come': change('joint_state_timeout', 0.05),
    'joint states of NaN': tell_no_numbers,
    'nonsense': send_nonsense,
    'a lost transform': lambda play: None,
    'deactivation': deactivate,
}
"""What the servo outlives."""


FOR_GOOD = {
    'fewer joints': change('command_joints', NAMES[:-1]),
    'another robot': another_robot,
}
"""After which a servo is another one."""

SOME = ('a parameter that makes the robot anew', 'a pause', 'deactivation')
"""Those that are tried on the other interfaces as well."""


@pytest.fixture(scope='module')
def led(request):
    with play(DOMAIN, request.param, **LASTING) as one:
        yield one


def begin_again(led):
    """Have everything as it was at the start."""
    led.twist, led.frame_id = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0], ''
    led.q = Q.copy()
    led.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=False))
    led.ros.wait_for(lambda: led.lifecycle == 'active' or led.change('activate'))
    for name, value in {'command_timeout': 10.0, 'joint_state_timeout': 10.0}.items():
        assert led.ros.set_parameter(NODE, name, value).successful


def ends_by_a_ramp(led, ending):
    """Whether it did; not whether its target had ended it before, of old age."""
    quiet = ending == 'joint states that fail to come'
    begin_again(led)
    if ending == 'a lost transform':
        led.twist, led.frame_id = [0.0, 0.0, SPEED, 0.0, 0.0, 0.0], CAMERA
    get_going(led)
    before = time.monotonic()
    {**ENDINGS, **FOR_GOOD}[ending](led)
    led.ros.wait_for(lambda: is_at_rest(led), meanwhile=None if quiet else led.report)
    if time.monotonic() - before > ENDS_WITHIN:
        return False
    assert_it_came_to_rest(led)
    return True


@pytest.mark.parametrize('led', ['velocity'], indirect=True)
@pytest.mark.parametrize('ending', ENDINGS)
def test_what_ends_a_motion_ends_it_by_a_ramp(led, ending):
    assert any(ends_by_a_ramp(led, ending) for _ in range(TRIES))


@pytest.mark.parametrize('led', ['position', 'trajectory'], indirect=True)
@pytest.mark.parametrize('ending', SOME)
def test_it_does_so_on_every_interface(led, ending):
    assert any(ends_by_a_ramp(led, ending) for _ in range(TRIES))


@pytest.mark.parametrize(
    ('kind', 'ending'),
    [
        ('velocity', 'fewer joints'),
        ('velocity', 'another robot'),
        ('position', 'another robot'),
        ('trajectory', 'another robot'),
    ],
)
def test_what_makes_it_another_servo_ends_a_motion_by_a_ramp(kind, ending):
    def ends():
        # The robot of a topic: that of a parameter is fixed at start.
        with play(DOMAIN + 1, kind, robot_description=None, **LASTING) as one:
            one.ros.publish('/robot_description', String(data=description()), LATCHED)
            return ends_by_a_ramp(one, ending)

    assert any(ends() for _ in range(TRIES))


@pytest.mark.parametrize(
    ('kind', 'by'),
    [
        ('velocity', signal.SIGINT),
        ('position', signal.SIGTERM),
        ('trajectory', signal.SIGHUP),
    ],
)
def test_a_signal_ends_the_process_after_the_ramp(kind, by):
    with play(DOMAIN + 1, kind, **LASTING) as one:
        get_going(one)
        code, _ = one.servo.end(by)
        assert code == 0, one.servo.printed
        assert 'Traceback' not in one.servo.printed
        one.ros.wait_for(lambda: is_at_rest(one))
        assert_it_came_to_rest(one)


def test_a_shutdown_transition_is_an_end_too():
    with play(DOMAIN + 1, 'velocity', **LASTING) as one:
        get_going(one)
        assert one.change('shutdown')
        one.ros.wait_for(lambda: is_at_rest(one))
        assert_it_came_to_rest(one)
        assert one.lifecycle == 'finalized'


def test_an_error_in_the_control_step_is_an_end_and_told_once(tmp_path):
    function = 'dynamics_ros.inverse_kinematics.differential:CartesianServo.follow_twist'
    script, flag = faulty(tmp_path, NODE, function)
    with play(DOMAIN + 1, 'velocity', name=script, autostart=True, **LASTING) as one:
        get_going(one)
        flag.touch()
        status = one.wait_for_status('ZeroDivisionError', one.both)
        assert 'halted' in status.message
        one.ros.wait_for(lambda: is_at_rest(one), meanwhile=one.both)
        assert_it_came_to_rest(one)
        assert one.servo.printed.count('reported once, then counted') == 1
        flag.unlink()
        get_going(one)
