# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot says about itself, and descriptions in xacro."""

from __future__ import annotations

import pickle

import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import ModelError

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


def test_a_notebook_shows_joints_and_no_markup_of_names(two):
    shown = two._repr_html_()
    assert '<td>lift</td><td>prismatic</td><td>0</td><td>0.5</td><td>1</td><td>10</td>' in shown
    assert '<b>' not in shown and '&lt;b&gt;' in shown


class TestXacro:
    def test_a_file_is_expanded_with_its_arguments(self, tmp_path):
        pytest.importorskip('xacro')
        file = tmp_path / 'made.urdf.xacro'
        file.write_text(XACRO)
        assert Robot.from_urdf(file, backend='python').total_mass == 2.0
        heavy = Robot.from_urdf(str(file), backend='python', xacro_arguments={'mass': 3.5})
        assert heavy.total_mass == 7.0

    def test_what_xacro_refuses_is_told(self, tmp_path):
        pytest.importorskip('xacro')
        file = tmp_path / 'bad.xacro'
        file.write_text(XACRO.replace('2 * ', 'nothing * '))
        with pytest.raises(ModelError, match='xacro cannot expand it'):
            Robot.from_urdf(file)
        with pytest.raises(ModelError, match=r'missing\.xacro.* cannot be read: No such file'):
            Robot.from_urdf(tmp_path / 'missing.xacro')
