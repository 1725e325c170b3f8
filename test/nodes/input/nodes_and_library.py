# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The composed nodes in this process and the library, fed with the same joint states.

Each message that a node publishes is held against the methods of a robot and the estimators, fed
by a state buffer of their own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip('rclpy')

import rclpy
import yaml
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from ros_harness import description, occupy
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.estimation.samples.resolution import RefusedMessage
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.executables import build_composed
from dynamics_ros.nodes.process import Application, dispose, make_executor
from dynamics_ros.wire.cdr import Layout
from dynamics_ros.wire.conversions import joint_values, nanoseconds, odometry_values, pose_message
from dynamics_ros_msgs.msg import ContactState

MILLISECOND = 1_000_000
START = 1_700_000_000 * 10**9

ARM = description()
ROBOT = Robot.from_urdf(ARM)
NAMES = list(ROBOT.joint_names)
SHUFFLED = [3, 0, 6, 2, 5, 1, 4]
FEET = ['LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT']


class Case(NamedTuple):
    """A robot and how it reports.

    Attributes:
        text: the description.
        frames: with topics; contact frames.
        extra: names in joint states beside those of the robot's coordinates.
        general: parameters of the robot.
        contact: parameters of contact_node.
        publishers: how many tell a part of the joints each.
    """

    text: str
    frames: Sequence[str]
    extra: Sequence[str] = ()
    general: Mapping[str, Any] = {}
    contact: Mapping[str, Any] = {}
    publishers: int = 1


PANDA = urdf_path('panda').read_text()
CASES = {
    'arm': Case(ARM, ['tool0']),
    'mimic joint and extra names': Case(
        PANDA, ['panda_hand'], ['panda_finger_joint2', 'lamp', 'door', 'table']
    ),
    'locked joints': Case(
        PANDA,
        ['panda_hand'],
        ['panda_finger_joint1', 'panda_joint7'],
        {'locked_joints.names': ['panda_finger_joint1', 'panda_joint7']}
        | {'locked_joints.positions': [0.02, 0.5]},
    ),
    'moving base with feet': Case(
        urdf_path('anymal').read_text(),
        ['LF_FOOT'],
        (),
        {'root_joint': 'floating'},
        {'feet.frames': FEET},
    ),
    'two contact frames': Case(ARM, ['tool0', 'forearm_link']),
    'two publishers': Case(ARM, ['tool0'], publishers=2),
}


class Stream:
    """Joint states of a moving robot, of which tests change what they like."""

    def __init__(self, time: int, robot: Robot = ROBOT, extra: Sequence[str] = ()) -> None:
        self.time = time
        self.phase = 0.0
        self.robot, self.extra = robot, list(extra)
        self.base = robot.nv - len(robot.joint_names)
        self.order = list(range(len(robot.joint_names)))

    def state(self, push: np.ndarray | None = None, step: int = MILLISECOND) -> JointState:
        """The next one, with external torques ``push`` (nv)."""
        self.time += step
        self.phase += step * 1e-9
        robot, n = self.robot, len(self.order)
        rates, shift = np.linspace(0.5, 1.1, n), np.arange(float(n))
        q, v, a = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
        q[-n:] = 0.4 * np.sin(rates * self.phase + shift)
        v[-n:] = 0.4 * rates * np.cos(rates * self.phase + shift)
        a[-n:] = -0.4 * rates**2 * np.sin(rates * self.phase + shift)
        effort = robot.inverse_dynamics(q, v, a) - (0.0 if push is None else push)
        names = robot.joint_names
        message = JointState(name=[names[i] for i in self.order] + self.extra)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time, 10**9)
        more = [0.25] * len(self.extra)
        message.position = q[-n:][self.order].tolist() + more
        message.velocity = v[-n:][self.order].tolist() + more
        message.effort = effort[-n:][self.order].tolist() + more
        return message

    def odometry(self) -> Odometry:
        """The pose of the base at the last state: where it has always been."""
        message = Odometry()
        message.header.frame_id = 'odom'
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time, 10**9)
        message.pose.pose.orientation.w = 1.0
        return message


Heard = tuple[str, type, bytes]
"""Topic, type and bytes."""


class Nodes:
    """The composed nodes in this process; whatever they publish is heard."""

    def __init__(
        self,
        folder: Path,
        domain: int,
        build: Callable[[], Application] = build_composed,
        more: Mapping[str, Any] | None = None,
        contact: Mapping[str, Any] | None = None,
        case: Case = CASES['arm'],
    ) -> None:
        own = {
            'kinematics_node': {'frames': [*case.frames], 'publish_tf': True, 'markers.rate': 1.0},
            'dynamics_node': {
                'robot_description': case.text,
                'command_joints': NAMES[::-1] if case.text is ARM else [],
                'autostart': case.text is ARM,
                **case.general,
            },
            'contact_node': {
                'frames': [*case.frames],
                'location.enabled': False,
                'markers.rate': 1.0,
                'tare.window': 0.05,
                'tare.max_velocity': 1.0,
                'tare.max_deviation': 50.0,
                **case.contact,
            },
        }
        own['kinematics_node'].update(more or {})
        own['contact_node'].update(contact or {})
        path = folder / 'parameters.yaml'
        path.write_text(
            yaml.safe_dump({name: {'ros__parameters': values} for name, values in own.items()})
        )
        occupy(domain)
        rclpy.init(
            args=['--ros-args', '--params-file', str(path), '--log-level', 'error'],
            domain_id=domain,
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
        for part in self.context.components:
            commands = getattr(part.parameters.values, 'command_joints', ())
            while commands and not part.node.active:
                self.spin()
        for part in self.context.components:
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

    def take(self, message: JointState | Odometry | str) -> None:
        """What the middleware would hand over."""
        if isinstance(message, Odometry):
            self.context.inputs._on_odometry(serialize_message(message))
            return
        if isinstance(message, JointState):
            self.context.inputs.incoming._last_end = 0.0
            self.context.inputs.incoming._on_message(serialize_message(message))
            return
        contact = self.context.components[2]
        service = next(s for s in contact.node.services if s.srv_name.endswith(f'/{message}'))
        coroutine = service.callback(Trigger.Request(), Trigger.Response())
        with pytest.raises(StopIteration) as answered:  # nothing to wait for
            coroutine.send(None)
        assert answered.value.value.success, answered.value.value.message


def numbers_of(message: Any, path: str) -> Iterator[float]:
    """The numbers of a field, in order."""
    for field in Layout(message).numbers(path):
        yield from field.values


class Library:
    """The same without nodes: what follows from states, by the methods of robot and estimators."""

    def __init__(self, nodes: Nodes) -> None:
        context = nodes.context
        built, kinematics, _, contact = context.built, *context.components
        assert built is not None
        self.robot = built.robot
        self.frames = kinematics.parameters.values.frames
        self.reference = kinematics.parameters.values.twist_reference
        self.commands = context.components[1].parameters.values.command_joints
        limit = context.parameters.values.joint_timeout
        self.buffer = StateBuffer(self.robot, built.request.locked_names, limit)
        values = contact.parameters.values
        self.pipeline = ContactPipeline(self.robot, values, built.default_frame)
        self.pipeline.compile(wait=True)

    def take(self, message: JointState | Odometry | str) -> dict[str, list[np.ndarray]]:
        """Topic to the numbers in its message: those that are published of a message."""
        if isinstance(message, str):
            done = self.pipeline.tare.take().success if message == 'tare' else None
            assert done or self.pipeline.tare.undo()
            return {}
        if isinstance(message, Odometry):
            self.buffer.update_base(odometry_values(message), (self.robot.root_frame,))
            return {}
        try:
            self.buffer.update(joint_values(message))
        except RefusedMessage:
            return {}
        state = self.buffer.due_state()
        return {} if state is None else {**self.moved(state), **self.felt(state)}

    def moved(self, state) -> dict[str, list[np.ndarray]]:
        if state.stale:
            return {}
        robot, q, v = self.robot, state.q, state.v
        gravity, indices = robot.gravity(q), robot.joint_v_indices
        found = {'dynamics_node/gravity_torques': [gravity[[*indices.values()]]]}
        if self.commands:
            chosen = [indices[name] for name in self.commands]
            found['dynamics_node/gravity_commands'] = [gravity[chosen]]
        for frame in self.frames:
            pose = pose_message(robot.forward_kinematics(q, frame))
            found[f'kinematics_node/{frame}/pose'] = [np.array([*numbers_of(pose, '')])]
            if not state.velocity_missing:
                twist = robot.frame_velocity(q, v, frame, self.reference)
                found[f'kinematics_node/{frame}/twist'] = [twist]
        return found

    def felt(self, state) -> dict[str, list[np.ndarray]]:
        pipeline = self.pipeline
        external = pipeline.update(state)
        if external is None:
            return {}
        judged = pipeline.estimated_state
        torques, thresholds = external.values[pipeline.joint_indices], pipeline.detector.thresholds
        found = {
            'contact_node/external_torques': [torques],
            'contact_node/contact_state': [
                np.array([external.report.state]),
                torques,
                *thresholds[:, pipeline.joint_indices],
            ],
        }
        for one in pipeline.wrenches(judged, external.values):
            found[f'contact_node/{one.frame}/wrench'] = [one.wrench]
            found[f'contact_node/{one.frame}/estimate'] = [
                *(one.wrench, one.covariance.ravel(), one.singular_values, one.observable),
                pipeline.tare.offset[pipeline.joint_indices],
            ]
        if pipeline.feet is not None:
            feet = pipeline.foot_contacts(judged, external.values)
            found['contact_node/foot_contacts'] = [feet.forces.ravel(), feet.in_contact]
        return found


NUMBERS: dict[str, Callable[[Any], list[Any]]] = {
    'pose': lambda m: [[*numbers_of(m, 'pose')]],
    'twist': lambda m: [[*numbers_of(m, 'twist')]],
    'gravity_torques': lambda m: [m.effort],
    'gravity_commands': lambda m: [m.data],
    'external_torques': lambda m: [m.effort],
    'contact_state': lambda m: [
        *([m.state], m.external_torques, m.contact_thresholds, m.collision_thresholds)
    ],
    'wrench': lambda m: [[*numbers_of(m, 'wrench')]],
    'estimate': lambda m: [
        *([*numbers_of(m, 'wrench')], m.covariance, m.singular_values, m.observable, m.tare_offset)
    ],
    'foot_contacts': lambda m: [[*numbers_of(m, 'forces')], m.in_contact],
}


def assert_same(nodes: Nodes, library: Library, stream: Iterator[Any]) -> Counter[Any]:
    """Feed both with a stream; how many messages each topic had, and each contact state."""
    published: Counter[Any] = Counter()
    last: dict[str, int] = defaultdict(int)
    set_back = False
    for message in stream:
        nodes.heard = []
        nodes.take(message)
        expected = library.take(message)
        stamp = library.buffer.timeline.moment
        heard, events = {}, []
        for topic, kind, data in nodes.heard:
            told = deserialize_message(data, kind)
            if topic == '/tf':
                assert {nanoseconds(x.header.stamp) for x in told.transforms} == {stamp}
                continue
            if topic.endswith('/contact_events'):
                events.append(told)
                continue
            assert topic not in heard, 'once for each state'
            heard[topic.removeprefix('/')] = told
            if hasattr(told, 'header'):
                assert nanoseconds(told.header.stamp) == stamp
                set_back |= last[topic] - stamp > 10**9
                assert set_back or stamp >= last[topic], 'outputs do not go back in time'
                last[topic] = stamp
        missing, extra = sorted({*expected} - {*heard}), sorted({*heard} - {*expected})
        assert not missing and not extra, f'{stamp}: missing {missing}, published {extra}'
        assert events in ([], [heard.get('contact_node/contact_state')])
        for topic, told in heard.items():
            published[topic] += 1
            if isinstance(told, ContactState):
                published[told.state] += 1
            numbers = NUMBERS[topic.rpartition('/')[2]](told)
            for mine, theirs in zip(numbers, expected[topic], strict=True):
                if not np.array_equal(mine, theirs):
                    assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=topic)
    return published
