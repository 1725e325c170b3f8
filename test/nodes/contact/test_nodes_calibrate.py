# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The action calibrate of contact_node: goals, feedback, results, what is refused, and undoing."""

from __future__ import annotations

import itertools
import sys
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from arm import ARM, NAMES

sys.path.append(str(Path(__file__).parents[2] / 'identification'))

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.action import ActionClient
from ros_harness import LATCHED, result_of, send_goal, served
from sensor_msgs.msg import JointState
from simulated_arm import COULOMB, OFFSET, VISCOUS, efforts, motion, truth
from std_msgs.msg import String
from std_srvs.srv import Trigger
from urdf_texts import pendulum

from dynamics_ros_msgs.action import Calibrate
from dynamics_ros_msgs.msg import Result

pytestmark = pytest.mark.ros

DOMAIN = 139
NODE = 'contact_node'
REAL = truth(1, off=0.0)
PERIOD = 0.01
"""s between two stamps; the test sends them as fast as it can."""


NOISE = 0.1
"""Nm."""


@pytest.fixture(scope='module')
def ros():
    with served(NODE, DOMAIN, {'frames': ['tool0'], 'wrench.force_only': True}) as one:
        one.publish('/robot_description', String(data=ARM), LATCHED)
        yield one


@pytest.fixture(scope='module')
def torques(ros):
    return ros.listen(JointState, f'/{NODE}/external_torques', 1000)


@pytest.fixture(scope='module')
def actions(ros, torques):
    found = ActionClient(ros.node, Calibrate, f'/{NODE}/calibrate')
    states = moving(ros)
    ros.wait_for(
        lambda: found.server_is_ready() and torques,
        meanwhile=lambda: next(states),
    )
    return found


@lru_cache
def recorded(seed, joints, push, gravity):
    """States of an arm with friction that nobody described."""
    t = PERIOD * np.arange(4000)
    q, v, a = motion(t, seed, joints=joints, speed=2.0)
    tau = efforts(REAL, q, v, a) + NOISE * np.random.default_rng(seed).normal(size=q.shape)
    tau[(t > 4.0) & (t < 5.0)] += push
    if gravity is not None:
        tau += REAL.robot.with_gravity(gravity).gravity(q) - REAL.robot.gravity(q)
    return q, v, tau


def moving(ros, seed=0, joints=range(7), push=0.0, effort=True, gravity=None):
    """Publishes one recorded state after another."""
    q, v, tau = recorded(seed, tuple(joints), push, gravity)
    for k in itertools.chain(range(len(q)), itertools.repeat(len(q) - 1)):
        told = tau[k] if effort else ()
        ros.publish_joint_state(ros.joint_state(NAMES, q[k], v[k], told, step=PERIOD))
        yield


accepted = partial(send_goal, Calibrate)


def felt(ros, received, field, seed):
    """RMS of what is felt in another motion without contact, once it has settled."""
    states = moving(ros, seed)
    # The motions do not follow each other smoothly: what is felt of that fades.
    for count in (150, 300):
        received.clear()
        ros.wait_for(
            lambda count=count: len(received) >= count,
            meanwhile=lambda: next(states),
            period=0.002,
        )
    return float(np.sqrt(np.mean(np.square([field(message) for message in received]))))


def torque(message):
    return list(message.effort)


def force(message):
    wrench = message.wrench.force
    return [np.sqrt(3.0) * x for x in (wrench.x, wrench.y, wrench.z)]


def test_what_is_found_takes_force_is_written_and_can_be_undone(ros, actions, torques, tmp_path):
    wrenches = ros.listen(WrenchStamped, f'/{NODE}/tool0/wrench', 1000)
    before = felt(ros, torques, torque, 7), felt(ros, wrenches, force, 7)
    path, states, feedback = tmp_path / 'found.yaml', moving(ros), []
    handle = accepted(ros, actions, states, feedback, duration=10.0, path=str(path))
    answer = result_of(ros, handle, states)
    found = answer.result
    assert answer.status == GoalStatus.STATUS_SUCCEEDED, found.result.message
    assert found.joint_names == NAMES and all(found.moved)
    for told, true in ((found.coulomb, COULOMB), (found.viscous, VISCOUS)):
        np.testing.assert_allclose(told, true, atol=0.15)
    np.testing.assert_allclose(found.offset, -OFFSET, atol=0.05)
    assert (np.array(found.coulomb_deviation) < 0.1).all()
    # Dry friction that turns within two samples looks like noise as well.
    assert (np.array(found.effort_noise) > 0.8 * NOISE).all()
    assert (np.array(found.effort_noise) < 2.0 * NOISE).all()
    assert (np.array(found.left_over) < 0.2 * np.array(found.left_over_before)).all()
    after = felt(ros, torques, torque, 7), felt(ros, wrenches, force, 7)
    print(f'torque {before[0]:.3f} -> {after[0]:.3f} Nm, force {before[1]:.2f} -> {after[1]:.2f} N')
    assert after[0] < 0.25 * before[0] and after[1] < 0.25 * before[1]

    written = yaml.safe_load(path.read_text())[f'/**/{NODE}']['ros__parameters']
    assert written['friction']['coulomb'] == ros.get_parameter(NODE, 'friction.coulomb')
    assert written['friction']['coulomb'] == list(found.coulomb)
    assert written['effort']['scale'] == [1.0]

    states = moving(ros)
    handle = accepted(ros, actions, states, [], duration=5.0)
    assert result_of(ros, handle, states).status == GoalStatus.STATUS_SUCCEEDED
    for coulomb in (list(found.coulomb), None):
        undone = ros.call(Trigger, f'/{NODE}/undo_calibration')
        assert undone.success, undone.message
        assert not coulomb or ros.get_parameter(NODE, 'friction.coulomb') == coulomb
    assert not ros.get_parameter(NODE, 'friction.coulomb')
    assert felt(ros, torques, torque, 7) > 0.8 * before[0]
    again = ros.call(Trigger, f'/{NODE}/undo_calibration')
    assert not again.success and 'no calibration' in again.message


def test_feedback_says_what_is_missing_and_a_goal_can_be_cancelled(ros, actions):
    states, feedback = moving(ros, joints=(0, 1)), []
    handle = accepted(ros, actions, states, feedback, duration=500.0)
    ros.wait_for(
        lambda: feedback and feedback[-1].samples > 100,
        meanwhile=lambda: next(states),
        period=0.001,
    )
    assert f'{NAMES[2]} has not moved' in feedback[-1].missing
    assert feedback[-1].elapsed > 0.4
    second = accepted(ros, actions, states, duration=10.0)
    assert not second.accepted
    handle.cancel_goal_async()
    assert result_of(ros, handle, states).status == GoalStatus.STATUS_CANCELED
    assert not ros.get_parameter(NODE, 'friction.coulomb')


@pytest.mark.parametrize(
    ('goal', 'text'),
    [
        ({'duration': 1.0}, 'duration'),
        ({'duration': np.nan}, 'duration'),
        ({'path': '/etc/passwd'}, 'absolute path in .yaml'),
        ({'path': '/no/such/folder/found.yaml'}, 'folder that cannot be written'),
    ],
)
def test_a_goal_that_cannot_be_is_aborted_at_once(ros, actions, goal, text):
    states = moving(ros)
    answer = result_of(ros, accepted(ros, actions, states, **goal), states)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result.result.code == Result.INVALID_ARGUMENT
    assert text in answer.result.result.message


@pytest.mark.parametrize(
    ('motion', 'text'),
    [
        ({'effort': False}, f'no effort of {NAMES[0]}'),
        ({'push': 12.0}, 'not those of free motion'),
        ({'gravity': (0.0, 0.0, 0.0)}, 'effort.includes_gravity false'),
    ],
)
def test_motion_that_nothing_can_be_learned_from_is_refused(ros, actions, motion, text):
    states = moving(ros, **motion)
    answer = result_of(ros, accepted(ros, actions, states, duration=12.0), states)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert text in answer.result.result.message
    assert not ros.get_parameter(NODE, 'friction.coulomb')


def test_joint_states_that_stop_half_way_end_it(ros, actions):
    states = itertools.chain(itertools.islice(moving(ros), 400), itertools.repeat(None))
    answer = result_of(ros, accepted(ros, actions, states, duration=20.0), states)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert 'no new joint state for 2 s, ' in answer.result.result.message
    assert not ros.get_parameter(NODE, 'friction.coulomb')


def test_a_file_that_cannot_be_written_any_more_changes_nothing(ros, actions, tmp_path):
    folder, states, feedback = tmp_path / 'gone', moving(ros), []
    folder.mkdir()
    goal = {'duration': 12.0, 'path': str(folder / 'found.yaml')}
    handle = accepted(ros, actions, states, feedback, **goal)
    ros.wait_for(lambda: feedback, meanwhile=lambda: next(states), period=0.001)
    folder.rmdir()
    answer = result_of(ros, handle, states)
    assert answer.status == GoalStatus.STATUS_ABORTED
    message = answer.result.result.message
    assert 'nothing is changed, the file is not written' in message
    assert 'folder that cannot be written' in message
    assert not ros.get_parameter(NODE, 'friction.coulomb')
    undone = ros.call(Trigger, f'/{NODE}/undo_calibration')
    assert not undone.success and 'no calibration' in undone.message


def test_a_parameter_or_robot_that_changes_meanwhile_ends_it(ros, actions):
    states, feedback = moving(ros), []
    handle = accepted(ros, actions, states, feedback, duration=20.0)
    ros.wait_for(lambda: feedback, meanwhile=lambda: next(states), period=0.001)  # it watches
    assert ros.set_parameter(NODE, 'effort.noise', [0.2]).successful
    answer = result_of(ros, handle, states)
    assert 'were changed' in answer.result.result.message
    assert ros.set_parameter(NODE, 'effort.noise', [0.05]).successful
    feedback.clear()
    handle = accepted(ros, actions, states, feedback, duration=12.0)
    ros.wait_for(lambda: feedback, meanwhile=lambda: next(states), period=0.001)
    ros.publish('/robot_description', String(data=pendulum('other')), LATCHED)
    answer = result_of(ros, handle, states)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert 'changed during the watch' in answer.result.result.message
