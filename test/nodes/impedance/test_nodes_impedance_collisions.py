# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""impedance_controller_node reacts to collisions that contact_node detects in its process."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from impedance_harness import NODE, TOOL, arm
from ros_harness import client, running
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from dynamics_ros.control import STRATEGIES
from dynamics_ros.wire.conversions import duration_message, fill
from dynamics_ros_msgs.msg import ContactState, Result
from dynamics_ros_msgs.srv import ApplyWrench

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 144
DETECTOR = 'contact_node'
REACTION = 'collision.reaction'
REFLEX = 0.4
"""s."""


@pytest.fixture(scope='module')
def watched():
    with arm(
        DOMAIN,
        **{
            REACTION: 'stop',
            'collision.duration': REFLEX,
            'thresholds.collision': [8.0],
            'torque.max_rate': [400.0],
        },
    ) as one:
        one.contacts = one.ros.listen(ContactState, f'/{DETECTOR}/contact_state', 5000)
        one.ros.wait_for(lambda: one.contacts)
        one.wait_for_status('holding')
        yield one


def hit(watched, force=(0.0, 0.0, 60.0), seconds=0.1):
    """Be in the way of the tool for a moment; until the status is about it."""
    request = ApplyWrench.Request(frame=TOOL, duration=duration_message(seconds))
    fill(request.wrench, np.append(force, np.zeros(3)))
    called = watched.ros.call(ApplyWrench, '/robot_simulator/apply_wrench', request)
    assert called.result.code == Result.SUCCESS


def react(watched, strategy):
    assert watched.ros.set_parameter(NODE, REACTION, strategy).successful
    watched.wait_for_status('holding')
    del watched.commands[:], watched.contacts[:], watched.statuses[:]
    watched.get_going(0.1 if watched.pose[2, 3] < watched.start else -0.1)
    hit(watched)
    return watched.wait_for_status(f'reacting: {strategy}')


def acknowledge(watched):
    return watched.ros.call(Trigger, f'/{NODE}/acknowledge')


def wait_until_it_holds(watched):
    """The reaction is over: what was said of it may come after the answer that ends it."""
    watched.ros.wait_for(lambda: watched.status.startswith('holding'))


def said(watched, words):
    """Wait for these words, be it that they have been said already."""
    watched.ros.wait_for(lambda: any(words in m.message for m in watched.statuses))


@pytest.fixture(autouse=True)
def begin_anew(request):
    if 'watched' not in request.fixturenames:
        return
    watched = request.getfixturevalue('watched')
    assert watched.ros.set_parameter(NODE, 'mode', 'impedance').successful
    assert watched.ros.call(SetBool, f'/{NODE}/pause', SetBool.Request(data=False)).success
    del watched.statuses[:]
    # What was in the way of the last test may still be there.
    watched.ros.wait_for(
        lambda: watched.status.startswith('holding'),
        meanwhile=lambda: acknowledge(watched),
        period=0.5,
    )


@pytest.mark.parametrize('strategy', STRATEGIES)
@pytest.mark.few(3)
def test_a_collision_is_reacted_to_until_it_is_acknowledged(watched, strategy):
    react(watched, strategy)
    watched.wait_for_status('holding until ~/acknowledge')
    watched.assert_bounded()
    # However fast the push drives the light joints of the wrist, it is no jump.
    assert not any('jumped' in m.message for m in watched.statuses)

    def command():
        watched.come_to_rest()
        before = watched.pose[:3, 3]
        watched.pass_time(0.2, lambda: watched.lead_along([0, 0, 0.1, 0, 0, 0]))
        return np.linalg.norm(watched.pose[:3, 3] - before)

    # Commands are not followed, whoever repeats them.
    reacting = f'reacting: {strategy}; holding'
    assert watched.undisturbed(command, reacting) < 5e-3
    watched.wait_for_status(reacting)
    answer = acknowledge(watched)
    assert answer.success
    assert strategy in answer.message
    wait_until_it_holds(watched)


def test_the_joint_state_that_tells_a_collision_is_answered_by_the_reaction(watched):
    heard = []

    def hear(kind, topic, of):
        def listener(message, info):
            heard.append((info['source_timestamp'], of(message)))

        watched.ros.node.create_subscription(kind, topic, listener, 5000)

    def kinds():
        """Of the messages, as they were published: topics are not read in that order."""
        return [kind for _, kind in sorted(heard)]

    hear(Float64MultiArray, f'/{NODE}/joint_commands', lambda _: 'command')
    hear(ContactState, f'/{DETECTOR}/contact_state', lambda m: 'hit' if m.collision_latched else '')
    hear(DiagnosticStatus, f'/{NODE}/status', lambda m: m.message.split(':')[0])
    watched.ros.wait_for(lambda: {'command', ''} <= set(kinds()))
    del heard[:]
    react(watched, 'float')
    watched.ros.wait_for(lambda: {'hit', 'reacting'} <= set(kinds()))
    # All that was published between the two has come as well.
    count = len(watched.commands)
    watched.ros.wait_for(lambda: len(watched.commands) > count + 20)
    first, told = kinds().index('hit'), kinds().index('reacting')
    assert kinds()[min(first, told) : max(first, told)].count('command') <= 1
    assert acknowledge(watched).success


def test_neither_a_mode_nor_activation_ends_a_reaction(watched):
    react(watched, 'float')
    assert watched.ros.set_parameter(NODE, 'mode', 'guiding').successful
    said(watched, 'reacting: float; braking: another mode')
    said(watched, 'reacting: float; holding')
    assert watched.ros.set_parameter(NODE, 'mode', 'impedance').successful
    del watched.statuses[:]
    assert watched.change('deactivate')
    assert watched.change('activate')
    watched.wait_for_status('reacting: float; holding')
    assert acknowledge(watched).success
    assert not acknowledge(watched).message.endswith(')')
    wait_until_it_holds(watched)


@pytest.fixture
def floating(watched):
    """In the middle of a reflex that takes its time."""
    assert watched.ros.set_parameter(NODE, 'collision.duration', 30.0).successful
    react(watched, 'float')
    yield watched
    assert watched.ros.set_parameter(NODE, 'collision.duration', REFLEX).successful


def floats(watched):
    """Whether it said that it was in the middle of the reflex."""
    said = [message.message.split('; limited')[0] for message in watched.statuses]
    return 'reacting: float' in said


def test_deactivation_ends_a_reflex_for_good(floating):
    assert floating.change('deactivate')
    floating.ros.wait_for(lambda: 'inactive' in floating.status)
    del floating.statuses[:]
    assert floating.change('activate')
    floating.pass_time(0.2)
    assert not floats(floating)
    said(floating, 'reacting: float; holding')
    floating.assert_bounded()
    assert acknowledge(floating).success
    wait_until_it_holds(floating)


def test_pauses_during_a_reflex_end_it_and_acknowledgements_may_be_repeated(floating):
    for data in (True, False) * 5:
        request = SetBool.Request(data=data)
        assert floating.ros.call(SetBool, f'/{NODE}/pause', request).success
    said(floating, 'reacting: float; braking: paused')
    said(floating, 'reacting: float; holding')
    # As by one whose first calls got lost.
    assert all(acknowledge(floating).success for _ in range(20))
    wait_until_it_holds(floating)
    floating.assert_bounded()


TRIES = 5
"""Collisions of which one has to come while the arm still brakes."""


def test_a_collision_while_the_arm_brakes_changes_nothing(watched):
    assert watched.ros.set_parameter(NODE, REACTION, 'float').successful
    for _ in range(TRIES):
        watched.get_going(0.1 if watched.pose[2, 3] < watched.start else -0.1)
        del watched.statuses[:]
        assert watched.ros.call(SetBool, f'/{NODE}/pause', SetBool.Request(data=True)).success
        hit(watched)
        watched.ros.wait_for(lambda: 'holding until' in watched.status)
        said = [message.message for message in watched.statuses]
        assert acknowledge(watched).success
        assert watched.ros.call(SetBool, f'/{NODE}/pause', SetBool.Request(data=False)).success
        wait_until_it_holds(watched)
        # It brakes on: there is no reflex, unless a busy machine hit it when it was at rest.
        if 'reacting: float' not in said:
            break
        assert 'paused' in said[: said.index('reacting: float')], said
    assert 'reacting: float; braking: paused' in said


def test_a_hand_that_leads_the_arm_is_no_collision(watched):
    assert watched.ros.set_parameter(NODE, 'mode', 'guiding').successful
    watched.wait_for_status('guided by hand')
    hit(watched)
    del watched.contacts[:], watched.statuses[:]
    watched.ros.wait_for(lambda: any(message.collision_latched for message in watched.contacts))
    watched.pass_time(0.3)
    assert watched.ros.set_parameter(NODE, 'mode', 'impedance').successful
    watched.wait_for_status('holding')
    assert not any('reacting' in message.message for message in watched.statuses)


def test_that_nothing_is_detected_is_told(watched):
    assert watched.ros.set_parameter(DETECTOR, 'effort.scale', [0.0]).successful
    watched.wait_for_status('holding; collisions are not detected: ')
    assert watched.ros.set_parameter(DETECTOR, 'effort.scale', [1.0]).successful
    watched.wait_for_status('holding')


def test_without_a_detector_a_reaction_is_refused():
    with running(NODE, DOMAIN + 1, {'autostart': False}), client(DOMAIN + 1) as ros:
        refused = ros.set_parameter(NODE, REACTION, 'stop')
        assert not refused.successful
        assert 'collision.reaction' in refused.reason
        assert ros.set_parameter(NODE, 'collision.duration', 0.3).successful
