# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stated deviations of friction hold for curves of another shape than the one that is fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import simulated_arm
from simulated_arm import COULOMB, OFFSET, ROBOT, VISCOUS, motion, recording, truth

from dynamics_ros import Robot
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.equations import FRICTION_VELOCITY

OTHER = 0.0224
"""rad/s at which dry friction of this arm has reached 76 %: not the speed of the model."""


def other_friction(samples, arm, speed):
    """A recording as if dry friction began at another speed."""
    _, v, _ = motion(samples.time)
    before, after = (COULOMB * np.tanh(v / one) for one in (simulated_arm.SMOOTH, speed))
    return replace(samples, effort=samples.effort + arm.scale * (after - before))


@pytest.fixture(scope='module')
def found():
    arm = truth()
    return identify(ROBOT, [other_friction(recording(arm, noise=0.05), arm, OTHER)])


def of_kind(found, name):
    """(7) values and deviations."""
    told = {one.name: one for one in found.parameters}
    ones = [told[f'{name} {joint}'] for joint in ROBOT.joint_names]
    return np.array([x.value for x in ones]), np.array([x.deviation for x in ones])


def test_friction_is_within_its_deviations_where_its_speed_is_another(found):
    assert OTHER != FRICTION_VELOCITY
    for name, true in (('coulomb', COULOMB), ('viscous', VISCOUS), ('offset', OFFSET)):
        value, deviation = of_kind(found, name)
        off = (value - true) / deviation
        # Seven numbers; beyond 4 deviations is one in sixteen thousand.
        assert np.abs(off).max() < 4.0, name
        assert np.sqrt(np.mean(off**2)) < 1.8, name


SLIDE = """
<robot name="lift">
  <link name="base"/>
  <joint name="lift" type="prismatic">
    <parent link="base"/><child link="car"/><axis xyz="{axis}"/>
    <limit lower="0" upper="1" velocity="1" effort="500"/>
  </joint>
  <link name="car">
    <inertial><mass value="5"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""


@pytest.mark.parametrize(('axis', 'told'), [('0 0 1', False), ('0 1 0', True)])
def test_the_weight_on_a_slide_is_not_told_from_an_offset(axis, told):
    """What accelerates is mass and rotor together; what is constant is weight and offset."""
    robot = Robot.from_urdf(SLIDE.format(axis=axis))
    t = np.arange(0.0, 30.0, 0.01)[:, np.newaxis]
    q, v, a = 0.3 * np.sin(2.0 * t), 0.6 * np.cos(2.0 * t), -1.2 * np.sin(2.0 * t)
    effort = robot.inverse_dynamics(q, v, a) + 3.0 * np.tanh(v / 0.02) + 4.0 * v
    effort += 0.1 * np.random.default_rng(0).normal(size=q.shape)
    samples = JointSamples('slide', robot.joint_names, t[:, 0], q, v, effort)
    found = identify(robot, [samples])
    (mass,) = [one for one in found.parameters if one.kind == 'base' and 'm car' in one.name]
    assert mass.identifiable == told
