# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated time: ages by the clock that is right for each, also after it has been reset."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from ros_harness import client, running, stamp_of
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from servo_harness import CAMERA, SPEED, play
from urdf_texts import pendulum

from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeDynamicsTerms

pytestmark = pytest.mark.ros

DOMAIN = 44
SECOND = 10**9
LIMIT = 5.0


class Simulated:
    """A node that has the time of this test, and joint states when the test wants."""

    def __init__(self, ros):
        self.ros, self.time = ros, 100 * SECOND

    def tell(self):
        self.ros.publish('/clock', Clock(clock=stamp_of(self.time)))

    def code(self):
        name = '/dynamics_node/compute_dynamics_terms'
        return self.ros.call(ComputeDynamicsTerms, name).result

    def at(self, seconds):
        """The code of a request that needs the latest state, when the node has this time."""
        self.time = round(seconds * SECOND)
        # What is told of the node's clock has the node's time.
        self.ros.wait_for(
            lambda: self.ros.reported_at('dynamics_node') == self.time, meanwhile=self.tell
        )
        return self.code()

    def hear(self):
        """Have the node hear a joint state."""
        torques = self.ros.listen(JointState, '/dynamics_node/gravity_torques')
        self.ros.exchange(self.ros.joint_state(['swing'], [0.5], [0.0]), torques)


def test_a_state_is_as_old_as_the_simulation_says():
    parameters = {
        'robot_description': pendulum('swinging'),
        'use_sim_time': True,
        'state_timeout': LIMIT,
    }
    with running('dynamics_node', DOMAIN, parameters), client(DOMAIN) as ros:
        one = Simulated(ros)
        one.at(100.0)
        one.hear()
        assert one.code().code == Result.SUCCESS
        assert one.at(100.0 + 0.9 * LIMIT).code == Result.SUCCESS
        # In no time of the machine.
        assert one.at(100.0 + 1.1 * LIMIT).code == Result.STALE_STATE
        one.hear()
        assert one.code().code == Result.SUCCESS
        # Back to less than the limit before the state came: it is of another run all the same.
        after = one.at(99.0)
        assert after.code == Result.STALE_STATE
        assert 'before the clock was reset' in after.message
        one.hear()
        assert one.code().code == Result.SUCCESS


def test_a_state_grows_no_older_while_the_simulation_stands_still():
    parameters = {
        'robot_description': pendulum('swinging'),
        'use_sim_time': True,
        'state_timeout': 0.05,
    }
    with running('dynamics_node', DOMAIN, parameters), client(DOMAIN) as ros:
        one = Simulated(ros)
        one.at(100.0)
        one.hear()
        # Diagnostics come once a second.
        ros.diagnostics.clear()
        ros.wait_for(lambda: ros.diagnostics)
        assert one.code().code == Result.SUCCESS


@pytest.fixture
def led():
    """The servo in simulated time, led in the frame of a camera."""
    with play(DOMAIN, use_sim_time=True, transform_timeout=2.0, joint_state_timeout=10.0) as one:
        one.twist, one.frame_id = [0.0, 0.0, SPEED, 0.0, 0.0, 0.0], CAMERA
        one.clock = SimpleNamespace(time=100 * SECOND)
        yield one


def simulate(led, seen=None):
    """Let simulated time go on, with joint states and commands; tf where it is told a time."""

    def step():
        led.clock.time += SECOND // 50
        led.ros.publish('/clock', Clock(clock=stamp_of(led.clock.time)))
        if seen is not None:
            led.see(stamp_of(seen()))
        led.both()

    return step


def test_transforms_of_before_a_reset_are_not_fresh(led):
    now = simulate(led, lambda: led.clock.time)
    led.wait_for_status('following', now)
    led.clock.time = 10 * SECOND
    led.wait_for_status('halted', simulate(led))
    # What is told from now on counts at once.
    led.wait_for_status('following', now)


def test_a_transform_far_ahead_is_not_fresh(led):
    led.wait_for_status('following', simulate(led, lambda: led.clock.time + SECOND))
    status = led.wait_for_status('halted', simulate(led, lambda: led.clock.time + 50 * SECOND))
    assert 'ahead of now by more than 2 s' in status.message


def test_the_simulator_tells_its_time():
    parameters = {'publish_clock': True, 'use_sim_time': True, 'speed': 0.5}
    nodes = {'use_sim_time': True, 'state_timeout': LIMIT}
    with (
        running('robot_simulator', DOMAIN + 1, parameters),
        running('dynamics_node', DOMAIN + 1, nodes),
        client(DOMAIN + 1) as ros,
    ):
        times = ros.listen(Clock, '/clock', 1000)
        states = ros.listen(JointState, '/joint_states', 1000)
        ros.wait_for(lambda: len(states) > 100 and len(times) > 100)
        told = [(m.clock.sec, m.clock.nanosec) for m in times]
        stamps = [(m.header.stamp.sec, m.header.stamp.nanosec) for m in states]
        assert told == sorted(set(told))
        common = [stamp for stamp in stamps if told[0] <= stamp <= told[-1]]
        assert len(common) > 50
        assert set(common) <= set(told)
        # A node that lives in this time is as late as a message takes.
        ros.wait_for_status('dynamics_node', 'publishing')
        first = ros.reported_at('dynamics_node')
        ros.wait_for(lambda: ros.reported_at('dynamics_node') > first)
        latest = states[-1].header.stamp.sec * SECOND + states[-1].header.stamp.nanosec
        assert abs(ros.reported_at('dynamics_node') - latest) < 2 * SECOND
