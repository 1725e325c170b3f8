# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node before a robot that this test plays: when it stops by itself, and why."""

from __future__ import annotations

import math
import os
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from servo_harness import CAMERA, NAMES, ROBOT, SERVO, SPEED, MovingPlay, Q
from servo_harness import play as play_in
from std_srvs.srv import SetBool

pytestmark = pytest.mark.ros

DOMAIN = 99


def play(**parameters):
    return play_in(DOMAIN, **parameters)


@pytest.fixture
def watched():
    """A twist in the frame of a camera."""
    with play(transform_timeout=0.5) as one:
        one.twist, one.frame_id = [0.0, 0.0, SPEED, 0.0, 0.0, 0.0], CAMERA
        yield one


def reason_of(status):
    return next(value.value for value in status.values if value.key == 'reason')


@pytest.mark.parametrize(
    ('kind', 'fault', 'reason', 'words'),
    [
        ('trajectory', 'none', 'states_stopped', 'joint_states have stopped coming'),
        ('velocity', 'without a joint', 'joints_stale', f'no news of {NAMES[3]}'),
        ('position', 'not finite', 'position_not_finite', f'position of {NAMES[3]} not finite'),
        ('trajectory', 'malformed', 'messages_refused', 'joint_states: malformed bytes'),
    ],
)
def test_it_stops_and_then_gives_up_a_motion_when_joint_states_are_missing(
    kind, fault, reason, words
):
    def lead():
        q = np.where(np.arange(7) == 3, math.nan, one.q)
        places = [i for i in range(7) if fault == 'not finite' or i != 3]
        if fault == 'malformed':
            one.ros._publishers['/joint_states'].publish(bytes(20))
        elif fault != 'none':
            one.ros.publish_joint_state(one.ros.joint_state([NAMES[i] for i in places], q[places]))
        one.lead()

    with play(kind=kind, robot=MovingPlay, joint_state_timeout=0.5) as one:
        one.wait_for_status('following twist_command', one.both)
        one.wait_for_status(f'halted: {words}', lead)
        status = one.wait_for_status(f'inactive: {words}', lead)
        assert (status.level, reason_of(status)) == (DiagnosticStatus.ERROR, reason)
        one.pass_time(0.1, lead)
        assert one.stopped
        del one.commands[:]
        # States that come back move nothing before the node is activated.
        one.wait_for_status('inactive', one.both)
        assert not one.commands
        assert one.change('activate')
        one.wait_until_led(one.both)


def test_a_joint_that_it_does_not_command_halts_it_until_that_is_reported_again():
    def lead():
        one.ros.publish_joint_state(one.ros.joint_state(NAMES[:6], one.q[:6]))
        one.lead()

    parameters = {'frame': 'forearm_link', 'command_joints': NAMES[:4]}
    with play(kind='velocity', joint_state_timeout=1.0, joint_timeout=0.3, **parameters) as one:
        one.wait_for_status('following twist_command', one.both)
        one.wait_for_status(f'halted: no news for longer than joint_timeout of: {NAMES[6]}', lead)
        one.wait_for_stop(lead)
        one.pass_time(1.5, lead)  # a commanded joint is missed for 1.2 s
        assert one.lifecycle == 'active'
        one.wait_for_status('following twist_command', one.both)
        # Beside such a joint a dead driver is noticed.
        one.ros.publish_joint_state(one.ros.joint_state(NAMES, [*one.q[:6], math.nan]))
        status = one.wait_for_status('inactive: joint_states have stopped coming', one.lead)
        assert reason_of(status) == 'states_stopped'


def test_without_a_motion_it_waits_for_joint_states():
    with play(joint_state_timeout=0.05) as one:
        one.wait_for_status('waiting for a command', one.report)
        one.pass_time(0.5, lambda: None)
        one.wait_until_led(one.both)


@pytest.mark.parametrize(('kind', 'number'), [('trajectory', math.nan), ('velocity', math.inf)])
def test_it_stops_at_once_when_a_position_is_not_finite(kind, number):
    with play(kind=kind, command_timeout=10.0, joint_state_timeout=5.0) as one:
        one.wait_for_status('following twist_command', one.both)
        for _ in range(3):  # so that no target is on its way any more
            one.wait_for_status('following twist_command', one.report)
        good = one.q.copy()
        one.q[3] = number
        one.report()  # once: the target is fresh and all later states are good
        one.q = good
        status = one.wait_for_status(f'halted: position of {NAMES[3]} not finite', one.report)
        assert (status.level, reason_of(status)) == (DiagnosticStatus.ERROR, 'position_not_finite')
        one.wait_for_stop(one.report)
        assert reason_of(one.wait_for_status('following', one.both)) == 'following'
        # While it lasts no target is followed, and all commands are finite.
        one.q = np.where(np.arange(7) == 3, number, good)
        one.wait_for_status('halted', one.both)
        one.wait_for_stop(one.both)
        assert np.isfinite(one.velocity).all()
        one.ros.wait_for_status(
            'cartesian_servo_node', f'position of {NAMES[3]}', meanwhile=one.both
        )
        assert one.ros.values('cartesian_servo_node')['reason'] == 'position_not_finite'


def test_it_stops_when_tf_is_lost_and_goes_on_when_it_is_back(watched):
    down = [0.0, 0.0, -SPEED]
    watched.wait_for_status('following twist_command', watched.all)
    watched.wait_for_velocity(down, watched.all)
    status = watched.wait_for_status('s old', watched.both)
    watched.wait_for_stop(watched.both)
    assert status.level == DiagnosticStatus.WARN
    assert CAMERA in status.message and '0.5 s' in status.message
    watched.wait_for_status('following twist_command', watched.all)
    watched.wait_for_velocity(down, watched.all)


def test_a_static_transform_has_no_age(watched):
    def all_static():
        watched.see(Time())
        watched.both()

    watched.wait_for_status('following twist_command', all_static)
    started = len(watched.commands)
    # At 200 Hz twice the time after which another would be lost.
    watched.ros.wait_for(lambda: len(watched.commands) > started + 200, meanwhile=watched.both)
    watched.wait_for_velocity([0.0, 0.0, -SPEED], watched.both)


def test_without_daqp_it_says_who_takes_its_place_and_keeps_to_limits(tmp_path, monkeypatch):
    (tmp_path / 'daqp.py').write_text("raise ImportError('not here')")
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}{os.pathsep}{os.environ.get("PYTHONPATH", "")}')
    with play() as one:
        one.q[-1] = ROBOT.upper_limits[-1] - 0.06
        one.twist, one.frame_id = [0.0, 0.0, 0.0, 0.0, 0.0, 0.5], 'tool0'
        one.wait_for_status('at the limit of', one.both)
        assert 'daqp is not installed (pip install daqp): SciPy solves' in one.servo.printed


TURN = NAMES.index('wrist_roll')
TOLERANCE = 0.2


@pytest.fixture
def moving(request):
    parameters = {'following_tolerance': TOLERANCE, 'joint_state_timeout': 1.0}
    with play(kind=request.param, robot=MovingPlay, **parameters) as one:
        yield one


def one_frozen(frozen):
    return lambda q: np.where(np.arange(len(q)) == TURN, frozen, q)


def with_noise(frozen):
    random = np.random.default_rng(0)
    return lambda q: frozen + random.normal(0.0, 1e-4, len(frozen))


FAULTS = {
    'frozen': lambda q: lambda _: q,
    'frozen, with noise': with_noise,
    'one joint frozen': one_frozen,
    'not a number': lambda q: lambda _: q * np.nan,
    'one joint not a number': lambda q: lambda now: np.where(np.arange(7) == TURN, np.nan, now),
}


def begin(play):
    """At rest near the end of a range, honest, and following."""
    play.gain, play.report_of = 1.0, lambda q: q
    play.twist, play.frame_id = [0.0] * 6, 'tool0'
    play.pass_time(0.5, play.report)
    del play.commands[:]
    play.q = Q.copy()
    play.q[TURN] = ROBOT.upper_limits[TURN] - 0.5
    play.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=False))
    play.wait_for_status('following', play.both)
    play.twist = [0.0, 0.0, 0.0, 0.0, 0.0, 0.8]
    play.path.clear()


def assert_halted(play, before):
    assert play.stopped
    assert_in_range(play)
    assert np.abs(np.array(play.path) - before).max() < 2.0 * TOLERANCE
    assert 'halted' in play.status or 'inactive: position of' in play.status


def assert_in_range(play):
    path = np.array(play.path)
    assert (path <= ROBOT.upper_limits).all() and (path >= ROBOT.lower_limits).all()


@pytest.mark.parametrize('moving', ['velocity'], indirect=True)
@pytest.mark.parametrize('fault', FAULTS)
def test_states_that_do_not_follow_stop_it_within_the_range_of_every_joint(moving, fault):
    assert_is_stopped(moving, fault, 0.0 if fault == 'frozen' else 0.15)


@pytest.mark.parametrize('moving', ['position', 'trajectory'], indirect=True)
def test_frozen_states_stop_it_on_the_other_interfaces(moving):
    assert_is_stopped(moving, 'frozen', 0.15)


def assert_is_stopped(moving, fault, led_before):
    begin(moving)
    moving.pass_time(led_before, moving.both)
    moving.report_of = FAULTS[fault](moving.q)
    before = moving.q
    # On a busy machine, targets are late and motions are interrupted.
    moving.ros.wait_for(lambda: 'halted' in moving.status, meanwhile=moving.both, period=0.002)
    moving.pass_time(0.5, moving.both)
    assert_halted(moving, before)
    # It remembers that when targets pause.
    moving.pass_time(0.4, moving.report)
    moving.pass_time(0.2, moving.both)
    assert_halted(moving, before)
    if 'not a number' in fault:
        moving.wait_for_status('inactive', moving.both)
    # And it goes on when the states are right again.
    moving.report_of = lambda q: q
    moving.twist = [0.0, 0.0, 0.0, 0.0, 0.0, -0.8]
    if 'not a number' in fault:
        assert moving.change('activate')
    moving.ros.wait_for(
        lambda: moving.q[TURN] < before[TURN] - 0.05, meanwhile=moving.both, period=0.002
    )


@pytest.mark.parametrize('moving', ['velocity', 'position'], indirect=True)
def test_short_motions_on_frozen_states_do_not_add_up(moving):
    begin(moving)
    before = moving.q
    moving.report_of = lambda _: before
    for _ in range(30):  # six, but on a busy machine, where each may be shorter
        moving.pass_time(0.1, moving.both)
        moving.pass_time(0.6, moving.report)
        if 'halted' in moving.status:
            break
    assert_halted(moving, before)


@pytest.mark.parametrize('moving', ['velocity'], indirect=True)
def test_a_robot_that_moves_the_other_way_is_stopped(moving):
    begin(moving)
    moving.gain, before = -1.0, moving.q
    moving.ros.wait_for(lambda: 'halted' in moving.status, meanwhile=moving.both, period=0.002)
    moving.pass_time(0.5, moving.both)
    assert_halted(moving, before)
    # It stays there until somebody accepts that.
    moving.gain = 1.0
    moving.pass_time(0.5, moving.both)
    assert_halted(moving, before)
    moving.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=False))
    moving.wait_for_status('following', moving.both)


@pytest.mark.parametrize('moving', ['velocity', 'trajectory'], indirect=True)
def test_repeated_samples_and_an_inexact_velocity_do_not_stop_it(moving):
    begin(moving)
    moving.gain = 0.9 if moving.kind == 'velocity' else 1.0
    reported = [moving.q, 0.0]

    def at_125_hertz(q):
        now = time.monotonic()
        if now - reported[1] > 0.008:
            reported[:] = q.copy(), now
        return reported[0]

    moving.report_of = at_125_hertz
    del moving.statuses[:]
    for _ in range(6):
        moving.twist[5] = -moving.twist[5]
        moving.pass_time(0.7, moving.both)
    assert not any('halted' in status.message for status in moving.statuses)
    path = np.array(moving.path)[:, TURN]
    assert path.max() - path.min() > 0.3
    # The end of a range is the end.
    moving.twist[5] = abs(moving.twist[5])
    end = ROBOT.upper_limits[TURN] - 0.1
    moving.ros.wait_for(lambda: moving.q[TURN] > end, meanwhile=moving.both, period=0.002)
    moving.pass_time(0.5, moving.both)
    assert_in_range(moving)
