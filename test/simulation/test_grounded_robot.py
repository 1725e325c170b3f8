# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped in MuJoCo stands on its feet, gives way to pushes, and its sensors tell of both."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.descriptions import bare, without_friction
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.demo.known_robots import LEGGED
from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownFrameError
from dynamics_ros.estimation import FootContactEstimator, MomentumObserver
from dynamics_ros.simulation import TIME_STEP_NS, Assembly

KNOWN = LEGGED['anymal']
FEET, RADIUS = KNOWN.feet, KNOWN.foot_radius

BRICK = """<robot name="brick"><link name="brick"><inertial><mass value="2"/><inertia ixx="0.01"
iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>
<box size="0.2 0.2 0.2"/></geometry></collision></link>
<joint name="lid" type="revolute"><parent link="brick"/><child link="lid"/><origin xyz="0 0 0.1"/>
<limit lower="-1" upper="1" effort="10" velocity="3"/></joint><link name="lid"><inertial>
<mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
</link></robot>"""


def anymal(**options):
    """ANYmal on its feet, as simulated."""
    urdf = without_friction(bare(urdf_path('anymal')))
    posture = [KNOWN.stance.get(name, 0.0) for name in Robot.from_urdf(urdf).joint_names]
    settings = {'root_joint': 'floating', 'feet': FEET, 'foot_radius': RADIUS} | options
    simulated, _, _ = Assembly(posture=posture, **settings).of(urdf)
    return simulated


def advance(simulated, seconds):
    for _ in range(round(seconds * 1e9) // TIME_STEP_NS):
        simulated.step()
        yield simulated.sample()


@pytest.fixture(scope='module')
def standing():
    """ANYmal after a second, and its sample."""
    simulated = anymal()
    *_, last = advance(simulated, 1.0)
    return simulated, last


def test_it_stands_and_its_feet_carry_its_weight(standing):
    simulated, sample = standing
    weight = 9.81 * simulated.robot.total_mass
    assert sorted(sample.touching) == sorted(FEET)
    assert sum(sample.touching.values())[:3] == pytest.approx([0, 0, weight], abs=0.01 * weight)
    assert np.abs(sample.v).max() < 0.01
    lowest = min(simulated.robot.forward_kinematics(sample.q, foot)[2, 3] for foot in FEET)
    assert lowest == pytest.approx(RADIUS, abs=2e-3)


@pytest.mark.slow
def test_felt_forces_of_feet_are_the_true_ones_while_it_is_pushed():
    simulated = anymal()
    robot = simulated.robot
    observer = MomentumObserver(robot, 500.0, effort_sampling='interval')
    estimator = FootContactEstimator(robot, FEET, effort_noise=0.05)
    felt, held, truth = [], [], []
    for k, sample in enumerate(advance(simulated, 2.0)):
        if k == 1200:
            simulated.push('base', (60.0, 30.0, -80.0, 0.0, 0.0, 0.0), 0.5)
        effort = np.concatenate([np.zeros(6), sample.effort])
        external = observer.update(sample.time, sample.q, sample.v, effort)
        contacts = estimator.update(sample.q, sample.v, external)
        forces = estimator.constraint_forces(sample.q, sample.v, effort, contacts.in_contact)
        if k >= 800:
            assert contacts.in_contact.all()
            felt.append(contacts.forces[:, 2])
            held.append(forces[:, 2])
            truth.append([sample.touching[foot][2] for foot in FEET])
    felt, held, truth = np.array(felt), np.array(held), np.array(truth)
    mean = truth.mean()
    # Before the push all that acts on the robot are its feet.
    quiet = slice(0, 400)
    assert np.abs(felt - truth)[quiet].max() < 0.02 * mean
    # A foot touches below its origin, where 40 N sideways turn it by 1.2 Nm: joint torques alone
    # take that for 3 N of weight.
    assert np.abs(held - truth)[quiet].max() < 0.05 * mean
    pushed = truth[700:850].sum(axis=1).mean()
    assert pushed == pytest.approx(truth[quiet].sum(axis=1).mean() + 80.0, rel=0.02)


def test_without_motors_it_falls_and_lies_on_what_has_a_shape():
    simulated, _, _ = Assembly('floating').of(BRICK)
    *_, last = advance(simulated, 0.5)
    assert last.q[2] == pytest.approx(0.1, abs=2e-3)
    assert last.touching['brick'][2] == pytest.approx(2.1 * 9.81, rel=0.01)
    simulated.push('brick', (0.0, 0.0, 100.0, 0.0, 0.0, 0.0), 0.2)
    *_, risen = advance(simulated, 0.2)
    assert risen.q[2] > 0.5 and not risen.touching


def test_a_fixed_arm_moves_in_mujoco_as_by_itself():
    urdf = without_friction(bare(urdf_path('ur5')))
    states = []
    for engine in ('internal', 'mujoco'):
        simulated, _, _ = Assembly(engine=engine).of(urdf)
        simulated.push('tool0', (20.0, 10.0, -15.0, 0.0, 0.0, 0.0), 0.3)
        states.append([sample.q for sample in advance(simulated, 0.6)])
    ours, theirs = np.array(states)
    way = np.abs(ours - ours[0]).max()
    assert way > 1e-3
    # Steps of another kind: the difference is of the first order in their length.
    assert np.abs(ours - theirs).max() < 0.05 * way


class TestRefusals:
    def test_a_base_that_moves_is_none_of_the_internal_engine(self):
        with pytest.raises(ModelError, match='MuJoCo'):
            anymal(engine='internal')

    def test_a_posture_of_another_size_and_an_unknown_foot(self):
        with pytest.raises(InvalidArgumentError, match='posture'):
            Assembly('floating', posture=(1.0, 2.0)).of(BRICK)
        with pytest.raises(UnknownFrameError, match='no_foot'):
            Assembly('floating', feet=('no_foot',)).of(BRICK)
