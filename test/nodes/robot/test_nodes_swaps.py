# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that are replaced: nothing of them stays, whoever listens, and the newest wins."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from functools import partial

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
from dynamics_ros.estimation.contact.geometry import ContactGeometry
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.kernels.process import system as freed_memory
from dynamics_ros.nodes.contact_node import Contact
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.diagnostics import Diagnostics, start_reports
from dynamics_ros.nodes.dynamics_node import Dynamics
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.kinematics_node import Kinematics
from dynamics_ros.nodes.lifecycle import ManagedNode
from dynamics_ros.nodes.workers import BusyError, SupersededError, Worker
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

PHASES = (
    # backend, listeners, efforts, swaps usually and with --thorough: machine code takes its time
    ('auto', True, True, 5, 20),
    ('python', True, False, 15, 60),
    ('python', False, True, 15, 60),
    ('python', False, False, 15, 60),
)


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

    def __init__(self) -> None:
        occupy(DOMAIN)
        self.ros = rclpy.Context()
        rclpy.init(context=self.ros, domain_id=DOMAIN)
        kinds = {'kinematics_node': Kinematics, 'dynamics_node': Dynamics, 'contact_node': Contact}
        self.nodes = [ManagedNode(name, context=self.ros) for name in kinds]
        self.context = RobotContext(self.nodes[1])
        self.parts = [
            kind(node, self.context) for kind, node in zip(kinds.values(), self.nodes, strict=True)
        ]
        for part in self.parts:
            self.context.add(part)
        start_reports(self.nodes[1], [Diagnostics(self.context, part) for part in self.parts])
        other = self.other = GuardedNode('robot', context=self.ros)
        self.nodes.append(other)
        self.efforts = True
        self.states = other.create_publisher(JointState, 'joint_states', 10)
        self.descriptions = other.create_publisher(String, 'robot_description', LATCHED)
        self.heard = []
        self.subscriptions = []
        self.executor = SingleThreadedExecutor(context=self.ros)
        for node in self.nodes:
            self.executor.add_node(node)
        self.executor.create_task(self.context.start, self.executor)
        self.spin_until(lambda: self.context.executor)

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
        rclpy.shutdown(context=self.ros)


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
def rig():
    one = Rig()
    yield one
    one.close()
    compile_process.disable()


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
def test_swaps_leave_no_robot_thread_or_file_behind(robots, rig):
    i, before = 0, {}
    for turn in (2, 1):  # the first turn is short, and finds out what there has to be
        for backend, listeners, efforts, usual, many in PHASES:
            name = f'{backend}, listeners: {listeners}, efforts: {efforts}'
            rig.efforts = efforts
            rig.listen(listeners)
            parameter = rclpy.parameter.Parameter('backend', value=backend)
            assert rig.nodes[1].set_parameters([parameter])[0].successful
            for _ in range(3 if turn == 2 else times(usual, many)):
                i += 1
                rig.swap(i)
            rig.spin_until(rig.idle, rig.send)
            # Until the observer has gone over from the robot before.
            rig.spin_until(lambda: alive(robots) <= MOST, rig.send)
            if turn == 2:
                before[name] = resources()
            else:
                (files, threads), (few_files, few_threads) = resources(), before[name]
                assert files <= few_files
                assert threads <= few_threads + 1  # the one that compiles comes and goes
            assert bool(rig.heard) == listeners
            rig.heard.clear()


def test_memory_is_given_back_after_each_robot(rig, monkeypatch):
    given_back = []
    monkeypatch.setattr(freed_memory, '_trim', given_back.append)
    for i in (1, 2):
        given_back.clear()
        rig.swap(i)
        rig.spin_until(lambda: given_back, rig.send)


def test_more_changes_than_a_queue_holds_leave_the_newest_in_force(rig, monkeypatch):
    rig.swap(1)
    rig.spin_until(rig.idle, rig.send)
    contact, read, begun, go_on = rig.parts[2], [], threading.Event(), threading.Event()

    def slow(*arguments):
        begun.set()
        assert go_on.wait(PATIENCE)
        read.append(arguments)
        return reading(*arguments)

    reading = ContactGeometry.read
    monkeypatch.setattr(ContactGeometry, 'read', slow)
    contact._location._maker._source = ('another description', 0.0)
    contact.adopt(contact._pipeline)
    assert begun.wait(PATIENCE)
    for _ in range(500):
        contact.adopt(contact._pipeline)
    go_on.set()
    rig.spin_until(rig.idle, rig.send)
    # The one that ran meanwhile was given up between two links, and the newest was read.
    assert len(read) == 2
    assert rig.nodes[2].faults.counts == {}
    for i in range(2, 102):
        rig.describe(i)
    rig.spin_until(lambda: rig.name == 'arm101', rig.send)
    rig.listen(True)
    rig.spin_until(lambda: any(isinstance(m, ExternalWrench) for m in rig.heard), rig.send)


def test_a_description_that_is_ready_late_hides_no_later_refusal(rig):
    changes = rig.context.changes
    changes.change_and_report('robot_description', description=arm(1))
    changes._use_description('')  # refused at once
    assert 'is empty' in changes.refusal
    rig.spin_until(lambda: rig.name == 'arm1' and not changes.building)
    end = time.monotonic() + 5 * PERIOD
    rig.spin_until(lambda: time.monotonic() > end)
    assert 'is empty' in changes.refusal
    changes.change_and_report('robot_description', description=arm(2))
    rig.spin_until(lambda: rig.name == 'arm2' and not changes.refusal)


def test_work_that_is_superseded_is_dropped_or_given_up():
    context = rclpy.Context()
    rclpy.init(context=context)
    executor = SingleThreadedExecutor(context=context)
    worker, begun, go_on, done = Worker('test', limit=2), threading.Event(), threading.Event(), []

    def first():
        begun.set()
        assert go_on.wait(PATIENCE)
        worker.check_newest('shape')
        done.append('first')

    futures = [worker.submit(executor, first, 'shape')]
    assert begun.wait(PATIENCE)
    futures += [worker.submit(executor, partial(done.append, i), 'shape') for i in range(100)]
    futures.append(worker.submit(executor, partial(done.append, 'other')))
    go_on.set()
    executor.spin_until_future_complete(futures[-1], timeout_sec=PATIENCE)
    assert done == [99, 'other']
    assert all(isinstance(future.exception(), SupersededError) for future in futures[:-2])
    go_on.clear()
    begun.clear()
    worker.submit(executor, lambda: (begun.set(), go_on.wait(PATIENCE)))
    assert begun.wait(PATIENCE)
    for _ in range(2):
        worker.submit(executor, lambda: None)
    with pytest.raises(BusyError):
        worker.submit(executor, lambda: None)
    go_on.set()
    executor.shutdown()
    rclpy.shutdown(context=context)
