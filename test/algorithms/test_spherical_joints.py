# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trees with balls in sockets, beside Pinocchio and by their own laws."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import random_state
from tolerances import EXACT

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import ROOT

SEEDS = st.integers(0, 2**32 - 1)
FEW = examples(10)

LINK = """<link name="{0}"><inertial><origin xyz="0.05 -0.1 {1}" rpy="0.2 0 0.1"/>
<mass value="{2}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0.002" iyz="-0.002"/>
</inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/><axis xyz="0 0.6 0.8"/></joint>"""


@pytest.fixture(scope='module')
def robot():
    """A trunk that a ball carries, with an arm of hinge and ball and one of a slide."""
    links = [LINK.format(f'link_{i}', 0.1 * i, 1.0 + 0.3 * i) for i in range(5)]
    joints = [
        JOINT.format('waist', 'spherical', 'link_0', 'link_1'),
        JOINT.format('elbow', 'continuous', 'link_1', 'link_2'),
        JOINT.format('wrist', 'spherical', 'link_2', 'link_3'),
        JOINT.format('rail', 'prismatic', 'link_1', 'link_4'),
    ]
    return Robot.from_urdf(f'<robot name="balls">{"".join(links + joints)}</robot>')


@pytest.fixture(scope='module')
def peer(robot):
    """The same tree in Pinocchio, joint by joint, with its data."""
    model, ours = pinocchio.Model(), robot.model
    for joint, inertia in zip(ours.joints, ours.inertias, strict=True):
        axis = np.array([*joint.kind.axis])
        kind = {
            'spherical': pinocchio.JointModelSpherical,
            'continuous': lambda axis=axis: pinocchio.JointModelRevoluteUnaligned(axis),
            'prismatic': lambda axis=axis: pinocchio.JointModelPrismaticUnaligned(axis),
        }[joint.kind.name]()
        parent = 0 if joint.parent == ROOT else joint.parent + 1
        place = pinocchio.SE3(joint.placement.array())
        body = model.addJoint(parent, kind, place, joint.name)
        rotational = np.array([[inertia.rotational[i, k] for k in range(3)] for i in range(3)])
        there = pinocchio.Inertia(inertia.mass, np.array([*inertia.center]), rotational)
        model.appendBodyToJoint(body, there, pinocchio.SE3.Identity())
    assert (model.nq, model.nv) == (robot.nq, robot.nv) == (10, 8)
    return model, model.createData()


@FEW
@given(seed=SEEDS)
def test_dynamics_and_its_derivatives_are_those_of_pinocchio(robot, peer, seed):
    model, data = peer
    s = random_state(robot, seed)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    assert_close(tau, pinocchio.rnea(model, data, s.q, s.v, s.a), EXACT)
    assert_close(robot.forward_dynamics(s.q, s.v, tau), s.a)
    upper = np.triu(pinocchio.crba(model, data, s.q))
    assert_close(np.triu(robot.mass_matrix(s.q)), upper, EXACT)
    pinocchio.computeRNEADerivatives(model, data, s.q, s.v, s.a)
    by_q, by_v = robot.inverse_dynamics_derivatives(s.q, s.v, s.a)[:2]
    assert_close(by_q, data.dtau_dq, EXACT)
    assert_close(by_v, data.dtau_dv, EXACT)


@FEW
@given(seed=SEEDS)
def test_its_configurations_are_those_of_pinocchio(robot, peer, seed):
    model, _ = peer
    s = random_state(robot, seed)
    ahead = robot.integrate(s.q, s.v)
    there = pinocchio.integrate(model, s.q, s.v)
    # A quaternion and its opposite are the same orientation.
    assert_close(robot.difference(ahead, there), np.zeros(robot.nv), EXACT)
    assert_close(robot.difference(s.q, ahead), pinocchio.difference(model, s.q, there), EXACT)
    assert np.linalg.norm(ahead[:4]) == pytest.approx(1.0, abs=1e-15)


def test_a_search_leaves_balls_alone(robot):
    q = robot.random_configuration(np.random.default_rng(4))
    pose = robot.forward_kinematics(q, 'link_3')
    seed = robot.integrate(q, np.full(robot.nv, 0.1))
    with pytest.raises(InvalidArgumentError, match="'waist', of several coordinates, is not at"):
        robot.inverse_kinematics(pose, 'link_3', seed)
    bent = robot.neutral()
    bent[robot.joint_q_indices['elbow']] = 0.7
    target = robot.forward_kinematics(bent, 'link_3')
    answer = robot.inverse_kinematics(target, 'link_3', robot.neutral())
    np.testing.assert_allclose(answer.q, bent, atol=1e-5)
