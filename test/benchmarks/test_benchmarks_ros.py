"""The benchmark of the nodes: its source sends what it says, its meter counts and times answers."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import serialize_message
from ros_harness import occupy
from sensor_msgs.msg import JointState

from benchmarks.ros_meter import Measurement, Meter, nanoseconds, start
from benchmarks.ros_source import STAMP

pytestmark = pytest.mark.ros

DOMAIN = 88


@pytest.fixture
def meter(monkeypatch):
    occupy(DOMAIN)
    monkeypatch.setitem(os.environ, 'ROS_DOMAIN_ID', str(DOMAIN))
    one = Meter()
    yield one
    one.close()


def test_an_echo_answers_every_joint_state_at_a_cost(meter, tmp_path):
    state = JointState(name=['a', 'b'], position=[1.0, 2.0])
    (tmp_path / 'joint_state').write_bytes(serialize_message(state))
    entry = {'topic': 'out', 'type': 'sensor_msgs/JointState', 'file': 'joint_state'}
    (tmp_path / 'topics.json').write_text(json.dumps([{**entry, 'timed': True, 'every': True}]))
    echo = start('ros_echo', str(tmp_path), '--ros-args', '-r', '__ns:=/echo')
    try:
        with meter.listening({'/echo/out': 'sensor_msgs/JointState'}, '/echo/out'):
            with meter.publishing('echo', state) as publish:
                meter.first_answer(publish)
            found = meter.measure(echo.pid, 'echo', tmp_path / 'joint_state', 200.0, 1.0)
    finally:
        echo.terminate()
        assert echo.wait(20.0) == 0
    assert found.sent == 200
    assert found.received == 200
    assert 0.9 < found.seconds < 2.0
    assert found.cost > 0.0
    assert 0.0 < found.percentile(50.0) <= found.percentile(99.0)


def test_what_is_not_answered_is_lost():
    one = Measurement(1000, 998, 1.0, 0.5, np.arange(998.0), ())
    assert one.lost == pytest.approx(0.002)
    assert replace(one, received=1000).lost == 0.0
    assert one.cost == pytest.approx(0.5e6 / 998)


def test_stamps_are_read_from_bytes():
    assert nanoseconds(STAMP.pack(3, 7)) == 3_000_000_007
