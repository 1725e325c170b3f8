# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints are commanded: by order for efforts, those that move the frame for a servo."""

from __future__ import annotations

import numpy as np
import pytest
from arm import NAMES, ROBOT

from dynamics_ros import Robot
from dynamics_ros.commanding.joints import (
    commanded_joints,
    moved_joints,
    nearest_equivalent_angles,
    turning_joints,
)
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError

ELBOW = 'forearm_link'


def test_an_effort_controller_has_to_have_all_joints_that_move_the_frame():
    with pytest.raises(InvalidArgumentError, match=f'{NAMES[0]!r} moves .* and is missing'):
        commanded_joints(ROBOT, 'tool0', NAMES[1:], 'effort')
    with pytest.raises(UnknownJointError, match='command_joints'):
        commanded_joints(ROBOT, 'tool0', [*NAMES, 'tail'], 'effort')


@pytest.mark.parametrize('joints', [[], [*NAMES, NAMES[0]]])
@pytest.mark.parametrize('kind', ['effort', 'velocity'])
def test_arrays_without_an_order_are_refused(joints, kind):
    with pytest.raises(InvalidArgumentError, match='in its order'):
        commanded_joints(ROBOT, ELBOW, joints, kind)


def test_a_servo_commands_what_moves_its_frame_unless_it_is_told():
    moving = [name for name, moves in zip(NAMES, moved_joints(ROBOT, ELBOW), strict=True) if moves]
    assert 0 < len(moving) < len(NAMES)
    assert commanded_joints(ROBOT, ELBOW, (), 'trajectory') == tuple(moving)
    assert commanded_joints(ROBOT, ELBOW, NAMES[:2], 'velocity') == tuple(NAMES[:2])
    with pytest.raises(InvalidArgumentError, match='no joint moves'):
        moved_joints(ROBOT, ROBOT.root_frame)


TURNING = np.array([True, False, True])


@pytest.mark.parametrize(
    ('told', 'before', 'expected'),
    [
        ([-3.1, 0.0, 0.0], [3.1, 0.0, 0.0], [2.0 * np.pi - 3.1, 0.0, 0.0]),
        ([3.1, 0.0, 0.0], [-3.1, 0.0, 0.0], [3.1 - 2.0 * np.pi, 0.0, 0.0]),
        ([0.1, 0.0, 0.2], [0.0, 0.0, 6.0 * np.pi], [0.1, 0.0, 0.2 + 6.0 * np.pi]),
        # One with a range has jumped.
        ([0.0, -3.1, 0.0], [0.0, 3.1, 0.0], [0.0, -3.1, 0.0]),
        # So has one that is half a turn away, or nearly so.
        ([2.9, 0.0, 0.0], [0.0, 0.0, 0.0], [2.9, 0.0, 0.0]),
    ],
)
def test_angles_of_continuous_joints_go_on_where_a_driver_wraps_them(told, before, expected):
    assert nearest_equivalent_angles(np.array(told), np.array(before), TURNING) == pytest.approx(
        expected
    )


def test_only_continuous_joints_that_lead_no_other_may_be_told_turns_off():
    links = ''.join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link>'
        for name in 'abcdef'
    )

    def joint(name, kind, parent, child, more=''):
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/>{more}'
            '</joint>'
        )

    joints = [
        joint('turns', 'continuous', 'a', 'b'),
        joint('ends', 'revolute', 'b', 'c'),
        joint('leads', 'continuous', 'c', 'd'),
        joint('follows', 'continuous', 'd', 'e', '<mimic joint="leads" multiplier="0.5"/>'),
        joint('slides', 'prismatic', 'e', 'f'),
    ]
    robot = Robot.from_urdf(f'<robot name="x">{links}{"".join(joints)}</robot>')
    found = turning_joints(robot)
    turning = [name for name, place in robot.joint_q_indices.items() if found[place]]
    assert turning == ['turns']
