# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states that come late, of one driver or two: every state is answered, none in the past."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT
from geometry_msgs.msg import PoseStamped
from message_values import joint_values
from publishers import taking_turns
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_harness import client, running, stamp_of
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.wire.conversions import nanoseconds

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 50
CONTACT = 'contact_node'
MS = 10**6
PERIOD = 2 * MS
CYCLES = 500
SETTLED = 100
"""Cycles until the observer has."""

HALVES = [0, 1, 2, 3], [4, 5, 6]
EVERY = list(range(7))

DEEP = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)


class Arm:
    """An arm that moves and is pushed, from a stamp on."""

    def __init__(self, start: int) -> None:
        self.start = start

    def at(self, stamp: int, joints: Sequence[int], told: int | None = None) -> JointState:
        """What joints report of the time of a stamp, as of another one if that is told."""
        t = (stamp - self.start) * 1e-9
        rates, phase = np.linspace(2.0, 3.2, 7), np.arange(7.0)
        q = 0.4 * np.sin(rates * t + phase)
        v = 0.4 * rates * np.cos(rates * t + phase)
        a = -0.4 * rates**2 * np.sin(rates * t + phase)
        push = np.array([25.0, 10.0, -8.0]) * np.sin(np.pi * t) ** 2
        effort = ROBOT.inverse_dynamics(q, v, a) - ROBOT.jacobian(q, 'tool0')[:3].T @ push
        message = JointState(name=[NAMES[i] for i in joints])
        message.header.stamp = stamp_of(stamp if told is None else told)
        message.position, message.velocity, message.effort = (
            x[joints].tolist() for x in (q, v, effort)
        )
        return message

    def felt(self) -> CubicSpline:
        """External torques by the time [s], as the estimators have them of one publisher."""
        pipeline = ContactPipeline(ROBOT, ContactParameters(frames=('tool0',)), 'tool0')
        pipeline.compile(wait=True)
        buffer, times, torques = StateBuffer(ROBOT, (), 1.0), [], []
        for k in range(CYCLES):
            buffer.update(joint_values(self.at(self.start + k * PERIOD, EVERY)))
            external = pipeline.update(buffer.due_state())
            if external is not None:
                times.append(k * PERIOD * 1e-9)
                torques.append(external.values)
        return CubicSpline(times, torques)


@pytest.fixture(scope='module')
def ros():
    parameters = {
        'robot_description': ARM,
        'frames': ['tool0'],
        'publish_tf': True,
        # What is lost is lost on purpose.
        'qos_overrides./joint_states.subscription.reliability': 'reliable',
    }
    with running('dynamics_ros', DOMAIN, parameters), client(DOMAIN) as one:
        one.wait_for(lambda: one.status('contact_node').hardware_id)
        yield one


class Listener:
    """What the nodes publish, and two drivers that publish joint states."""

    def __init__(self, ros) -> None:
        self.ros = ros
        self.superseded = self._superseded = 0
        self.torques = ros.listen(JointState, '/contact_node/external_torques', DEEP)
        self.poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose', DEEP)
        self.tf = ros.listen(TFMessage, '/tf', DEEP)
        self.drivers = [ros.node.create_publisher(JointState, '/joint_states', DEEP) for _ in '12']
        for driver in self.drivers:
            ros.wait_for(lambda driver=driver: driver.get_subscription_count() > 0)

    def run(self, messages: Sequence[tuple[int, JointState]], last: int) -> None:
        """Publish messages, each by one of the drivers, until the state of a stamp is answered.

        Or a newer one than that.
        """
        waiting = deque(messages)
        for received in (self.torques, self.poses, self.tf):
            received.clear()

        first = self.sent = nanoseconds(messages[0][1].header.stamp)

        def send() -> None:
            answered = self.stamps(self.poses)[-1] if self.poses else first
            # Never so much ahead that the node would answer the newest only.
            while waiting:
                stamp = nanoseconds(waiting[0][1].header.stamp)
                if stamp - answered > 4 * PERIOD:
                    return
                driver, message = waiting.popleft()
                self.sent = max(self.sent, stamp)
                self.drivers[driver].publish(message)

        self.ros.wait_for(
            lambda: not waiting and last <= self.stamps(self.poses)[-1] <= self.sent,
            meanwhile=send,
            period=0.004,
        )
        every = self.poses, self.torques, self.tf
        self.ros.wait_for(lambda: len({tuple(self.stamps(x)[-1:]) for x in every}) == 1)
        key = 'joint_states not answered, newer ones waited'
        before, self._superseded = self._superseded, int(self.ros.wait_for_report(CONTACT)[key])
        # On a machine that is too busy; otherwise none.
        self.superseded = self._superseded - before

    @staticmethod
    def stamps(messages: Sequence) -> list[int]:
        headers = [getattr(m, 'header', None) or m.transforms[0].header for m in messages]
        return [nanoseconds(header.stamp) for header in headers]

    def assert_never_back(self) -> None:
        for messages in (self.torques, self.poses, self.tf):
            steps = np.diff(self.stamps(messages))
            # The first few states, until two drivers know each other, are answered anew.
            assert steps.min() >= 0
            assert steps[10:].min() > 0


@pytest.fixture(scope='module')
def listener(ros):
    found = Listener(ros)
    yield found
    for driver in found.drivers:
        ros.node.destroy_publisher(driver)


@pytest.mark.parametrize('millis', [0.5, 3.0])
def test_two_drivers_are_felt_like_one(ros, listener, millis):
    """Halves that are sampled up to 3 ms apart; 1 % is lost and 1 % comes after the next."""
    shift = round(millis * MS)
    arm = Arm(nanoseconds(ros.next_stamp(10.0)))
    order, whole = taking_turns(PERIOD, shift, CYCLES, True, chance=0.01, start=arm.start)
    messages, newest = [], [0, 0]
    for stamp, which in order:
        driver = int(which[0] > 0)
        messages.append((driver, arm.at(stamp, HALVES[driver])))
        newest[driver] = max(newest[driver], stamp)
    ros.next_stamp(1e-9 * CYCLES * PERIOD)
    listener.run(messages, min(newest) - PERIOD)

    stamps = np.array(listener.stamps(listener.torques))
    began = arm.start + SETTLED * PERIOD
    late = stamps > began
    listener.assert_never_back()
    # All whole cycles are answered, in which the observer had settled.
    assert late.sum() >= whole - SETTLED - 5 - listener.superseded
    times = (stamps[late] - arm.start) * 1e-9
    torques = np.array([message.effort for message in listener.torques])[late]
    expected = arm.felt()(times)
    assert np.sqrt(np.mean(expected**2)) > 1.0
    error = np.sqrt(np.mean((torques - expected) ** 2) / np.mean(expected**2))
    assert error < 0.01


def test_a_driver_whose_clock_is_ahead_is_answered_and_told(ros, listener):
    """By 3 ms, steadily: that is not lateness."""
    arm, ahead = Arm(nanoseconds(ros.next_stamp(10.0))), 3 * MS
    before = ros.wait_for_report('kinematics_node')
    messages = []
    for k in range(CYCLES):
        stamp = arm.start + k * PERIOD
        messages.append((1, arm.at(stamp, HALVES[1], told=stamp + ahead)))
        messages.append((0, arm.at(stamp, HALVES[0])))
    ros.next_stamp(1e-9 * CYCLES * PERIOD)
    listener.run(messages, stamp)
    listener.assert_never_back()
    assert len(listener.torques) > CYCLES - SETTLED - listener.superseded
    values = ros.wait_for_report('kinematics_node')
    key = 'joint_states late: dropped'
    assert int(values[key]) - int(before[key]) <= 5  # while they get to know each other
