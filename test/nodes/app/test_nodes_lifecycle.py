# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands a robot is a managed node: it commands while it is active, and never else."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import TransitionEvent
from lifecycle_msgs.srv import (
    ChangeState,
    GetAvailableTransitions,
    GetState,
)
from ros_harness import LATCHED, Managed, client, description, faulty, running
from sensor_msgs.msg import JointState
from servo_harness import NAMES, SERVO, play
from shared_memory import left_behind, needs_shared_memory, segments
from std_msgs.msg import Float64MultiArray, String
from urdf_texts import pendulum

from dynamics_ros import Robot
from dynamics_ros_msgs.srv import SetGravity

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
            one.ros.wait_for(lambda: count_commands(one) == 0)
            assert not one.velocity.any()
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


def test_transitions_can_be_asked_for_and_those_that_do_not_exist_change_nothing():
    with play(DOMAIN) as one:
        one.wait_for_status('following', one.both)
        answer = one.ros.call(GetAvailableTransitions, f'{SERVO}/get_available_transitions')
        possible = {item.transition.label for item in answer.available_transitions}
        assert possible == {'deactivate', 'shutdown'}
        for number, label in ((250, ''), (1, ''), (0, 'fly'), (0, '\x1b[2J\n'), (0, 'x' * 100_000)):
            request = ChangeState.Request()
            request.transition.id, request.transition.label = number, label
            assert not one.ros.call(ChangeState, f'{SERVO}/change_state', request).success
        assert one.lifecycle == 'active'
        one.wait_for_status('following twist_command', one.both)
        assert 'Traceback' not in one.servo.printed


def test_a_transition_that_goes_wrong_ends_unconfigured(tmp_path):
    script, flag = faulty(tmp_path, NODE, 'dynamics_ros.nodes.cartesian_servo_node:Commands.finish')
    with play(DOMAIN, name=script, autostart=True) as one:
        one.wait_for_status('following', one.both)
        flag.touch()
        assert not one.change('deactivate')
        one.wait_for_status('unconfigured: cannot', one.both)
        assert one.lifecycle == 'unconfigured'
        assert one.servo.printed.count('ZeroDivisionError') >= 1


# --- several nodes that command the same joints -------------------------------------------------

IMPATIENT = """#!/usr/bin/env python3
import sys
from dynamics_ros.nodes import lifecycle
from dynamics_ros.nodes import executables

lifecycle.LEASE = 5.0  # longer than DISCOVERY
getattr(executables, sys.argv.pop(1))()
"""


@contextmanager
def impatient(tmp_path, name, parameters=None):
    """A node that waits for other publishers for five seconds only, and what it says of itself."""
    script = tmp_path / name
    script.write_text(IMPATIENT.replace('sys.argv.pop(1)', repr(name)))
    script.chmod(0o755)
    parameters = {'autostart': True, **(parameters or {})}
    with running(str(script), DOMAIN, parameters) as node, client(DOMAIN) as ros:
        yield node, ros


@pytest.mark.parametrize(
    ('name', 'topic'),
    [
        ('cartesian_servo_node', 'joint_commands'),
        ('dynamics_node', 'gravity_commands'),
    ],
)
def test_beside_another_publisher_of_commands_it_is_activated_only_if_allowed(
    tmp_path, name, topic
):
    parameters = {'command_joints': NAMES, 'robot_description': description()}
    if name == 'cartesian_servo_node':
        parameters['command_type'] = 'velocity'
    topic = f'/{name}/{topic}'
    with client(DOMAIN, 'rival') as rival:
        publisher = rival.node.create_publisher(Float64MultiArray, topic, 10)
        with impatient(tmp_path, name, parameters) as (node, ros):
            ros.wait_for(lambda: 'cannot activate' in node.printed)
            assert f'/rival publishes on {topic}' in node.printed
            state = lambda: ros.call(GetState, f'/{name}/get_state').current_state.label  # noqa: E731
            assert state() == 'inactive'
            request = ChangeState.Request()
            request.transition.label = 'activate'
            assert not ros.call(ChangeState, f'/{name}/change_state', request).success
            assert state() == 'inactive'
            assert ros.set_parameter(name, 'allow_other_publishers', True).successful
            assert ros.call(ChangeState, f'/{name}/change_state', request).success
            request.transition.label = 'deactivate'
            assert ros.call(ChangeState, f'/{name}/change_state', request).success
            assert ros.set_parameter(name, 'allow_other_publishers', False).successful
            rival.node.destroy_publisher(publisher)
            request.transition.label = 'activate'
            ros.wait_for(
                lambda: (
                    ros.call(ChangeState, f'/{name}/change_state', request).success
                    or state() == 'active'
                )
            )
            assert 'Traceback' not in node.printed


def test_of_two_nodes_of_one_name_the_second_stays_inactive(tmp_path):
    with play(DOMAIN, autostart=True) as one:
        one.wait_for_status('following', one.both)
        with impatient(tmp_path, NODE) as (second, _):
            one.ros.wait_for(lambda: 'cannot activate' in second.printed, meanwhile=one.both)
            assert f'{SERVO} publishes on' in second.printed
            one.wait_for_status('another publisher', one.both)
            one.wait_for_status('following', one.both)


@pytest.mark.slow
def test_after_a_node_was_killed_the_next_one_waits_for_the_end_of_its_lease():
    commands = f'{SERVO}/joint_trajectory'
    parameters = {'robot_description': description(), 'autostart': False}
    remaps = {'~/joint_trajectory': commands}
    with (
        play(DOMAIN) as one,
        running(NODE, DOMAIN, parameters, namespace='/next', remaps=remaps) as second,
    ):
        one.wait_for_status('following', one.both)
        one.node = f'/next{SERVO}'
        assert one.change('configure')
        request = ChangeState.Request()
        request.transition.label = 'activate'
        future = one.ros.ask(f'{one.node}/change_state', request)
        waits = f'in case it has died: {SERVO} publishes on {commands}'
        one.ros.wait_for(lambda: waits in second.printed)
        one.servo.end(signal.SIGKILL)
        one.ros.wait_for(future.done)
        # On a busy machine, it may have been killed late.
        assert future.result().success or one.change('activate')
        assert one.lifecycle == 'active'


# --- gravity commands ---------------------------------------------------------------------------


class Arm(Managed):
    """dynamics_node before a pendulum, and what a controller of its efforts hears."""

    full_name = DYNAMICS

    def __init__(self, ros, process):
        self.ros, self.process = ros, process
        self.torques = ros.listen(JointState, f'{DYNAMICS}/gravity_torques', 100)
        self.commands = ros.listen(Float64MultiArray, f'{DYNAMICS}/gravity_commands', 100)

    def report(self):
        self.ros.publish_joint_state(self.ros.joint_state(['swing'], [0.5], [0.0]))

    def set_gravity(self, z):
        """Ask for a gravity; the future of the response."""
        name, request = f'{DYNAMICS}/set_gravity', SetGravity.Request()
        request.gravity.vector.z = -9.81
        self.ros.call(SetGravity, name, request)  # the server knows this client from then on
        request.gravity.vector.z = z
        return self.ros.ask(name, request)

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


def test_without_command_joints_dynamics_node_cannot_be_configured():
    with arm() as one:
        one.ros.wait_for(lambda: one.torques, meanwhile=one.report)
        assert not one.change('configure')
        one.ros.wait_for(lambda: 'command_joints: empty' in one.process.printed)
        assert one.lifecycle == 'unconfigured'


def test_gravity_commands_come_while_the_node_is_active():
    with arm('dynamics_ros', command_joints=['swing'], autostart=False) as one:
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
        one.ros.wait_for(lambda: one.new_commands() == 0)
        assert one.carried()
        assert one.ros.wait_for_report('dynamics_node')['lifecycle'] == 'inactive'


@pytest.mark.parametrize('by', ['deactivate', 'SIGTERM', 'another robot'])
def test_gravity_commands_end_in_zeros_where_that_is_asked_for(by):
    parameters = {'command_joints': ['swing'], 'commands_at_end': 'zero'}
    swinging = pendulum('swinging')
    with arm(robot_description='', **parameters) as one:
        one.ros.publish('/robot_description', String(data=swinging), LATCHED)
        one.ros.wait_for(one.carried, meanwhile=one.report)
        if by == 'deactivate':
            assert one.change(by)
        elif by == 'another robot':
            other = swinging.replace('"swing"', '"turn"')
            one.ros.publish('/robot_description', String(data=other), LATCHED)
        else:
            one.process.send(signal.Signals[by])
        one.ros.wait_for(lambda: list(one.commands[-1].data) == [0.0])
        if by == 'SIGTERM':
            assert one.process.wait() == 0


@pytest.mark.parametrize('by', ['states that stop', 'positions that are not finite'])
def test_gravity_commands_that_cannot_be_computed_end_as_by_deactivation(by):
    def report():
        if by != 'states that stop':
            one.ros.publish_joint_state(one.ros.joint_state(['swing'], [np.nan], [0.0]))

    with arm(command_joints=['swing'], commands_at_end='zero', joint_timeout=0.3) as one:
        one.ros.wait_for(one.carried, meanwhile=one.report)
        one.ros.wait_for(lambda: list(one.commands[-1].data) == [0.0], meanwhile=report)
        one.ros.wait_for(lambda: 'ends until it can be computed again' in one.process.printed)
        assert one.lifecycle == 'active'
        one.ros.wait_for(one.carried, meanwhile=one.report)


def test_gravity_commands_follow_another_gravity_gradually():
    with arm(command_joints=['swing']) as one:
        one.ros.wait_for(one.carried, meanwhile=one.report)
        del one.commands[:]
        began = time.monotonic()
        one.set_gravity(-11.81)
        wanted = WEIGHT * 11.81 / 9.81
        one.ros.wait_for(
            lambda: one.commands and abs(abs(one.commands[-1].data[0]) - wanted) < 1e-6,
            meanwhile=one.report,
        )
        # At 2 m/s^2 per second, of which a step is a tenth.
        assert time.monotonic() - began > 0.8
        efforts = np.abs([command.data[0] for command in one.commands])
        assert np.abs(np.diff(efforts)).max() < 2.5 * 0.1 * WEIGHT / 9.81


def test_a_gravity_that_the_arm_does_not_carry_is_undone_before_it_throws_it():
    truth = Robot.from_urdf(pendulum('swinging'))
    with arm(command_joints=['swing']) as one:
        q, v, last, fastest = np.array([0.5]), np.zeros(1), time.monotonic(), 0.0

        def move():
            nonlocal q, v, last, fastest
            now = time.monotonic()
            dt, last = min(now - last, 0.02), now
            tau = np.array(one.commands[-1].data if one.commands else truth.gravity(q))
            v = v + dt * truth.forward_dynamics(q, v, tau)
            q, fastest = q + dt * v, max(fastest, abs(v[0]))
            one.ros.publish_joint_state(one.ros.joint_state(['swing'], q, v))

        one.ros.wait_for(one.carried, meanwhile=move)
        asked = one.set_gravity(-25.0)
        one.ros.wait_for(asked.done, meanwhile=move)
        assert 'gravity: moves swing by' in asked.result().result.message

        def carried():
            return abs(one.commands[-1].data[0] - truth.gravity(q)[0]) < 0.01

        one.ros.wait_for(carried, meanwhile=move)
        assert fastest < 0.6


def test_a_signal_leaves_the_controller_the_torques_that_carry_the_arm():
    with arm(command_joints=['swing']) as one:
        one.ros.wait_for(one.carried, meanwhile=one.report)
        code, _ = one.process.end(signal.SIGTERM)
        assert code == 0
        assert one.carried()


@needs_shared_memory
def test_a_managed_node_that_ends_leaves_no_participant():
    # One that is left delays whoever starts next beside the same peers by seconds.
    given = {'robot_description': pendulum('swing')}
    with running(NODE, DOMAIN, given) as process, client(DOMAIN) as one:
        one.wait_for(lambda: one.node.count_publishers(f'{SERVO}/transition_event'))
        used = one.wait_for(lambda: segments(process.pid))
        assert process.end()[0] == 0
    assert left_behind(used) == []
