# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feet of a legged robot in contact_node: which stand, on what forces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
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


def test_forces_are_not_estimated_with_a_velocity_in_the_axes_of_odom(ros):
    q, effort, _ = standing(FEET)
    states = itertools.count()

    def walk_to_the_left(velocity):
        def tell():
            k = next(states)
            measured = effort + 0.01 * (-1.0) ** k
            state = ros.joint_state(ROBOT.joint_names, q[7:], np.zeros(12), measured, step=0.01)
            base = Odometry(child_frame_id='base')
            base.header.stamp = state.header.stamp
            base.header.frame_id = 'odom'
            base.pose.pose.position.y = 0.005 * k
            base.pose.pose.orientation.z = base.pose.pose.orientation.w = 0.5**0.5
            base.twist.twist.linear.x, base.twist.twist.linear.y = velocity
            ros.publish('/odom', base, qos_profile_sensor_data)
            ros.publish_joint_state(state)

        return tell

    told = "silent: the linear velocity of odom looks to be in the axes of 'odom'; nav_msgs/Odometr"
    status = ros.wait_for_status('contact_node', told, meanwhile=walk_to_the_left((0.0, 0.5)))
    assert status.level == status.WARN
    ros.wait_for_status('contact_node', 'publishing', meanwhile=walk_to_the_left((0.5, 0.0)))


def test_a_foot_that_does_not_exist_is_refused_with_its_name(ros):
    result = ros.set_parameter('contact_node', 'feet.frames', ['LF_FOOT', 'NOSE'])
    assert not result.successful
    assert 'NOSE' in result.reason
