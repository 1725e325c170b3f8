# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot: names and limits, shapes and broadcasting, gravity and payloads, clear errors."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from tolerances import EXACT

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import (
    DynamicsRosError,
    InvalidArgumentError,
    ModelError,
    UnknownOptionError,
)
from dynamics_ros.multibody.kernel_methods import check_size, is_large

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM)


@pytest.fixture(scope='module')
def legged():
    return Robot.from_urdf(urdf_path('anymal'), 'floating')


def test_names_sizes_and_limits_of_a_fixed_arm(arm):
    assert (arm.nq, arm.nv) == (7, 7)
    assert arm.root_frame == arm.frame_names[0] == 'base_link'
    assert arm.joint_names[0] == 'shoulder_yaw'
    assert arm.joint_q_indices['wrist_roll'] == 6
    for limits in (arm.lower_limits, arm.upper_limits, arm.velocity_limits, arm.effort_limits):
        assert limits.shape == (7,)
    assert (arm.lower_limits < arm.upper_limits).all()


def test_a_floating_base_stands_in_front_of_the_joints(legged):
    assert (legged.nq, legged.nv) == (19, 18)
    assert len(legged.joint_names) == 12
    assert legged.root_frame == 'world'
    assert min(legged.joint_q_indices.values()) == 7
    assert min(legged.joint_v_indices.values()) == 6


def test_a_planar_base_moves_in_its_plane():
    robot = Robot.from_urdf(ARM, 'planar')
    q = robot.neutral()
    q[:3] = 1.0, 2.0, np.pi / 2
    pose = robot.forward_kinematics(q, 'base_link')
    np.testing.assert_allclose(pose[:3, 3], [1.0, 2.0, 0.0], atol=EXACT)
    v = np.zeros(robot.nv)
    v[0] = 1.0
    velocity = robot.frame_velocity(q, v, 'base_link')
    np.testing.assert_allclose(velocity, [0, 1, 0, 0, 0, 0], atol=EXACT)


def test_other_gravity_is_another_robot(arm):
    q = arm.random_configuration(2)
    moon = arm.with_gravity((0.0, 0.0, -1.62))
    np.testing.assert_allclose(moon.gravity(q), arm.gravity(q) * 1.62 / 9.81, atol=EXACT * 10)
    np.testing.assert_allclose(arm.with_gravity((0, 0, 0)).gravity(q), 0.0)


def test_a_payload_is_felt_replaced_and_taken_away(arm):
    q = arm.random_configuration(2)
    weight = np.array([0.0, 0.0, -2.0 * 9.81])
    J = arm.jacobian(q, 'tool0')[:3]
    loaded = arm.with_payload('tool0', 2.0)
    np.testing.assert_allclose(loaded.gravity(q), arm.gravity(q) - J.T @ weight, atol=1e-11)
    assert loaded.total_mass == pytest.approx(arm.total_mass + 2.0)
    replaced = loaded.with_payload('tool0', 1.0)
    assert replaced.total_mass == pytest.approx(arm.total_mass + 1.0)
    empty = replaced.with_gravity((0, 0, -9.81)).with_payload(None)
    np.testing.assert_allclose(empty.gravity(q), arm.gravity(q), rtol=EXACT)


def test_integrate_and_difference_are_inverse(legged):
    rng = np.random.default_rng(4)
    q = legged.random_configuration(rng)
    v = rng.normal(size=legged.nv)
    moved = legged.integrate(q, v)
    np.testing.assert_allclose(legged.difference(q, moved), v, atol=EXACT)
    np.testing.assert_allclose(legged.interpolate(q, moved, 0.0), q, atol=EXACT)
    np.testing.assert_allclose(legged.interpolate(q, moved, 1.0), moved, atol=EXACT)
    np.testing.assert_allclose(
        legged.interpolate(q, moved, 0.25), legged.integrate(q, 0.25 * v), atol=EXACT
    )


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda robot, q: robot.gravity(q + np.inf), ['q', 'inf', 'finite']),
        (lambda robot, q: robot.nonlinear_effects(q, np.zeros(8)), ['v', '(8,)', '7']),
        (
            lambda robot, q: robot.nonlinear_effects(np.zeros((2, 7)), np.zeros((3, 7))),
            ['(2', '(3'],
        ),
        (lambda robot, q: robot.jacobian(q, 'tool0', 'body'), ['reference', 'body', 'world']),
        (
            lambda robot, q: robot.inverse_dynamics(q, q, q, {'tool0': [1.0]}),
            ["external_wrenches['tool0']", '6'],
        ),
        (
            lambda robot, q: robot.forward_dynamics(
                q, q, q, {'elbow_link': np.zeros(6), 'tool0': np.full(6, np.nan)}
            ),
            ["external_wrenches['tool0']", 'nan', 'finite'],
        ),
        (
            lambda robot, q: robot.inverse_dynamics(
                np.zeros((2, 7)), q, q, {'tool0': np.zeros((3, 6))}
            ),
            ["external_wrenches['tool0']", '(2', '(3'],
        ),
        (lambda robot, q: robot.with_gravity((0, 0)), ['gravity', 'three']),
        (lambda robot, q: robot.with_gravity((0, 0, np.nan)), ['gravity', 'finite']),
        (lambda robot, q: robot.with_payload('tool0', -1.0), ['mass', '-1.0', '0 or more']),
        (lambda robot, q: robot.with_payload('tool0', 1e31), ['mass', '1e+31', 'at most 1e+30']),
        (lambda robot, q: robot.with_payload('tool0', 1.0, (0, 0)), ['center_of_mass', '(3,)']),
        (
            lambda robot, q: robot.with_payload('tool0', 1.0, inertia=-np.eye(3)),
            ['inertia', 'positive'],
        ),
        (lambda robot, q: robot.hybrid_dynamics(q, q, q, q, [1] * 7), ['prescribed', 'booleans']),
        (
            lambda robot, q: robot.hybrid_dynamics(q, q, [[0.0], [0.0, 1.0]], q, [True] * 7),
            ['a: rows of different lengths', '(..., 7)'],
        ),
    ],
)
def test_wrong_arguments_are_named_with_what_is_expected(arm, call, words):
    with pytest.raises(InvalidArgumentError) as error:
        call(arm, np.zeros(7))
    for word in words:
        assert word.lower() in str(error.value).lower()


def test_a_quaternion_that_is_not_of_unit_length_is_refused(legged):
    q = legged.neutral()
    q[3:7] = 0.0, 0.0, 0.0, 1.1
    with pytest.raises(InvalidArgumentError, match='unit quaternion'):
        legged.gravity(q)
    assert np.isfinite(legged.gravity(legged.neutral())).all()


def test_what_hybrid_dynamics_does_not_read_may_be_unknown(arm):
    q, v = arm.random_configuration(1), np.full(7, 0.1)
    prescribed = np.array([True] * 3 + [False] * 4)
    a = np.where(prescribed, 0.5, np.nan)
    tau = np.where(prescribed, np.nan, 1.0)
    all_a, all_tau = arm.hybrid_dynamics(q, v, a, tau, prescribed)
    np.testing.assert_allclose(arm.inverse_dynamics(q, v, all_a), all_tau, atol=1e-10)


INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
TWO = """<robot name="two {name}"><link name="base"/>
<link name="upper"><inertial><mass value="2"/>INERTIA
</inertial></link><link name="tip"/><link name="finger"/>
<joint name="lift" type="prismatic"><parent link="base"/><child link="upper"/>
<limit lower="0" upper="0.5" effort="10" velocity="1"/></joint>
<joint name="bolt" type="fixed"><parent link="upper"/><child link="tip"/></joint>
<joint name="grip" type="prismatic"><parent link="upper"/><child link="finger"/>
<mimic joint="lift"/><limit lower="0" upper="0.5" effort="10" velocity="1"/></joint>
</robot>""".replace('INERTIA', INERTIA)
XACRO = """<robot name="made" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="1.0"/><link name="base"/><link name="tip"><inertial>
<mass value="${2 * $(arg mass)}"/>INERTIA</inertial>
</link><joint name="turn" type="continuous"><parent link="base"/><child link="tip"/></joint>
</robot>""".replace('INERTIA', INERTIA)


@pytest.fixture
def two():
    return Robot.from_urdf(TWO.replace('{name}', '&lt;b&gt;'), 'floating', backend='python')


def test_a_robot_says_what_it_is(two):
    assert repr(two) == "<Robot 'two <b>': 1 joints, 4 links, floating base, 2 kg>"

    class Mine(Robot):
        pass

    assert repr(Mine(two.model)).startswith('<Mine ')
    assert repr(pickle.loads(pickle.dumps(two))) == repr(two)


def test_a_tree_has_all_links_below_their_parents(two):
    assert two.tree().splitlines() == [
        'base  (root_joint: floating, q[0:7])',
        '  upper  (lift: prismatic, q[7])',
        '    tip',
        '    finger  (grip: prismatic, follows lift)',
    ]


def test_a_xacro_file_is_expanded_with_its_arguments(tmp_path):
    pytest.importorskip('xacro')
    good, bad = tmp_path / 'made.urdf.xacro', tmp_path / 'bad.xacro'
    good.write_text(XACRO)
    bad.write_text(XACRO.replace('2 * ', 'nothing * '))
    assert Robot.from_urdf(good, backend='python').total_mass == 2.0
    heavy = Robot.from_urdf(str(good), backend='python', xacro_arguments={'mass': 3.5})
    assert heavy.total_mass == 7.0
    with pytest.raises(ModelError, match='xacro cannot expand it'):
        Robot.from_urdf(bad)
    with pytest.raises(ModelError, match=r'missing\.xacro.* cannot be read: No such file'):
        Robot.from_urdf(tmp_path / 'missing.xacro')


ARM_TEXT = (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text()
MISUSE_ARM = Robot.from_urdf(ARM_TEXT)
Q = MISUSE_ARM.random_configuration(0)
TARGET = MISUSE_ARM.forward_kinematics(Q, 'tool0')


@pytest.mark.parametrize(
    ('call', 'option', 'meant'),
    [
        (lambda **o: MISUSE_ARM.inverse_kinematics(TARGET, 'tool0', **o), 'sed', 'seed'),
        (
            lambda **o: MISUSE_ARM.inverse_kinematics(TARGET, 'tool0', **o),
            'position_tolerence',
            'position_tolerance',
        ),
        (
            lambda **o: MISUSE_ARM.inverse_kinematics(TARGET[None], 'tool0', **o),
            'time_out',
            'timeout',
        ),
        (lambda **o: MISUSE_ARM.inverse_kinematics(TARGET[None][:0], 'tool0', **o), 'sed', 'seed'),
        (
            lambda **o: MISUSE_ARM.all_inverse_kinematics(TARGET, 'tool0', **o),
            'max_solution',
            'max_sol',
        ),
    ],
)
def test_an_option_that_there_is_not(call, option, meant):
    with pytest.raises(UnknownOptionError) as refused:
        call(**{option: 1.0})
    error = refused.value
    assert isinstance(error, DynamicsRosError) and isinstance(error, TypeError)
    assert (error.option, error.argument) == (option, option)
    assert str(error).startswith(f'{option}: no such option; expected {meant}')
    assert all(name in str(error) for name in error.known)
    assert 'robot' not in error.known


HUGE = np.full(7, 1e200)
REST = np.zeros(7)


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@pytest.mark.parametrize(
    ('call', 'argument'),
    [
        (lambda r: r.forward_dynamics(Q, HUGE, REST), 'v'),
        (lambda r: r.forward_dynamics(Q, REST, 1e308 * np.ones(7)), 'tau'),
        (lambda r: r.forward_dynamics(np.tile(Q, (40, 1)), HUGE, REST), 'v'),
        (lambda r: r.inverse_dynamics(Q, HUGE, REST), 'v'),
        (lambda r: r.inverse_dynamics(Q, REST, 1e308 * np.ones(7)), 'a'),
        (lambda r: r.inverse_dynamics(Q, REST, REST, {'tool0': np.full(6, 1e308)}), 'external'),
        (lambda r: r.joint_wrenches(Q, HUGE, REST), 'v'),
        (lambda r: r.nonlinear_effects(np.stack([Q, Q]), np.stack([REST, HUGE])), 'v'),
        (lambda r: r.inverse_dynamics_derivatives(Q, HUGE, REST), 'v'),
        (lambda r: r.forward_dynamics_derivatives(Q, HUGE, REST), 'v'),
        (lambda r: r.hybrid_dynamics(Q, HUGE, REST, REST, [True] * 7), 'v'),
    ],
)
def test_numbers_whose_dynamics_overflows_are_named(backend, call, argument):
    robot = Robot.from_urdf(ARM_TEXT, backend=backend)
    with pytest.raises(InvalidArgumentError, match=f'^{argument}.*overflow'):
        call(robot)


def chain(count: int) -> str:
    """URDF of so many links, one behind another."""
    links = ''.join(f'<link name="l{i}"/>' for i in range(count + 1))
    joints = ''.join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
        f'<child link="l{i}"/></joint>'
        for i in range(1, count + 1)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


def test_kernels_of_pairs_of_joints_are_refused_of_a_long_chain():
    for count, large in ((7, False), (60, False), (100, True)):
        robot = Robot.from_urdf(chain(count), backend='python')
        assert is_large(robot.model) is large
        check_size(robot.model, [('gravity',), ('jacobian', 'l1', 'local')])
    with pytest.raises(InvalidArgumentError, match='100 joints'):
        check_size(robot.model, [('gravity',), ('mass_matrix',)])
