# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node lets friction follow a drift, and takes no lean for zero once it is calibrated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, Q
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import client, running
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros

DOMAIN = 194
NODE = 'contact_node'
STEP = 0.05
"""s between stamps."""

TOLD = 3.0
"""Nm of dry friction that the node is told of; there is none."""


@pytest.fixture
def ros(request):
    parameters = {'robot_description': ARM, 'frames': ['tool0'], **request.param}
    with running(NODE, DOMAIN, parameters), client(DOMAIN) as one:
        yield one


DRIFT = {
    'friction.coulomb': [TOLD],
    'thresholds.contact': [10.0],
    'adaptation.enabled': True,
    'adaptation.time_constant': 5.0,
}


class Mover:
    """Publishes an arm that swings to and fro, one state after another."""

    def __init__(self, ros) -> None:
        self.ros, self.time = ros, 0.0

    def __call__(self) -> None:
        self.time += STEP
        w = np.linspace(1.0, 2.0, len(NAMES))
        s, c = np.sin(w * self.time), np.cos(w * self.time)
        q, v, a = Q + 0.3 * s, 0.3 * w * c, -0.3 * w**2 * s
        effort = ROBOT.inverse_dynamics(q, v, a)
        self.ros.publish_joint_state(self.ros.joint_state(NAMES, q, v, effort, step=STEP))


@pytest.mark.parametrize('ros', [DRIFT], indirect=True)
def test_friction_changes_are_told_and_bounded(ros):
    diagnostics = ros.listen(DiagnosticArray, '/diagnostics')
    mover = Mover(ros)

    def learned():
        values = [v for m in diagnostics[-1:] for s in m.status for v in s.values]
        lines = [v.value for v in values if v.key.startswith('friction adaptation: ')]
        changes = [float(line.split()[0]) for line in lines]
        # Half of what is told is the most.
        assert min(changes, default=0.0) >= -0.5 * TOLD
        told = any('adapting' in line or 'bound' in line for line in lines)
        return told and len(changes) == len(NAMES) and max(changes) < -0.2

    ros.wait_for(learned, meanwhile=mover)
    # Friction begins anew once it is no longer adapted.
    assert ros.set_parameter(NODE, 'adaptation.enabled', False).successful
    ros.wait_for(lambda: ros.values(NODE).get('friction adaptation', '').startswith('off'))


WINDOW = 250
"""Samples of 1 ms, more than ``tare.window`` holds."""

DITHER = np.where(np.arange(len(NAMES)) < len(NAMES) - 2, 0.0, 0.1)
"""rad/s: a step of 1e-4 rad of the wrist's encoders, to and fro a thousand times a second."""


def hold(ros, external):
    """Publish an arm at rest, whose encoders dither, until external torques have followed."""
    torques = ros.listen(JointState, '/contact_node/external_torques')
    noise = np.random.default_rng(0)
    signs = itertools.cycle((1.0, -1.0))

    def live():
        for _ in range(10):
            v = DITHER * next(signs)
            effort = ROBOT.gravity(Q) - external + noise.normal(0.0, 0.01, len(NAMES))
            ros.publish_joint_state(ros.joint_state(NAMES, Q, v, effort, step=0.001))

    def followed():
        last = np.array([message.effort for message in torques[-WINDOW:]])
        return len(last) == WINDOW and np.abs(last - external).max() < 0.3

    ros.wait_for(followed, meanwhile=live, period=0.005)


@pytest.mark.parametrize('ros', [{'tare.window': 0.2}], indirect=True)
def test_a_lean_is_refused_by_joint_and_what_the_model_may_leave_is_taken(ros):
    for name, value in (('speed', 0.01), ('standing', 0.5)):
        assert ros.set_parameter(NODE, f'unexplained.{name}', [value]).successful
    push = ROBOT.jacobian(Q, 'tool0').T @ np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(20):
        hold(ros, push)
        refused = ros.call(Trigger, '/contact_node/tare', Trigger.Request())
        assert not refused.success
        if 'are needed' not in refused.message:  # a busy machine loses some of the last samples
            break
    joint, _, words = refused.message.partition(': ')
    assert joint in NAMES and abs(push[NAMES.index(joint)]) > 1.0
    assert 'something touches the robot' in words
    bias = np.array([0.4, -0.3, 0.3, -0.2, 0.1, 0.1, 0.05])
    hold(ros, bias)
    taken = ros.call(Trigger, '/contact_node/tare', Trigger.Request())
    assert taken.success, taken.message
