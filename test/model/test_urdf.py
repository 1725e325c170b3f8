# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the URDF reader understands."""

import logging
import math
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from urdf_texts import joint, only_inertial, only_joint, robot

from dynamics_ros.model.description import Limits, Mimic
from dynamics_ros.model.urdf import parse_urdf, read_urdf, rotation_of_rpy

DEFAULT_ROBOT = Path(__file__).resolve().parents[2] / 'urdf' / 'seven_joint_arm.urdf'
RIGHT_ANGLE = math.pi / 2


def test_a_path_text_and_bytes_of_a_file_give_the_same_robot(tmp_path):
    text = DEFAULT_ROBOT.read_text()
    from_text = read_urdf(text)
    assert read_urdf(DEFAULT_ROBOT) == from_text
    assert read_urdf(str(DEFAULT_ROBOT)) == from_text
    assert parse_urdf(text) == from_text
    in_latin = tmp_path / 'latin.urdf'
    in_latin.write_bytes(
        '<?xml version="1.0" encoding="latin-1"?><robot name="é"><link name="a"/></robot>'.encode(
            'latin-1'
        )
    )
    assert read_urdf(in_latin).name == 'é'


@pytest.mark.parametrize('before', ['\ufeff', '\n\n  ', '\ufeff\r\n'])
def test_blanks_and_a_byte_order_mark_may_stand_before_the_declaration(before):
    text = f'{before}<?xml version="1.0" encoding="ascii"?>{robot(links="a")}'
    assert read_urdf(text).root == 'a'


class TestJoints:
    @pytest.mark.parametrize(
        'kind', ['fixed', 'revolute', 'continuous', 'prismatic', 'planar', 'floating']
    )
    def test_of_every_type_are_read(self, kind):
        found = only_joint(type=kind)
        assert (found.type, found.parent, found.child) == (kind, 'a', 'b')

    def test_come_depth_first_with_children_in_the_order_of_the_text(self):
        description = parse_urdf(
            robot(
                joint(name='late', parent='b', child='d'),
                joint(name='first', parent='a', child='b'),
                joint(name='second', parent='a', child='c'),
                joint(name='later', parent='b', child='e'),
                links='edcba',
            )
        )
        assert description.root == 'a'
        assert [found.name for found in description.joints] == ['first', 'late', 'later', 'second']
        assert [found.name for found in description.links] == ['a', 'b', 'd', 'e', 'c']

    @pytest.mark.parametrize(
        ('text', 'axis'),
        [
            ('', (1, 0, 0)),
            ('<axis xyz="0 0 -7"/>', (0, 0, -1)),
            ('<axis xyz="0 3 4"/>', (0, 0.6, 0.8)),
            ('<axis xyz="1e-200 0 0"/>', (1, 0, 0)),
            ('<axis xyz="0 6.1e-17 1"/>', (0, 0, 1)),
            ('<axis xyz="\n 0\t1  0 "/>', (0, 1, 0)),
        ],
    )
    def test_have_a_unit_axis_x_by_default(self, text, axis):
        assert only_joint(text).axis == axis

    def test_other_tags_are_passed_over_and_meshes_never_opened(self):
        text = robot(
            '<transmission name="t"><joint name="nowhere"/></transmission>',
            '<gazebo reference="x"><sensor/></gazebo><material name="m"/><ros2_control/>',
            '<link name="a"><visual><origin xyz="x y z"/><geometry>'
            '<mesh filename="package://absent/a.dae"/></geometry></visual></link>',
            links='',
        )
        assert parse_urdf(text).root == 'a'


class TestLimits:
    def test_are_read(self):
        limits = only_joint('<limit lower="-1" upper="2" velocity="3" effort="4"/>').limits
        assert limits == Limits(-1.0, 2.0, 3.0, 4.0)

    @pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
    @pytest.mark.parametrize(
        'text',
        [
            '',
            '<limit/>',
            '<limit effort="0" velocity="0"/>',
            '<limit lower="0" upper="0" effort="0" velocity="0"/>',
        ],
    )
    def test_that_are_not_given_or_zero_are_infinite_with_a_warning(self, kind, text, caplog):
        assert only_joint(text, kind).limits == Limits()
        assert "no range of positions is given for 'j'" in caplog.text


class TestMimic:
    def test_names_its_leader_multiplier_and_offset(self):
        description = parse_urdf(
            robot(
                joint('<mimic joint="k" multiplier="-2" offset="0.5"/>'),
                joint(name='k', parent='b', child='c'),
                links='abc',
            )
        )
        assert description.joints[0].mimic == Mimic('k', -2.0, 0.5)
        assert description.joints[1].mimic is None

    def test_of_a_mimic_is_resolved_to_the_leader_of_all(self):
        description = parse_urdf(
            robot(
                joint('<mimic joint="k" multiplier="2" offset="1"/>', name='j'),
                joint('<mimic joint="l" multiplier="3" offset="10"/>', name='k', child='c'),
                joint(name='l', child='d'),
                links='abcd',
            )
        )
        # 2 (3 q + 10) + 1
        assert description.joints[0].mimic == Mimic('l', 6.0, 21.0)
        assert description.joints[1].mimic == Mimic('l', 3.0, 10.0)


class TestOrigin:
    @pytest.mark.parametrize('roll', range(-4, 5))
    @pytest.mark.parametrize('yaw', range(-4, 5))
    def test_rotations_by_right_angles_are_exact(self, roll, yaw):
        for pitch in range(-4, 5):
            matrix = np.array(rotation_of_rpy(*(n * RIGHT_ANGLE for n in (roll, pitch, yaw))))
            assert set(np.abs(matrix).ravel()) == {0.0, 1.0}
            assert np.array_equal(matrix @ matrix.T, np.eye(3))
            assert np.linalg.det(matrix) > 0
            assert not np.any(np.signbit(matrix) & (matrix == 0.0))

    def test_rpy_are_fixed_axis_angles(self):
        rng = np.random.default_rng(3)
        for rpy in rng.uniform(-math.pi, math.pi, (100, 3)):
            expected = pinocchio.rpy.rpyToMatrix(*rpy)
            # Products of three cosines: a few roundings of 1e-16.
            assert np.allclose(rotation_of_rpy(*rpy), expected, rtol=0, atol=1e-15)

    def test_may_be_given_by_a_quaternion(self):
        origin = only_joint('<origin xyz="1 2 3" quat_xyzw="0 0 2 2"/>').origin
        assert origin.translation == (1, 2, 3)
        assert origin.rotation == ((0, -1, 0), (1, 0, 0), (0, 0, 1))


class TestInertial:
    def test_is_turned_into_the_axes_of_the_link(self):
        origin = f'<origin xyz="1 2 3" rpy="0 0 {RIGHT_ANGLE!r}"/>'
        found = only_inertial(mass='2', moments=(3, 4, 5), products=(0.1, 0.2, 0.3), origin=origin)
        assert (found.mass, found.center_of_mass) == (2.0, (1.0, 2.0, 3.0))
        assert found.inertia == ((4, -0.1, -0.3), (-0.1, 3, 0.2), (-0.3, 0.2, 5))

    def test_turned_by_any_angle_keeps_its_moments_and_is_exactly_symmetric(self):
        found = only_inertial(moments=(3, 4, 5), origin='<origin rpy="0.3 -1 2"/>')
        inertia = np.array(found.inertia)
        assert np.array_equal(inertia, inertia.T)
        # Two products of rotations with entries of size 5.
        assert np.allclose(np.linalg.eigvalsh(inertia), (3, 4, 5), rtol=0, atol=1e-14)

    @pytest.mark.parametrize(
        'moments',
        [(0, 0, 0), (1, 1, 0), (1, 1, 2), (0.01, 0.02, 0.03), (1e-8, 1e-8, -4e-7)],
        ids=['a point', 'a rod', 'a disc', 'a plate', 'rounded to six decimals'],
    )
    def test_of_a_thing_that_can_exist_is_taken_as_it_is(self, moments):
        inertia = only_inertial(moments=moments).inertia
        assert tuple(inertia[i][i] for i in range(3)) == moments

    def test_of_a_thing_that_cannot_exist_is_used_with_a_warning(self, caplog):
        with caplog.at_level(logging.WARNING):
            found = only_inertial(moments=(1, 1, 3))
        assert found.inertia[2][2] == 3.0
        assert "no distribution of mass has the inertia of 'a'" in caplog.text
