# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints are commanded: by order for efforts, those that move the frame for a servo."""

from __future__ import annotations

import pytest
from arm import NAMES, ROBOT

from dynamics_ros.commanding.joints import (
    check_effort_joints,
    effort_places,
    moved_joints,
    servo_joints,
)
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError

ELBOW = 'forearm_link'


def test_places_are_in_the_order_of_the_controller():
    assert effort_places(ROBOT, 'tool0', NAMES[::-1]).tolist() == [6, 5, 4, 3, 2, 1, 0]


def test_an_effort_controller_has_to_have_all_joints_that_move_the_frame():
    with pytest.raises(InvalidArgumentError, match=f'{NAMES[0]!r} moves .* and is missing'):
        effort_places(ROBOT, 'tool0', NAMES[1:])
    with pytest.raises(UnknownJointError, match='command_joints'):
        effort_places(ROBOT, 'tool0', [*NAMES, 'tail'])


@pytest.mark.parametrize('joints', [[], [*NAMES, NAMES[0]]])
def test_efforts_without_an_order_are_refused(joints):
    with pytest.raises(InvalidArgumentError, match='in its order'):
        check_effort_joints(joints)


def test_a_servo_commands_what_moves_its_frame_unless_it_is_told():
    moving = [name for name, moves in zip(NAMES, moved_joints(ROBOT, ELBOW), strict=True) if moves]
    assert 0 < len(moving) < len(NAMES)
    assert servo_joints(ROBOT, ELBOW, (), 'trajectory') == tuple(moving)
    assert servo_joints(ROBOT, ELBOW, NAMES[:2], 'velocity') == tuple(NAMES[:2])


def test_an_array_of_commands_needs_names():
    with pytest.raises(InvalidArgumentError, match='empty beside command_type velocity'):
        servo_joints(ROBOT, ELBOW, (), 'velocity')
    with pytest.raises(InvalidArgumentError, match='no joint moves'):
        moved_joints(ROBOT, ROBOT.root_frame)
