# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""robot_simulator on legs: MuJoCo behind it, odometry and feet beside the joint states."""

from __future__ import annotations

import os

import mujoco  # noqa: F401 (without it there is nothing to test)
import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Vector3
from nav_msgs.msg import Odometry
from ros_harness import client, running
from sensor_msgs.msg import JointState

from benchmarks.descriptions import bare, without_friction
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.demo.known_robots import LEGGED
from dynamics_ros.wire.conversions import nanoseconds, pose_matrix
from dynamics_ros_msgs.msg import FootContacts, Result
from dynamics_ros_msgs.srv import ApplyWrench

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 150
SIMULATOR = '/robot_simulator'
KNOWN = LEGGED['anymal']
URDF = without_friction(bare(urdf_path('anymal')))
ROBOT = Robot.from_urdf(URDF, 'floating')
WEIGHT = 9.81 * ROBOT.total_mass
PARAMETERS = {
    'robot_description': URDF,
    'root_joint': 'floating',
    'feet': list(KNOWN.feet),
    'foot_radius': KNOWN.foot_radius,
    'posture': [KNOWN.stance.get(name, 0.0) for name in ROBOT.joint_names],
    # A machine that others use as well keeps up with it.
    'speed': 0.5,
    'joint_state_rate': 250.0,
}
CONTACT = {
    'root_joint': 'floating',
    'feet': {'frames': list(KNOWN.feet)},
    'robot_description': URDF,
}


@pytest.fixture(scope='module')
def standing():
    """The simulator with contact_node, once the robot stands, and what has been heard."""
    with (
        running('contact_node', DOMAIN, CONTACT),
        client(DOMAIN) as ros,
        running('robot_simulator', DOMAIN, PARAMETERS) as process,
    ):
        heard = {
            name: ros.listen(kind, topic, 1000)
            for name, kind, topic in (
                ('states', JointState, '/joint_states'),
                ('odom', Odometry, '/odom'),
                ('truth', FootContacts, f'{SIMULATOR}/ground_truth/foot_contacts'),
                ('felt', FootContacts, '/contact_node/foot_contacts'),
                ('pose', PoseStamped, f'{SIMULATOR}/ground_truth/pose'),
            )
        }
        ros.wait_for(lambda: all(heard.values()))
        began = nanoseconds(heard['truth'][0].header.stamp)
        settled = began + 2 * 10**9
        ros.wait_for(lambda: len(common(heard, 'felt', 'truth', settled)) >= 50)
        yield process, ros, heard


def common(heard, one, other, since=0):
    """Stamps from one on that messages of two topics have in common."""
    both = by_stamp(heard[one]).keys() & by_stamp(heard[other]).keys()
    return sorted(stamp for stamp in both if stamp > since)


def vertical(message):
    return np.array([force.z for force in message.forces])


def by_stamp(messages):
    return {nanoseconds(message.header.stamp): message for message in messages}


def test_feet_of_the_truth_carry_the_robot_and_contact_node_feels_them(standing):
    _, _, heard = standing
    truth, felt = by_stamp(heard['truth']), by_stamp(heard['felt'])
    for stamp in common(heard, 'felt', 'truth')[-20:]:
        assert truth[stamp].feet == list(KNOWN.feet) == felt[stamp].feet
        assert all(truth[stamp].in_contact) and all(felt[stamp].in_contact)
        true = vertical(truth[stamp])
        assert true.sum() == pytest.approx(WEIGHT, rel=0.02)
        assert vertical(felt[stamp]) == pytest.approx(true, abs=0.05 * WEIGHT / 4)
        held = np.array([force.z for force in felt[stamp].constraint_forces])
        assert held == pytest.approx(true, abs=0.05 * WEIGHT / 4)


def test_odometry_has_the_stamps_of_joint_states_and_the_base_on_its_feet(standing):
    _, _, heard = standing
    states, odom, poses = (by_stamp(heard[name]) for name in ('states', 'odom', 'pose'))
    stamp = max(states.keys() & odom.keys() & poses.keys())
    message = odom[stamp]
    assert message.header.frame_id == 'odom' and message.child_frame_id == KNOWN.base
    base = pose_matrix(message.pose.pose, 'pose')
    q = ROBOT.neutral()
    x = message.pose.pose.orientation
    q[:7] = [*base[:3, 3], x.x, x.y, x.z, x.w]
    for name, position in zip(states[stamp].name, states[stamp].position, strict=True):
        q[7 + ROBOT.joint_names.index(name)] = position
    for foot in KNOWN.feet:
        height = ROBOT.forward_kinematics(q, foot)[2, 3]
        assert height == pytest.approx(KNOWN.foot_radius, abs=2e-3)
    # The tool's pose of the truth, by a road of its own, is that of the same base and joints.
    assert poses[stamp].header.frame_id == 'odom'


def test_a_push_at_the_base_is_told_by_the_feet(standing):
    _, ros, heard = standing
    request = ApplyWrench.Request(frame=KNOWN.base)
    request.wrench.force = Vector3(z=-100.0)
    request.duration.sec = 1
    assert ros.call(ApplyWrench, f'{SIMULATOR}/apply_wrench', request).result.code == Result.SUCCESS

    def carried():
        return vertical(heard['truth'][-1]).sum()

    ros.wait_for(lambda: carried() == pytest.approx(WEIGHT + 100.0, rel=0.03))


@pytest.mark.parametrize(
    ('parameters', 'told'),
    [
        ({'engine': 'internal'}, 'MuJoCo'),
        ({'feet': ['nobody']}, 'nobody'),
        ({'posture': [1.0]}, 'posture'),
        ({'root_joint': 'planar'}, 'root_joint'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else '',
)
def test_a_wrong_parameter_ends_it_with_one_line_that_says_why(parameters, told):
    assert told in last_line(PARAMETERS | parameters)


def test_without_mujoco_it_ends_with_how_to_get_it(tmp_path, monkeypatch):
    (tmp_path / 'mujoco.py').write_text("raise ImportError('not here')")
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}{os.pathsep}{os.environ.get("PYTHONPATH", "")}')
    assert 'pip install mujoco' in last_line(PARAMETERS)


def last_line(parameters):
    """What a simulator ends with that cannot begin."""
    with running('robot_simulator', DOMAIN, parameters, namespace='/other') as process:
        assert process.wait() == 1
        assert 'Traceback' not in process.printed
        return process.printed.splitlines()[-1]
