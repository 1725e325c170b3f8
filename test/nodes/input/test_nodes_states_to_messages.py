# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a stream of joint states equals what the library computes of the same states.

Whatever the robot and whatever happens in the stream.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip('rclpy')

from nav_msgs.msg import Odometry
from nodes_and_library import (
    CASES,
    MILLISECOND,
    ROBOT,
    SHUFFLED,
    START,
    Case,
    Library,
    Nodes,
    Stream,
    assert_same,
)
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros.nodes.outputs import Output
from dynamics_ros_msgs.msg import ContactState

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 59


def messages(kind: str, time: int) -> Iterator[JointState | str]:
    """A stream from that time [ns] on in which something happens; a string is a service to call."""
    stream = Stream(time)
    push = ROBOT.jacobian(np.zeros(7), 'tool0').T @ np.array([30.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    if kind == 'another order of joints':
        stream.order = SHUFFLED
    for i in range(250):
        message = stream.state(push if kind == 'contact' and 120 < i < 200 else None)
        if i >= 100 and i % 40 == 0:
            if kind == 'a gap':
                message = stream.state(step=300 * MILLISECOND)
            elif kind == 'the same stamp again':
                yield message
            elif kind == 'a stamp in the past':
                stream.time -= 5 * MILLISECOND
            elif kind == 'a message overtaken by the next':
                yield stream.state()
            elif kind == 'a clock set back':
                stream.time -= 2000 * MILLISECOND
            elif kind == 'no effort of one joint':
                message.effort[2] = float('nan')
            elif kind == 'no velocities':
                message.velocity = []
            elif kind == 'no efforts':
                message.effort = []
            elif kind == 'some joints only':
                message.name, message.position = message.name[:3], message.position[:3]
                message.velocity, message.effort = message.velocity[:3], message.effort[:3]
            elif kind == 'no number':
                message.position[1] = float('nan')
            elif kind == 'another joint too':
                for field in (message.position, message.velocity, message.effort):
                    field.append(0.5)
                message.name.append('gripper')
            elif kind == 'outliers':
                field = (message.effort, message.velocity, message.position)[i // 40 % 3]
                field[i // 40 % 7] += (3.0, 1e308)[i // 40 % 2]
            elif kind == 'another frame_id':
                message.header.frame_id = f'frame{i}'
        yield message
        if kind == 'tare' and i in (150, 200):
            yield 'tare' if i == 150 else 'undo_tare'


KINDS = (
    *('nothing happens', 'another order of joints', 'a gap', 'the same stamp again'),
    *('a stamp in the past', 'a message overtaken by the next', 'a clock set back'),
    *('no effort of one joint', 'no velocities', 'no efforts', 'some joints only'),
    *('no number', 'outliers', 'another joint too', 'another frame_id', 'tare', 'contact'),
)


@pytest.fixture(scope='class')
def everybody_listens():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Output, 'has_subscribers', lambda self, now: 'markers' not in self.topic)
        yield


@pytest.fixture(scope='class')
def arm(tmp_path_factory, everybody_listens):
    nodes = Nodes(tmp_path_factory.mktemp('arm'), DOMAIN)
    nodes.listen()
    yield nodes, Library(nodes)
    nodes.close()


class TestArm:
    @pytest.mark.parametrize('what', KINDS)
    def test_an_arm_publishes_what_the_library_computes(self, arm, what):
        begin = START + KINDS.index(what) * 100 * 10**9
        found = assert_same(*arm, messages(what, begin))
        assert found['kinematics_node/tool0/pose'] > 200
        # Not while the observer settles after a start, for 40 states or more.
        assert found['contact_node/tool0/estimate'] > 50
        touched = found[ContactState.CONTACT] + found[ContactState.COLLISION]
        assert (touched > 0) == (what == 'contact')


@pytest.mark.parametrize('name', [name for name in CASES if name != 'arm'])
def test_another_robot_publishes_what_the_library_computes(tmp_path, everybody_listens, name):
    case = CASES[name]
    nodes = Nodes(tmp_path, DOMAIN, case=case)
    try:
        nodes.listen()
        library = Library(nodes)
        found = assert_same(nodes, library, reported(case, library.robot))
    finally:
        nodes.close()
    frame = case.frames[0]
    assert found[f'kinematics_node/{frame}/pose'] > 250
    assert found[f'contact_node/{frame}/estimate'] > 150
    if 'feet.frames' in case.contact:
        assert found['contact_node/foot_contacts'] > 150


def reported(case: Case, robot: Robot) -> Iterator[JointState | Odometry]:
    """How a robot reports, with a gap, a repeated stamp and numbers that are none."""
    stream = Stream(START, robot, case.extra)
    if stream.base:
        yield stream.odometry()
    for i in range(300):
        message = stream.state(step=150 * MILLISECOND if i == 200 else MILLISECOND)
        if stream.base and i % 5 == 0:
            yield stream.odometry()
        if i == 250:
            message.effort[1] = float('nan')
        if case.publishers == 1:
            yield message
            if i == 100:
                yield message
            continue
        half = len(message.name) // 2
        for part in (slice(0, half), slice(half, None)):
            yield JointState(
                header=message.header,
                name=message.name[part],
                position=message.position[part],
                velocity=message.velocity[part],
                effort=message.effort[part],
            )
