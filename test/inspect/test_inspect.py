# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`inspect`: what a description says, and what is odd about it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from documents import blocks, differs
from six_axis_arms import random_axes, urdf_of_axes

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.collision import Collisions
from dynamics_ros.inspect.command import main

ROOT = Path(__file__).parents[2]
ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'

BOX = '<collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision>'


def inertial(mass=1.0, center='0 0 0', moments=(0.01, 0.01, 0.01)):
    xx, yy, zz = moments
    return (
        f'<inertial><origin xyz="{center}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
    )


def robot(link=None, joint='', limit='lower="-1" upper="1" velocity="1" effort="1"', shape=BOX):
    body = inertial() if link is None else link
    limits = f'<limit {limit}/>' if limit else ''
    return (
        f'<robot name="one"><link name="base"/><link name="rod">{body}{shape}</link>'
        '<joint name="swing" type="revolute"><parent link="base"/><child link="rod"/>'
        f'<axis xyz="0 1 0"/>{limits}{joint}</joint></robot>'
    )


def inspected(capsys, *arguments):
    code = main(list(map(str, arguments)))
    return code, capsys.readouterr()


def of_text(capsys, tmp_path, text, *arguments):
    file = tmp_path / 'one.urdf'
    file.write_text(text)
    code, told = inspected(capsys, file, *arguments)
    return code, told.out


def test_the_documentation_shows_what_is_printed(capsys):
    shown = blocks(ROOT / 'docs' / 'tools.md', 'text')[0].text
    code, told = inspected(capsys, urdf_path('ur5'))
    assert code == 1
    assert differs(shown, told.out) == ''


def test_the_page_has_every_link_with_its_joint_limits_and_mass(capsys):
    code, told = inspected(capsys, ARM)
    assert code == 0
    lines = told.out.splitlines()
    assert lines[0] == 'seven_joint_arm: 7 joints in q, 11 links, fixed base, 16.95 kg that move'
    (elbow,) = [line for line in lines if 'elbow_link' in line]
    assert elbow.split() == [
        *('elbow_link', 'upper_arm_roll', '(revolute)', 'z', '-2.9', 'to', '2.9', 'rad'),
        *('2.5', 'rad/s', '80', 'Nm', '2.79', 'kg'),
    ]
    depth = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines[3:14]}
    assert depth['base_link'] < depth['shoulder_link'] < depth['elbow_link'] < depth['tool0']
    assert 'nothing is odd about this description' in told.out
    assert '* the nodes take tool0 where no frame is given' in told.out
    assert '* named as a tool, at the end of a chain of ' in told.out
    search = 'inverse kinematics of tool0: search (no closed form for these axes)'
    assert f'\n{search}\nmachine code is called by: ' in told.out
    assert max(map(len, lines)) < 120


def test_pairs_that_may_collide_and_the_others_are_listed(capsys):
    pytest.importorskip('coal')
    assert main([str(ARM), '--collisions']) == 0
    lines = capsys.readouterr().out.partition('\ncollisions\n')[2].splitlines()
    scene = Collisions(Robot.from_urdf(ARM), ARM)
    assert lines[0] == f'  checked: {len(scene.pairs)} pairs'
    assert '    hand_link, tool_link' in lines
    assert {line for line in lines if line.startswith('  adjacent: ')}
    assert sum(line.startswith('    ') for line in lines) == len(scene.pairs) + len(scene.allowed)


@pytest.mark.parametrize(
    ('case', 'told'),
    [('parallel', 'three parallel axes'), ('meeting_12', 'three axes through one point')],
)
def test_a_closed_form_is_named(capsys, tmp_path, case, told):
    rng = np.random.default_rng(0)
    file = tmp_path / 'six.urdf'
    file.write_text(urdf_of_axes(random_axes(rng, case), rng))
    _, page = inspected(capsys, file)
    assert f': closed form ({told}), all solutions' in page.out


@pytest.mark.parametrize(
    ('text', 'told'),
    [
        (robot(limit=''), "no range of positions is given for 'swing'"),
        (robot(limit=''), "no limit of velocity is given for 'swing'"),
        (robot(limit=''), "no limit of effort is given for 'swing'"),
        (robot(joint='<axis xyz="1 0 0"/>'), "more than one <axis> is in 'swing'"),
        (robot(link=''), "no mass is given for 'rod', which joints move"),
        (robot(link=inertial(moments=(0.01, 0.01, 0.5))), 'has the inertia of'),
        (robot(link=inertial(moments=(0, 0, 0))), "a mass without an inertia is given for 'rod'"),
        (robot(link=inertial(moments=(1, 1, 1))), "the inertia of 'rod' is larger than its shape"),
        (robot(link=inertial(center='0 0 200')), "the centre of mass of 'rod' lies outside"),
        (robot(link=inertial(mass=900)), "the mass of 'rod' is more than its shape of solid metal"),
        (
            robot(limit='lower="-180" upper="180" velocity="1" effort="1"'),
            "limits of 'swing' look like degrees",
        ),
        (
            robot(limit='lower="-1" upper="1" velocity="180" effort="1"'),
            "limits of velocity of 'swing' look like degrees a second",
        ),
        (robot(joint='<origin xyz="0 0 333"/>'), "joints 'swing' are more than 50 m from"),
        (
            robot(
                shape='<visual><geometry><mesh filename="package://gone/a.stl"/></geometry></visual>'
            ),
            "mesh 'package://gone/a.stl'",
        ),
    ],
)  # fmt: skip
def test_what_is_odd_is_named_with_the_element(capsys, tmp_path, text, told):
    code, page = of_text(capsys, tmp_path, text)
    assert code == 1
    odd = page.split('odd about this description\n')[1]
    assert told in odd
    assert all(line.startswith('  ! ') for line in odd.splitlines() if line)


def test_moving_bases_and_followers_are_told(capsys, tmp_path):
    follower = (
        '<link name="jaw"/><joint name="grip" type="prismatic"><parent link="rod"/>'
        '<child link="jaw"/><axis xyz="-1 0 0"/>'
        '<limit lower="0" upper="1" velocity="1" effort="1"/>'
        '<mimic joint="swing" multiplier="0.5" offset="0.1"/></joint></robot>'
    )
    text = robot().replace('</robot>', follower)
    _, page = of_text(capsys, tmp_path, text, '--root-joint', 'floating')
    assert 'floating base' in page
    assert re.search(r'base +root_joint \(floating\) +7 coordinates', page)
    assert re.search(r'jaw +grip \(prismatic\) +-x += 0\.5 swing \+0\.1', page)


def test_a_description_of_another_format_is_read(capsys, tmp_path):
    pytest.importorskip('mujoco')
    _, page = of_text(
        capsys,
        tmp_path,
        '<mujoco model="one"><worldbody><body name="base"><freejoint/><geom size="1" mass="1"/>'
        '<body name="rod" pos="0 0 1"><joint name="swing"/><geom size="1" mass="1"/></body></body>'
        '</worldbody></mujoco>',
    )
    assert 'one: 1 joints in q' in page and 'floating base, 2 kg that move' in page


@pytest.mark.parametrize(
    ('text', 'reason'),
    [('<robot', 'malformed XML'), ('', 'empty'), ('solid part', 'is no URDF')],
)
def test_what_is_no_robot_is_told_in_one_line(capsys, tmp_path, text, reason):
    file = tmp_path / 'bad.urdf'
    file.write_text(text)
    code, told = inspected(capsys, file)
    assert code == 2
    assert told.out == ''
    (line,) = told.err.splitlines()
    assert line.startswith('inspect: ')
    assert reason in line
