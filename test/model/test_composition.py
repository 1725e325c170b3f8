# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots made from robots: what a description written by hand makes of the same."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import MOVING, SEEDS, random_robot, random_state, random_urdf

from dynamics_ros import Robot
from dynamics_ros.errors import (
    InvalidArgumentError,
    UnknownFrameError,
    UnknownJointError,
)

FEW = examples(13)
ROOTS = st.sampled_from(['fixed', 'floating', 'planar'])


def pose(xyz, rpy=(0.0, 0.0, 0.0)):
    placement = np.eye(4)
    placement[:3, :3] = pin.rpy.rpyToMatrix(*map(float, rpy))
    placement[:3, 3] = xyz
    return placement


def read(text, root='fixed', **options):
    return Robot.from_urdf(text, root, backend='python', **options)


def renamed(text, prefix):
    """A random description with a prefix before all names."""
    return re.sub(r'"((?:link|joint)_\d+)"', rf'"{prefix}\1"', text)


def inner(text):
    """What stands between the tags of the robot."""
    return re.fullmatch(r'<robot name="\w+">(.*)</robot>', text)[1]


def by_name(robot, other, q):
    """The coordinates of a robot with those of another one of the same joints."""
    moved = np.array(q)
    base = robot.nq - len(robot.joint_names)
    for i, name in enumerate(robot.joint_names):
        moved[base + i] = q[other.joint_q_indices[name]]
    return moved


def assert_same(ours, expected, seed):
    """All masses, poses, torques and matrices of two robots that may order joints otherwise."""
    s = random_state(expected, seed)
    q = by_name(ours, expected, s.q)
    base = ours.nv - len(ours.joint_names)
    order = [*range(base), *(expected.joint_v_indices[name] for name in ours.joint_names)]
    limits = [k - base for k in order[base:]]
    assert set(ours.frame_names) == set(expected.frame_names)
    assert sorted(ours.body_names) == sorted(expected.body_names)
    assert ours.total_mass == pytest.approx(expected.total_mass)
    for frame in expected.frame_names:
        assert_close(ours.forward_kinematics(q, frame), expected.forward_kinematics(s.q, frame))
        assert ours.model.frame(frame).parent == expected.model.frame(frame).parent
        mine, theirs = (x.model.frame(frame).origin.array() for x in (ours, expected))
        assert_close(mine, theirs)
    M = expected.mass_matrix(s.q)
    assert_close(ours.mass_matrix(q), M[np.ix_(order, order)])
    tau = expected.inverse_dynamics(s.q, s.v, s.a)
    assert_close(ours.inverse_dynamics(q, s.v[order], s.a[order]), tau[order])
    np.testing.assert_array_equal(ours.lower_limits, expected.lower_limits[limits])


@FEW
@given(SEEDS, SEEDS, ROOTS, st.integers(1, 4), st.integers(1, 4))
def test_a_robot_with_a_tool_is_the_description_of_both(one, two, root, size, tool_size):
    robot, tool = read(random_urdf(one, size), root), read(random_urdf(two, tool_size))
    rng = np.random.default_rng(one)
    at = str(rng.choice(robot.frame_names))
    xyz, rpy = rng.normal(size=(2, 3))
    joint = (
        f'<joint name="flange" type="fixed"><parent link="{at}"/><child link="tool_link_0"/>'
        f'<origin xyz="{" ".join(map(repr, map(float, xyz)))}" '
        f'rpy="{" ".join(map(repr, map(float, rpy)))}"/></joint>'
    )
    both = inner(random_urdf(one, size)) + inner(renamed(random_urdf(two, tool_size), 'tool_'))
    expected = read(f'<robot name="both">{both}{joint}</robot>', root)
    ours = robot.with_tool(tool, at, pose(xyz, rpy), 'tool_')
    assert ours.joint_names == (
        *robot.joint_names,
        *('tool_' + name for name in tool.joint_names),
    )
    assert_same(ours, expected, two)


@FEW
@given(SEEDS, ROOTS, st.integers(1, 6))
def test_locked_joints_are_constants(seed, root, size):
    robot = random_robot(seed, size, root)
    s = random_state(robot, seed)
    names = robot.joint_names[:: 1 + seed % 2]
    locked = robot.with_locked({name: s.q[robot.joint_q_indices[name]] for name in names})
    free = [i for i in range(robot.nv) if i not in [robot.joint_v_indices[x] for x in names]]
    q = np.delete(s.q, [robot.joint_q_indices[x] for x in names])
    assert locked.joint_names == tuple(x for x in robot.joint_names if x not in names)
    for frame in robot.frame_names:
        expected = robot.forward_kinematics(s.q, frame)
        assert_close(locked.forward_kinematics(q, frame), expected)
    assert_close(locked.mass_matrix(q), robot.mass_matrix(s.q)[np.ix_(free, free)])
    v, a = (np.where(np.isin(np.arange(robot.nv), free), x, 0.0) for x in (s.v, s.a))
    tau = robot.inverse_dynamics(s.q, v, a)
    assert_close(locked.inverse_dynamics(q, v[free], a[free]), tau[free])


@pytest.mark.parametrize(
    ('change', 'error', 'told'),
    [
        (lambda r: r.with_frame('link_1', 'link_0', np.eye(4)), InvalidArgumentError, 'taken'),
        (lambda r: r.with_frame('', 'link_0', np.eye(4)), InvalidArgumentError, 'empty'),
        (lambda r: r.with_frame('x', 'nose', np.eye(4)), UnknownFrameError, 'nose'),
        (lambda r: r.with_frame('x', 'link_0', 2 * np.eye(4)), InvalidArgumentError, 'rigid pose'),
        (lambda r: r.with_tool(r, 'link_1'), InvalidArgumentError, "links called 'link_0'"),
        (lambda r: r.with_tool(r, 'nose', prefix='x'), UnknownFrameError, 'nose'),
        (lambda r: r.with_tool('gripper.urdf', 'link_1'), InvalidArgumentError, 'a robot'),
        (
            lambda r: r.with_tool(random_robot(2, 2, 'floating'), 'link_1', prefix='x'),
            InvalidArgumentError,
            'floating',
        ),
        (lambda r: r.with_locked({'nose': 0.0}), UnknownJointError, 'nose'),
        (lambda r: r.with_locked({'joint_1': np.nan}), InvalidArgumentError, 'finite'),
        (lambda r: r.with_locked(['joint_1']), InvalidArgumentError, 'mapping'),
    ],
)
def test_what_makes_no_robot_is_refused_with_a_reason(change, error, told):
    with pytest.raises(error, match=told):
        change(random_robot(2, 4, kinds=MOVING))
