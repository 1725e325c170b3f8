# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tree's forward kinematics agrees with the product of exponentials, which knows no tree."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from tolerances import EXACT

from benchmarks.robots import NAMED, urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.forward_kinematics import body_poses
from dynamics_ros.algorithms.product_of_exponentials import product_of_exponentials
from dynamics_ros.model import ROOT

KINDS = ('revolute', 'continuous', 'prismatic')


def random_urdf(seed, n_joints):
    """A random tree of moving joints in any pose about any axis; one joint in four is a mimic."""
    rng = random.Random(seed)

    def three(scale):
        return ' '.join(f'{rng.uniform(-scale, scale):.6f}' for _ in range(3))

    links = ''.join(
        f'<link name="link{i}"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for i in range(n_joints + 1)
    )
    joints, leaders = '', []
    for i in range(n_joints):
        mimic = ''
        if leaders and rng.random() < 0.25:
            mimic = f'<mimic joint="{rng.choice(leaders)}" multiplier="-1.7" offset="0.3"/>'
        else:
            leaders.append(f'joint{i}')
        joints += (
            f'<joint name="joint{i}" type="{rng.choice(KINDS)}">'
            f'<parent link="link{rng.randint(0, i)}"/><child link="link{i + 1}"/>'
            f'<origin xyz="{three(1.0)}" rpy="{three(3.0)}"/><axis xyz="{three(1.0)}"/>'
            f'<limit lower="-3" upper="3" effort="1" velocity="1"/>{mimic}</joint>'
        )
    return f'<robot name="random">{links}{joints}</robot>'


def assert_same_poses(robot, q):
    tree = body_poses(robot.model, list(q))
    product = product_of_exponentials(robot.model, list(q))
    assert tree.keys() == product.keys() == {ROOT, *range(len(robot.model.joints))}
    for body in tree:
        ours, independent = tree[body].array(), product[body].array()
        assert np.abs(ours - independent).max() <= EXACT * max(1.0, np.abs(independent).max())


@pytest.mark.parametrize('root', ['fixed', 'floating', 'planar'])
@given(seed=st.integers(0, 10**6), n_joints=st.integers(1, 8))
@examples(30)
def test_on_random_trees(root, seed, n_joints):
    robot = Robot.from_urdf(random_urdf(seed, n_joints), root, backend='python')
    assert_same_poses(robot, robot.random_configuration(np.random.default_rng(seed)))


@pytest.mark.parametrize('root', ['fixed', 'floating', 'planar'])
@pytest.mark.parametrize('name', NAMED)
def test_on_known_robots(name, root):
    robot = Robot.from_urdf(urdf_path(name).read_text(), root, backend='python')
    assert_same_poses(robot, robot.random_configuration(np.random.default_rng(3)))
