# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that are too large for some kernels."""

from __future__ import annotations

import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.large_robots import check_kernels, is_large


def chain(count: int) -> str:
    """URDF of so many links, one behind another."""
    links = ''.join(f'<link name="l{i}"/>' for i in range(count + 1))
    joints = ''.join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
        f'<child link="l{i}"/></joint>'
        for i in range(1, count + 1)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


@pytest.mark.parametrize(('count', 'large'), [(7, False), (60, False), (100, True)])
def test_what_is_large_is_a_long_chain(count, large):
    assert is_large(Robot.from_urdf(chain(count), backend='python')) is large


def test_kernels_of_pairs_of_joints_are_refused():
    robot = Robot.from_urdf(chain(100), backend='python')
    check_kernels(robot, ['gravity()', 'jacobian(l1, local)'])
    with pytest.raises(InvalidArgumentError, match='100 joints'):
        check_kernels(robot, ['gravity()', 'mass_matrix()'])
