# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that are replaced: nothing of them stays, whoever listens, and the newest wins."""

from __future__ import annotations

import gc
import os
import time
import weakref
from typing import Any

import pytest
from patience import PATIENCE, times

pytest.importorskip('rclpy')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from ros_harness import LATCHED, occupy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from urdf_texts import massive_link

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.process import background
from dynamics_ros.nodes.executables import build_composed
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.workers import SupersededError
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros_msgs.msg import ExternalWrench

pytestmark = pytest.mark.ros

DOMAIN = 105
PERIOD = 0.02

LISTENED = (
    (PoseStamped, 'kinematics_node/rod/pose'),
    (JointState, 'dynamics_node/gravity_torques'),
    (JointState, 'contact_node/external_torques'),
    (ExternalWrench, 'contact_node/rod/estimate'),
    (DiagnosticArray, '/diagnostics'),
)

PHASES = {
    # By back end: listeners, efforts, swaps usually and with --thorough
    'auto': ((True, True, 3, 20),),
    'python': ((True, False, 6, 60), (False, True, 6, 60), (False, False, 6, 60)),
}


def arm(i: int) -> str:
    """URDF of a link on a joint, with a shape to be touched; another one for each number."""
    body = massive_link('rod', 1.0 + i).replace(
        '</link>', '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>'
    )
    return (
        f'<robot name="arm{i}"><link name="base"/>{body}<joint name="swing" type="continuous">'
        '<parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )


class Rig:
    """The three nodes on one robot in this process, and who sends to them and listens."""

    def __init__(self, backend: str) -> None:
        occupy(DOMAIN)
        rclpy.init(args=['--ros-args', '-p', f'backend:={backend}'], domain_id=DOMAIN)
        built = build_composed()
        self.context: Any = built.context
        self.parts, self.nodes = self.context.components, list(built.nodes)
        other = self.other = GuardedNode('robot')
        self.nodes.append(other)
        self.efforts = True
        self.states = other.create_publisher(JointState, 'joint_states', 10)
        self.descriptions = other.create_publisher(String, 'robot_description', LATCHED)
        self.heard = []
        self.subscriptions = []
        self.executor = SingleThreadedExecutor()
        for node in self.nodes:
            self.executor.add_node(node)
        self.executor.create_task(self.context.start, self.executor)
        self.spin_until(lambda: self.context.threads.executor)

    def listen(self, wanted: bool) -> None:
        """Listen to every output, or to none."""
        for subscription in self.subscriptions:
            self.other.destroy_subscription(subscription)
        self.subscriptions = [
            self.other.create_subscription(kind, topic, self.heard.append, 100)
            for kind, topic in LISTENED * wanted
        ]

    def send(self) -> None:
        message = JointState(name=['swing'], position=[0.1], velocity=[0.0])
        if self.efforts:
            message.effort = [1.0]
        message.header.stamp = self.context.now()
        self.states.publish(message)

    def describe(self, i: int) -> None:
        self.descriptions.publish(String(data=arm(i)))

    def spin_until(self, condition, meanwhile=lambda: None) -> None:
        deadline, due = time.monotonic() + PATIENCE, 0.0
        while not condition():
            now = time.monotonic()
            assert now < deadline, 'waited in vain'
            if now >= due:
                meanwhile()
                due = now + PERIOD
            self.executor.spin_once(timeout_sec=PERIOD)

    @property
    def name(self) -> str:
        """Of the robot in force."""
        return self.context.robot.name if self.context.robot else ''

    def swap(self, i: int) -> None:
        self.describe(i)
        self.spin_until(lambda: self.name == f'arm{i}', self.send)

    def idle(self) -> bool:
        """Whether the geometry of the robot in force has been read."""
        contact = self.parts[2]
        return contact._location.status == 'of 1 links' and contact._location._locator is not None

    def close(self) -> None:
        self.executor.shutdown()
        for node in self.nodes:
            node.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def robots(monkeypatch):
    """Every robot that is alive, frozen objects of the collector too."""
    alive = weakref.WeakSet()
    make = Robot.__init__

    def made(self, *arguments, **options):
        make(self, *arguments, **options)
        alive.add(self)

    monkeypatch.setattr(Robot, '__init__', made)
    return alive


@pytest.fixture
def rig(backend):
    one = Rig(backend)
    yield one
    one.close()
    background.disable_process()


def resources() -> tuple[int, int]:
    """Files and threads of this process."""
    return len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task'))


MOST = 10
"""Robots, however many there have been: the one in force and its twin that contacts are located on;
and those that the observer has not gone over from, while it is given no samples."""


def alive(robots) -> int:
    """How many there are once nothing refers to the others."""
    gc.collect()
    return len(robots)


@pytest.mark.slow
@pytest.mark.parametrize('backend', PHASES)
def test_swaps_leave_no_robot_thread_or_file_behind(robots, rig, backend):
    i, before = 0, {}
    for turn in (2, 1):  # the first turn is short, and finds out what there has to be
        for listeners, efforts, usual, many in PHASES[backend]:
            name = f'listeners: {listeners}, efforts: {efforts}'
            rig.efforts = efforts
            rig.listen(listeners)
            for _ in range(3 if turn == 2 else times(usual, many)):
                i += 1
                rig.swap(i)
            rig.spin_until(rig.idle, rig.send)
            # Until the observer has gone over from the robot before.
            rig.spin_until(lambda: alive(robots) <= MOST, rig.send)
            if turn == 2:
                before[name] = resources()
            else:
                few_files, few_threads = before[name]
                # A folder of the cache may be open for a moment.
                rig.spin_until(lambda most=few_files: resources()[0] <= most, rig.send)
                assert resources()[1] <= few_threads + 1  # the one that compiles comes and goes
            assert bool(rig.heard) == listeners
            rig.heard.clear()


@pytest.mark.parametrize('backend', ['python'])
def test_changes_apply_in_their_order_and_only_the_newest_of_a_subject(rig):
    rig.swap(1)
    change, payload = rig.context.changes.change, PayloadParameters('rod', 1.0)
    wanted = [('payload', payload), *(('robot_description', arm(i)) for i in (2, 3, 2))]
    names = {'payload': 'payload', 'robot_description': 'description'}
    results = [change(subject, **{names[subject]: value}) for subject, value in wanted]
    rig.spin_until(lambda: all(result.done() for result in results))
    kinds = [type(result.exception()) for result in results]
    assert kinds == [type(None), SupersededError, SupersededError, type(None)]
    assert rig.context.built.request.payload == payload
    assert rig.name == 'arm2'


@pytest.mark.parametrize('backend', ['python'])
def test_refusals_that_vary_do_not_flood_the_log(rig, capfd):
    changes = rig.context.changes
    for number in range(100):
        changes.report('payload', InvalidArgumentError('payload', f'{number} kg', 'less'))
    assert capfd.readouterr().err.count('payload refused') == 20
    assert '99 kg' in changes.refusal


@pytest.mark.parametrize('backend', ['python'])
def test_gravity_is_followed_while_a_payload_is_approached_in_steps(rig, monkeypatch):
    rig.swap(20)
    monkeypatch.setattr(type(rig.parts[1]), 'sends_torques', True)
    change, gravity = rig.context.changes.change, (0.1, 0.0, -9.81)
    loading = change('payload', payload=PayloadParameters('rod', 5.0))
    rig.spin_until(lambda: 0.0 < rig.context.built.request.payload.mass < 5.0)
    tilted = change('gravity', gravity=gravity)
    rig.spin_until(tilted.done)
    assert not loading.done()
    assert rig.context.built.request.gravity == gravity
    rig.spin_until(loading.done)
    assert rig.context.built.request.payload.mass == 5.0


@pytest.mark.parametrize('backend', ['python'])
def test_a_payload_that_moves_the_arm_can_be_taken_back(rig, monkeypatch):
    rig.swap(1)
    part, changes = rig.parts[0], rig.context.changes
    monkeypatch.setattr(type(part), 'sends_torques', True)
    monkeypatch.setattr(part, 'resistance', lambda _before: 'moves the arm')
    before = rig.context.built.request.payload
    heavy = changes.change('payload', payload=PayloadParameters('rod', 2.0))
    rig.spin_until(lambda: heavy.done() or rig.context.built.request.payload != before)
    assert not heavy.done(), heavy.exception()
    light = changes.change('payload', payload=before)
    rig.spin_until(lambda: heavy.done() and light.done())
    assert isinstance(heavy.exception(), SupersededError)
    assert light.exception() is None
    assert rig.context.built.request.payload == before
