# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of descriptions: xacro of packages that are not built, pipes, and numbers out of bounds."""

from __future__ import annotations

import math
import os
import sys

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.files import read_file, write_files
from dynamics_ros.kernels.process import disk_cache
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.model.urdf import parse_urdf, read_urdf

LINK = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
LINK += 'ixz="0" iyz="0"/></inertial></link>'
XACRO = '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">{}</robot>'


def joint(kind, limit='', child='b'):
    return (
        f'<joint name="{child}_joint" type="{kind}"><parent link="a"/><child link="{child}"/>'
        f'<axis xyz="0 0 1"/>{limit}</joint>'
    )


def robot(joints, *links):
    return f'<robot name="r">{"".join(map(LINK.format, ("a", *links)))}{joints}</robot>'


class TestXacro:
    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        """Folder of a package that is not built, in a repository of another name."""
        pytest.importorskip('xacro')
        for name in ('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'ROS_PACKAGE_PATH'):
            monkeypatch.delenv(name, raising=False)
        folder = tmp_path / 'Arm_ROS2'
        part = '<xacro:macro name="part" params="name"><link name="${name}"/></xacro:macro>'
        write_files(
            {
                folder / 'package.xml': '<package><name>arm_description</name></package>',
                folder / 'urdf' / 'part.xacro': XACRO.format(part),
                tmp_path / 'hand' / 'package.xml': '<package><name>hand</name></package>',
                tmp_path / 'hand' / 'part.xacro': XACRO.format('<link name="hand"/>'),
            }
        )
        return folder

    @pytest.mark.parametrize('ros', [True, False])
    def test_finds_its_own_package_and_one_beside_it(self, package, monkeypatch, ros):
        if not ros:
            monkeypatch.setitem(sys.modules, 'ament_index_python.packages', None)
        file = package / 'urdf' / 'arm.urdf.xacro'
        write_files(
            {
                file: XACRO.format(
                    '<xacro:include filename="$(find arm_description)/urdf/part.xacro"/>'
                    '<xacro:include filename="$(find hand)/part.xacro"/>'
                    '<xacro:part name="arm"/>'
                )
            }
        )
        text = read_description_file(file)
        assert '<link name="arm"/>' in text and '<link name="hand"/>' in text

    def test_names_a_package_that_is_nowhere_and_the_cure_once(self, package):
        file = package / 'urdf' / 'arm.xacro'
        write_files({file: XACRO.format('<xacro:include filename="$(find gone)/a.xacro"/>')})
        with pytest.raises(ModelError) as error:
            read_description_file(file)
        text = str(error.value)
        assert text.startswith(f"file '{file}': $(find): not found; source the workspace that has")
        assert text.count('gone') == text.count('AMENT_PREFIX_PATH') == 1


def test_a_pipe_or_an_endless_or_large_file_is_no_description(tmp_path):
    pipe, large = tmp_path / 'robot.urdf', tmp_path / 'large.urdf'
    os.mkfifo(pipe)
    large.touch()
    os.truncate(large, 65_000_000)
    for path, reason in (
        (pipe, 'not a regular file'),
        (large, 'larger than 64 MB'),
        ('/dev/zero', 'not a regular file'),
        (f'/{"a" * 300}', 'File name too long'),
    ):
        for read in (read_urdf, read_description_file, Robot.from_urdf):
            with pytest.raises(ModelError, match=f'cannot be read: {reason}'):
                read(path)
    (tmp_path / 'robot.xacro').symlink_to(pipe)
    (tmp_path / 'folder.xacro').mkdir()
    for name, reason in (
        ('robot', 'not a regular file'),
        ('folder', 'Is a directory'),
        ('a' * 300, 'File name too long'),
        ('absent', 'No such file'),
    ):
        with pytest.raises(ModelError, match=f'cannot be read: {reason}'):
            read_description_file(tmp_path / f'{name}.xacro')
    with pytest.raises(OSError, match='larger than 1e-06 MB'):
        read_file('/proc/self/status', 1)


@pytest.mark.parametrize(
    ('limit', 'expected'),
    [
        ('<limit upper="2" effort="1" velocity="1"/>', (0.0, 2.0)),
        ('<limit lower="-2" effort="1" velocity="1"/>', (-2.0, 0.0)),
    ],
)
def test_a_limit_with_one_bound_has_0_for_the_other_and_warns(limit, expected):
    description = parse_urdf(robot(joint('revolute', limit), 'b'))
    limits = description.joints[0].limits
    assert (limits.lower, limits.upper) == expected
    assert "only one of lower and upper is given for 'b_joint'" in description.doubts[0]


HUGE = (1e31, 1e155, 1e308, math.inf, math.nan, 10**400, -(10**400))


class TestNumbers:
    ARM = Robot.from_urdf(robot(joint('revolute'), 'b'), backend='python')

    @pytest.mark.parametrize('value', HUGE)
    @pytest.mark.parametrize(
        'option', ['position_tolerance', 'rotation_tolerance', 'timeout', 'joint_weights']
    )
    def test_of_a_search_are_bounded(self, option, value):
        if value == math.inf and option == 'joint_weights':
            value = -value
        given = {'b_joint': value} if option == 'joint_weights' else value
        with pytest.raises(InvalidArgumentError, match=f'^{option}: '):
            self.ARM.inverse_kinematics(np.eye(4), 'b', **{option: given})

    @pytest.mark.parametrize('value', HUGE)
    def test_of_a_model_are_bounded(self, value):
        for change in (
            lambda: self.ARM.with_gravity([0.0, value, 0.0]),
            lambda: self.ARM.with_locked({'b_joint': value}),
            lambda: self.ARM.with_payload('b', value),
            lambda: self.ARM.with_payload('b', 1.0, (0.0, 0.0, 0.0), [[value, 0, 0]] * 3),
        ):
            with pytest.raises(InvalidArgumentError):
                change()

    @pytest.mark.parametrize(
        ('moments', 'possible'),
        [
            ((1.0, 1.0, 0.0), True),
            ((1.0, 2.0, 3.0), True),
            ((0.0, 0.0, 0.0), True),
            ((1e-12, 0.0, 0.0), True),
            ((1.0, 2.0, 3.1), False),
            ((1.0, 0.0, 0.0), False),
            ((0.0, 0.0, 1e-3), False),
        ],
    )
    def test_of_the_inertia_of_a_payload_are_those_of_a_body(self, moments, possible):
        turn = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0]
        inertia = turn @ np.diag(moments) @ turn.T
        inertia = 0.5 * (inertia + inertia.T)
        if possible:
            self.ARM.with_payload('b', 1.0, (0.0, 0.0, 0.0), inertia)
            return
        with pytest.raises(InvalidArgumentError, match='none above the sum of the other two'):
            self.ARM.with_payload('b', 1.0, (0.0, 0.0, 0.0), inertia)


def test_a_pipe_or_a_large_file_in_the_cache_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / 'cache'))
    disk_cache.write('a', b'kept')
    (file,) = (tmp_path / 'cache').iterdir()
    assert disk_cache.read('a') == b'kept'
    monkeypatch.setattr(disk_cache, 'LARGEST', 10)
    assert disk_cache.read('a') is None
    file.unlink()
    os.mkfifo(file, 0o600)
    assert disk_cache.read('a') is None


def test_a_bound_that_is_absent_is_named_where_the_other_contradicts_it():
    text = robot(joint('revolute', '<limit upper="-1" effort="1" velocity="1"/>'), 'b')
    with pytest.raises(ModelError, match=r'above upper -1 \(absent lower is 0; write both\)'):
        parse_urdf(text)


def test_a_frame_that_no_search_moves_says_which_joint_does():
    arm = joint('floating') + joint('revolute', child='c')
    expected = 'expected a frame that a joint of one coordinate moves'
    for root, frame, by in (
        ('fixed', 'b', "only 'b_joint', of several coordinates,"),
        ('fixed', 'a', 'no joint'),
        ('floating', 'a', 'only the root joint'),
    ):
        one = Robot.from_urdf(robot(arm, 'b', 'c'), root, backend='python')
        with pytest.raises(InvalidArgumentError, match=f"{by} moves '{frame}'; {expected}"):
            one.inverse_kinematics(np.eye(4), frame)
