# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What urdfdom takes, and with it every tool of ROS: taken with a warning, or refused with reason.

The peer is urdfdom itself, as Pinocchio has it built in.
"""

import logging
import time

import numpy as np
import pinocchio
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import ModelError
from dynamics_ros.model.hardened_xml import read_xml
from dynamics_ros.model.urdf import parse_urdf

INERTIAL = (
    '<inertial><mass value="1"/><origin xyz="0.1 0.2 0.3"/>{}'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
HALF = '<limit lower="-0.5" upper="0.5" effort="2" velocity="1"/>'


def robot(content='', *, type='revolute', inertial='', name='arm', before=''):
    """Two links and a joint 'elbow' between them."""
    return (
        f'<robot name="{name}">{before}<link name="base"/>'
        f'<link name="hand">{INERTIAL.format(inertial)}</link>'
        f'<joint name="elbow" type="{type}"><parent link="base"/><child link="hand"/>'
        f'{content}</joint></robot>'
    )


TAKEN = {
    'two axes': (
        robot(f'<axis xyz="0 0 1"/>{LIMIT}<axis xyz="0 1 0"/>'),
        "more than one <axis> is in 'elbow'; the first counts",
    ),
    'two origins': (
        robot(f'<origin xyz="1 0 0"/><origin xyz="0 2 0" rpy="1 0 0"/>{LIMIT}'),
        "more than one <origin> is in 'elbow'; the first counts",
    ),
    'two limits': (
        robot(f'<axis xyz="0 1 0"/>{LIMIT}{HALF}'),
        "more than one <limit> is in 'elbow'; the first counts",
    ),
    'two dynamics': (
        robot(f'<dynamics damping="1"/><dynamics damping="2"/>{LIMIT}'),
        "more than one <dynamics> is in 'elbow'; the first counts",
    ),
    'two origins of an inertial': (
        robot(LIMIT, inertial='<origin xyz="3 0 0"/>'),
        "more than one <origin> is in 'hand'; the first counts",
    ),
}


@pytest.mark.parametrize(('text', 'doubt'), TAKEN.values(), ids=TAKEN)
def test_is_taken_as_by_urdfdom_with_a_warning_that_names_it(text, doubt, caplog):
    description = parse_urdf(text)
    (sentence,) = description.doubts
    assert doubt in sentence and sentence.startswith("robot 'arm': ")
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.WARNING, sentence)
    assert_as_in_pinocchio(text)


class TestNegativeLimitsOfEffortAndVelocity:
    """Pinocchio refuses them after urdfdom has taken them."""

    def test_of_minus_one_are_unlimited_as_in_sdf_with_a_warning(self, caplog):
        text = robot('<limit lower="-1" upper="1" effort="-1" velocity="-1"/>')
        (joint,) = parse_urdf(text).joints
        assert (joint.limits.effort, joint.limits.velocity) == (np.inf, np.inf)
        (record,) = caplog.records
        assert "a limit of -1 is given for 'elbow'; it is taken as unlimited" in record.message


SAYS_NOTHING = {
    'axis of a fixed joint': robot('<axis xyz=""/>', type='fixed'),
    'no name': robot(LIMIT, name=''),
    'dashes in a comment': robot(LIMIT, before='<!-- ---- left -- arm ---- -->'),
}


@pytest.mark.parametrize('case', SAYS_NOTHING)
def test_what_says_nothing_is_so_for_urdfdom(case):
    assert_as_in_pinocchio(SAYS_NOTHING[case])


def assert_as_in_pinocchio(text):
    ours, peer = Robot.from_urdf(text), pinocchio.buildModelFromXML(text)
    data = peer.createData()
    q = np.full(peer.nq, 0.3)
    assert ours.nv == peer.nv
    assert np.allclose(ours.gravity(q), pinocchio.computeGeneralizedGravity(peer, data, q))
    pinocchio.framesForwardKinematics(peer, data, q)
    pose = data.oMf[peer.getFrameId('hand')].homogeneous
    assert np.allclose(ours.forward_kinematics(q, 'hand'), pose)
    assert np.allclose(ours.lower_limits, peer.lowerPositionLimit)
    assert np.allclose(ours.upper_limits, peer.upperPositionLimit)


def test_what_urdfdom_takes_but_leaves_open_what_is_meant_is_refused():
    text = robot(LIMIT, inertial='<mass value="2"/>')
    pinocchio.buildModelFromXML(text)
    with pytest.raises(ModelError, match='has 2 <mass> elements'):
        parse_urdf(text)


class TestComments:
    def test_do_not_swallow_what_follows_other_sections(self):
        text = (
            '<robot name="r"><?tool <!-- ?><![CDATA[<!--]]><link name="a"/>'
            '<!-- a -- b --><?tool --> ?></robot>'
        )
        assert [link.name for link in parse_urdf(text).links] == ['a']

    def test_that_do_not_end_are_refused_in_linear_time(self):
        start = time.thread_time()
        with pytest.raises(ModelError, match='malformed XML'):
            read_xml('<robot name="r"><!-- -- ' + '<!--' * 2_000_000)
        assert time.thread_time() - start < 2.0
