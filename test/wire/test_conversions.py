# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages become arrays and come back the same; what is no number or no rotation is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Inertia, Pose, Quaternion, Twist, Vector3, Wrench
from numpy.testing import assert_allclose

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.reports import planar_base
from dynamics_ros.wire import conversions as convert

# A rotation goes through one square root and a dozen products: a few roundings of 1.1e-16.
ROUNDING = 1e-14

RNG = np.random.default_rng(7)


def random_pose(half_turn: bool) -> Pose:
    quaternion = RNG.normal(size=4) * [1.0, 1.0, 1.0, not half_turn]
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    pose = Pose(orientation=Quaternion(x=x, y=y, z=z, w=w))
    pose.position.x, pose.position.y, pose.position.z = RNG.normal(size=3).tolist()
    return pose


def test_a_pose_survives_the_way_to_a_matrix_and_back():
    for k in range(200):
        pose = random_pose(half_turn=k % 4 == 0)
        matrix = convert.pose_matrix(pose, 'pose')
        back = convert.pose_message(matrix)
        assert_allclose(convert.pose_matrix(back, 'pose'), matrix, atol=ROUNDING)
        assert back.orientation.w >= 0.0


@pytest.mark.parametrize('scale', [0.0, 0.5, 1.01, 2.0])
def test_a_quaternion_that_is_not_of_unit_length_is_refused(scale):
    pose = Pose(orientation=Quaternion(x=0.0, y=0.0, z=0.0, w=scale))
    with pytest.raises(InvalidArgumentError, match=r'target\.orientation.*unit quaternion'):
        convert.pose_matrix(pose, 'target')


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_by_field_name(bad):
    pose = Pose()
    pose.position.y = bad
    with pytest.raises(InvalidArgumentError, match=r'target\.position'):
        convert.pose_matrix(pose, 'target')
    with pytest.raises(InvalidArgumentError, match='push'):
        convert.numbers(Vector3(x=bad), 'push')
    with pytest.raises(InvalidArgumentError, match='twist'):
        convert.numbers(Twist(angular=Vector3(z=bad)), 'twist')
    with pytest.raises(InvalidArgumentError, match=r'payload\.m'):
        convert.inertia_arrays(Inertia(m=bad), 'payload')


def test_six_vectors_are_linear_first():
    twist = Twist(linear=Vector3(x=1.0, y=2.0, z=3.0), angular=Vector3(x=4.0, y=5.0, z=6.0))
    values = convert.numbers(twist, 'twist')
    assert values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert convert.fill(Twist(), values) == twist
    wrench = convert.fill(Wrench(), values)
    assert (wrench.force.x, wrench.torque.z) == (1.0, 6.0)


def test_stamps_and_durations_are_exact_integers():
    assert convert.nanoseconds(Time(sec=1_700_000_000, nanosec=1)) == 1_700_000_000_000_000_001
    assert convert.duration_message(0.25) == Duration(sec=0, nanosec=250_000_000)


def test_an_inertia_is_symmetric_and_survives():
    message = Inertia(
        m=1.5, com=Vector3(x=0.1), ixx=1.0, ixy=0.1, ixz=0.2, iyy=2.0, iyz=0.3, izz=3.0
    )
    mass, center, inertia = convert.inertia_arrays(message, 'inertia')
    assert_allclose(inertia, inertia.T)
    assert convert.inertia_message(mass, center, inertia) == message


def test_a_planar_base_is_its_place_and_heading_and_stays_in_its_plane():
    pose = Pose(orientation=Quaternion(z=math.sin(0.6), w=math.cos(0.6)))
    pose.position.x, pose.position.y = 1.0, 2.0
    assert_allclose(planar_base(convert.pose_values(pose), 'pose'), [1.0, 2.0, 1.2], atol=ROUNDING)
    pose.position.z = 0.5
    with pytest.raises(InvalidArgumentError, match='plane'):
        planar_base(convert.pose_values(pose), 'pose')
