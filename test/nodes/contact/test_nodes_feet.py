# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feet of a legged robot in contact_node: which stand, on what forces."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from ros_harness import client, running

from benchmarks.robots import urdf_path
from dynamics_ros import Robot

pytestmark = pytest.mark.ros

DOMAIN = 93
FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
TEXT = urdf_path('anymal').read_text()
ROBOT = Robot.from_urdf(TEXT, root_joint='floating')


def standing(feet):
    """Configuration, joint torques and forces of a robot that stands on some feet."""
    q = ROBOT.neutral()
    for name, index in zip(ROBOT.joint_names, range(7, ROBOT.nq), strict=True):
        sign = 1.0 if name[1] == 'F' else -1.0
        q[index] = {'HAA': 0.0, 'HFE': 0.6 * sign, 'KFE': -1.2 * sign}[name[-3:]]
    J = np.vstack([ROBOT.jacobian(q, foot)[:3] for foot in feet])
    gravity = ROBOT.gravity(q)
    found = np.linalg.lstsq(J[:, :6].T, gravity[:6], rcond=None)[0]
    tau = gravity - J.T @ found
    return q, tau[6:], found.reshape(-1, 3)


@pytest.fixture(scope='module')
def ros():
    parameters = {
        'robot_description': TEXT,
        'root_joint': 'floating',
        'feet': {'frames': list(FEET), 'friction': 0.01},
        'location': {'enabled': False},
    }
    with running('contact_node', DOMAIN, parameters), client(DOMAIN) as one:
        # Parameters can be held against a robot that is known.
        one.wait_for(lambda: one.status('contact_node').hardware_id)
        yield one


def test_a_foot_that_does_not_exist_is_refused_with_its_name(ros):
    result = ros.set_parameter('contact_node', 'feet.frames', ['LF_FOOT', 'NOSE'])
    assert not result.successful
    assert 'NOSE' in result.reason
