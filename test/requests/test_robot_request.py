# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what is asked for to a robot: what is made anew, what stays, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm import description

from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.parameters.robot import LockedJointParameters
from dynamics_ros.requests.robot_request import (
    RobotMaker,
    RobotRequest,
    check_locked_joints,
    read_description,
)

ARM = RobotRequest(description(), backend='python')
PAYLOAD = PayloadParameters.of('tool0', 2.0, [0.0, 0.0, 0.1], np.zeros((3, 3)))


def made(maker: RobotMaker, request: RobotRequest):
    """The robot of a request."""
    return maker.make(request, lambda robot, frame: (robot, frame))


def test_the_same_request_is_the_same_robot_made_ready_anew():
    maker = RobotMaker()
    first, again = made(maker, ARM), made(maker, ARM)
    assert again.robot is first.robot
    assert again.prepared == (first.robot, first.default_frame)


def test_another_load_shares_what_is_compiled_and_another_description_does_not():
    maker = RobotMaker()
    bare = made(maker, ARM).robot
    q = bare.random_configuration(1)
    loaded = made(maker, replace(ARM, payload=PAYLOAD, gravity=(0.0, 9.81, 0.0))).robot
    assert loaded.shares_kernels_with(bare)
    wanted = bare.with_gravity((0.0, 9.81, 0.0)).with_payload('tool0', 2.0, [0.0, 0.0, 0.1])
    assert loaded.gravity(q) == pytest.approx(wanted.gravity(q))
    other = made(maker, replace(ARM, locked_names=(bare.joint_names[0],), locked_positions=(0.1,)))
    assert other.robot.nv == bare.nv - 1
    assert not other.robot.shares_kernels_with(bare)


@pytest.mark.parametrize(
    ('text', 'words'),
    [('', 'is empty'), ('/etc/robot.urdf', 'starts with'), ('<robot', 'robot')],
)
def test_what_is_no_description_is_refused_and_no_file_is_read(text, words):
    with pytest.raises(ModelError, match=words):
        read_description(text)


@pytest.mark.parametrize(
    ('names', 'positions', 'words'),
    [(('a',), (), '1 names and 0 positions'), (('a', 'a'), (0.0, 1.0), 'named twice')],
)
def test_names_and_positions_of_locked_joints_belong_together(names, positions, words):
    with pytest.raises(InvalidArgumentError, match=words):
        check_locked_joints(LockedJointParameters(names, positions))
