# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What scripts/demo asks of contact_node lets that find the push on arms of many makes."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from benchmarks.robots import urdf_path
from dynamics_ros.demo.arm import PUSH_TOLERANCE
from dynamics_ros.demo.subject import Subject
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.recordings.settings import read_parameters, settings_of
from dynamics_ros.simulation import Actuators, SimulatedRobot, slow_motion

BEGIN, END = 300, 900
"""ms of the push."""


@pytest.mark.parametrize('name', ['panda', 'xarm7', 'ur5', 'kinova', 'tiago'])
def test_the_push_is_found(name, tmp_path):
    subject = Subject.of(urdf_path(name).read_text())
    robot, tool, push = subject.robot, subject.tool, np.linalg.norm(subject.force)
    file = tmp_path / 'contact.yaml'
    asked = {'ros__parameters': subject.node_parameters()['contact_node']}
    file.write_text(yaml.safe_dump({'contact_node': asked}))
    values = settings_of(ContactParameters, read_parameters(file, 'contact_node'))
    pipeline = ContactPipeline(robot, values, tool)
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
