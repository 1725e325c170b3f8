# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo moves the robot of our model as our own dynamics do, and its ground carries it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from random_robots import random_robot

from benchmarks.descriptions import bare, without_friction
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.demo.known_robots import LEGGED
from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownFrameError
from dynamics_ros.simulation import TIME_STEP_NS, Assembly
from dynamics_ros.simulation.mujoco_world import MujocoWorld

EXACT = 1e-9
"""Relative, on accelerations: both solve with a mass matrix conditioned like 1e4."""


def without_ranges(world):
    """Stops are MuJoCo's own: out of the way of a random state."""
    world.model.jnt_limited[:] = 0
    return world


def forward_dynamics(world, tau):
    """Accelerations (nv) at the current state, in rotating axes of a floating base."""
    world._apply_torques(tau)
    mujoco.mj_forward(world.model, world.data)
    a, v = np.empty(world.robot.nv), world.v
    a[world._v_indices] = world.data.qacc[world._dof_indices]
    if world.robot.model.root_joint == 'floating':
        a[:3] = world._base_axes().T @ a[:3] - np.cross(v[3:6], v[:3])
    return a


def assert_same_accelerations(robot, seed, tolerance=EXACT):
    world = without_ranges(MujocoWorld(robot, 1e-3))
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q = robot.random_configuration(rng)
        v, tau = rng.normal(size=(2, robot.nv))
        world.place(q, v)
        assert np.abs(robot.difference(world.q, q)).max() < 1e-12
        assert np.abs(world.v - v).max() < 1e-12
        ours = robot.forward_dynamics(q, v, tau)
        theirs = forward_dynamics(world, tau)
        assert np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(ours).max())


@pytest.mark.parametrize('root', ['fixed', 'floating'])
@pytest.mark.parametrize('seed', range(8))
def test_free_motion_of_random_trees_is_that_of_our_forward_dynamics(seed, root):
    kinds = ('revolute', 'continuous', 'prismatic', 'fixed')
    assert_same_accelerations(random_robot(seed, 6, root, (0.3, -1.0, -9.0), kinds), seed)


@pytest.mark.parametrize('seed', range(4))
def test_mimic_joints_move_with_their_leaders(seed):
    robot = random_robot(seed, 6, 'fixed', kinds=('revolute', 'continuous', 'mimic'))
    # Held by a constraint with compliance: a share of 1e-4 of what would part them remains.
    assert_same_accelerations(robot, seed, 0.02)


def test_bodies_that_mujoco_does_not_compile_are_simulated_as_they_are():
    text = """<robot name="odd"><link name="base"/>
    <joint name="a" type="continuous"><parent link="base"/><child link="one"/>
    <axis xyz="0 1 0"/></joint>
    <link name="one"><inertial><mass value="1"/><origin xyz="0.3 0 0"/>
    <inertia ixx="0.001" iyy="0.9" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="b" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/></joint><link name="two"/>
    <joint name="c" type="continuous"><parent link="two"/><child link="three"/>
    <origin xyz="0.1 0 0"/><axis xyz="0 0 1"/></joint>
    <link name="three"><inertial><mass value="1"/><origin xyz="0.3 0 0"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    assert_same_accelerations(Robot.from_urdf(text), 1)


def test_without_the_package_a_sentence_says_how_to_get_it(monkeypatch):
    from dynamics_ros.errors import DynamicsRosError
    from dynamics_ros.simulation import mujoco_world

    monkeypatch.setattr(mujoco_world, 'mujoco', None)
    with pytest.raises(DynamicsRosError, match='pip install mujoco'):
        MujocoWorld(random_robot(1), 1e-3)


KNOWN = LEGGED['anymal']
GROUNDED_ROBOT_FEET, GROUNDED_ROBOT_RADIUS = KNOWN.feet, KNOWN.foot_radius

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
    settings = {
        'root_joint': 'floating',
        'feet': GROUNDED_ROBOT_FEET,
        'foot_radius': GROUNDED_ROBOT_RADIUS,
    } | options
    simulated, _, _ = Assembly(posture=posture, **settings).of(urdf)
    return simulated


def advance(simulated, seconds):
    for _ in range(round(seconds * 1e9) // TIME_STEP_NS):
        simulated.step()
        yield simulated.sample()


@pytest.fixture(scope='module')
def standing_grounded_robot():
    """ANYmal after a second, and its sample."""
    simulated = anymal()
    *_, last = advance(simulated, 1.0)
    return simulated, last


def test_it_stands_and_its_feet_carry_its_weight(standing_grounded_robot):
    simulated, sample = standing_grounded_robot
    weight = 9.81 * simulated.robot.total_mass
    assert sorted(sample.touching) == sorted(GROUNDED_ROBOT_FEET)
    assert sum(sample.touching.values())[:3] == pytest.approx([0, 0, weight], abs=0.01 * weight)
    assert np.abs(sample.v).max() < 0.01
    lowest = min(
        simulated.robot.forward_kinematics(sample.q, foot)[2, 3] for foot in GROUNDED_ROBOT_FEET
    )
    assert lowest == pytest.approx(GROUNDED_ROBOT_RADIUS, abs=2e-3)


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
