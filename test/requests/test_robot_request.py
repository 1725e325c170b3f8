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


def carrying(mass, center=(0.0, 0.0, 0.1), inertia=0.0):
    """The request for a payload."""
    load = PayloadParameters.of('tool0', mass, np.array(center), inertia * np.eye(3))
    return replace(ARM, payload=load)


@pytest.mark.parametrize(
    ('request_', 'words'),
    [
        (carrying(1e6), 'payload.mass'),
        (carrying(100.0), 'what the robot itself weighs; the parameter largest_payload'),
        (replace(carrying(2.1), largest_payload=2.0), '2.1 kg.*up to 2 kg, largest_payload'),
        (carrying(1.0, (0.0, 11.0, 0.0)), 'payload.center_of_mass'),
        (carrying(1.0, inertia=1e7), 'payload.inertia'),
        (
            replace(ARM, payload=replace(PAYLOAD, frame='')),
            'payload.frame: is empty; expected the frame that carries the 2 kg',
        ),
    ],
)
def test_a_payload_that_nobody_can_mean_is_refused_and_the_one_before_stays(request_, words):
    maker = RobotMaker()
    before = made(maker, carrying(2.0)).robot
    with pytest.raises(InvalidArgumentError, match=words):
        made(maker, request_)
    assert made(maker, carrying(2.0)).robot is before


def test_a_bound_of_payloads_takes_the_place_of_the_weight_of_the_robot():
    maker = RobotMaker()
    weight = made(maker, ARM).robot.total_mass
    # The payload that it has does not count.
    for mass in (0.9 * weight, 0.99 * weight):
        assert made(maker, carrying(mass)).robot.total_mass == pytest.approx(weight + mass)
    with pytest.raises(InvalidArgumentError):
        made(maker, carrying(1.01 * weight))
    allowed = replace(carrying(1.5 * weight), largest_payload=2.0 * weight)
    assert made(maker, allowed).robot.total_mass == pytest.approx(2.5 * weight)


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
