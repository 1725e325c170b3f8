# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Verdicts of scripts/demo: a wrong estimate is a failure, unless messages were missed."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState

from dynamics_ros.demo import client as clients
from dynamics_ros.demo.__main__ import Demonstration
from dynamics_ros.demo.client import Track
from dynamics_ros.demo.robots import Arm, Comparison

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.mark.parametrize(
    ('result', 'missed', 'verdict'),
    [
        (Comparison(20.0, 19.9, 'force', 0.5, True, 'contact'), False, 'all of it'),
        (Comparison(20.0, 22.0, 'force', 10.0, True, 'contact'), False, 'failed'),
        (Comparison(20.0, 19.9, 'force', 0.5, False, 'no contact'), False, 'failed'),
        (None, False, 'failed'),
        (Comparison(20.0, 22.0, 'force', 10.0, True, 'contact'), True, 'too slow'),
        (None, True, 'too slow'),
    ],
)
def test_verdict(result, missed, verdict, monkeypatch, capsys):
    robot = SimpleNamespace(massless_bodies=(), name='arm', joint_names=('a', 'b'))
    shown = MagicMock(robot=robot, force=[20.0, 0.0, 0.0], settling=0.0, frame='tool')
    shown.compare.return_value = result
    client = MagicMock(newest=0)
    client.misses_messages.return_value = missed
    monkeypatch.setattr('time.monotonic', iter(range(0, 1000, 10)).__next__)
    code = Demonstration(shown, 0.0).run(client, 6.0)
    out, err = capsys.readouterr()
    assert verdict in out
    assert code == bool(err) == (verdict == 'failed')


def test_a_robot_whose_links_have_no_mass_is_no_success(capsys):
    urdf = re.sub('<inertial>.*?</inertial>', '', ARM.read_text(), flags=re.DOTALL)
    assert Demonstration(Arm(urdf), 0.0)._end() == 1
    assert "no mass is given for 'shoulder_link'" in capsys.readouterr().err


def test_a_track_keeps_the_newest_messages_and_finds_gaps(monkeypatch):
    from rclpy.serialization import serialize_message

    monkeypatch.setattr(clients, 'LENGTH', 50)
    track, message = Track(JointState), JointState(name=['a'])
    assert track.latest is None
    for k in range(1, 61):
        message.header.stamp.nanosec = 10_000_000 * (k + 5 * (k > 40))
        track.add(serialize_message(message))
    assert track.latest.header.stamp.nanosec == track.newest == 650_000_000
    assert list(track.between(0, 130_000_000)) == [110_000_000, 120_000_000, 130_000_000]
    assert not track.misses_messages(110_000_000, 400_000_000)
    assert track.misses_messages(110_000_000, 650_000_000)
