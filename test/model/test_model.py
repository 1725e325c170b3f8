# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The model: joint kinds and their manifolds, merged links, mimic and locked joints, frames."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import EXACT

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError


def two_links(joint_type, axis='0 0 1', extra=''):
    """A moving link on a base, by a joint of the given type, both away from the origin."""
    return f"""<robot name="pair">
      <link name="base"/>
      <link name="tip"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.1 0 0"/><mass value="2"/>
        <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial></link>
      <joint name="j" type="{joint_type}"><origin xyz="0.3 -0.1 0.2" rpy="0.4 0.2 -0.7"/>
        <parent link="base"/><child link="tip"/><axis xyz="{axis}"/>
        <limit lower="-2" upper="2" effort="10" velocity="3"/></joint>{extra}</robot>"""


KINDS = [
    ('revolute', '0 0 1', 1, 1),
    ('revolute', '1 -2 0.5', 1, 1),
    ('continuous', '0 1 0', 1, 1),
    ('prismatic', '1 1 0', 1, 1),
    ('planar', '0 0 1', 3, 3),
    ('planar', '1 0.3 -0.4', 3, 3),
    ('floating', '0 0 1', 7, 6),
    ('spherical', '0 0 1', 4, 3),
]


@pytest.mark.parametrize(('kind', 'axis', 'nq', 'nv'), KINDS)
def test_every_kind_reaches_any_configuration_by_the_velocity_to_it(kind, axis, nq, nv):
    robot = Robot.from_urdf(two_links(kind, axis))
    assert (robot.nq, robot.nv) == (nq, nv)
    assert robot.velocity_limits.shape == (nv,)
    rng = np.random.default_rng(nq)
    q0, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
    reached = robot.integrate(q0, robot.difference(q0, q1))
    poses = (robot.forward_kinematics(q, 'tip') for q in (reached, q1))
    np.testing.assert_allclose(*poses, atol=EXACT)
    np.testing.assert_allclose(robot.difference(q0, q0), 0.0, atol=EXACT)


def finger(joint, parent, mimic='', limit='lower="-1" upper="1" effort="1" velocity="1"'):
    return f"""<link name="{joint}_link"><inertial><origin xyz="0.05 0.02 0"/><mass value="0.3"/>
        <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial></link>
      <joint name="{joint}" type="revolute"><origin xyz="0.1 0 0.05" rpy="0.3 0 0"/>
        <parent link="{parent}"/><child link="{joint}_link"/><axis xyz="0 0 1"/>{mimic}
        <limit {limit}/></joint>"""


@pytest.mark.parametrize('parent', ['tip', 'leader_link'], ids=['beside', 'behind its leader'])
def test_a_mimic_joint_gives_the_dynamics_of_the_coupled_mechanism(parent):
    mimic = '<mimic joint="leader" multiplier="-1.5" offset="0.2"/>'
    coupled = Robot.from_urdf(
        two_links('revolute', '1 0 0', finger('leader', 'tip') + finger('follower', parent, mimic))
    )
    free = Robot.from_urdf(
        two_links('revolute', '1 0 0', finger('leader', 'tip') + finger('follower', parent))
    )
    assert coupled.joint_names == ('j', 'leader')
    G = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.5]])
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 2))
    q_free = G @ q + [0.0, 0.0, 0.2]
    frame = 'follower_link'
    np.testing.assert_allclose(
        coupled.forward_kinematics(q, frame), free.forward_kinematics(q_free, frame), atol=EXACT
    )
    np.testing.assert_allclose(
        coupled.jacobian(q, frame), free.jacobian(q_free, frame) @ G, atol=EXACT
    )
    np.testing.assert_allclose(
        coupled.mass_matrix(q), G.T @ free.mass_matrix(q_free) @ G, atol=EXACT
    )
    tau = coupled.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, G.T @ free.inverse_dynamics(q_free, G @ v, G @ a), atol=EXACT)
    np.testing.assert_allclose(coupled.forward_dynamics(q, v, tau), a, atol=EXACT * 100)


FOLLOWERS = {
    # multiplier, offset, limits of the follower: range and velocity limit of the leader, warnings.
    'narrower': (-1, 0, (-0.3, 0.6, 0.5), (-0.6, 0.3, 0.5), ()),
    'wider': (0.5, 0, (-0.6, 0.6, 2), (-1, 1, 1), ()),
    'with an offset': (2, 0.1, (-0.6, 0.6, 1), (-0.35, 0.25, 0.5), ()),
    'without a range': (-1, 0, (0, 0, 0), (-1, 1, 1), ('no range', 'no velocity limit')),
    'nothing in common': (-1, 0, (2, 3, 1), (-1, 1, 1), ('no motion',)),
    'one point in common': (-1, 0, (1, 3, 1), (-1, 1, 1), ('no motion',)),
    'at rest': (0, 0.2, (0.3, 0.4, 0.1), (-1, 1, 1), ()),
}


@pytest.mark.parametrize('case', FOLLOWERS)
def test_a_leader_keeps_its_followers_within_their_limits(case, caplog):
    multiplier, offset, (lower, upper, velocity), wanted, warnings = FOLLOWERS[case]
    mimic = f'<mimic joint="leader" multiplier="{multiplier}" offset="{offset}"/>'
    limit = f'lower="{lower}" upper="{upper}" velocity="{velocity}" effort="0.5"'
    fingers = finger('leader', 'tip') + finger('follower', 'leader_link', mimic, limit)
    robot = Robot.from_urdf(two_links('revolute', '1 0 0', fingers), 'floating')
    assert all(word in caplog.text for word in warnings) and bool(warnings) == bool(caplog.text)

    def limits(robot):
        last = (robot.lower_limits, robot.upper_limits, robot.velocity_limits, robot.effort_limits)
        return [float(x[-1]) for x in last]

    for same in (robot, robot.with_gravity((0, 0, 0)), robot.with_locked({'j': 0.1})):
        np.testing.assert_allclose(limits(same), [*wanted, 1.0], atol=EXACT)
    root = Robot.from_urdf(two_links('revolute', '1 0 0', fingers))
    two = robot.with_tool(root, 'base', prefix='other_')
    np.testing.assert_allclose(limits(two), [*wanted, 1.0], atol=EXACT)
    for q in (robot.random_configuration(seed) for seed in range(20)):
        assert wanted[0] <= q[-1] <= wanted[1]
    if wanted[0] == -0.6:
        for leader in (-0.9, -0.5, 0.2, 0.9):
            pose = root.forward_kinematics([0.4, leader], 'follower_link')
            result = root.inverse_kinematics(pose, 'follower_link')
            assert result.success == (-0.6 <= leader <= 0.3)
            assert wanted[0] <= result.q[-1] <= wanted[1]


def test_the_nominal_configuration_is_within_the_limits():
    limits = {'inside': (-1, 3), 'below': (-3, -1), 'above': (0.5, 2), 'end': (0, 1)}
    limits['far'] = (2, 1e17)
    fingers = [
        finger(name, 'tip', limit=f'lower="{lower}" upper="{upper}" velocity="1" effort="1"')
        for name, (lower, upper) in limits.items()
    ]
    mimic = '<mimic joint="inside" multiplier="1" offset="-3"/>'
    fingers.append(finger('follower', 'tip', mimic))
    robot = Robot.from_urdf(two_links('continuous', '1 0 0', ''.join(fingers)), 'floating')
    q = robot.nominal()
    np.testing.assert_array_equal(q[:8], robot.neutral()[:8])
    np.testing.assert_allclose(q[8:], [2.5, -2.0, 1.25, 0.0, 2.0])
    assert (q[7:] >= robot.lower_limits).all() and (q[7:] <= robot.upper_limits).all()


@pytest.mark.parametrize('root', ['floating', 'planar'])
def test_a_moving_base_has_one_frame_of_the_name_world(root, caplog):
    text = two_links('revolute').replace('"base"', '"world"')
    fixed = Robot.from_urdf(text)
    assert fixed.frame_names == ('world', 'tip') and fixed.root_frame == 'world'
    assert not caplog.text
    robot = Robot.from_urdf(text, root)
    assert robot.frame_names == ('world_link', 'tip') and robot.root_frame == 'world'
    assert robot.body_names == ('world_link', 'tip')
    assert "link 'world' is called 'world_link'" in caplog.text
    again = Robot.from_urdf(text.replace('"tip"', '"world_link"'), root)
    assert set(again.frame_names) == {'world_link', 'world_link_'}
    moving = Robot.from_urdf(two_links('revolute'), root)
    with pytest.raises(InvalidArgumentError, match='world'):
        moving.with_frame('world', 'tip', np.eye(4))
    with pytest.raises(InvalidArgumentError, match='prefix'):
        moving.with_tool(fixed.with_frame('more', 'world', np.eye(4)), 'tip')
    other = moving.with_tool(fixed, 'tip', prefix='tool_')
    assert 'tool_world' in other.frame_names
