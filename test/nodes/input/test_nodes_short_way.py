"""The short way of joint states and the ordinary one say the same."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip('rclpy')

import rclpy
import yaml
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from ros_harness import description
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from dynamics_ros import Robot
from dynamics_ros.nodes.app import composed
from dynamics_ros.nodes.app.executor import Application, dispose, make_executor
from dynamics_ros.nodes.kinematics.kinematics_node import Kinematics
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.output.short_way import Junction, ShortWay
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.wire.conversions import nanoseconds
from dynamics_ros_msgs.msg import ContactState

pytestmark = pytest.mark.ros

DOMAIN = 59
MILLISECOND = 1_000_000
START = 1_700_000_000 * 10**9

ARM = description()
ROBOT = Robot.from_urdf(ARM)
NAMES = list(ROBOT.joint_names)
SHUFFLED = [3, 0, 6, 2, 5, 1, 4]


class Stream:
    """Joint states of a moving arm, of which tests change what they like."""

    def __init__(self, time: int) -> None:
        self.time = time
        self.phase = 0.0
        self.order = list(range(7))

    def state(self, push: np.ndarray | None = None, step: int = MILLISECOND) -> JointState:
        """The next one, with external torques ``push`` (7)."""
        self.time += step
        self.phase += step * 1e-9
        rates = np.linspace(0.5, 1.1, 7)
        q = 0.4 * np.sin(rates * self.phase + np.arange(7.0))
        v = 0.4 * rates * np.cos(rates * self.phase + np.arange(7.0))
        a = -0.4 * rates**2 * np.sin(rates * self.phase + np.arange(7.0))
        effort = ROBOT.inverse_dynamics(q, v, a) - (0.0 if push is None else push)
        message = JointState(name=[NAMES[i] for i in self.order])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time, 10**9)
        message.position = q[self.order].tolist()
        message.velocity = v[self.order].tolist()
        message.effort = effort[self.order].tolist()
        return message


def messages(kind: str, time: int) -> Iterator[JointState | str]:
    """A stream from that time [ns] on in which something happens; a string is a service to call."""
    stream = Stream(time)
    push = ROBOT.jacobian(np.zeros(7), 'tool0').T @ np.array([30.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    if kind == 'another order of joints':
        stream.order = SHUFFLED
    for i in range(900):
        message = stream.state(push if kind == 'contact' and 500 < i < 700 else None)
        if i >= 600 and i % 40 == 0:
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
        if kind == 'tare' and i in (650, 800):
            yield 'tare' if i == 650 else 'undo_tare'


KINDS = (
    *('nothing happens', 'another order of joints', 'a gap', 'the same stamp again'),
    *('a stamp in the past', 'a message overtaken by the next', 'a clock set back'),
    *('no effort of one joint', 'no velocities', 'some joints only'),
    *('no number', 'outliers', 'another joint too', 'another frame_id', 'tare', 'contact'),
)


Heard = tuple[str, type, bytes]
"""Topic, type and bytes."""


class Nodes:
    """The composed nodes in this process; whatever they publish is heard."""

    def __init__(
        self,
        folder: Path,
        build: Callable[[], Application] = composed.build,
        more: Mapping[str, Any] | None = None,
        contact: Mapping[str, Any] | None = None,
    ) -> None:
        own = {
            'kinematics_node': {'frames': ['tool0'], 'publish_tf': True, 'markers.rate': 1.0},
            'dynamics_node': {
                'robot_description': ARM,
                'command_joints': NAMES[::-1],
                'autostart': True,
            },
            'contact_node': {
                'frames': ['tool0'],
                'location.enabled': False,
                'markers.rate': 1.0,
                'tare.window': 0.05,
                'tare.max_velocity': 1.0,
                'tare.max_deviation': 50.0,
            },
        }
        own['kinematics_node'].update(more or {})
        own['contact_node'].update(contact or {})
        path = folder / 'parameters.yaml'
        path.write_text(
            yaml.safe_dump({name: {'ros__parameters': values} for name, values in own.items()})
        )
        rclpy.init(
            args=['--ros-args', '--params-file', str(path), '--log-level', 'error'],
            domain_id=DOMAIN,
        )
        self.application = build()
        self.context: RobotContext = self.application.context
        self.executor = make_executor()
        for node in self.application.nodes:
            self.executor.add_node(node)
        self.executor.create_task(self.context.start, self.executor)
        self.heard: list[Heard] = []
        while self.context.robot is None:
            self.spin()

    def spin(self) -> None:
        self.executor.spin_until_future_complete(Future(), timeout_sec=0.02)

    def close(self) -> None:
        dispose(self.executor, self.application.nodes)
        rclpy.shutdown()

    def listen(self) -> None:
        """Hear all outputs, and begin when no kernel can become another one."""
        for part in self.context.parts:
            for output in part.outputs():
                if 'markers' in output.topic:
                    continue  # by the clock, not by the states

                kind = output._publisher.msg_type

                def hear(message, topic=output.topic, kind=kind):
                    self.heard.append((topic, kind, message))

                output._publish_bytes = hear
        robot = self.context.robot
        assert robot is not None
        while not all(kernel.ready for kernel in robot._kernel_set._kernels.values()):
            self.spin()

    def take(self, message: JointState | str) -> None:
        """What the middleware would hand over."""
        if isinstance(message, JointState):
            self.context.input._ended = 0.0
            self.context.input._on_message(serialize_message(message))
            return
        contact = self.context.parts[2]
        service = next(s for s in contact.node.services if s.srv_name.endswith(f'/{message}'))
        answer = service.callback(Trigger.Request(), Trigger.Response())
        assert answer.success, answer.message


@pytest.fixture(scope='module')
def said(tmp_path_factory):
    """What to what was published of it the ordinary way, the short way, and how many took that."""
    folder = tmp_path_factory.mktemp('short_way')
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Output, 'listened_to', lambda self, now: True)
        with pytest.MonkeyPatch.context() as closed:
            closed.setattr(Junction, 'prepare', lambda self, buffer: None)
            ordinary = published(folder, Counter())
        took: Counter[bool] = Counter()
        compute = ShortWay.compute

        def counted(self, data):
            stamp = compute(self, data)
            took[stamp is not None] += 1
            return stamp

        patched.setattr(ShortWay, 'compute', counted)
        shortly = published(folder, took)
    return {what: (ordinary[what][0], *shortly[what]) for what in KINDS}


def published(folder: Path, took: Counter[bool]) -> dict[str, tuple[list[Heard], int]]:
    """What to what was published of it, and how many messages took the short way."""
    nodes, found = Nodes(folder), {}
    try:
        nodes.listen()
        for i, what in enumerate(KINDS):
            nodes.heard = []
            before = took[True]
            for message in messages(what, START + i * 100 * 10**9):
                nodes.take(message)
            found[what] = nodes.heard, took[True] - before
    finally:
        nodes.close()
    return found


@pytest.mark.parametrize('what', KINDS)
def test_both_ways_publish_the_same(said, what):
    ordinary, shortly, taken = said[what]
    # Not while the observer settles after a start, for 40 states or more.
    assert taken > 200, 'it is the usual way'
    assert len(ordinary) > 6000
    told = {
        deserialize_message(data, kind).state
        for topic, kind, data in ordinary
        if topic.endswith('contact_state')
    }
    assert (ContactState.CONTACT in told or ContactState.COLLISION in told) == (what == 'contact')
    assert [topic for topic, *_ in shortly] == [topic for topic, *_ in ordinary]
    for (_, kind, one), (*_, other) in zip(shortly, ordinary, strict=True):
        # What fills up between fields may differ.
        assert one == other or deserialize_message(one, kind) == deserialize_message(other, kind)
    if what != 'a clock set back':
        last = dict.fromkeys((topic for topic, *_ in shortly), 0)
        for topic, kind, data in shortly:
            message = deserialize_message(data, kind)
            if topic == '/tf':
                message = message.transforms[0]
            if hasattr(message, 'header'):
                stamp = nanoseconds(message.header.stamp)
                assert stamp >= last[topic]
                last[topic] = stamp


def test_residuals_far_above_what_is_stated_are_told_on_the_short_way(tmp_path, monkeypatch):
    """The arm of this stream has none of the friction that its description states."""
    monkeypatch.setattr(Output, 'listened_to', lambda self, now: True)
    nodes = Nodes(tmp_path, contact={'tare.max_velocity': 0.02})
    try:
        nodes.listen()
        contact, stream, clock = nodes.context.parts[2], Stream(START), Clock(monkeypatch)
        shortly = 0
        for k in range(1500):
            nodes.take(stream.state(step=10 * MILLISECOND))
            clock.now += 1e-2
            shortly += nodes.context.input.short_way is not None
            assert k != 900 or not contact.caution
        assert shortly > 1000
        assert 'shoulder_yaw 0.' in contact.caution
        assert 'far more than is stated' in contact.caution
        heard = [
            deserialize_message(data, kind)
            for topic, kind, data in nodes.heard
            if topic.endswith('/estimate')
        ]
        # In many of these postures a direction is not felt, which is told as well.
        first, last = heard[500:700], heard[-200:]
        assert not all(x.degraded for x in first)
        assert all(x.degraded for x in last)
        least = [
            np.median([np.linalg.eigvalsh(x.covariance.reshape(6, 6))[0] for x in some])
            for some in (first, last)
        ]
        assert least[1] > 4.0 * least[0]
    finally:
        monkeypatch.undo()
        nodes.close()


def kinematics_alone() -> Application:
    """A node that has nothing to do when nobody listens."""
    node = Node('kinematics_node')
    context = RobotContext(node, subscribe_payload=False)
    context.add(Kinematics(node, context))
    return Application([node], context)


class Clock:
    """Steady time that only tests let go on."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        patched.setattr(time, 'monotonic', lambda: self.now)


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """The kinematics node alone, nobody listens; the twist has a limit."""
    more = {'robot_description': ARM, 'publish_rates.twist': 20.0, 'publish_tf': False}
    nodes = Nodes(tmp_path, kinematics_alone, more)
    nodes.listen()
    yield nodes, Clock(monkeypatch)
    monkeypatch.undo()
    nodes.close()


def test_a_node_that_nobody_listens_to_takes_states_all_the_same(alone):
    nodes, clock = alone
    stream = Stream(START)
    for _ in range(200):
        nodes.take(stream.state())
        clock.now += 1e-3
    assert nodes.context.input.short_way is not None
    assert nodes.context.joint_states.count == 200
    assert nodes.heard == []
    latest = nodes.context.latest_state()
    assert latest.time == stream.time
    assert_array_equal(latest.q, stream.state(step=0).position)


def test_whoever_has_come_in_a_pause_gets_the_next_state(alone, monkeypatch):
    nodes, clock = alone
    stream = Stream(START)
    for _ in range(100):
        nodes.take(stream.state())
        clock.now += 1e-3
    monkeypatch.setattr(
        Output, 'listened_to', lambda self, now: self.topic.endswith('pose') and now >= clock.now
    )
    clock.now += 5.0
    nodes.take(stream.state())
    assert [topic for topic, *_ in nodes.heard] == ['/kinematics_node/tool0/pose']


@pytest.mark.parametrize('rate', [25.0, 33.0, 50.0, 100.0, 1000.0])
def test_a_limit_of_an_output_is_kept_and_counted(alone, monkeypatch, rate):
    nodes, clock = alone
    monkeypatch.setattr(Output, 'listened_to', lambda self, now: True)
    stream, count = Stream(START), round(8.0 * rate)
    for i in range(count):
        message = stream.state()
        if i % 37 == 0:  # which takes the ordinary way
            message.header.frame_id = f'frame{i}'
        nodes.take(message)
        clock.now += 1.0 / rate
    nodes.context.leave_short_way()
    heard = Counter(topic.rpartition('/')[2] for topic, *_ in nodes.heard)
    assert heard['pose'] == count
    assert heard['twist'] == pytest.approx(160, abs=2)
    outputs = {output.topic: output for part in nodes.context.parts for output in part.outputs()}
    skipped = outputs['/kinematics_node/tool0/twist'].skipped
    assert skipped == count - heard['twist']


def test_a_state_that_waited_is_answered_though_a_late_message_came_last(alone, monkeypatch):
    nodes, _ = alone
    monkeypatch.setattr(Output, 'listened_to', lambda self, now: self.topic.endswith('pose'))
    stream = Stream(START)
    late, first, second = (serialize_message(stream.state()) for _ in range(3))
    for data, newest in ((first, False), (second, False), (late, True)):
        nodes.context.input._pass_on(data, newest)
    ((_, kind, pose),) = nodes.heard
    assert nanoseconds(deserialize_message(pose, kind).header.stamp) == stream.time
