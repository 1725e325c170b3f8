# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the URDF reader understands, takes with a warning, and refuses with a reason."""

import importlib.metadata
import logging
import math
import time
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from urdf_texts import inertial, joint, link, only_inertial, only_joint, refusal, robot

from dynamics_ros.errors import ModelError
from dynamics_ros.model import hardened_xml
from dynamics_ros.model.description import Limits, Mimic
from dynamics_ros.model.urdf import parse_urdf, read_urdf, rotation_of_rpy

DEFAULT_ROBOT = Path(__file__).resolve().parents[2] / 'urdf' / 'seven_joint_arm.urdf'
RIGHT_ANGLE = math.pi / 2


def test_a_path_text_and_bytes_of_a_file_give_the_same_robot(tmp_path, caplog):
    text = DEFAULT_ROBOT.read_text()
    from_text = read_urdf(text)
    assert not caplog.records
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


@pytest.mark.parametrize(
    ('declaration', 'encoding'),
    [
        ('encoding="utf-8"', 'utf-8-sig'),
        ("encoding = 'ISO-8859-5' standalone='yes'", 'iso-8859-5'),
        ('encoding="KOI8-R"', 'koi8-r'),
        ('encoding="utf-16"', 'utf-16'),
        ('', 'utf-8'),
    ],
)
def test_a_file_is_decoded_as_it_declares(tmp_path, declaration, encoding):
    file = tmp_path / 'robot.urdf'
    text = f'<?xml version="1.0" {declaration}?><robot name="робот"><link name="a"/></robot>'
    file.write_bytes(text.encode(encoding))
    assert read_urdf(file).name == 'робот'


@pytest.mark.parametrize('encoding', ['klingon', 'rot13', 'zlib', 'idna', '_Punycode', 'ascii'])
def test_an_encoding_that_is_unknown_wrong_or_slow_is_refused(tmp_path, encoding):
    file = tmp_path / 'robot.urdf'
    text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="é"><link name="a"/></robot>'
    file.write_bytes(text.encode())
    with pytest.raises(ModelError, match='save it as XML in UTF-8'):
        read_urdf(file)


@pytest.mark.parametrize('before', ['\ufeff', '\n\n  ', '\ufeff\r\n'])
def test_blanks_and_a_byte_order_mark_may_stand_before_the_declaration(before):
    text = f'{before}<?xml version="1.0" encoding="ascii"?>{robot(links="a")}'
    assert read_urdf(text).root == 'a'


class TestJoints:
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
        assert only_joint('<limit lower="1" upper="-1"/>', 'fixed').limits == Limits()

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


COLLECTION = sorted(
    Path(file.locate())
    for file in importlib.metadata.files('example-robot-data') or ()
    if file.suffix == '.urdf'
)

# Robots of the collection that cannot be read, and the true reason.
REFUSED = {
    'ur3.urdf': ('robot', 'has no attribute name'),  # an empty xacro expansion
    'romeo_laas_small.urdf': ("link 'body' inertial inertia", 'negative principal moment'),
    'alex_psyonic_hands.urdf': ("joint 'Left_index_q2' mimic", "there is no joint 'index_q1'"),
}


class TestCollection:
    @pytest.mark.parametrize('path', COLLECTION, ids=lambda path: path.name)
    @pytest.mark.few(20)
    def test_loads_as_in_pinocchio_or_is_refused_for_a_true_reason(self, path):
        if path.name in REFUSED:
            element, reason = REFUSED[path.name]
            with pytest.raises(ModelError, match=reason) as caught:
                read_urdf(path)
            assert caught.value.element == element
            return
        description = read_urdf(path)
        # A free root, so that pinocchio counts the mass of the root link too.
        peer = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
        bodies = [f.name for f in peer.frames if f.type == pinocchio.FrameType.BODY]
        assert sorted(found.name for found in description.links) == sorted(bodies)
        moving = [found.name for found in description.joints if found.type != 'fixed']
        assert sorted(moving) == sorted(list(peer.names)[2:])
        # Sums of at most two hundred masses in another order.
        total = sum(found.inertial.mass for found in description.links)
        assert total == pytest.approx(pinocchio.computeTotalMass(peer), rel=1e-12)


XML_REFUSALS = {
    'nothing': ('', 'robot description', 'empty'),
    'unclosed': ('<robot name="r">\n<link name="a">\n', 'robot description', 'line 3, column 1'),
    'crossed': (
        '\n<robot name="r">\n  <link></robot>',
        'robot description',
        'malformed XML at line 3, column 11: mismatched tag',
    ),
    'crossed behind a comment': (
        '<robot name="r"><!-- a -- b\n <b> --><link></robot>',
        'robot description',
        'malformed XML at line 2, column 17: mismatched tag',
    ),
    'two documents': (robot(links='a') * 2, 'robot description', 'junk after document element'),
    'not XML': ('robot: {}', 'robot description', 'malformed XML at line 1, column 1'),
    'a zero byte': ('<robot name="r\0"/>', 'robot description', 'malformed XML'),
    'half a character': ('<robot name="\ud800"/>', 'robot description', 'a lone surrogate'),
    'another format': ('<sdf version="1.7"/>', 'robot description', '<sdf>, expected <robot>'),
    'undefined entity': ('<robot name="&who;"/>', 'robot description', 'undefined entity'),
    'entity bomb': (
        '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY a "aaa"><!ENTITY b "&a;&a;&a;">]>'
        '<robot name="&b;"/>',
        'robot description',
        'document type declaration at line 2',
    ),
    'external entity': (
        '<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/hostname">]><robot name="&f;"/>',
        'robot description',
        'document type declaration',
    ),
    'xacro tags': (
        '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">\n<xacro:include/></robot>',
        "'xacro:include' at line 2",
        'run xacro first',
    ),
    'xacro expression': (
        robot(joint('<origin xyz="${x} 0 0"/>')),
        "joint 'j' origin",
        "xyz='${x} 0 0' is a xacro expression; run xacro first",
    ),
    'xacro argument': (robot('<link name="$(arg p)a"/>'), "link '$(arg p)a'", 'run xacro first'),
}

STRUCTURE_REFUSALS = {
    'robot without name': ('<robot><link name="a"/></robot>', 'robot', 'no attribute name'),
    'no link': ('<robot name="r"/>', "robot 'r'", 'has no link'),
    'link without name': (robot('\n<link/>'), 'link', 'has no attribute name (line 2)'),
    'joint without name': (robot('<joint type="fixed"/>'), 'joint', 'has no attribute name'),
    'empty name': (robot(links=' '), "link ' '", 'attribute name is empty'),
    'invisible name': (robot('<link name="a&#10;b"/>'), r"link 'a\nb'", 'cannot be printed'),
    'name that turns the text': (robot(links='\u202e'), r"link '\u202e'", 'cannot be printed'),
    'endless name': (robot(f'<link name="{"x" * 5000}"/>'), "link 'xxx", 'has 5000 characters'),
    'two links of a name': (robot(links='aba'), "link 'a'", 'a second link of this name'),
    'two joints of a name': (
        robot(joint(), joint(child='c'), links='abc'),
        "joint 'j'",
        'a second joint of this name',
    ),
    'two roots': (robot(), 'robot description', "has 2 root links, 'a', 'b'"),
    'a cycle beside the root': (
        robot(joint(name='j', parent='b', child='c'), joint(name='k', parent='c'), links='abc'),
        "joint 'j'",
        "closes a cycle of joints, 'j', 'k'",
    ),
    'a cycle of all': (
        robot(joint(name='j'), joint(name='k', parent='b', child='a')),
        "joint 'j'",
        "closes a cycle of joints, 'j', 'k'",
    ),
    'a joint from a link to itself': (
        robot(joint(child='a'), links='a'),
        "joint 'j'",
        "closes a cycle of joints, 'j'",
    ),
    'unknown parent': (robot(joint(parent='z')), "joint 'j' parent", "there is no link 'z'"),
    'unknown child': (robot(joint(child='z')), "joint 'j' child", "there is no link 'z'"),
    'no parent': (robot('<joint name="j" type="fixed"/>'), "joint 'j'", 'no <parent> element'),
    'parent without link': (
        robot('<joint name="j" type="fixed"><parent/></joint>'),
        "joint 'j' parent",
        'has no attribute link',
    ),
    'two parent joints': (
        robot(joint(), joint(name='k', parent='c'), links='abc'),
        "link 'b'",
        "has two parent joints, 'j' and 'k'",
    ),
    'two parents': (robot(joint('<parent link="a"/>')), "joint 'j'", 'has 2 <parent> elements'),
    'no type': (robot('<joint name="j"/>'), "joint 'j'", 'has no attribute type'),
    'unknown type': (robot(joint(type='screw')), "joint 'j'", "unknown type 'screw'"),
}

K = joint(name='k', child='c')
BACK = joint('<mimic joint="j"/>', name='k', child='c')
FIXED = joint(name='k', child='c', type='fixed')
L = joint('<mimic joint="l" multiplier="1e20"/>', name='k', child='c') + joint(name='l', child='d')

# Content of joint j, its element that is named, the reason, and other joints.
VALUE_REFUSALS = [
    ('<axis xyz="0 0 0"/>', 'axis', 'is zero', ''),
    ('<axis/>', 'axis', 'has no attribute xyz', ''),
    ('<limit lower="1" upper="-1"/>', 'limit', 'lower 1 is above upper -1', ''),
    ('<limit velocity="-2"/>', 'limit', 'is negative', ''),
    ('<limit effort="-2"/>', 'limit', 'is negative', ''),
    ('<dynamics damping="-1"/>', 'dynamics', 'is negative', ''),
    ('<dynamics friction="-1"/>', 'dynamics', 'is negative', ''),
    ('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', 'origin', 'both rpy and quat_xyzw', ''),
    ('<origin quat_xyzw="0 0 0 0"/>', 'origin', 'quat_xyzw is zero', ''),
    ('<mimic/>', 'mimic', 'has no attribute joint', ''),
    ('<mimic joint="z"/>', 'mimic', "there is no joint 'z'", ''),
    ('<mimic joint="j"/>', 'mimic', 'follows itself', ''),
    ('<mimic joint="k"/>', 'mimic', "follows itself: 'j', 'k', 'j'", BACK),
    ('<mimic joint="k"/>', 'mimic', "a fixed joint, 'k', has no single coordinate", FIXED),
    ('<mimic joint="k" multiplier="1e20"/>', 'mimic', 'too large', L),
]

INERTIAL_REFUSALS = {
    'negative mass': (inertial(mass='-1'), "link 'a' inertial mass", '-1 kg is negative'),
    'mass NaN': (inertial(mass='nan'), "link 'a' inertial mass", "'nan', which is not finite"),
    'no mass': (link('<inertial/>'), "link 'a' inertial", 'has no <mass> element'),
    'no inertia': (
        link('<inertial><mass value="1"/></inertial>'),
        "link 'a' inertial",
        'has no <inertia> element',
    ),
    'a negative moment': (
        inertial(moments=(1, 1, -0.5)),
        "link 'a' inertial inertia",
        'a negative principal moment, -0.5 kg m^2',
    ),
    'a negative moment about a skew axis': (
        inertial(moments=(1, 1, 1), products=(2, 0, 0)),
        "link 'a' inertial inertia",
        'a negative principal moment, -1 kg m^2',
    ),
    'origin NaN': (
        inertial(origin='<origin xyz="0 NaN 0"/>'),
        "link 'a' inertial origin",
        "xyz has 'NaN', which is not finite",
    ),
}

BAD_NUMBERS = {
    'nan 0 0': "'nan', which is not finite",
    '0 0 Infinity': "'Infinity', which is not finite",
    '1e400 0 0': "'1e400', which is too large",
    '1e31 0 0': "'1e31', which is too large",
    '1 2': 'has 2 values, expected 3 numbers',
    '': 'has 0 values, expected 3 numbers',
    '1,0 0 0': "'1,0', which is not a decimal number; a decimal point is written",
    'one 0 0': "'one', which is not a decimal number",
    '0x10 0 0': "'0x10', which is not a decimal number",
    '1_0 0 0': "'1_0', which is not a decimal number",
    '1e 0 0': "'1e', which is not a decimal number",
    '. 0 0': "'.', which is not a decimal number",
    '\u0661 0 0': 'which is not a decimal number',
    '\uff11 0 0': 'which is not a decimal number',
    '0\u00a00 0 0': 'which is not a decimal number',
}


class TestRefusals:
    """Each is one ModelError that names the element and the reason."""

    @pytest.mark.parametrize(
        ('text', 'element', 'reason'),
        [
            pytest.param(*values, id=name)
            for name, values in (XML_REFUSALS | STRUCTURE_REFUSALS | INERTIAL_REFUSALS).items()
        ],
    )
    def test_name_the_element_and_the_reason(self, text, element, reason):
        error = refusal(text)
        assert error.element.startswith(element)
        assert reason in error.reason

    @pytest.mark.parametrize(('content', 'element', 'reason', 'others'), VALUE_REFUSALS)
    def test_of_joints_name_the_joint(self, content, element, reason, others):
        error = refusal(robot(joint(content) + others, links='abcd'))
        assert error.element == f"joint 'j' {element}"
        assert reason in error.reason

    @pytest.mark.parametrize(
        ('content', 'kind', 'reason'),
        [
            ('<axis xyz="0 0 0"/>', 'planar', 'is zero'),
            ('<mimic joint="k"/>', 'floating', 'a floating joint has no single coordinate'),
        ],
    )
    def test_of_other_kinds_name_the_joint(self, content, kind, reason):
        error = refusal(robot(joint(content, type=kind) + K, links='abcd'))
        assert error.element.startswith("joint 'j' ") and reason in error.reason

    @pytest.mark.parametrize(('numbers', 'reason'), BAD_NUMBERS.items())
    def test_of_numbers_quote_them(self, numbers, reason):
        error = refusal(robot(joint(f'<origin xyz="{numbers}"/>')))
        assert error.element == "joint 'j' origin"
        assert reason in error.reason

    @pytest.mark.parametrize(
        'content',
        ['<limit velocity="nan"/>', '<dynamics damping="x"/>', '<mimic joint="k" offset="inf"/>'],
    )
    def test_of_numbers_hold_everywhere(self, content):
        error = refusal(robot(joint(content) + joint(name='k', child='c'), links='abc'))
        assert error.element.startswith("joint 'j' ")

    @pytest.mark.parametrize(
        'source', ['no/such/file.urdf', 'robot: yaml', 'zero\0byte', 'x' * 10_000, Path('/')]
    )
    def test_of_files_name_the_file(self, source):
        with pytest.raises(ModelError, match=r'cannot be read|no such file') as caught:
            read_urdf(source)
        assert caught.value.element.startswith('file ')


def chain(length):
    """A robot of one chain."""
    links = ''.join(f'<link name="l{i}"/>' for i in range(length))
    joints = ''.join(
        joint(name=f'j{i}', parent=f'l{i}', child=f'l{i + 1}', type='continuous')
        for i in range(length - 1)
    )
    return f'<robot name="r">{links}{joints}</robot>'


class TestSize:
    """A description is bounded in time, memory and depth, whoever wrote it."""

    @pytest.mark.parametrize(
        ('text', 'reason'),
        [
            pytest.param(chain(10_001), 'has more than 10000 links', id='links'),
            pytest.param(
                robot(*(joint(name=str(i)) for i in range(10_001))),
                'has more than 10000 joints',
                id='joints',
            ),
            pytest.param('<robot>' + '<a>' * 1000, 'nested deeper than 256', id='depth'),
            pytest.param('<' * 50_000_001, 'larger than 50 MB', id='size'),
            pytest.param(
                link(f'<inertial><mass value="{"9" * 1_000_000}"/></inertial>'),
                'has 1000000 characters, at most 4096',
                id='a number',
            ),
        ],
    )
    def test_beyond_the_bounds_is_refused_at_once(self, text, reason):
        start = time.thread_time()
        error = refusal(text)
        assert reason in error.reason
        assert time.thread_time() - start < 2.0
        assert len(str(error)) < 300

    def test_elements_are_counted_while_they_are_read(self, monkeypatch):
        monkeypatch.setattr(hardened_xml, 'MAXIMUM_ELEMENTS', 100)
        assert 'more than 100 elements' in refusal('<robot>' + '<a/>' * 200).reason
