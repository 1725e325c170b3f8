# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What scripts/demo makes of what it has heard: wrong is a failure, and late is late."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
import yaml

from benchmarks.robots import urdf_path
from dynamics_ros.demo.arm import (
    CONTACT,
    GRAVITY,
    JOINT_STATES,
    PUSH_TOLERANCE,
    ArmDemonstration,
    Subject,
)
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.recordings.settings import read_settings
from dynamics_ros.simulation import Actuators, SimulatedRobot, slow_motion
from dynamics_ros_msgs.msg import ContactState

FIRST = 10**9
"""Stamp of the first message [ns]."""

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def subject():
    return Subject(ARM.read_text())


def moved(pose):
    """A pose that is off by 1e-5 m."""
    return pose + 1e-5 * np.outer([1, 0, 0, 0], [0, 0, 0, 1])


class TestTheChecks:
    """The demonstration is no proof unless it fails when something is wrong."""

    @pytest.fixture
    def client(self, subject):
        """What a client has received of nodes that make no mistake, 2 s at 100 Hz, half pushed."""
        one = ArmDemonstration(ARM.read_text(), MagicMock(), 0.0)
        one.first, one._values = FIRST, defaultdict(lambda: lambda value: value)
        topics = JOINT_STATES, GRAVITY, CONTACT
        topics += one.pose, one.true_pose, one.wrench, one.true_wrench
        one.messages = {topic: {} for topic in topics}
        pose = subject.reference.forward_kinematics(subject.posture, subject.tool)
        gravity = subject.reference.gravity(subject.posture)
        still = np.zeros(subject.robot.nv)
        for number in range(200):
            stamp = FIRST + number * 10**7
            pushed = number >= 100
            force = np.concatenate([pose[:3, :3].T @ subject.force * pushed, np.zeros(3)])
            state = np.array([subject.posture, still])
            contact = ContactState(state=int(pushed), link='hand' if pushed else '')
            for topic, value in zip(
                topics, (state, gravity, contact, pose, pose, force, force), strict=True
            ):
                one.store(topic, stamp, value)
        return one

    def check(self, client):
        client.check_poses()
        client.check_gravity()
        client.check_push(quiet=FIRST, duration=1.0)

    def test_nothing_is_wrong_with_what_is_right(self, client):
        self.check(client)
        assert client.failures == [] and client.figures['late'] == []
        assert client.figures['push_error_percent'] == pytest.approx(0.0, abs=1e-9)
        assert client.figures['push_detected_after_ms'] == 0.0
        assert client.figures['contact_link'] == 'hand'

    @pytest.mark.parametrize(
        ('topic', 'change', 'figure', 'value', 'failure'),
        [
            ('pose', moved, 'pose_error_m', 1e-5, 'pose'),
            (GRAVITY, lambda tau: tau + 0.01, 'gravity_torque_error_nm', 0.01, 'gravity'),
            ('wrench', lambda f: 1.06 * f, 'push_error_percent', 6.0, '6.0 %'),
            (CONTACT, lambda _: ContactState(), 'push_detected_after_ms', None, 'not detected'),
        ],
    )
    @pytest.mark.parametrize('missed', [False, True])
    def test_what_is_off_is_a_failure(self, client, topic, change, figure, value, failure, missed):
        topic = getattr(client, topic, topic)
        for stamp, message in client.messages[topic].copy().items():
            client.store(topic, stamp, change(message))
        for number in range(20, 25) if missed else ():
            del client.messages[JOINT_STATES][FIRST + number * 10**7]
        self.check(client)
        assert client.figures[figure] == (value and pytest.approx(value))
        # An estimate may be off where messages were missed, a pose may not.
        late = missed and topic in (client.wrench, CONTACT)
        (line,) = client.figures['late'] if late else client.failures
        assert failure in line and bool(client.failures) is not late

    def test_a_solution_elsewhere_is_a_failure(self, client, subject):
        target = subject.reference.forward_kinematics(subject.target(), subject.tool)
        client.check_solution(target, subject.posture)
        assert not client.figures['inverse_kinematics_success'] and client.failures
        client.failures.clear()
        client.check_solution(target, subject.target())
        assert client.figures['inverse_kinematics_success'] and not client.failures

    @pytest.mark.parametrize('torque', [10.0001, np.nan])
    def test_torques_that_are_off_are_a_failure(self, client, torque):
        truth, torques = np.array([10.0, 0.0]), np.array([torque, 0.0])
        client.check_torques('inverse dynamics', torques, truth)
        assert 'inverse dynamics' in client.failures[0]


def test_a_robot_whose_links_have_no_mass_is_no_success():
    urdf = re.sub('<inertial>.*?</inertial>', '', ARM.read_text(), flags=re.DOTALL)
    (failure,) = ArmDemonstration(urdf, MagicMock(), 0.0).failures
    assert "no mass is given for 'shoulder_link'" in failure


BEGIN, END = 300, 900
"""ms of the push."""


@pytest.mark.parametrize('name', ['ur5', 'kinova', 'tiago'])
def test_the_push_is_found(name, tmp_path):
    subject = Subject(urdf_path(name).read_text())
    robot, tool, push = subject.robot, subject.tool, np.linalg.norm(subject.force)
    file = tmp_path / 'contact.yaml'
    asked = {'ros__parameters': subject.node_parameters()['contact_node']}
    file.write_text(yaml.safe_dump({'contact_node': asked}))
    pipeline = ContactPipeline(robot, read_settings(file).contact, tool)
    pipeline.compile(wait=True)
    buffer = StateBuffer(robot, (), joint_timeout=1.0)
    actuators = Actuators.for_robot(robot, subject.posture, tool)
    simulated = SimulatedRobot(robot, actuators, slow_motion(robot, subject.posture))
    errors = []
    for k in range(END):
        if k == BEGIN:
            simulated.push(tool, np.r_[subject.force, 0.0, 0.0, 0.0], (END - BEGIN) * 1e-3, tool)
        simulated.step()
        sample = simulated.sample()
        stamp = divmod(10**9 + sample.time, 10**9)
        buffer.update(JointValues(*stamp, robot.joint_names, sample.q, sample.v, sample.effort))
        state = buffer.state()
        external = pipeline.update(state)
        # Fifteen time constants of the observer later the push stands for itself.
        if k > BEGIN + 200:
            (found,) = pipeline.wrenches(state, external.values)
            assert not found.degraded
            errors.append(np.linalg.norm(found.wrench[:3] - subject.force) / push)
    assert np.median(errors) < 0.01 * PUSH_TOLERANCE
