# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of joint states, and distances of links that planned motions keep."""

from __future__ import annotations

import numpy as np
import pytest
from two_joint_arm import two_joint_arm

from dynamics_ros import Robot
from dynamics_ros.calibration.tables import read_table
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification import UnusableRecordingError
from dynamics_ros.identification.excitation.clearance import Clearance
from dynamics_ros.model.collision_geometry import read_collision_geometry

T = 1.7e9 + 0.01 * np.arange(50)
VALUES = np.round(np.random.default_rng(0).normal(size=(50, 4)), 6)
AB = ('a', 'b')
NAMES = ('time', 'a.position', 'b.position', 'a.effort', 'b.effort')


def lines(header=NAMES, time=T, separator=','):
    rows = [
        separator.join([one if isinstance(one, str) else f'{one:.9f}', *map(str, row)])
        for one, row in zip(time, VALUES, strict=True)
    ]
    return [separator.join(header), *rows]


def read(tmp_path, text):
    path = tmp_path / 'table.csv'
    path.write_text(text if isinstance(text, str) else '\n'.join(text) + '\n')
    return read_table(path)


def same(samples):
    """Whether it is what was written."""
    assert samples.time == pytest.approx(T, abs=1e-6)
    assert samples.position == pytest.approx(VALUES[:, :2])
    assert samples.effort == pytest.approx(VALUES[:, 2:])
    return samples


@pytest.mark.parametrize(
    ('header', 'joints'),
    [
        (('Time', '"a.position"', ' b.position', 'a.effort', 'b.effort '), ('a', 'b')),
        (('time [s]', *(f'{n}.{k} [u/s]' for k in ('position', 'effort') for n in 'ab')), AB),
        (('__time', *(f'/x/{n}/{k}' for k in ('pos', 'torque') for n in 'ab')), ('/x/a', '/x/b')),
        (('time', *(f'field.{k}{n}' for k in ('position', 'effort') for n in '01')), ('0', '1')),
        (('stamp', *(f'/js/{k}[{n}]' for k in ('position', 'effort') for n in '01')), ('0', '1')),
        (('t', *(f'actual_{k}_{n}' for k in ('q', 'current') for n in '01')), ('0', '1')),
        (('time', 'q[0]', 'q[1]', 'tau_J[0]', 'tau_J[1]'), ('0', '1')),
        (('seconds', 'a_pos', 'b_pos', 'a_motor_torque', 'b_motor_torque'), ('a', 'b')),
    ],
)
def test_names_of_columns(tmp_path, header, joints):
    assert same(read(tmp_path, lines(header))).joint_names == joints


def test_a_mark_of_the_order_of_bytes_and_comments(tmp_path):
    same(read(tmp_path, '\ufeff# of the robot\n' + '\n'.join(lines(separator=';'))))
    same(read(tmp_path, ['# ' + lines()[0], *lines()[1:]]))


@pytest.mark.parametrize(('unit', 'factor'), [('ms', 1e3), ('us', 1e6), ('ns', 1e9)])
def test_units_of_time(tmp_path, unit, factor):
    stamps = [f'{factor * t:.0f}' for t in T]
    assert not same(read(tmp_path, lines((f'time_{unit}', *NAMES[1:]), stamps))).notes


def test_a_line_that_was_cut_off_is_left_out_and_told(tmp_path):
    samples = read(tmp_path, [*lines(), '1.0,2.0'])
    assert 'not whole' in same(samples).notes[0]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (lines()[:1], 'no rows'),
        (lines()[1:], 'first line holds numbers'),
        (lines(('time', 'a.position', 'a.position', 'a.effort', 'b.effort')), 'two columns'),
        (lines(('time', 'a.position', 'a_pos', 'a.effort', 'b.effort')), 'two columns'),
        (lines(time=['noon'] * 50), "'time' holds no numbers"),
        ([*lines(), *['1.0'] * 50], 'another number of columns'),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, text, words):
    with pytest.raises(UnusableRecordingError, match=words):
        read(tmp_path, text)


def test_parquet_with_times_and_lists(tmp_path):
    pyarrow = pytest.importorskip('pyarrow')
    from pyarrow.parquet import write_table

    stamps = np.round(1e9 * T).astype('datetime64[ns]')
    halves = {'position': VALUES[:, :2].tolist(), 'effort': VALUES[:, 2:].tolist()}
    write_table(pyarrow.table({'time': stamps} | halves), tmp_path / 'table.parquet')
    assert same(read_table(tmp_path / 'table.parquet')).joint_names == ('0', '1')


def test_links_that_meet_outside_the_limits_count_within_them():
    """At zero, which the limits exclude, the forearm reaches back to the base."""

    def link(name, center, length):
        return (
            f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
            f'ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="{center} 0 0"/>'
            f'<geometry><box size="{length} 0.06 0.06"/></geometry></collision></link>'
        )

    def joint(name, parent, child, x, lower):
        return (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>'
            f'<limit lower="{lower}" upper="2.5" velocity="1" effort="9"/></joint>'
        )

    links = link('base', 0, 0.06) + link('upper', 0.25, 0.4) + link('fore', -0.25, 0.4)
    for lower in (0.1, -2.5):
        joints = joint('a', 'base', 'upper', 0.0, -2.5) + joint('b', 'upper', 'fore', 0.5, lower)
        text = f'<robot name="folding">{links}{joints}</robot>'
        robot = Robot.from_urdf(text)
        clearance = Clearance(robot, read_collision_geometry(text))
        near, far = (np.array([[0.3, b]]) for b in (0.1, 1.2))
        assert clearance.smallest(near) == pytest.approx(0.02, abs=2e-3), 'base and forearm'
        assert clearance.smallest(far) > 0.1
        clearance.check(far, 0.04, 'the motion')
    clearance.check(near, 0.04, 'an arm may start in its nominal posture')
    robot = Robot.from_urdf(text.replace('lower="-2.5" upper="2.5"', 'lower="0.03" upper="2.5"'))
    clearance = Clearance(robot, read_collision_geometry(text))
    with pytest.raises(InvalidArgumentError, match='brings links as near as'):
        clearance.check(near, 0.04, 'the motion')


def test_a_motion_through_the_floor_is_refused():
    text = two_joint_arm()
    clearance = Clearance(Robot.from_urdf(text), read_collision_geometry(text), floor=0.0)
    clearance.check(np.zeros((1, 2)), 0.02, 'the motion')
    with pytest.raises(InvalidArgumentError, match='below 0 m'):
        clearance.check(np.array([[1.5, 1.5]]), 0.02, 'the motion')
