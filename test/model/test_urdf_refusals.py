# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the URDF reader refuses, with the element and the reason, and the bounds that it keeps."""

import time
from pathlib import Path

import pytest
from urdf_texts import inertial, joint, link, refusal, robot

from dynamics_ros.errors import ModelError
from dynamics_ros.model import hardened_xml
from dynamics_ros.model.urdf import read_urdf

XML_REFUSALS = {
    'nothing': ('', 'robot description', 'empty'),
    'only blanks': (' \n\t', 'robot description', 'empty'),
    'unclosed': ('<robot name="r">\n<link name="a">\n', 'robot description', 'line 3, column 1'),
    'crossed': (
        '\n<robot name="r">\n  <link></robot>',
        'robot description',
        'malformed XML at line 3, column 11: mismatched tag',
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
    'external DTD': (
        '<!DOCTYPE robot SYSTEM "http://example.com/robot.dtd"><robot name="r"/>',
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

VALUE_REFUSALS = {
    'zero axis': (joint('<axis xyz="0 0 0"/>'), "joint 'j' axis", 'is zero'),
    'zero plane': (joint('<axis xyz="0 0 0"/>', type='planar'), "joint 'j' axis", 'is zero'),
    'axis without numbers': (joint('<axis/>'), "joint 'j' axis", 'has no attribute xyz'),
    'lower above upper': (
        joint('<limit lower="1" upper="-1"/>'),
        "joint 'j' limit",
        'lower 1 is above upper -1',
    ),
    'negative velocity': (joint('<limit velocity="-2"/>'), "joint 'j' limit", 'is negative'),
    'negative effort': (joint('<limit effort="-2"/>'), "joint 'j' limit", 'is negative'),
    'negative damping': (joint('<dynamics damping="-1"/>'), "joint 'j' dynamics", 'is negative'),
    'negative friction': (joint('<dynamics friction="-1"/>'), "joint 'j' dynamics", 'is negative'),
    'rotation given twice': (
        joint('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'),
        "joint 'j' origin",
        'both rpy and quat_xyzw',
    ),
    'zero quaternion': (
        joint('<origin quat_xyzw="0 0 0 0"/>'),
        "joint 'j' origin",
        'quat_xyzw is zero',
    ),
    'mimic of nobody': (joint('<mimic/>'), "joint 'j' mimic", 'has no attribute joint'),
    'mimic of unknown': (
        joint('<mimic joint="z"/>'),
        "joint 'j' mimic",
        "there is no joint 'z'",
    ),
    'mimic of itself': (joint('<mimic joint="j"/>'), "joint 'j' mimic", 'follows itself'),
    'mimics in a cycle': (
        joint('<mimic joint="k"/>') + joint('<mimic joint="j"/>', name='k', child='c'),
        "joint 'j' mimic",
        "follows itself: 'j', 'k', 'j'",
    ),
    'mimic of a fixed joint': (
        joint('<mimic joint="k"/>') + joint(name='k', child='c', type='fixed'),
        "joint 'j' mimic",
        "a fixed joint, 'k', has no single coordinate",
    ),
    'a floating mimic': (
        joint('<mimic joint="k"/>', type='floating') + joint(name='k', child='c'),
        "joint 'j' mimic",
        'a floating joint has no single coordinate',
    ),
    'mimic multipliers that overflow': (
        joint('<mimic joint="k" multiplier="1e20"/>')
        + joint('<mimic joint="l" multiplier="1e20"/>', name='k', child='c')
        + joint(name='l', child='d'),
        "joint 'j' mimic",
        'too large',
    ),
}

INERTIAL_REFUSALS = {
    'negative mass': (inertial(mass='-1'), "link 'a' inertial mass", '-1 kg is negative'),
    'mass NaN': (inertial(mass='nan'), "link 'a' inertial mass", "'nan', which is not finite"),
    'no mass': (link('<inertial/>'), "link 'a' inertial", 'has no <mass> element'),
    'mass without value': (
        link('<inertial><mass/></inertial>'),
        "link 'a' inertial mass",
        'has no attribute value',
    ),
    'no inertia': (
        link('<inertial><mass value="1"/></inertial>'),
        "link 'a' inertial",
        'has no <inertia> element',
    ),
    'inertia in part': (
        link('<inertial><mass value="1"/><inertia ixx="1"/></inertial>'),
        "link 'a' inertial inertia",
        'has no attribute iyy',
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
    'two inertials': (link('<inertial/><inertial/>'), "link 'a'", 'has 2 <inertial> elements'),
    'origin NaN': (
        inertial(origin='<origin xyz="0 NaN 0"/>'),
        "link 'a' inertial origin",
        "xyz has 'NaN', which is not finite",
    ),
}

BAD_NUMBERS = {
    'nan 0 0': "'nan', which is not finite",
    '0 -inf 0': "'-inf', which is not finite",
    '0 0 Infinity': "'Infinity', which is not finite",
    '1e400 0 0': "'1e400', which is too large",
    '1e31 0 0': "'1e31', which is too large",
    '1 2': 'has 2 values, expected 3 numbers',
    '': 'has 0 values, expected 3 numbers',
    '1 2 3 4': 'has 4 values, expected 3 numbers',
    '1,0 0 0': "'1,0', which is not a decimal number; a decimal point is written",
    '1, 0, 0': "'1,', which is not a decimal number",
    'one 0 0': "'one', which is not a decimal number",
    '0x10 0 0': "'0x10', which is not a decimal number",
    '1_0 0 0': "'1_0', which is not a decimal number",
    '1e 0 0': "'1e', which is not a decimal number",
    '. 0 0': "'.', which is not a decimal number",
    '--1 0 0': "'--1', which is not a decimal number",
    '1.5f 0 0': "'1.5f', which is not a decimal number",
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

    @pytest.mark.parametrize(
        ('joints', 'element', 'reason'),
        [pytest.param(*values, id=name) for name, values in VALUE_REFUSALS.items()],
    )
    def test_of_joints_name_the_joint(self, joints, element, reason):
        error = refusal(robot(joints, links='abcd'))
        assert error.element == element
        assert reason in error.reason

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
        with pytest.raises(ModelError, match='cannot be read') as caught:
            read_urdf(source)
        assert caught.value.element.startswith('file ')


def chain(length, mimic=False):
    """A robot of one chain; with ``mimic``, each joint follows the next and the last leads."""
    links = ''.join(f'<link name="l{i}"/>' for i in range(length))
    joints = ''.join(
        joint(
            f'<mimic joint="j{i + 1}"/>' if mimic and i < length - 2 else '',
            name=f'j{i}',
            parent=f'l{i}',
            child=f'l{i + 1}',
            type='continuous',
        )
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
        start = time.process_time()
        error = refusal(text)
        assert reason in error.reason
        assert time.process_time() - start < 2.0
        assert len(str(error)) < 300

    def test_elements_are_counted_while_they_are_read(self, monkeypatch):
        monkeypatch.setattr(hardened_xml, 'MAXIMUM_ELEMENTS', 100)
        assert 'more than 100 elements' in refusal('<robot>' + '<a/>' * 200).reason

    def test_a_file_that_does_not_end_is_refused(self):
        with pytest.raises(ModelError, match='not a regular file'):
            read_urdf('/dev/zero')
