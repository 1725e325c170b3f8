# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A kind of joint is one class: one that is written here does all that the others do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import random_state
from tolerances import DIFFERENCE, EXACT

from dynamics_ros import Robot, spatial
from dynamics_ros.model.joints import JOINT_KINDS, Entries, JointKind, VaryingJoint, X, Y
from dynamics_ros.spatial import Motion, Transform, Vector3, rotation_about

SEEDS = st.integers(0, 2**32 - 1)
FEW = examples(5)


class Cylindrical(JointKind):
    """A turn about the axis and a displacement along it, both free."""

    name = 'cylindrical'
    coordinates = (Entries(1, 'm', 'displacement'), Entries(1, 'rad', 'angle'))
    velocities = (Entries(1, 'm', 'displacement'), Entries(1, 'rad', 'turn'))

    def transform(self, q):
        return Transform(rotation_about(self.axis, q[1]), self.axis * q[0])

    def motion_subspace(self, q):
        return [Motion(self.axis, Vector3.zero()), Motion(Vector3.zero(), self.axis)]


class Universal(VaryingJoint):
    """A turn about x, then one about y: the first column of S turns back with the second angle."""

    name = 'universal'
    coordinates = velocities = (Entries(2, 'rad', 'angles'),)

    def transform(self, q):
        return Transform(rotation_about(X, q[0]) @ rotation_about(Y, q[1]), Vector3.zero())

    def motion_subspace(self, q):
        return [about(rotation_about(Y, -q[1]) @ X), about(Y)]

    def subspace_slopes(self, q):
        return [[STILL, about((rotation_about(Y, -q[1]) @ X).cross(Y))], [STILL, STILL]]

    def subspace_curvatures(self, q):
        twice = about(-(rotation_about(Y, -q[1]) @ X))
        return [[[STILL, STILL], [STILL, twice]], [[STILL, STILL], [STILL, STILL]]]


STILL = Motion.zero()


def about(axis):
    return Motion(Vector3.zero(), axis)


INERTIAL = """<inertial><origin xyz="0.05 -0.1 0.2"/><mass value="{}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="-0.002"/></inertial>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<origin xyz="{4}" rpy="0.3 -0.2 0.5"/><axis xyz="{5}"/></joint>"""
AXIS = '0.6 0 0.8'
ONE = JOINT.format('both', 'cylindrical', 'upper', 'lower', '0.1 0.2 0.3', AXIS)
TWO = (
    '<link name="between"/>'
    + JOINT.format('slide', 'prismatic', 'upper', 'between', '0.1 0.2 0.3', AXIS)
    + JOINT.format('turn', 'continuous', 'between', 'lower', '0 0 0', AXIS).replace(
        'rpy="0.3 -0.2 0.5"', ''
    )
)


CARDAN = ONE.replace('cylindrical', 'universal')
TWO_HINGES = (
    '<link name="between"/>'
    + JOINT.format('first', 'continuous', 'upper', 'between', '0.1 0.2 0.3', '1 0 0')
    + JOINT.format('second', 'continuous', 'between', 'lower', '0 0 0', '0 1 0').replace(
        'rpy="0.3 -0.2 0.5"', ''
    )
)


def robot(joints):
    """A turning link that carries another one by a joint of a kind of this file, or by two."""
    links = ''.join(
        f'<link name="{name}">{INERTIAL.format(mass)}</link>'
        for name, mass in (('base', 1.0), ('upper', 2.0), ('lower', 1.5))
    )
    shoulder = JOINT.format('shoulder', 'continuous', 'base', 'upper', '0 0 0.4', '0 1 0')
    text = f'<robot name="two_links">{links}{shoulder}{joints}</robot>'
    return Robot.from_urdf(text, 'floating', backend='python')


@pytest.fixture(scope='module', params=[(Cylindrical, ONE, TWO), (Universal, CARDAN, TWO_HINGES)])
def pair(request):
    """The robot with the joint, and its twin."""
    kind, one, two = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(JOINT_KINDS, kind.name, kind)
        return robot(one), robot(two)


@FEW
@given(seed=SEEDS)
def test_a_joint_is_two_joints_with_nothing_between(pair, seed):
    ours, twin = pair
    s = random_state(ours, seed)
    q1, tau = twin.integrate(s.q, s.v), twin.inverse_dynamics(s.q, s.v, s.a)
    assert_close(ours.all_frames(s.q)[-1], twin.all_frames(s.q)[-1], EXACT)
    assert_close(ours.forward_dynamics(s.q, s.v, tau), s.a)
    for name, *state in (
        *(('mass_matrix', s.q), ('gravity', s.q), ('rate_map', s.q), ('jacobian', s.q, 'lower')),
        *(('integrate', s.q, s.v), ('coriolis', s.q, s.v), ('momentum_observer_terms', s.q, s.v)),
        *(('difference', s.q, q1), ('jacobian_derivative', s.q, s.v, 'lower')),
        *((x, s.q, s.v, s.a) for x in ('inverse_dynamics', 'inverse_dynamics_derivatives')),
    ):
        mine, theirs = (getattr(robot, name)(*state) for robot in pair)
        for x, y in zip(mine, theirs, strict=True):
            assert_close(x, y, EXACT)


@pytest.mark.parametrize('kind', [*JOINT_KINDS.values(), Cylindrical, Universal])
class TestEveryKind:
    @FEW
    @given(seed=SEEDS)
    def test_rates_of_coordinates_are_velocities_on_its_manifold(self, kind, seed):
        joint, rng = kind(axis_of(seed)), np.random.default_rng(seed)
        q, v = joint.random(rng, -np.inf, np.inf), rng.normal(size=joint.nv)
        assert_close(joint.transform(joint.neutral()).array(), np.eye(4), EXACT)
        assert len(joint.slides) == joint.nv
        assert len(joint.units) == joint.nq
        h = 1e-5
        ahead, behind = (np.array(joint.integrate(q, t * v)) for t in (h, -h))
        q_rate = np.array(joint.rate(q, v))
        assert_close(q_rate, (ahead - behind) / (2.0 * h), DIFFERENCE)
        assert_close(np.array(joint.velocity(q, q_rate)), v, EXACT)
        # X-dot = X hat(S v), [RBM].
        poses = [joint.transform(list(x)).array() for x in (ahead, behind)]
        twist = sum((S * x for S, x in zip(joint.motion_subspace(q), v)), Motion.zero())
        moving = joint.transform(q).array() @ spatial.stack(twist.hat())
        assert_close((poses[0] - poses[1]) / (2.0 * h), moving, DIFFERENCE)


def axis_of(seed):
    direction = np.random.default_rng(seed + 1).normal(size=3)
    return Vector3(*(direction / np.linalg.norm(direction)))
