# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a robot that stands: the root moves, and the feet stay where they are."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.inverse_kinematics.search import SEARCH_STEPS

TOLERANCE = 1e-5
"""Default of the solver [m, rad]."""

RECHECK = 1.001 * TOLERANCE
"""The check uses another formula; it differs by rounding."""

FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
SOLES = ('left_sole_link', 'right_sole_link')
HAND = 'gripper_left_base_link'


PLENTY = {'timeout': 5.0, 'max_restarts': 4}
"""The first calls run as plain Python, while the machine code is being made."""


@pytest.fixture(scope='module')
def anymal():
    return Robot.from_urdf(urdf_path('anymal'), root_joint='floating')


@pytest.fixture(scope='module')
def standing(anymal):
    q = anymal.neutral()
    q[2] = 0.5
    for name, place in anymal.joint_q_indices.items():
        bent = {'HAA': 0.0, 'HFE': 0.6, 'KFE': -1.1}[name.split('_')[1]]
        q[place] = bent if name[1] == 'F' else -bent
    return q


def moved(robot, q0, q, frame):
    """How far a frame has moved [m] and turned [rad]."""
    before, after = robot.forward_kinematics(np.array([q0, q]), frame)
    chord = np.linalg.norm(before[:3, :3] - after[:3, :3]) / (2.0 * np.sqrt(2.0))
    return np.linalg.norm(after[:3, 3] - before[:3, 3]), 2.0 * np.arcsin(min(chord, 1.0))


def test_the_base_goes_where_it_is_wanted_on_four_feet(anymal, standing):
    base = anymal.body_names[0]
    target = anymal.forward_kinematics(standing, base)
    target[:3, 3] += [0.04, 0.03, -0.08]
    result = anymal.inverse_kinematics(
        target, base, standing, supports=dict.fromkeys(FEET, 'point'), **PLENTY
    )
    assert result.success
    assert result.q[:3] == pytest.approx(target[:3, 3], abs=RECHECK)
    assert all(moved(anymal, standing, result.q, foot)[0] <= RECHECK for foot in FEET)


def test_a_humanoid_reaches_on_flat_feet():
    talos = Robot.from_urdf(urdf_path('talos_reduced'), root_joint='floating')
    supports = dict.fromkeys(SOLES, 'surface')
    seed = talos.neutral()
    seed[2] = 1.0
    bent = {'leg_{}_3_joint': -0.5, 'leg_{}_4_joint': 1.0, 'leg_{}_5_joint': -0.5}
    for name, value in bent.items():
        for side in ('left', 'right'):
            seed[talos.joint_q_indices[name.format(side)]] = value
    seed[talos.joint_q_indices['arm_left_4_joint']] = -1.0
    target = talos.forward_kinematics(seed, HAND)
    target[:3, 3] += [0.25, 0.0, -0.1]
    result = talos.inverse_kinematics(target, HAND, seed, supports=supports, **PLENTY)
    assert result.success
    reached = talos.forward_kinematics(result.q, HAND)
    assert reached == pytest.approx(target, abs=RECHECK)
    for sole in SOLES:
        distance, angle = moved(talos, seed, result.q, sole)
        assert distance <= RECHECK and angle <= RECHECK
    # The arm alone does not do it: the body leans into it.
    assert moved(talos, seed, result.q, talos.body_names[0])[0] > 1e-3


def test_a_cart_turns_about_the_point_that_holds_it():
    cart = Robot.from_urdf(urdf_path('panda'), root_joint='planar')
    seed = np.concatenate([[0.4, -0.2, 0.3], [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02]])
    goal = seed.copy()
    goal[2] += 0.7
    target = cart.forward_kinematics(goal, 'panda_hand')
    options = {'supports': {'panda_link0': 'point'}, 'locked_joints': cart.joint_names}
    result = cart.inverse_kinematics(target, 'panda_hand', seed, **options, **PLENTY)
    assert result.success
    assert result.q == pytest.approx(goal, abs=1e-4)
    assert np.array_equal(result.q[3:], seed[3:])


@pytest.mark.parametrize(
    ('supports', 'text'),
    [({'LF_FOOT': 'sole'}, "'sole' of 'LF_FOOT'"), ({'LF_FOT': 'point'}, 'LF_FOT')],
)
def test_a_bad_support_is_named(anymal, standing, supports, text):
    target = anymal.forward_kinematics(standing, 'RH_FOOT')
    with pytest.raises(InvalidArgumentError, match=text) as refused:
        anymal.inverse_kinematics(target, 'RH_FOOT', standing, supports=supports)
    assert refused.value.argument == 'supports'
    assert isinstance(refused.value, UnknownFrameError) == ('LF_FOT' in supports)


def two_armed():
    """A floating base with a leg of three joints, an arm of four and a second arm of one."""
    joints = []
    limbs = {'leg': 'xyy', 'arm': 'zyyx', 'other': 'y'}
    for limb, axes in limbs.items():
        names = ['base', *(f'{limb}{k}' for k in range(len(axes)))]
        for parent, child, axis in zip(names, names[1:], axes, strict=False):
            turned = ' '.join(str(int(x == axis)) for x in 'xyz')
            place = {'leg': '0 0 -0.3', 'arm': '0.3 0.1 0', 'other': '0.3 -0.1 0'}[limb]
            joints.append(
                f"<link name='{child}'/><joint name='{child}' type='revolute'>"
                f"<parent link='{parent}'/><child link='{child}'/><origin xyz='{place}'/><axis "
                f"xyz='{turned}'/><limit lower='-2' upper='2' effort='1' velocity='1'/></joint>"
            )
    text = f"<robot name='two_armed'><link name='base'/>{''.join(joints)}</robot>"
    return Robot.from_urdf(text, root_joint='floating')


WISHES = [{}, {'slack': [0.0, 0.0, 0.01, 0.0, 0.0, np.inf]}, {'posture': 'seed'}]
WISHES += [{'joint_weights': {'arm0': 0.5}}]


def test_joints_that_move_neither_the_frame_nor_a_support_keep_the_seed():
    robot, rng = two_armed(), np.random.default_rng(0)
    seed = robot.neutral()
    seed[7:] = rng.uniform(-1.0, 1.0, robot.nq - 7)
    foot, other = robot.forward_kinematics(seed, 'leg2'), robot.joint_q_indices['other0']
    restarted = 0
    for k in range(12):
        goal = robot.neutral()
        goal[7:] = rng.uniform(-2.0, 2.0, robot.nq - 7)
        of_foot, of_hand = (robot.forward_kinematics(goal, x) for x in ('leg2', 'arm3'))
        target = foot @ np.linalg.inv(of_foot) @ of_hand
        target[0, 3] += 5.0 * (k > 10)
        options = {'supports': {'leg2': 'surface'}, 'timeout': 5.0, **WISHES[k % len(WISHES)]}
        result = robot.inverse_kinematics(target, 'arm3', seed, **options)
        assert result.q[other] == seed[other]
        assert max(moved(robot, seed, result.q, 'leg2')) <= RECHECK
        assert result.success == (k <= 10)
        restarted += result.success and result.iterations > SEARCH_STEPS
    assert restarted
