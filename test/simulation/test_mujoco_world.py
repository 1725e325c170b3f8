# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo moves the robot of our model as our own dynamics do, and its ground carries it."""

import mujoco
import numpy as np
import pytest
from random_robots import MOVING, random_robot

from benchmarks.descriptions import bare, without_friction
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.simulation.mujoco_world import MujocoWorld, Surroundings

EXACT = 1e-9
"""Relative, on accelerations: both solve with a mass matrix conditioned like 1e4."""


def named_robot(name, root):
    return Robot.from_urdf(without_friction(bare(urdf_path(name))), root)


def without_ranges(world):
    """Stops are MuJoCo's own: out of the way of a random state."""
    world.model.jnt_limited[:] = 0
    return world


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
        theirs = world.forward_dynamics(tau)
        assert np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(ours).max())


@pytest.mark.parametrize('root', ['fixed', 'planar', 'floating'])
@pytest.mark.parametrize('seed', range(8))
def test_free_motion_of_random_trees_is_that_of_our_forward_dynamics(seed, root):
    kinds = (*MOVING, 'fixed')
    assert_same_accelerations(random_robot(seed, 6, root, (0.3, -1.0, -9.0), kinds), seed)


@pytest.mark.parametrize('seed', range(4))
def test_mimic_joints_move_with_their_leaders(seed):
    robot = random_robot(seed, 6, 'fixed', kinds=('revolute', 'continuous', 'mimic'))
    # Held by a constraint with compliance: a share of 1e-4 of what would part them remains.
    assert_same_accelerations(robot, seed, 0.02)


def test_free_motion_over_time_keeps_momentum_and_goes_our_way():
    robot = named_robot('anymal', 'floating').with_gravity((0.0, 0.0, 0.0))
    world = without_ranges(MujocoWorld(robot, 1e-4))
    world.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    rng = np.random.default_rng(2)
    q, v = robot.random_configuration(rng), 0.5 * rng.normal(size=robot.nv)
    world.place(q, v)
    before = robot.centroidal_momentum(q, v)
    centre = robot.center_of_mass(q)
    for _ in range(2000):
        world.step(np.zeros(robot.nv))
    after = robot.centroidal_momentum(world.q, world.v)
    assert np.abs(after - before).max() < 1e-7 * np.abs(before).max()
    moved = robot.center_of_mass(world.q) - centre
    assert moved == pytest.approx(0.2 * before[:3] / robot.total_mass, abs=1e-6)


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


FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
RADIUS = 0.03


@pytest.fixture(scope='module')
def standing():
    """ANYmal on the ground, held by its joints, and its world."""
    robot = named_robot('anymal', 'floating')
    world = MujocoWorld(robot, 5e-4, Surroundings(dict.fromkeys(FEET, RADIUS), {}))
    q = robot.neutral()
    for leg in ('LF', 'RF', 'LH', 'RH'):
        sign = 1.0 if leg[1] == 'F' else -1.0
        for joint, angle in (('HFE', 0.6 * sign), ('KFE', -1.2 * sign)):
            q[7 + robot.joint_names.index(f'{leg}_{joint}')] = angle
    q[2] = RADIUS - min(robot.forward_kinematics(q, foot)[2, 3] for foot in FEET)
    world.place(q)
    for _ in range(4000):
        tau = np.zeros(robot.nv)
        tau[6:] = 300.0 * (q - world.q)[7:] - 10.0 * world.v[6:]
        world.step(tau)
    return robot, world, tau


def test_the_feet_of_a_standing_quadruped_carry_its_weight(standing):
    robot, world, _ = standing
    wrenches = world.contact_wrenches()
    assert sorted(wrenches) == sorted(FEET)
    total = sum(wrenches.values())[:3]
    weight = 9.81 * robot.total_mass
    assert total == pytest.approx([0.0, 0.0, weight], abs=1e-3 * weight)
    assert min(wrench[2] for wrench in wrenches.values()) > 0.1 * weight


def test_a_link_with_a_shape_lies_on_the_ground():
    robot = Robot.from_urdf(
        '<robot name="brick"><link name="brick"><inertial><mass value="2"/><inertia ixx="0.01" '
        'iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
        'floating',
    )
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    faces = corners[[[0, 1, 2], [1, 2, 3], [4, 5, 6], [5, 6, 7]]]
    world = MujocoWorld(robot, 1e-3, Surroundings({}, {'brick': faces}))
    q = robot.neutral()
    q[2] = 0.12
    world.place(q)
    for _ in range(1500):
        world.step(np.zeros(6))
    assert world.q[2] == pytest.approx(0.1, abs=2e-3)
    wrench = world.contact_wrenches()['brick']
    assert wrench == pytest.approx([0, 0, 2 * 9.81, 0, 0, 0], abs=0.02)


def test_without_the_package_a_sentence_says_how_to_get_it(monkeypatch):
    from dynamics_ros.errors import DynamicsRosError
    from dynamics_ros.simulation import mujoco_world

    monkeypatch.setattr(mujoco_world, 'mujoco', None)
    with pytest.raises(DynamicsRosError, match='pip install mujoco'):
        MujocoWorld(random_robot(1), 1e-3)
