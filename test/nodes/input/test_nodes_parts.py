# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parts share one robot and its state, and none takes the others down."""

from __future__ import annotations

import time

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

import rclpy
from numpy.testing import assert_allclose
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from ros_harness import client, occupy, running
from sensor_msgs.msg import JointState
from test_nodes_state import GRIPPER_ARM

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.context import Component, RobotContext

pytestmark = pytest.mark.ros

DOMAIN = 56
NAMES = ['shoulder', 'elbow', 'slide']


class Recorder(Component):
    """Keeps what it is told."""

    def __init__(self, node, context):
        super().__init__(node)
        self.robots, self.states = [], []

    def prepare(self, robot, *_):
        return robot

    def adopt(self, prepared):
        self.robots.append(prepared)

    def observe(self, state):
        self.states.append(state)

    def outputs(self):
        return []


class Unprepared(Recorder):
    def prepare(self, robot, *_):
        raise InvalidArgumentError('frames', "unknown frame 'nose'", 'another')


class Broken(Recorder):
    def observe(self, state):
        raise ZeroDivisionError('it happens')


class Rig:
    """A context in this process, with parts, on an executor that the test spins."""

    def __init__(self, *kinds) -> None:
        occupy(DOMAIN)
        self.ros = rclpy.Context()
        rclpy.init(context=self.ros, domain_id=DOMAIN)
        self.node = Node('parts', context=self.ros)
        self.executor = SingleThreadedExecutor(context=self.ros)
        self.executor.add_node(self.node)
        self.context = RobotContext(self.node)
        self.parts = [kind(self.node, self.context) for kind in kinds]
        for part in self.parts:
            self.context.add(part)
        self.publisher = self.node.create_publisher(JointState, 'joint_states', 10)
        self.executor.create_task(self.context.start, self.executor)

    def describe(self) -> None:
        parameter = rclpy.parameter.Parameter('robot_description', value=GRIPPER_ARM)
        assert self.node.set_parameters([parameter])[0].successful
        self.spin_until(lambda: self.context.robot)

    def send(self) -> None:
        message = JointState(name=NAMES, position=[0.1, 0.2, 0.3])
        message.header.stamp = self.context.now()
        self.publisher.publish(message)

    def spin_until(self, condition, meanwhile=lambda: None) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, 'waited in vain'
            meanwhile()
            self.executor.spin_once(timeout_sec=0.02)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.ros)


@pytest.fixture
def rig_of():
    rigs = []

    def make(*kinds):
        rigs.append(Rig(*kinds))
        rigs[-1].spin_until(lambda: rigs[-1].context.executor)
        rigs[-1].describe()
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()


def test_every_part_is_told_of_one_and_the_same_robot_and_state(rig_of):
    rig = rig_of(Recorder, Recorder)
    one, two = rig.parts
    rig.spin_until(lambda: two.states, rig.send)
    assert one.robots[0] is two.robots[0] is rig.context.robot
    assert one.states[-1] is two.states[-1]
    assert_allclose(one.states[-1].q, [0.1, 0.2, 0.3])


def test_a_part_that_raises_is_silent_with_a_reason_and_the_next_one_works(rig_of):
    rig = rig_of(Broken, Recorder)
    broken, fine = rig.parts
    rig.spin_until(lambda: len(fine.states) >= 3, rig.send)
    assert broken.unavailable_reason == 'unexpected error: ZeroDivisionError: it happens'
    assert fine.unavailable_reason == ''


def test_a_part_that_cannot_work_with_a_robot_leaves_it_to_the_others(rig_of):
    rig = rig_of(Unprepared, Recorder)
    unprepared, fine = rig.parts
    rig.spin_until(lambda: fine.states, rig.send)
    assert "unknown frame 'nose'" in unprepared.problem
    assert unprepared.states == []
    assert fine.problem == ''


def test_a_change_that_cannot_be_made_leaves_the_robot_in_force(rig_of):
    rig = rig_of(Recorder)
    before = rig.context.robot
    parameter = rclpy.parameter.Parameter('locked_joints.names', value=['nose'])
    positions = rclpy.parameter.Parameter('locked_joints.positions', value=[0.0])
    assert rig.node.set_parameters_atomically([parameter, positions]).successful
    rig.spin_until(lambda: rig.context.changes.refusal)
    assert "unknown joint 'nose'" in rig.context.changes.refusal
    assert rig.context.robot is before


def test_joints_can_be_locked_while_running(rig_of):
    rig = rig_of(Recorder)
    names = rclpy.parameter.Parameter('locked_joints.names', value=['elbow'])
    positions = rclpy.parameter.Parameter('locked_joints.positions', value=[0.5])
    assert rig.node.set_parameters_atomically([names, positions]).successful
    rig.spin_until(lambda: rig.context.robot.nq == 2)
    part = rig.parts[0]
    rig.spin_until(lambda: part.states and len(part.states[-1].q) == 2, rig.send)
    assert_allclose(part.states[-1].q, [0.1, 0.3])


def test_in_the_composed_process_a_wrong_contact_parameter_silences_contacts_only():
    parameters = {'robot_description': GRIPPER_ARM, 'observer.gain': [1.0, 2.0]}
    with running('dynamics_ros', DOMAIN, parameters), client(DOMAIN) as ros:
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        ros.exchange(ros.joint_state(NAMES, [0.1, 0.2, 0.3]), torques)
        status = ros.wait_for_status('contact_node', 'observer.gain: 2 values')
        assert status.level == status.ERROR
