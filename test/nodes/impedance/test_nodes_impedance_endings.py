# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a motion of an arm on springs, torques that brake it are sent, within bounds."""

from __future__ import annotations

import re
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Inertia, Vector3
from impedance_harness import NAMES, NODE, ROBOT, TOOL, TORQUE_RATE, TRIES, arm
from ros_harness import LATCHED, description, faulty, shared
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool

from dynamics_ros_msgs.msg import Payload

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 113

TIMEOUT = 600.0
"""Seconds for which a target holds on: only what a test does ends the motion."""

ENDS_WITHIN = 0.5 * TIMEOUT

LOST = {'joint_state_timeout': 2.0, 'torque.max_rate': [TORQUE_RATE], 'command_timeout': TIMEOUT}
TEXT = description()


def is_at_rest(moved):
    return len(moved.states) > 3 and np.abs(moved.v).max() < 0.03


def get_going(moved):
    del moved.commands[:]
    # To and fro, so that it stays where it can be moved.
    moved.get_going(0.15 if moved.pose[2, 3] < moved.start else -0.15)


moved = shared(arm, DOMAIN, **LOST)


def spoilt(moved, joint, **changes):
    """A joint state that is as the newest one but for one number."""
    # By stamps, since messages of two publishers come in any order.
    last = max(moved.states[-50:], key=lambda x: (x.header.stamp.sec, x.header.stamp.nanosec))
    message = JointState(name=list(last.name), header=last.header)
    message.header.stamp.nanosec = min(message.header.stamp.nanosec + 1000, 999_999_999)
    for field in ('position', 'velocity', 'effort'):
        numbers = list(getattr(last, field))
        numbers[joint] = changes.get(field, lambda x: x)(numbers[joint])
        setattr(message, field, numbers)
    return message


def jump(moved):
    moved.ros.publish_joint_state(spoilt(moved, 3, position=lambda x: x + 0.6))


def silence(moved):
    moved.simulator.send(signal.SIGSTOP)


def carry(moved):
    message = Payload(inertia=Inertia(m=0.02, ixx=1e-3, iyy=1e-3, izz=1e-3, com=Vector3(z=0.05)))
    message.header.frame_id = TOOL
    moved.ros.publish('/payload', message, LATCHED)


def parameter(name, value):
    def change(moved):
        assert moved.ros.set_parameter(NODE, name, value).successful

    return change


def describe(moved):
    heavier = re.sub(
        r'<mass value="([0-9.]+)"/>', lambda x: f'<mass value="{1.01 * float(x[1])}"/>', TEXT
    )
    assert heavier != TEXT
    moved.ros.publish('/robot_description', String(data=heavier), LATCHED)


def pause(moved):
    request = SetBool.Request(data=True)
    assert moved.ros.call(SetBool, f'/{NODE}/pause', request).success


def tell_nonsense(moved):
    moved.lead_along([np.nan] * 6)


def assert_handed_over(moved, reason, meanwhile=None):
    """The node gives the arm up; it is activated again when the simulator goes on."""
    status = moved.wait_for_status('inactive: ', meanwhile, 0.004)
    assert {x.key: x.value for x in status.values}['reason'] == reason
    assert status.level == DiagnosticStatus.ERROR
    assert moved.ends_commanding(meanwhile)
    del moved.states[:]
    moved.simulator.send(signal.SIGCONT)
    moved.ros.wait_for(lambda: moved.states)
    assert moved.change('activate')


FAULTS = {
    'a position that jumps': (jump, 'has jumped'),
    'joint states that fail to come': (silence, 'braking: joint states fail to come'),
    'a payload': (carry, 'braking: another robot'),
    'another description': (describe, 'braking: another robot'),
    'a pause': (pause, 'braking: paused'),
    'a target that is told no more': (parameter('command_timeout', 0.05), 'holding'),
    'a target of NaN': (tell_nonsense, 'holding: twist_command refused'),
    'another mode': (parameter('mode', 'guiding'), 'braking: another mode'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_each_fault_ends_in_its_state_with_bounded_torques(moved, fault):
    cause, state = FAULTS[fault]
    get_going(moved)
    del moved.statuses[:]
    began = time.monotonic()
    cause(moved)
    moved.ros.wait_for(
        lambda: [m for m in moved.statuses if state in m.message],
        # A publisher that is new may not be heard at once.
        meanwhile=(lambda: cause(moved)) if cause in (jump, tell_nonsense) else None,
        period=0.3,
    )
    if cause is silence:
        assert_handed_over(moved, 'states_stopped')
    moved.ros.wait_for(lambda: is_at_rest(moved))
    assert time.monotonic() - began < ENDS_WITHIN, 'its target has ended it, of old age'
    moved.assert_bounded()
    if fault == 'another mode':
        moved.wait_for_status('guided')
    for name, value in {'mode': 'impedance', 'command_timeout': TIMEOUT}.items():
        parameter(name, value)(moved)
    assert moved.ros.call(SetBool, f'/{NODE}/pause', SetBool.Request(data=False)).success
    moved.wait_for_status('holding')


@pytest.mark.parametrize('field', ['position', 'velocity'])
def test_numbers_that_are_none_brake_the_arm_and_then_deactivate_the_node(moved, field):
    get_going(moved)
    silence(moved)
    del moved.statuses[:]
    began = time.monotonic()

    def spoil():
        moved.ros.publish_joint_state(spoilt(moved, 2, **{field: lambda _: float('nan')}))

    moved.ros.wait_for(
        lambda: [m for m in moved.statuses if m.message.startswith('braking: ')],
        meanwhile=spoil,
        period=0.004,
    )
    reason = {'position': 'position_not_finite', 'velocity': 'velocity_missing'}[field]
    assert_handed_over(moved, reason, spoil)
    moved.ros.wait_for(lambda: is_at_rest(moved))
    assert time.monotonic() - began < ENDS_WITHIN, 'its target has ended it, of old age'
    moved.assert_bounded()
    moved.wait_for_status('holding')


def left_over(moved):
    """Nm that the last command is off what carries the arm, once that has come to rest."""
    moved.ros.wait_for(lambda: is_at_rest(moved))
    moved.assert_bounded()
    return np.abs(moved.efforts[-1] - ROBOT.gravity(moved.q)).max()


def test_deactivation_in_motion_brakes_and_leaves_what_carries_the_arm(moved):
    for _ in range(TRIES):
        get_going(moved)
        assert moved.change('deactivate')
        off = left_over(moved)
        assert moved.ends_commanding(), 'it goes on commanding'
        assert moved.lifecycle == 'inactive'
        assert moved.change('activate')
        moved.wait_for_status('holding')
        if off < 1.0:
            break
    assert off < 1.0


def test_a_robot_that_it_cannot_use_is_met_by_a_stop_and_named():
    renamed = description()
    for name in NAMES:
        renamed = renamed.replace(f'"{name}"', f'"other_{name}"')
    for _ in range(TRIES):
        with arm(DOMAIN + 1, **LOST) as one:
            get_going(one)
            del one.statuses[:]
            one.ros.publish('/robot_description', String(data=renamed), LATCHED)
            one.ros.wait_for(lambda one=one: 'waiting: ' in one.status)
            assert any('braking: another robot' in m.message for m in one.statuses)
            assert NAMES[0] in one.status and 'command_joints' in one.status
            # Braked by its own joint states, it is carried where it stands, and nothing follows.
            off = left_over(one)
            assert one.ends_commanding(), 'it goes on commanding'
            one.ros.publish('/robot_description', String(data=description()), LATCHED)
            one.wait_for_status('holding')
            one.assert_bounded()
        if off < 1.0:
            break
    assert off < 1.0


@pytest.mark.parametrize('by', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.few(2)
def test_a_signal_ends_the_process_after_the_arm_has_been_braked(by):
    for _ in range(TRIES):
        with arm(DOMAIN + 1, **LOST) as one:
            get_going(one)
            code, _ = one.node.end(by)
            assert code == 0, one.node.printed
            assert 'Traceback' not in one.node.printed
            off = left_over(one)
        # An arm that a busy machine keeps the node from braking goes on for a while.
        if off < 1.0:
            break
    assert off < 1.0


def test_zeros_are_the_last_command_where_they_are_asked_for():
    with arm(DOMAIN + 1, commands_at_end='zero', **LOST) as one:
        get_going(one)
        assert one.change('deactivate')
        one.ros.wait_for(lambda: not one.efforts[-1].any())


def test_an_error_in_a_step_is_an_end_and_told_once(tmp_path):
    script, flag = faulty(tmp_path, NODE, 'dynamics_ros.control:CompliantArm.drive')
    with arm(DOMAIN + 1, name=script, **LOST) as one:
        get_going(one)
        flag.touch()
        one.wait_for_status('ZeroDivisionError')
        one.ros.wait_for(lambda: is_at_rest(one))
        one.assert_bounded()
        assert one.node.printed.count('reported once, then counted') == 1
        flag.unlink()
        one.wait_for_status('holding')


def test_a_step_that_fails_for_good_hands_the_arm_over(tmp_path):
    step = 'dynamics_ros.nodes.impedance_controller_node:Impedance._step'
    script, flag = faulty(tmp_path, NODE, step)
    with arm(DOMAIN + 1, name=script, **{**LOST, 'joint_state_timeout': 0.5}) as one:
        get_going(one)
        flag.touch()
        status = one.wait_for_status('inactive: ')
        assert {x.key: x.value for x in status.values}['reason'] == 'unexpected_error'
        assert 'ZeroDivisionError' in status.message
        one.assert_bounded()
