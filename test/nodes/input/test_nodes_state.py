# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states and odometry are merged by name; what cannot be right is refused and counted."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import islice, permutations

import numpy as np
import pytest
from closed_mechanisms import PALLETIZER, one_way

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from message_values import odometry_values
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros.estimation.samples.reports import JointValues, RefusedMessage
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.nodes.inputs import waiting_for
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.wire.cdr import JointStateReader

GRIPPER_ARM = """
<robot name="gripper_arm">
  <link name="base"/>
  <link name="upper"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="lower"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="finger"/>
  <link name="other_finger"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="lower"/><child link="finger"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="1" effort="9" velocity="9"/></joint>
  <joint name="mirror" type="prismatic"><parent link="lower"/><child link="other_finger"/>
    <axis xyz="-1 0 0"/><limit lower="0" upper="1" effort="9" velocity="9"/>
    <mimic joint="slide"/></joint>
</robot>
"""


def read(message: JointState) -> JointValues:
    return JointStateReader().read(serialize_message(message))


def tell(buffer: StateBuffer, message: JointState) -> bool:
    return buffer.update(read(message))


@pytest.fixture
def buffer() -> StateBuffer:
    return StateBuffer(Robot.from_urdf(GRIPPER_ARM, backend='python'), (), joint_timeout=1.0)


def joints(names: str, position=(), velocity=(), effort=(), stamp: float = 1.0) -> JointState:
    message = JointState(name=names.split())
    message.header.stamp = Time(sec=int(stamp), nanosec=round((stamp % 1.0) * 1e9))
    message.position, message.velocity, message.effort = (
        list(position),
        list(velocity),
        list(effort),
    )
    return message


def whole(stamp: float = 1.0) -> JointState:
    return joints('shoulder elbow slide', [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], stamp)


def test_there_is_no_state_before_every_joint_has_been_heard_of(buffer):
    tell(buffer, joints('shoulder elbow', [0.1, 0.2]))
    assert buffer.state() is None
    assert buffer.missing() == ('slide',)
    tell(buffer, joints('slide', [0.3]))
    assert_allclose(buffer.state().q, [0.1, 0.2, 0.3])


MANY = tuple(f'j{i}' for i in range(70))


@pytest.mark.parametrize(
    'messages',
    [
        [(name,) for name in 6 * MANY],
        [MANY[7:], *islice(permutations(MANY[:7]), 300)],
    ],
    ids=['each joint alone', 'one message beside changing orders'],
)
def test_of_many_lists_of_joints_each_joint_is_kept(messages):
    slides = [
        f'<link name="{name}"/><joint name="{name}" type="prismatic"><parent link="base"/>'
        f'<child link="{name}"/><limit lower="0" upper="1" effort="9" velocity="9"/></joint>'
        for name in MANY
    ]
    text = f'<robot name="slides"><link name="base"/>{"".join(slides)}</robot>'
    buffer = StateBuffer(Robot.from_urdf(text, backend='python'), (), joint_timeout=1.0)
    told: set[str] = set()
    for k, names in enumerate(messages):
        tell(buffer, joints(' '.join(names), [k] * len(names), stamp=1.0 + 1e-3 * k))
        told.update(names)
        assert (buffer.due_state() is not None) == (told == {*MANY})


def test_locked_joints_are_not_unknown():
    robot = Robot.from_urdf(GRIPPER_ARM, locked_joints={'elbow': 0.5}, backend='python')
    buffer = StateBuffer(robot, ['elbow'], joint_timeout=1.0)
    tell(buffer, joints('shoulder elbow slide', [0.1, 0.2, 0.3]))
    assert_allclose(buffer.state().q, [0.1, 0.3])
    assert not buffer.unknown_names


def test_an_unknown_joint_that_is_not_finite_is_ignored(buffer):
    tell(buffer, joints('shoulder wheel elbow slide', [0.1, math.nan, 0.2, 0.3]))
    state = buffer.due_state()
    assert_allclose(state.q, [0.1, 0.2, 0.3])
    assert state.not_finite == () and not buffer.refused


def test_what_it_remembers_of_unknown_names_is_bounded(buffer):
    for i in range(1000):
        tell(buffer, joints(f'wheel_{i}' if i else 'wheel' * 10**5, [0.0]))
    assert len(buffer.unknown_names) < 30
    assert sum(buffer.unknown_names.values()) == 1000
    assert max(map(len, buffer.unknown_names)) < 200


@pytest.mark.parametrize('number', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('names', ['shoulder elbow slide', 'elbow slide shoulder', 'elbow slide'])
def test_a_joint_whose_position_is_not_finite_counts_as_not_reported(buffer, names, number):
    def sent(stamp, elbow):
        order = names.split()
        values = [{'shoulder': 1.0, 'elbow': elbow, 'slide': 3.0}[name] for name in order]
        tell(buffer, joints(names, values, [stamp] * len(order), [2.0] * len(order), stamp))
        return buffer.due_state()

    tell(buffer, joints('shoulder slide', [0.0, 0.0]))
    assert sent(1.0, number) is None
    assert buffer.missing() == ('elbow',)
    assert buffer.unusable == {'elbow': 'position not finite'}
    before = sent(1.1, 2.0)
    assert before.not_finite == () and buffer.unusable == {}
    state = sent(1.2, number)
    assert (state.time, state.not_finite, state.stale) == (1_200_000_000, ('elbow',), ())
    assert_allclose(state.q[1:], [2.0, 3.0])
    assert state.v[1] == before.v[1] and state.ages.tolist()[1] == 100_000_000
    assert np.isfinite(np.concatenate((state.q, state.v, state.effort))).all()
    # The next message is of another publisher: the fault lasts until the joint reports again.
    tell(buffer, joints('shoulder', [1.0], stamp=1.3))
    assert buffer.due_state().not_finite == ('elbow',)
    assert sent(2.4, number).stale[-1:] in (('elbow',), ('slide',))
    assert 'elbow' in buffer.state().stale
    state = sent(2.5, 2.5)
    assert state.not_finite == () and 'elbow' not in state.stale
    assert buffer.refused == {'position not finite': 3}


def test_a_message_without_a_finite_position_is_passed_on_once_and_is_no_news(buffer):
    tell(buffer, whole(1.0))
    for stamp, passed in ((1.1, True), (1.2, False)):
        assert tell(buffer, joints('shoulder elbow slide', [math.nan] * 3, [9.0] * 3, stamp=stamp))
        assert (buffer.due_state() is not None) == passed
        state = buffer.state()
        assert state.not_finite == ('shoulder', 'elbow', 'slide')
        assert_allclose((state.q, state.v), [[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]])
    assert buffer.state().time == 1_000_000_000


@pytest.mark.parametrize('lag', [-3e-4, 3e-4])
def test_a_joint_that_one_publisher_knows_is_that_of_this_one(buffer, lag):
    for k in range(100):
        tell(buffer, joints('shoulder elbow slide', [0.1, 0.2, math.nan], stamp=1.0 + 1e-3 * k))
        if k % 10 == 5:
            tell(buffer, joints('slide', [k], stamp=1.0 + 1e-3 * k - lag))
        state = buffer.state()
        assert (state is None) == (k < 5)
    assert_allclose(state.q, [0.1, 0.2, 95.0])
    assert (state.stale, state.not_finite) == ((), ('slide',))


def test_missing_refused_and_not_finite_are_three_reasons():
    def reason(*messages):
        one = StateBuffer(Robot.from_urdf(GRIPPER_ARM, backend='python'), (), joint_timeout=1.0)
        for message in messages:
            with suppress(RefusedMessage):
                tell(one, message)
        source = Explanation(Reason.OK, 'there')
        text = waiting_for(one, 'joint_states', bool(messages), lambda _: source)
        return text.reason, text.partition('there, ')[2]

    missing = joints('shoulder slide', [0.0, 0.0])
    refused = joints('elbow', [0.0, 0.0])
    broken = joints('elbow slide', [math.nan, 1.0])
    assert reason() == (Reason.WAITING_FOR_STATES, 'no message so far')
    assert reason(missing) == (Reason.JOINTS_MISSING, 'messages so far lack their positions')
    assert reason(missing, refused) == (
        Reason.MESSAGES_REFUSED,
        'messages with elbow were refused: wrong length of position',
    )
    assert reason(missing, broken) == (
        Reason.POSITION_NOT_FINITE,
        'position of elbow not finite',
    )
    both = reason(joints('shoulder slide', [math.nan, 1.0]), refused)
    assert both[0] is Reason.POSITION_NOT_FINITE
    assert 'messages with elbow were refused' in both[1]
    reported = reason(broken)
    assert reported[0] is Reason.POSITION_NOT_FINITE
    assert set(reported[1].split('; ')) == {
        'messages so far lack the positions of shoulder',
        'position of elbow not finite',
    }


def test_after_the_clock_jumped_back_joints_not_heard_of_since_are_stale(buffer):
    tell(buffer, whole(100.0))
    for stamp in (1.0, 1.1, 1.2):
        assert buffer.state().stale == ()
        tell(buffer, joints('shoulder elbow', [0.1, 0.2], [0.0] * 2, [0.0] * 2, stamp=stamp))
    assert buffer.state().stale == ('slide',)
    assert buffer.state().time == 1_200_000_000


@pytest.mark.parametrize('before', range(4))
@pytest.mark.parametrize('after', range(1, 4))
def test_after_the_clock_jumped_back_other_quantities_are_a_state_as_well(buffer, before, after):
    def sent(stamp, position, quantities):
        names = 'shoulder elbow slide' if quantities else 'shoulder elbow'
        values = [position] * len(names.split())
        tell(buffer, joints(names, *[values] * max(quantities, 1), stamp=stamp))
        return buffer.due_state()

    for k in range(20):
        sent(1000.0 + 1e-3 * k, 1.0, before)
    states = [sent(10.0 + 1e-3 * k, 2.0, after) for k in range(20)]
    assert all(states[3:])
    assert_allclose(states[-1].q, 2.0)
    assert buffer.timeline.jumps == 1


def test_a_new_model_keeps_what_is_known_of_joints_of_the_same_name(buffer):
    tell(buffer, whole())
    robot = Robot.from_urdf(GRIPPER_ARM, locked_joints={'elbow': 0.5}, backend='python')
    other = StateBuffer(robot, ['elbow'], joint_timeout=1.0)
    other.adopt(buffer)
    assert_allclose(other.state().q, [0.1, 0.3])
    assert_allclose(other.state().effort, [4.0, 6.0])


def test_old_efforts_make_no_joint_stale_that_loops_determine():
    mechanism = one_way(PALLETIZER)
    robot = mechanism.robot()
    driven = [name for name in robot.joint_names if name not in robot.model.passive_joints]
    q, v, _ = mechanism.motion(robot)
    values = [[x[robot.joint_v_indices[name]] for name in driven] for x in (q, v, 0.0 * v)]
    buffer = StateBuffer(robot, (), joint_timeout=0.5)
    tell(buffer, joints(' '.join(driven), *values))
    for k in range(1, 9):
        tell(buffer, joints(' '.join(driven), *values[:2], stamp=1.0 + 0.1 * k))
    state = buffer.state()
    assert_allclose(state.q, q, atol=1e-6)
    assert state.stale == () and not state.stale_mask.any()
    assert state.velocity_missing == ()
    assert {*state.effort_missing} == {*robot.joint_names}


def floating() -> StateBuffer:
    robot = Robot.from_urdf(GRIPPER_ARM, root_joint='floating', backend='python')
    return StateBuffer(robot, (), joint_timeout=1.0)


def odometry(child: str = 'base', stamp: float = 1.0) -> Odometry:
    message = Odometry(child_frame_id=child)
    message.header.frame_id = 'map'
    message.header.stamp = Time(sec=int(stamp), nanosec=round((stamp % 1.0) * 1e9))
    message.pose.pose.position.x = 1.0
    message.twist.twist.linear.y = 2.0
    message.twist.twist.angular.z = 3.0
    return message


def test_a_floating_base_waits_for_odometry():
    buffer = floating()
    tell(buffer, whole())
    assert buffer.state() is None
    assert buffer.missing() == ('odom',)
    buffer.update_base(odometry_values(odometry()), ['base'])
    state = buffer.state()
    assert_allclose(state.q, [1, 0, 0, 0, 0, 0, 1, 0.1, 0.2, 0.3])
    assert_allclose(state.v, [0, 2, 0, 0, 0, 3, 1, 2, 3])
    assert buffer.base_frame_id == 'map'


def test_the_base_is_carried_to_the_stamp_of_the_joints_by_its_twist():
    """At 2 m/s to the left while it turns by 3 rad/s it goes along a circle of 2/3 m."""
    buffer = floating()
    buffer.update_base(odometry_values(odometry()), ['base'])
    for elapsed, carried in ((0.02, 0.02), (0.5, 0.1)):  # no further than 0.1 s
        tell(buffer, whole(1.0 + elapsed))
        state, angle = buffer.due_state(), 3.0 * carried
        x, y = np.cos(angle) - 1.0, np.sin(angle)
        assert_allclose(state.q[:3], [1.0 + 2.0 / 3.0 * x, 2.0 / 3.0 * y, 0.0], atol=1e-9)
        assert_allclose(state.q[3:7], [0.0, 0.0, np.sin(0.5 * angle), np.cos(0.5 * angle)])
        assert_allclose(state.v[:6], [0, 2, 0, 0, 0, 3])
        assert state.ages[:6].tolist() == [round(elapsed * 1e9)] * 6
        assert state.stale == ()


def test_of_odometry_before_and_after_the_joints_the_twist_is_interpolated():
    buffer = floating()
    buffer.update_base(odometry_values(odometry()), ['base'])
    later = odometry(stamp=1.02)
    later.twist.twist.linear.y = 4.0
    buffer.update_base(odometry_values(later), ['base'])
    tell(buffer, whole(1.005))
    assert_allclose(buffer.due_state().v[1], 2.5)


def test_odometry_of_another_link_is_refused():
    buffer = floating()
    with pytest.raises(RefusedMessage, match='not the root link'):
        buffer.update_base(odometry_values(odometry('wheel')), ['base'])
    assert buffer.refused == {'odometry': 1}


def test_old_odometry_is_stale():
    buffer = floating()
    buffer.update_base(odometry_values(odometry()), ['base'])
    tell(buffer, whole(5.0))
    assert buffer.state().stale == ('odom',)


def test_odometry_from_before_the_clock_was_set_back_is_stale():
    buffer = floating()
    buffer.update_base(odometry_values(odometry(stamp=100.0)), ['base'])
    tell(buffer, whole(100.0))
    for k in range(5):
        tell(buffer, whole(1.0 + 0.01 * k))
    state = buffer.state()
    assert (state.q[0], state.stale) == (1.0, ('odom',))
    buffer.update_base(odometry_values(odometry(stamp=1.04)), ['base'])
    assert buffer.state().stale == ()


def test_a_stamp_with_more_than_a_second_of_nanoseconds_is_refused(buffer):
    message = whole()
    message.header.stamp.nanosec = 10**9
    with pytest.raises(RefusedMessage, match='stamp'):
        tell(buffer, message)
    assert buffer.refused == {'stamp': 1}
    base = odometry()
    base.header.stamp.nanosec = 2**32 - 1
    with pytest.raises(RefusedMessage, match='stamp'):
        floating().update_base(odometry_values(base), ['base'])


def test_of_a_late_message_the_joints_are_merged_that_are_news(buffer):
    tell(buffer, whole(1.0))
    tell(buffer, joints('shoulder', [0.5], [0.0], [0.0], stamp=2.0))
    tell(buffer, joints('shoulder elbow', [0.7, 0.8], [0.0] * 2, [0.0] * 2, stamp=1.9))
    assert buffer.due_state() is None, 'it would be in the past'
    assert_allclose(buffer.state().q, [0.5, 0.8, 0.3])
    assert buffer.state().time == 2 * 10**9
    assert buffer.timeline.dropped == 1


def test_a_robot_that_is_swapped_does_not_go_back_in_time(buffer):
    tell(buffer, whole(5.0))
    other = StateBuffer(buffer.robot, (), joint_timeout=1.0)
    other.adopt(buffer)
    tell(other, whole(4.9))
    assert other.due_state() is None
    assert other.state().time == 5 * 10**9
    tell(other, whole(5.1))
    assert other.due_state().time == 5_100_000_000


def test_efforts_of_a_publisher_of_their_own_are_aligned(buffer):
    names = 'shoulder elbow slide'
    for k in range(20):
        stamp = 1.0 + 0.01 * k
        tell(buffer, joints(names, [stamp] * 3, [stamp] * 3, stamp=stamp))
        tell(buffer, joints(names, (), (), [stamp + 0.003] * 3, stamp=stamp + 0.003))
        state = buffer.due_state()
        if k > 5:
            assert_allclose(state.effort, [stamp] * 3, atol=1e-9)
            assert_allclose(state.q, [stamp] * 3, atol=1e-9)
            assert state.effort_missing == ()


def test_velocities_alone_are_no_state_however_often_they_are_told(buffer):
    for stamp in (1.0, 1.1, 1.2):
        tell(buffer, joints('shoulder elbow slide', velocity=[0.1, 0.2, 0.3], stamp=stamp))
        assert buffer.state() is None
    tell(buffer, joints('shoulder elbow slide', [0.3, 0.4, 0.5], stamp=1.3))
    assert_allclose(buffer.state().q, [0.3, 0.4, 0.5])
