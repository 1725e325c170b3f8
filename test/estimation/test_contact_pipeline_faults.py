# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lost, late, repeated and partial messages, as real machines send them: nothing false is said.

An arm in MuJoCo moves fast, nobody pushes it, and the pipeline of contact_node sees what a faulty
transport leaves of its joint states.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from benchmarks.estimation_arms import NOTHING, PUSH, Setting, constant
from benchmarks.timing import wait_until_compiled
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.contact_settings import WrenchSettings
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.parameters.contact import ContactParameters

MILLISECOND = 10**6
"""ns"""

QUIET = 0.3
"""Nm; 50 Nm are at work, and a push of 10 N is 3 Nm and more."""


@pytest.fixture(scope='module')
def panda():
    return Setting('panda')


@pytest.fixture(scope='module')
def free_motion(panda):
    """One and a half seconds, a sample each millisecond, torques as of a sensor."""
    return list(panda.arm.run(1.5, panda.fast, lambda _: NOTHING, held=False))


class Feed:
    """A pipeline behind the buffer that merges joint states."""

    def __init__(self, setting) -> None:
        robot, frame = setting.arm.robot, setting.arm.frame
        self.values = ContactParameters(frames=(frame,))
        self.pipeline = ContactPipeline(robot, self.values, frame)
        self.pipeline.compile()
        wait_until_compiled()
        self.buffer = StateBuffer(robot, (), joint_timeout=1.0)
        self.names = robot.joint_names
        self.published = []

    def send(self, sample, *, stamp=None, without=(), **changed):
        """Send a sample, or some of its joints, with other values; what is published, if any."""
        fields = {'q': sample.q, 'v': sample.v, 'effort': sample.effort} | changed
        kept = [i for i, name in enumerate(self.names) if name not in without]
        seconds, rest = divmod(sample.stamp if stamp is None else stamp, 10**9)
        names = tuple(self.names[i] for i in kept)
        arrays = [x[kept] if len(x) else x for x in fields.values()]
        self.buffer.update(JointValues(seconds, rest, names, *arrays))
        state = self.buffer.due_state()
        external = None if state is None else self.pipeline.update(state)
        if external is not None:
            self.published.append(external)
        return external

    def go_on_with(self, robot):
        """Swap the robot, as a node does when the payload changes."""
        other = ContactPipeline(robot, self.values, *self.pipeline.frames)
        other.compile()
        other.inherit(self.pipeline)
        self.pipeline = other

    @property
    def loudest(self):
        return max(np.abs(external.values).max() for external in self.published)

    @property
    def states(self):
        return {external.report.state for external in self.published}

    def assert_nothing_false(self):
        assert self.published
        assert self.loudest < QUIET
        assert self.states == {ContactState.NONE}


@pytest.fixture
def feed(panda):
    return Feed(panda)


@pytest.mark.parametrize('lost', [0.0, 0.1])
def test_nothing_is_felt_in_free_motion_whether_or_not_messages_are_lost(feed, free_motion, lost):
    rng = np.random.default_rng(0)
    for sample in free_motion:
        if rng.random() >= lost:
            feed.send(sample)
    feed.assert_nothing_false()
    assert len(feed.published) > 1400 * (1.0 - lost) - 150 * bool(lost)


def test_a_repeated_stamp_changes_nothing(feed, free_motion):
    for k, sample in enumerate(free_motion):
        first = feed.send(sample)
        if k % 10 == 0 and first is not None:
            again = feed.send(sample, v=sample.v + 1.0, effort=sample.effort + 50.0)
            assert np.array_equal(again.values, first.values)
    feed.assert_nothing_false()


@pytest.mark.parametrize('late', [2, 500, 2000])
def test_a_stamp_in_the_past_that_comes_alone_is_dropped(feed, free_motion, late):
    for k, sample in enumerate(free_motion):
        stamp = sample.stamp - (late * MILLISECOND if k == 700 else 0)
        assert (feed.send(sample, stamp=stamp) is not None) == (k >= 40 and k != 700)
        assert k < 40 or feed.pipeline.unavailable_reason == ''
    feed.assert_nothing_false()
    assert feed.buffer.timeline.dropped == 1


def test_after_the_clock_was_set_back_it_is_silent_says_why_and_resumes(feed, free_motion):
    silent = []
    for k, sample in enumerate(free_motion):
        if feed.send(sample, stamp=sample.stamp - (2000 if k >= 700 else 0) * MILLISECOND) is None:
            silent.append(k)
        if k == 720:
            assert 'clock jumped backwards (-1.997 s)' in feed.pipeline.unavailable_reason
    # Three messages until it is believed, and three time constants of the observer.
    assert silent[40:] == list(range(700, 742))
    feed.assert_nothing_false()
    assert feed.pipeline.unavailable_reason == ''


@pytest.mark.parametrize('joint', ['panda_joint2', 'panda_joint4', 'panda_joint6'])
def test_a_moving_joint_that_stops_reporting_silences_it_by_name(feed, free_motion, joint):
    silent = []
    for k, sample in enumerate(free_motion):
        lost = 600 <= k < 900
        if feed.send(sample, without=(joint,) if lost else ()) is None and lost:
            silent.append(k)
            assert (
                feed.pipeline.unavailable_reason == f'no news of joints that were moving: {joint}'
            )
    assert silent == list(range(600, 900))
    assert feed.pipeline.unavailable_reason == ''
    feed.assert_nothing_false()


@pytest.mark.parametrize('count', [1, 200])
def test_an_effort_that_is_no_number_silences_it_by_name(feed, free_motion, count):
    for k, sample in enumerate(free_motion):
        effort = sample.effort.copy()
        if 700 <= k < 700 + count:
            effort[2] = np.nan
            assert feed.send(sample, effort=effort) is None
            assert feed.pipeline.unavailable_reason == 'no effort of panda_joint3'
            assert feed.pipeline.tare.take().samples == 0
        else:
            feed.send(sample)
    assert feed.pipeline.unavailable_reason == ''
    feed.assert_nothing_false()


def test_without_velocities_gravity_alone_is_left_and_it_says_so(panda):
    push, feed = constant((0.6, -0.5, 0.62), 0.3), Feed(panda)
    for sample in panda.arm.run(1.2, panda.still, push):
        external = feed.send(sample, v=np.zeros(0))
    why = 'by gravity alone, not valid in motion: no velocity of panda_joint1, '
    assert feed.pipeline.warning.startswith(why)
    state = feed.buffer.state()
    (estimate,) = feed.pipeline.wrenches(state, external.values)
    R = feed.pipeline.robot.forward_kinematics(state.q, estimate.expressed_in)[:3, :3]
    # What moves still, at the end of a step of the force, is felt as well.
    assert np.linalg.norm(R @ estimate.wrench[:3] - sample.force) < 0.05 * PUSH
    # The momentum of all joints takes over a second after there are velocities again.
    feed.send(sample, stamp=sample.stamp + MILLISECOND)
    assert feed.pipeline.warning
    feed.send(sample, stamp=sample.stamp + 1001 * MILLISECOND)
    assert not feed.pipeline.warning


@pytest.mark.parametrize('sometimes', [[], [2]])
def test_a_gripper_without_velocities_leaves_the_arm_its_contacts(panda, sometimes):
    feed, push = Feed(panda), constant((0.6, -0.5, 0.62), 0.3)
    for k, sample in enumerate(panda.arm.run(1.2, panda.still, push)):
        v = sample.v.copy()
        v[[-1, *sometimes * (k % 2)]] = np.nan
        external = feed.send(sample, v=v)
    names = ', '.join(feed.names[i] for i in (*sometimes, -1))
    assert feed.pipeline.warning.endswith(f'not valid while they move: {names}')
    assert external.report.state is not ContactState.NONE


def test_a_gripper_without_velocities_leaves_the_arm_its_momentum(feed, free_motion):
    for sample in free_motion:
        v = sample.v.copy()
        v[-1] = np.nan
        feed.send(sample, v=v)
    # By gravity alone, 50 Nm of inertia would be felt.
    assert feed.published and feed.loudest < QUIET


@pytest.mark.parametrize('gripper', [True, False])
def test_a_velocity_that_is_missing_once_is_used_again_a_second_later(feed, free_motion, gripper):
    for k, sample in enumerate(free_motion):
        v = sample.v.copy()
        v[[-1] * gripper + [2] * (k == 100)] = np.nan
        feed.send(sample, v=v)
    _, lacking, names = feed.pipeline.warning.partition('count as at rest; ')
    assert bool(lacking) == gripper
    assert feed.names[2] not in names


def test_a_joint_without_every_second_velocity_leaves_an_estimate_for_each_state(panda):
    feed = Feed(panda)
    for k, sample in enumerate(panda.arm.run(0.4, panda.still, constant((0.6, -0.5, 0.62), 1.0))):
        v = sample.v.copy()
        v[[2] * (k % 2)] = np.nan
        feed.send(sample, v=v)
    assert len(feed.published) > 300


def test_a_payload_that_is_made_known_is_followed_without_a_step(panda):
    """The pipeline of the loaded robot takes over from that of the bare one without a step."""
    feed = Feed(panda)
    robot, frame = panda.arm.robot, panda.arm.frame
    loaded = robot.with_payload(frame, 1.0, (0.0, 0.0, 0.05))
    before, steps = None, []
    for k in range(800):
        if k == 300:
            feed.go_on_with(loaded)
        q = panda.still.centre
        seconds, rest = divmod((k + 1) * MILLISECOND, 10**9)
        effort = loaded.gravity(q)
        feed.buffer.update(JointValues(seconds, rest, feed.names, q, 0.0 * q, effort))
        external = feed.pipeline.update(feed.buffer.state())
        if k > 150:
            steps.append(0.0 if before is None else np.abs(external.values - before).max())
            before = external.values
    felt = np.abs(loaded.gravity(q) - robot.gravity(q)).max()
    # The filter of the observer, 75 1/s, lets a thirteenth through in each millisecond.
    assert max(steps) < 0.1 * felt
    assert np.abs(external.values).max() < 1e-6


@pytest.mark.parametrize('what', ['zero', 'frozen', 'one frozen'])
def test_efforts_that_are_no_longer_measured_silence_it_and_are_no_contact(feed, free_motion, what):
    last = free_motion[700].effort
    answered = []
    for k, sample in enumerate(free_motion[:1300]):
        effort = sample.effort.copy()
        if 700 <= k < 1100:
            effort = {'zero': 0.0 * last, 'frozen': last, 'one frozen': effort}[what]
            if what == 'one frozen':
                effort[1] = last[1]
        answered.append(feed.send(sample, effort=effort) is not None)
        if k == 1099:
            words = 'all efforts are zero' if what == 'zero' else 'do not change'
            assert words in feed.pipeline.unavailable_reason
            assert what != 'one frozen' or 'panda_joint2' in feed.pipeline.unavailable_reason
    # At the start of the freeze nothing is wrong yet.
    assert all(answered[100:700])
    assert not any(answered[850:1100])
    assert all(answered[1160:])
    assert feed.states == {ContactState.NONE}


@pytest.mark.parametrize('quantity', ['q', 'v', 'effort'])
@pytest.mark.parametrize('size', [1.0, -5.0, 1e4, 1e308])
def test_single_outliers_are_no_contact(feed, free_motion, quantity, size):
    """One in fifty samples: they are refused and counted, and every state is answered."""
    answered = []
    for k, sample in enumerate(free_motion[:800]):
        changed = {}
        if k > 200 and k % 50 == 0:
            changed[quantity] = getattr(sample, quantity).copy()
            changed[quantity][k // 50 % 7] += size
        answered.append(feed.send(sample, **changed) is not None)
    feed.assert_nothing_false()
    assert all(answered[100:])
    # An effort of a joint in fast motion changes by more than 1 Nm between two samples.
    refused = sum(feed.pipeline.samples.refused.values())
    assert refused == 11 or (quantity == 'effort' and size == 1.0 and refused >= 8)


def test_efforts_beyond_all_bounds_silence_it_by_name(feed, free_motion):
    for k, sample in enumerate(free_motion[:800]):
        effort = sample.effort.copy()
        if 400 <= k < 450:
            effort[2] = 1e308
        external = feed.send(sample, effort=effort)
        # The first after a pause in which the arm has moved on waits for the second.
        assert (external is None) == (k < 40 or 401 <= k <= 450)
        if external is None and k > 40:
            assert 'effort of panda_joint3 is beyond all bounds' in feed.pipeline.unavailable_reason
    feed.assert_nothing_false()
    assert 'panda_joint3' in feed.pipeline.warning, 'told for a while after'


@pytest.mark.parametrize(
    ('name', 'value'), [('expressed_in', 'nowhere'), ('reference_points', (0.0, 0.0, 0.1))]
)
def test_a_wrong_parameter_of_wrenches_is_named_as_the_node_has_it(panda, name, value):
    robot, frame = panda.arm.robot, panda.arm.frame
    wrench = WrenchSettings(**{name: value})
    values = ContactParameters(frames=(frame, robot.frame_names[5]), wrench=wrench)
    with pytest.raises(InvalidArgumentError) as refused:
        ContactPipeline(robot, values, frame)
    assert refused.value.argument == f'wrench.{name}'
