# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mutated messages and requests: each is refused with a reason or read as the middleware does.

The memory that the nodes free is overwritten at once: what reads it later is found.

`--thorough` takes many more of them than a run of the whole suite does.
"""

from __future__ import annotations

import random
import time
from collections import Counter

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from message_values import joint_values
from mutations import mutated_bytes
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from patience import times
from rclpy.qos import qos_profile_sensor_data
from rclpy.serialization import deserialize_message, serialize_message
from ros_harness import LATCHED, client, running, stamp_of
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros import Robot
from dynamics_ros.estimation.samples.reports import JointValues, RefusedMessage
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.wire.cdr import JointStateReader, MalformedMessageError
from dynamics_ros.wire.conversions import pose_matrix
from dynamics_ros_msgs.msg import Payload

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 220

HANG = 1.0
"""Seconds of processor time after which a message counts as one that hangs."""

MESSAGES, FUZZED_MESSAGES = 3000, 100_000
SENT, FUZZED_SENT = 500, 20_000

NUMBERS = (0.0, -0.0, 1.0, 1e-320, 1e308, -1e308, float('nan'), float('inf'), float('-inf'))


def joint_state(chance: random.Random) -> JointState:
    """A good one of this robot, whole or in part."""
    names = chance.choice((NAMES, NAMES[:3], NAMES[::-1], [*NAMES, 'gripper']))
    message = JointState(name=list(names))
    message.header.frame_id = chance.choice(('', 'base_link'))
    message.header.stamp = Time(sec=chance.randrange(2**31), nanosec=chance.randrange(10**9))
    message.position = [chance.gauss(0.0, 1.0) for _ in names]
    message.velocity = [chance.gauss(0.0, 1.0) for _ in names] if chance.random() < 0.8 else []
    message.effort = [chance.gauss(0.0, 9.0) for _ in names] if chance.random() < 0.8 else []
    return message


def same(one: JointValues, other: JointValues) -> bool:
    return one[:3] == other[:3] and all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(one[3:6], other[3:6], strict=True)
    )


def check_taken(buffer: StateBuffer, values: JointValues, seed: int) -> bool:
    """Whether a buffer takes what a message says; if so, it has those very numbers."""
    try:
        known = buffer.update(values)
    except RefusedMessage as refusal:
        reason = str(refusal)
    else:
        reason = ''
    if reason:
        assert len(reason) > 10, f'seed {seed}: refused without a reason'
        return False
    state = buffer.due_state()  # none for what is older than what is known
    if state is not None:
        for array in (state.q, state.v, state.effort):
            assert np.isfinite(array).all(), f'seed {seed}'
        for name, position in zip(values.names, values.position, strict=False):
            if name not in ROBOT.joint_q_indices:
                continue
            if not np.isfinite(position):  # not reported, and makes a state of a late message
                assert name in buffer.not_finite, f'seed {seed}'
            elif buffer.timeline.due:
                assert state.q[ROBOT.joint_q_indices[name]] == position, f'seed {seed}'
    return known


def new_buffer() -> StateBuffer:
    buffer = StateBuffer(ROBOT, (), 1.0)
    buffer.update(joint_values(JointState(name=NAMES, position=Q.tolist())))
    return buffer


def test_bytes_are_refused_or_read_as_the_middleware_reads_them() -> None:
    reader, buffer, outcomes = JointStateReader(), new_buffer(), Counter[bool]()
    for seed in range(times(MESSAGES, FUZZED_MESSAGES)):
        chance = random.Random(seed)
        data = mutated_bytes(serialize_message(joint_state(chance)), chance)
        began = time.thread_time()
        try:
            values = reader.read(data)
        except MalformedMessageError:
            values = None
        assert time.thread_time() - began < HANG, f'seed {seed}'
        outcomes[values is not None] += 1
        if values is None:
            continue
        try:
            wanted = joint_values(deserialize_message(data, JointState))
        except Exception as refusal:
            pytest.fail(f'seed {seed}: the middleware refuses what is read here: {refusal}')
        assert same(values, wanted), f'seed {seed}'
        check_taken(buffer, values, seed)
    assert min(outcomes[True], outcomes[False]) > 0.05 * outcomes.total()


SWAPS = 4
FUZZ = 400
SAME = 1e-9
TEXTS = ('', 'odom', 'base_link', 'x' * 100_000, '\x1b[2J\n', 'ä\u202e', '%s%n{}', '../../x')


@pytest.fixture(scope='module')
def node(ros):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PYTHONMALLOC', 'malloc')
        patch.setenv('MALLOC_PERTURB_', '34')
        with running('dynamics_ros', DOMAIN, {'use_sim_time': True}) as process:
            yield process


@pytest.fixture
def sound(node):
    """The node is alive after the test, and has said nothing of faults."""
    yield node
    assert node.alive
    assert not any(word in node.printed for word in FAULTS)


FAULTS = 'Traceback', 'unexpected', 'Warning'


def loaded(mass: float) -> str:
    return ARM.replace('</robot>', '') + (
        f'<link name="load"><inertial><mass value="{mass}"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        '<joint name="load" type="fixed"><parent link="tool0"/><child link="load"/></joint></robot>'
    )


def test_robots_are_replaced_while_all_outputs_are_computed(ros, sound):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.listen(JointState, '/contact_node/external_torques')
    for i in range(1, SWAPS + 1):
        urdf = loaded(0.5 * i)
        expected = Robot.from_urdf(urdf, backend='python').gravity(Q)
        ros.publish('/robot_description', String(data=urdf), LATCHED)
        ros.wait_for(
            lambda expected=expected: (
                torques and np.abs(np.array(torques[-1].effort) - expected).max() < SAME
            ),
            meanwhile=lambda: ros.publish_joint_state(
                ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=0.01)
            ),
        )
        torques.clear()


def test_nodes_outlive_whatever_is_sent_and_are_right_again(ros, sound):
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
    ros.exchange(ros.joint_state(NAMES, Q), poses)
    publisher = ros._publishers['/joint_states']
    expected = ROBOT.forward_kinematics(Q, 'tool0')
    for seed in range(times(SENT, FUZZED_SENT)):
        chance = random.Random(seed)
        data = serialize_message(joint_state(chance))
        publisher.publish(mutated_bytes(data, chance))
        if seed % 50 == 0:
            # Whatever came before, good states are answered rightly; and nothing piles up.
            poses.clear()
            ros.wait_for(
                lambda: (
                    poses and np.abs(pose_matrix(poses[-1].pose, 'pose') - expected).max() < SAME
                ),
                meanwhile=lambda: ros.publish_joint_state(ros.joint_state(NAMES, Q, step=0.01)),
            )
    ros.wait_for(lambda: any('refused' in key for key in ros.values('kinematics_node')))


def odometry(rng: random.Random) -> Odometry:
    message = Odometry(child_frame_id=rng.choice(TEXTS))
    message.header.frame_id = rng.choice(TEXTS)
    message.header.stamp.sec = rng.choice((0, -1, 2**31 - 1, -(2**31)))
    message.header.stamp.nanosec = rng.choice((0, 10**9, 2**32 - 1))
    pose, twist = message.pose.pose, message.twist.twist
    for part in (pose.position, pose.orientation, twist.linear, twist.angular):
        for name in part.get_fields_and_field_types():
            setattr(part, name, rng.choice(NUMBERS))
    return message


def clock(rng: random.Random) -> Clock:
    message = Clock()
    message.clock.sec = rng.randrange(-(2**31), 2**31)
    message.clock.nanosec = rng.randrange(2**32)
    return message


@pytest.fixture(scope='module')
def floating():
    given = {'robot_description': ARM, 'root_joint': 'floating'}
    with running('dynamics_ros', DOMAIN, given, namespace='/floating') as process:
        yield
        assert process.alive
        assert not any(word in process.printed for word in FAULTS)


@pytest.mark.parametrize(
    ('topic', 'make', 'as_bytes'),
    [
        ('/floating/odom', odometry, False),
        ('/floating/odom', odometry, True),
        ('/clock', clock, False),
    ],
)
def test_nonsense_in_odometry_and_the_clock_is_refused(ros, floating, topic, make, as_bytes):
    ros.wait_for(lambda: ros.values('floating/dynamics_node').get('degrees of freedom') == '13')
    rng = random.Random(f'{topic} {as_bytes}')
    ros.publish(topic, make(rng), qos_profile_sensor_data)
    publisher = ros._publishers[topic]
    for i in range(FUZZ):
        message = make(rng)
        publisher.publish(mutated_bytes(serialize_message(message), rng) if as_bytes else message)
        if i % 10 == 9:
            state = ros.joint_state(NAMES, Q, [1e300] * 7, [-1e308] * 7)
            ros.publish_joint_state(state, '/floating/joint_states')
            ros._executor.spin_once(timeout_sec=0.0)
    torques = ros.listen(JointState, '/floating/dynamics_node/gravity_torques')
    base = Odometry(child_frame_id='')
    base.header.frame_id, base.pose.pose.orientation.w = 'odom', 1.0
    robot = Robot.from_urdf(ARM, root_joint='floating', backend='python')
    expected = robot.gravity([0.0] * 6 + [1.0, *Q])[6:]

    def right() -> bool:
        base.header.stamp = ros.next_stamp(0.01)
        ros.publish('/floating/odom', base, qos_profile_sensor_data)
        state = ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=0.0)
        ros.publish_joint_state(state, '/floating/joint_states')
        return bool(torques)

    ros.wait_for(lambda: torques, meanwhile=right)
    assert_allclose(torques[-1].effort[-7:], expected, atol=SAME)


def test_a_clock_that_is_no_time_is_ignored_and_counted(ros, sound):
    reason = 'refused: a /clock that is no time'
    before = int(ros.values('dynamics_node').get(reason, 0))

    def send() -> None:
        for sec, nanosec in ((-1, 0), (1, 4_000_000_000)):
            message = Clock()
            message.clock.sec, message.clock.nanosec = sec, nanosec
            ros.publish('/clock', message, qos_profile_sensor_data)

    ros.wait_for(
        lambda: int(ros.values('dynamics_node').get(reason, 0)) > before + 10, meanwhile=send
    )
    ros.wait_for(lambda: sound.printed.count('/clock ignored') == 3)  # once a node
    later = Clock(clock=stamp_of(6_000_000_000))
    ros.wait_for(
        lambda: ros.reported_at('dynamics_node') == 6 * 10**9,
        meanwhile=lambda: ros.publish('/clock', later, qos_profile_sensor_data),
    )


ENDLESS = b'\0\1\0\0' + b'\xff' * 12
"""Text of four gigabytes, or a stamp and nothing behind it."""

TOPICS = {'odom': Odometry, 'payload': Payload, 'robot_description': String}


def test_malformed_bytes_on_any_topic_are_counted_and_the_node_goes_on():
    with (
        client(DOMAIN + 1) as ros,
        running('kinematics_node', DOMAIN + 1, {'frames': ['tool0']}) as node,
    ):
        publishers = [
            ros.node.create_publisher(kind, f'/{topic}', LATCHED) for topic, kind in TOPICS.items()
        ]

        def counted() -> bool:
            told = ros.values('kinematics_node')
            return all(
                int(told.get(f'refused: malformed bytes on {topic}', 0)) > 2 for topic in TOPICS
            )

        ros.wait_for(
            counted, meanwhile=lambda: [publisher.publish(ENDLESS) for publisher in publishers]
        )
        publishers[-1].publish(String(data=ARM))
        poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
        ros.exchange(ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q)), poses)
        printed = node.printed
    assert 'rcutils' not in printed and 'Traceback' not in printed
    for topic in TOPICS:
        assert printed.count(f'message on {topic} refused') == 1
