# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""DDS security with config/sros2_policy.xml in force: who has no keys, or not these, gets nowhere.

Most of it needs a middleware that was built with security, and is skipped where it says that it was
not.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

import rclpy
from arm import ARM, NAMES, STILL, Q
from arm import ROBOT as MODEL
from geometry_msgs.msg import PoseStamped, TwistStamped
from keystore import Keystore
from numpy.testing import assert_allclose
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from ros_harness import LATCHED, Client, client, executable, running
from sensor_msgs.msg import JointState
from sros2_policy import LEADER, NODES, OPERATOR, ROBOT, dds_topics
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeInverseDynamics

pytestmark = pytest.mark.ros

DOMAIN = 98
EXECUTABLES_DOMAIN = 95

ENCLAVES = (NODES, ROBOT, LEADER, OPERATOR)

INVERSE_DYNAMICS = '/dynamics_node/compute_inverse_dynamics'
IDENTIFY_PAYLOAD = '/dynamics_node/identify_payload'
TORQUES = '/dynamics_node/gravity_torques'
SERVO = '/cartesian_servo_node'

# The nodes call the same Robot with the same numbers.
SAME = 1e-12

Denied = rclpy_implementation.RCLError

BUILT_WITHOUT = re.compile(r'.*have (?:the security libraries|security support).*')
"""What Fast DDS and Cyclone DDS say of themselves."""

TRY = """
import rclpy
rclpy.init(args=['--ros-args', '--enclave', '{}'])
rclpy.create_node('{}')
"""


def run(keystore: Keystore, *command: str) -> subprocess.CompletedProcess[str]:
    """What comes of a process that needs keys."""
    with keystore.in_force(), pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


def start_node(keystore: Keystore, enclave: str, name: str) -> subprocess.CompletedProcess[str]:
    return run(keystore, sys.executable, '-c', TRY.format(enclave, name))


def make_keystore(folder: Path, domain: int = DOMAIN) -> Keystore:
    keystore = Keystore(folder, domain)
    for enclave in ENCLAVES:
        keystore.add(enclave, dds_topics(enclave))
    return keystore


@pytest.fixture(scope='module')
def any_keystore(tmp_path_factory: pytest.TempPathFactory) -> Keystore:
    """Keys, whether or not the middleware can use them."""
    return make_keystore(tmp_path_factory.mktemp('keystore'))


@pytest.fixture(scope='module')
def keystore(any_keystore: Keystore) -> Keystore:
    """Keys that the middleware uses."""
    done = start_node(any_keystore, OPERATOR, 'operator')
    if reason := BUILT_WITHOUT.search(done.stderr):
        pytest.skip(f'needs a middleware with security: {reason[0].strip()}')
    assert done.returncode == 0, done.stderr
    return any_keystore


@contextmanager
def started(
    keys: AbstractContextManager[None], *starting: AbstractContextManager[Any]
) -> Iterator[list[Any]]:
    """What is started with these keys, until the block ends; others may start without them."""
    with ExitStack() as stack:
        with keys:
            entered = [stack.enter_context(one) for one in starting]
        yield entered


@pytest.fixture(scope='module')
def nodes(keystore: Keystore) -> Iterator[None]:
    with started(
        keystore.in_force(),
        running('dynamics_ros', DOMAIN, enclave=NODES),
        running('cartesian_servo_node', DOMAIN, enclave=NODES),
    ):
        yield


class Scene:
    """A robot that stands at Q and says so, and an operator who listens and calls."""

    def __init__(self, robot: Client, operator: Client) -> None:
        self.robot, self.operator = robot, operator
        robot.publish('/robot_description', String(data=ARM), LATCHED)
        self.torques = operator.listen(JointState, TORQUES)

    def until(self, condition: Callable[[], Any], also: Callable[[], Any] | None = None) -> Any:
        """Wait while the robot says where it is."""

        def meanwhile() -> None:
            self.robot.publish_joint_state(self.robot.joint_state(NAMES, Q, STILL))
            if also is not None:
                also()

        return self.operator.wait_for(condition, meanwhile=meanwhile)

    def check(self) -> None:
        """The nodes are alive, and answer and have always published what is right."""
        seen = len(self.torques)
        self.until(lambda: len(self.torques) > seen)
        for message in self.torques:
            assert_allclose(message.effort, MODEL.gravity(Q), atol=SAME)
        # In the state that they believe the robot to be in.
        response = self.operator.call(ComputeInverseDynamics, INVERSE_DYNAMICS)
        assert response.result.code == Result.SUCCESS, response.result.message
        assert_allclose(response.torques.effort, MODEL.gravity(Q), atol=SAME)


@pytest.fixture(scope='module')
def scene(keystore: Keystore, nodes: None) -> Iterator[Scene]:
    with started(
        keystore.in_force(),
        client(DOMAIN, 'robot_simulator', ROBOT),
        client(DOMAIN, 'operator', OPERATOR),
    ) as (robot, operator):
        yield Scene(robot, operator)


def test_the_operator_may_not_move_the_robot_nor_say_where_it_is(scene: Scene) -> None:
    node = scene.operator.node
    for topic, kind in {
        '/joint_states': JointState,
        '/robot_description': String,
        f'{SERVO}/twist_command': TwistStamped,
        f'{SERVO}/pose_command': PoseStamped,
        f'{SERVO}/joint_trajectory': JointTrajectory,
    }.items():
        with pytest.raises(Denied):
            node.create_publisher(kind, topic, 10)
    with pytest.raises(Denied):
        node.create_service(ComputeInverseDynamics, INVERSE_DYNAMICS, lambda *_: None)
    scene.check()


def test_the_operator_sets_parameters_and_reaches_the_action(scene: Scene) -> None:
    for node in ('kinematics_node', 'dynamics_node', 'contact_node'):
        assert scene.operator.set_parameter(node, 'publish_rate', 0.0).successful
    action = ActionClient(scene.operator.node, IdentifyPayload, IDENTIFY_PAYLOAD)
    try:
        scene.until(action.server_is_ready)
    finally:
        action.destroy()
    scene.check()


def test_the_robot_may_not_call(scene: Scene) -> None:
    with pytest.raises(Denied):
        scene.robot.node.create_client(SetParameters, '/dynamics_node/set_parameters')
    scene.check()


def test_the_leader_leads_and_may_do_nothing_else(keystore: Keystore, scene: Scene) -> None:
    commands = scene.operator.listen(JointTrajectory, f'{SERVO}/joint_trajectory')
    twist = TwistStamped()
    twist.twist.linear.z = 0.01
    context = rclpy.Context()
    with keystore.in_force():
        arguments = ['--ros-args', '--enclave', LEADER]
        rclpy.init(args=arguments, context=context, domain_id=DOMAIN)
    node = Node('leader', context=context)
    try:
        twists = node.create_publisher(TwistStamped, f'{SERVO}/twist_command', 10)
        scene.until(lambda: commands, also=lambda: twists.publish(twist))
        assert commands[-1].joint_names == NAMES
        with pytest.raises(Denied):
            node.create_publisher(JointTrajectory, f'{SERVO}/joint_trajectory', 10)
        with pytest.raises(Denied):
            node.create_publisher(JointState, '/joint_states', 10)
        with pytest.raises(Denied):
            node.create_client(SetParameters, f'{SERVO}/set_parameters')
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)
    scene.check()


def test_the_simulator_and_the_viewer_run_in_their_enclaves(
    keystore: Keystore, tmp_path: Path
) -> None:
    pytest.importorskip('viser')
    own = make_keystore(tmp_path, EXECUTABLES_DOMAIN)
    with started(
        own.in_force(),
        running('robot_simulator', EXECUTABLES_DOMAIN, enclave=ROBOT),
        running('dynamics_ros_viewer', EXECUTABLES_DOMAIN, enclave=OPERATOR),
        client(EXECUTABLES_DOMAIN, 'operator', OPERATOR),
    ) as (_, _, operator):
        poses = operator.listen(PoseStamped, '/robot_simulator/ground_truth/pose')
        operator.wait_for(lambda: poses)
        operator.wait_for(lambda: 'dynamics_ros_viewer' in operator.node.get_node_names())


@pytest.mark.parametrize('enclave', ['/nowhere', LEADER])
def test_a_node_that_is_not_allowed_to_be_says_so_and_ends(
    any_keystore: Keystore, enclave: str
) -> None:
    done = run(any_keystore, executable('dynamics_node'), '--ros-args', '--enclave', enclave)
    assert done.returncode == 1
    assert 'cannot start: ' in done.stderr
    assert 'Traceback' not in done.stderr
