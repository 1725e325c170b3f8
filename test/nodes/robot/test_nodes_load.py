# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other gravities and payloads of the running robot: in force soon, and nothing is compiled."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('llvmlite')

from arm import ARM, NAMES, STILL, Q
from patience import times
from ros_harness import client, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros_msgs.msg import ContactState, Result
from dynamics_ros_msgs.srv import SetGravity, SetPayload

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 110

ROBOT = Robot.from_urdf(ARM, backend='python')  # what is compiled is the nodes'
TOOL, ELSEWHERE = ROBOT.frame_names[-1], ROBOT.body_names[3]
CHANGES = times(10, 50)
ROUNDS = 15


@pytest.fixture(scope='module')
def cache(tmp_path_factory):
    """Where the nodes keep what they compile."""
    return tmp_path_factory.mktemp('cache')


@pytest.fixture(scope='module')
def ros(cache):
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv('DYNAMICS_ROS_CACHE', str(cache))
        stack.enter_context(running('dynamics_ros', DOMAIN, {'robot_description': ARM}))
        patch.undo()  # what this process computes is not counted
        one = stack.enter_context(client(DOMAIN))
        one.torques = one.listen(JointState, '/dynamics_node/gravity_torques', 100)
        one.contacts = one.listen(ContactState, '/contact_node/contact_state', 100)
        one.tilt, one.load = 0.0, (TOOL, 0.0)
        one.wait_for(lambda: one.torques, meanwhile=lambda: tell(one, ROBOT))
        settle(one, cache)
        yield one


def compiled(cache: Path) -> set[Path]:
    return set(cache.rglob('*.kernel'))


def settle(ros, cache):
    """Wait until all is compiled that a node compiles once, whatever its load is."""
    for number in range(ROUNDS):
        before = compiled(cache)
        robot = change(ros, number)
        for _ in range(2):
            ros.wait_for_report('dynamics_node', meanwhile=lambda robot=robot: tell(ros, robot))
        if number and compiled(cache) == before:
            return
    pytest.fail('every change compiles something')


def tell(ros, robot):
    """Say that a robot of that load stands still."""
    ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, robot.gravity(Q)))


def put_gravity(ros, tilt):
    """Have gravity lean by x m/s^2."""
    request = SetGravity.Request()
    request.gravity.vector.x, request.gravity.vector.z = tilt, -9.81
    response = ros.call(SetGravity, '/dynamics_node/set_gravity', request)
    assert response.result.code == Result.SUCCESS, response.result.message
    ros.tilt = tilt


def put_payload(ros, mass, frame=TOOL):
    """Have a point mass at the origin of a frame."""
    request = SetPayload.Request()
    request.payload.header.frame_id, request.payload.inertia.m = frame, mass
    response = ros.call(SetPayload, '/dynamics_node/set_payload', request)
    assert response.result.code == Result.SUCCESS, response.result.message
    ros.load = frame, mass


def in_force(ros):
    """The robot that the node has been told of."""
    return ROBOT.with_gravity((ros.tilt, 0.0, -9.81)).with_payload(*ros.load)


def change(ros, number):
    """Change gravity and payload in turn; the robot that is meant."""
    if number % 2:
        put_gravity(ros, 0.01 * number)
    else:
        put_payload(ros, 0.5 + 0.02 * number)
    return in_force(ros)


def test_changes_of_gravity_and_payload_compile_nothing(ros, cache):
    before = compiled(cache)
    assert before, 'nothing was compiled: the test looks at the wrong place'
    for number in range(1, CHANGES + 1):
        robot = change(ros, number)
        wanted = robot.gravity(Q)
        ros.wait_for(
            lambda wanted=wanted: ros.torques and abs(ros.torques[-1].effort - wanted).max() < 1e-9,
            meanwhile=lambda robot=robot: tell(ros, robot),
        )
    assert compiled(cache) == before
