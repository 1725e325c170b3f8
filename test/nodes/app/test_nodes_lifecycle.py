# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands a robot is a managed node: it commands while it is active, and never else."""

from __future__ import annotations

import signal
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import TransitionEvent
from lifecycle_msgs.srv import (
    ChangeState,
    GetAvailableStates,
    GetAvailableTransitions,
    GetState,
)
from ros_harness import client, running
from sensor_msgs.msg import JointState
from servo_harness import SERVO, play
from shared_memory import left_behind, needs_shared_memory, segments
from std_msgs.msg import Float64MultiArray
from urdf_texts import pendulum

pytestmark = pytest.mark.ros

DOMAIN = 46
NODE = SERVO.strip('/')
DYNAMICS = '/dynamics_node'
WEIGHT = 9.81 * 0.1 * np.cos(0.5)
"""Nm that carry the pendulum at 0.5 rad."""


def count_commands(one, states=20):
    """How many commands come while so many joint states are told, and the servo is led."""
    one.ros.wait_for(lambda: one.statuses, meanwhile=one.both)
    before, sent = len(one.commands), [0]

    def both():
        sent[0] += 1
        one.both()

    one.ros.wait_for(lambda: sent[0] > states, meanwhile=both)
    return len(one.commands) - before


def test_a_servo_commands_only_between_activation_and_deactivation():
    with play(DOMAIN, autostart=False) as one:
        events = one.ros.listen(TransitionEvent, f'{SERVO}/transition_event')
        one.wait_for_status('unconfigured', one.both)
        assert f'ros2 lifecycle set {SERVO} configure' in one.servo.printed
        assert one.lifecycle == 'unconfigured'
        assert count_commands(one) == 0
        assert one.ros.node.count_publishers(f'{SERVO}/joint_trajectory') == 0
        assert not one.change('activate'), 'it was not configured'
        assert one.change('configure')
        one.wait_for_status('inactive', one.both)
        assert count_commands(one) == 0
        one.ros.wait_for_status(NODE, 'silent: inactive', meanwhile=one.both)
        for _ in range(2):
            assert one.change('activate')
            status = one.wait_for_status('following', one.both)
            assert {v.key: v.value for v in status.values}['lifecycle'] == 'active'
            one.ros.wait_for(lambda: one.commands, meanwhile=one.both)
            assert one.change('deactivate')
            # The answer comes when all has been sent, of which the last may still be on its way.
            count_commands(one)
            assert not one.velocity.any()
            assert count_commands(one) == 0
            del one.commands[:]
        assert one.change('cleanup')
        assert one.lifecycle == 'unconfigured'
        one.ros.wait_for(lambda: not one.ros.node.count_publishers(f'{SERVO}/joint_trajectory'))
        assert one.ros.values(NODE).get('lifecycle') in ('unconfigured', 'inactive')
        one.ros.wait_for(
            lambda: (
                [e.goal_state.label for e in events].count('active') == 2
                and events[-1].goal_state.label == 'unconfigured'
            )
        )


def test_what_does_not_fit_is_no_configuration_and_says_why():
    bad = {'command_type': 'velocity', 'command_joints': []}
    with play(DOMAIN, **bad) as one:
        one.wait_for_status('cannot configure: command_joints', one.report)
        assert one.lifecycle == 'unconfigured'
        assert 'cannot configure: command_joints' in one.servo.printed
        one.ros.wait_for_status(NODE, 'command_joints', meanwhile=one.report)
        assert one.ros.set_parameter(NODE, 'command_type', 'trajectory').successful
        assert one.change('configure')
        assert one.change('activate')
        one.wait_for_status('following', one.both)


def test_states_and_transitions_can_be_asked_for():
    with play(DOMAIN) as one:
        states = one.ros.call(GetAvailableStates, f'{SERVO}/get_available_states')
        labels = {state.label for state in states.available_states}
        assert {'unconfigured', 'inactive', 'active', 'finalized'} <= labels
        answer = one.ros.call(GetAvailableTransitions, f'{SERVO}/get_available_transitions')
        possible = {item.transition.label for item in answer.available_transitions}
        assert possible == {'deactivate', 'shutdown'}
        graph = one.ros.call(GetAvailableTransitions, f'{SERVO}/get_transition_graph')
        assert len(graph.available_transitions) > 10


def test_transitions_that_do_not_exist_change_nothing():
    with play(DOMAIN) as one:
        for number, label in ((250, ''), (1, ''), (0, 'fly'), (0, '\x1b[2J\n'), (0, 'x' * 100_000)):
            request = ChangeState.Request()
            request.transition.id, request.transition.label = number, label
            assert not one.ros.call(ChangeState, f'{SERVO}/change_state', request).success
        assert one.lifecycle == 'active'
        one.wait_for_status('following', one.both)
        assert 'Traceback' not in one.servo.printed


BROKEN = """#!/usr/bin/env python3
from dynamics_ros.nodes.executables.single_node import cartesian_servo_node
from dynamics_ros.nodes.servo.commands import Commands

def broken(self, period):
    raise ZeroDivisionError('a fault of the program')

Commands.finish = broken
cartesian_servo_node()
"""


def test_a_transition_that_goes_wrong_ends_unconfigured(tmp_path):
    script = tmp_path / 'servo'
    script.write_text(BROKEN)
    script.chmod(0o755)
    with play(DOMAIN, name=str(script), autostart=True) as one:
        one.wait_for_status('following', one.both)
        assert not one.change('deactivate')
        one.wait_for_status('unconfigured: cannot', one.both)
        assert one.lifecycle == 'unconfigured'
        assert one.servo.printed.count('ZeroDivisionError') >= 1


# --- gravity commands ---------------------------------------------------------------------------


class Arm:
    """dynamics_node before a pendulum, and what a controller of its efforts hears."""

    def __init__(self, ros, process):
        self.ros, self.process = ros, process
        self.torques = ros.listen(JointState, f'{DYNAMICS}/gravity_torques', 100)
        self.commands = ros.listen(Float64MultiArray, f'{DYNAMICS}/gravity_commands', 100)

    def report(self):
        self.ros.publish_joint_state(self.ros.joint_state(['swing'], [0.5], [0.0]))

    def change(self, label):
        request = ChangeState.Request()
        request.transition.label = label
        return self.ros.call(ChangeState, f'{DYNAMICS}/change_state', request).success

    def lifecycle(self):
        return self.ros.call(GetState, f'{DYNAMICS}/get_state').current_state.label

    def carried(self):
        """Whether it is commanded what carries it."""
        return bool(self.commands) and abs(abs(self.commands[-1].data[0]) - WEIGHT) < 1e-6

    def new_commands(self):
        """How many come with twenty torques."""
        count, commands = len(self.torques), len(self.commands)
        self.ros.wait_for(lambda: len(self.torques) > count + 20, meanwhile=self.report)
        return len(self.commands) - commands


@contextmanager
def arm(name='dynamics_node', **parameters):
    given = {'robot_description': pendulum('swinging'), **parameters}
    with running(name, DOMAIN, given) as process, client(DOMAIN) as ros:
        yield Arm(ros, process)


def test_without_command_joints_dynamics_node_is_a_plain_node():
    with arm() as one:
        one.ros.wait_for(lambda: one.torques, meanwhile=one.report)
        assert not one.ros.node.count_services(f'{DYNAMICS}/change_state')
        # From the first joints on it is not.
        assert one.ros.set_parameter('dynamics_node', 'command_joints', ['swing']).successful
        assert one.lifecycle() == 'unconfigured'
        assert one.change('configure')
        assert one.change('activate')
        one.ros.wait_for(one.carried, meanwhile=one.report)


@pytest.mark.parametrize('name', ['dynamics_node', 'dynamics_ros'])
def test_gravity_commands_come_while_the_node_is_active(name):
    with arm(name, command_joints=['swing'], autostart=False) as one:
        one.ros.wait_for_status(
            'dynamics_node', 'no gravity_commands: unconfigured', meanwhile=one.report
        )
        assert one.new_commands() == 0
        assert one.change('configure')
        assert one.new_commands() == 0
        assert one.change('activate')
        one.ros.wait_for(one.carried, meanwhile=one.report)
        assert one.change('deactivate')
        # The last ones are on their way; the controller is left with what carried the arm.
        one.new_commands()
        assert one.new_commands() == 0
        assert one.carried()
        assert one.ros.wait_for_report('dynamics_node')['lifecycle'] == 'inactive'


@pytest.mark.parametrize(
    'by', ['deactivate', 'shutdown', 'SIGINT', 'SIGTERM', 'no joints', 'another robot']
)
def test_gravity_commands_end_in_zeros_where_that_is_asked_for(by):
    parameters = {'command_joints': ['swing'], 'commands_at_end': 'zero'}
    with arm(**parameters) as one:
        one.ros.wait_for(one.carried, meanwhile=one.report)
        if by in ('deactivate', 'shutdown'):
            assert one.change(by)
        elif by == 'another robot':
            other = pendulum('swinging').replace('"swing"', '"turn"')
            assert one.ros.set_parameter('dynamics_node', 'robot_description', other).successful
        elif by.startswith('SIG'):
            code, seconds = one.process.end(signal.Signals[by])
            assert code == 0
            assert seconds < 1.0
        else:
            assert one.ros.set_parameter('dynamics_node', 'command_joints', []).successful
        one.ros.wait_for(lambda: list(one.commands[-1].data) == [0.0])


def test_a_signal_leaves_the_controller_the_torques_that_carry_the_arm():
    with arm(command_joints=['swing']) as one:
        one.ros.wait_for(one.carried, meanwhile=one.report)
        code, _ = one.process.end(signal.SIGTERM)
        assert code == 0
        assert one.carried()


@needs_shared_memory
@pytest.mark.parametrize('autostart', [True, False])
@pytest.mark.parametrize(
    ('name', 'parameters'),
    [
        ('cartesian_servo_node', {}),
        ('dynamics_node', {'command_joints': ['swing']}),
        ('impedance_controller_node', {}),
    ],
)
def test_a_managed_node_that_ends_leaves_no_participant(name, parameters, autostart):
    # One that is left delays whoever starts next beside the same peers by seconds.
    given = {'robot_description': pendulum('swing'), 'autostart': autostart, **parameters}
    with running(name, DOMAIN, given) as process, client(DOMAIN) as one:
        one.wait_for(lambda: one.node.count_publishers(f'/{name}/transition_event'))
        used = one.wait_for(lambda: segments(process.pid))
        assert process.end()[0] == 0
    assert left_behind(used) == []
