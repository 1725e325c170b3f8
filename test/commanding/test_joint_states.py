# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The timing of joint states, by a clock of the test, and the state to brake with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.commanding import joint_states
from dynamics_ros.commanding.arm import PreparedArm
from dynamics_ros.commanding.joint_states import (
    LOST,
    MAX_CYCLE,
    NOMINAL_CYCLE,
    StateTiming,
    UnseenTime,
    reason_to_brake,
    state_to_use,
)
from dynamics_ros.control.compliance.motion_check import LASTING
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.reasons import Reason
from dynamics_ros.simulation import comfortable_posture

MILLISECOND = 1_000_000


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    found = SimpleNamespace(now=100.0)
    monkeypatch.setattr(joint_states, 'time', SimpleNamespace(monotonic=lambda: found.now))
    return found


@pytest.fixture
def one(clock):
    timing = StateTiming()
    timing.start(0)
    return timing


def intervals(one, clock, stamps, cycle=0.001):
    """Intervals of states with stamps [ms], which come and are answered a cycle [s] apart."""
    found = []
    for stamp in stamps:
        clock.now += cycle
        found.append(one.interval(stamp * MILLISECOND))
        one.answered = one.sent = clock.now
    return found


def test_intervals_are_those_of_even_stamps(one, clock):
    assert intervals(one, clock, [0], 0.0) == pytest.approx([NOMINAL_CYCLE])
    assert intervals(one, clock, range(1, 500)) == pytest.approx([0.001] * 499)
    assert one.cycle == pytest.approx(0.001, rel=0.01)


@pytest.mark.parametrize('gap', [0, -5, 1000])
def test_stamps_that_jump_are_no_interval(one, clock, gap):
    intervals(one, clock, [1], 0.0)
    assert intervals(one, clock, [1 + gap], 0.004) == pytest.approx([0.004])
    assert intervals(one, clock, [1 + gap], 1.0) == [MAX_CYCLE]


def test_states_are_late_once_more_are_missing_than_may_be(one, clock):
    intervals(one, clock, range(200))
    clock.now += 0.001 * (LOST - 0.5)
    assert not one.late
    clock.now += 0.001
    assert one.late
    assert one.missing == pytest.approx(0.001 * (LOST + 0.5))


def test_states_that_waited_give_no_more_time_than_has_passed(one, clock):
    """After 0.3 s in which the process stood still its states are answered at once."""
    intervals(one, clock, range(200))
    before = clock.now
    clock.now += 0.3
    waited = intervals(one, clock, range(200, 500), 2e-5)
    assert min(waited) > 0.0
    # The first of them ends what stood for 0.3 s, but it is of one cycle.
    assert sum(waited) < clock.now - before - 0.3 + 0.0031
    # Those that come in time again have all of theirs.
    assert intervals(one, clock, range(500, 600))[-1] == pytest.approx(0.001)


def test_states_that_come_unevenly_have_all_of_their_time(one, clock):
    for k in range(0, 400, 2):
        first, second = intervals(one, clock, [k], 0.0019) + intervals(one, clock, [k + 1], 0.0001)
    assert (first, second) == pytest.approx((0.001, 0.001))


@pytest.mark.parametrize('speed', [0.1, 10.0])
def test_simulated_time_is_that_of_the_stamps(one, clock, speed):
    one.start(0, simulated=True)
    assert intervals(one, clock, range(100), 0.001 / speed)[-1] == pytest.approx(0.001)


ROBOT = Robot.from_urdf(Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf')
HOME = comfortable_posture(ROBOT, 'tool0')
DT = 1e-3


def prepared_arm():
    parameters = ImpedanceParameters(command_joints=ROBOT.joint_names, frame='tool0')
    return PreparedArm.of(ROBOT, parameters, 'tool0')


@pytest.mark.parametrize(
    'law',
    [
        lambda arm, *sample: arm.guide(*sample),
        lambda arm, *sample: arm.approach(*sample, None),
        lambda arm, *sample: arm.brake(*sample),
        lambda arm, *sample: arm.float_freely(*sample, 10.0),
    ],
    ids=['guided', 'held', 'braked', 'floating'],
)
def test_a_process_that_is_held_up_does_not_fling_the_arm(clock, law):
    """It answers the states of 48 ms at once, and the arm lives on with the last command.

    What is stable for the intervals of these states drove the wrists to and fro, at 8 m/s.
    """
    arm, timing = prepared_arm().arm, StateTiming()
    q, v, tau = HOME, np.zeros(ROBOT.nv), ROBOT.gravity(HOME)
    speeds, waiting = [], []
    arm.start(q, v)
    timing.start(0)
    for k in range(360):
        push = [0.0, 0.0, 5.0 if 120 <= k < 132 else 0.0, 0.0, 0.0, 0.0]
        pushed = ROBOT.jacobian(q, 'tool0').T @ push
        for _ in range(8):
            v = v + 5e-4 * ROBOT.forward_dynamics(q, v, tau + pushed)
            q = ROBOT.integrate(q, 5e-4 * v)
        speeds.append(np.linalg.norm(ROBOT.frame_velocity(q, v, 'tool0')[:3]))
        waiting.append((k, q, v))
        clock.now += 0.004
        if k > 100 and len(waiting) < 12:
            continue
        for i, *state in waiting:
            clock.now += 2e-5
            interval = timing.interval(4 * i * MILLISECOND)
            arm.hold = timing.held
            tau = law(arm, *state, interval)
            timing.answered = timing.sent = clock.now
        waiting.clear()
    pushed = speeds[131]
    assert max(speeds[132:]) < 1.1 * pushed
    assert max(speeds[-60:]) < 0.1 * pushed


def test_states_are_missing_for_as_long_as_more_of_them_are_missing_than_not():
    unseen = UnseenTime()
    # A driver that returns within 0.3 s, again and again.
    for known in ([0.0] * 28 + [None] * 30) * 5:
        assert not unseen.lasts(0.1, 0.01, known)
    # Two of three without a joint.
    over = [unseen.lasts(0.1, 0.01, (0.0, 0.0, None)[k % 3]) for k in range(100)]
    assert over.index(True) == 85
    assert UnseenTime().lasts(0.1, 0.25, 0.1)


def test_a_position_that_is_no_number_is_not_answered_by_the_prediction_for_an_earlier_state():
    prepared = prepared_arm()
    check, timing = prepared.check, StateTiming()
    v = np.full(ROBOT.nv, 0.3)
    still = RobotState(0, HOME, v, 0.0 * v, (), (), (), np.zeros(ROBOT.nv, dtype=bool))
    prepared.arm.start(HOME, v)
    check.begin(HOME, v, prepared.arm.tau)
    timing.start(0)
    for _ in range(50):
        reason = reason_to_brake(prepared, still, timing, 0.0, DT, 0.1)
        used = state_to_use(prepared, still, reason)
    assert reason.reason is Reason.STATES_FROZEN
    assert np.abs(used.q - HOME).max() > 1e-3

    new = still._replace(q=HOME + 0.02, v=0.5 * v, not_finite=ROBOT.joint_names[:1])
    reason = reason_to_brake(prepared, new, timing, 0.0, DT, 0.1)
    used = state_to_use(prepared, new, reason)
    assert reason.reason is Reason.POSITION_NOT_FINITE
    assert not check.blind
    np.testing.assert_array_equal(used.q, new.q)
    np.testing.assert_array_equal(used.v, new.v)


def test_a_state_without_a_position_does_not_make_a_jump_before_it_true():
    prepared, timing = prepared_arm(), StateTiming()
    rest = np.zeros(ROBOT.nv)
    true = RobotState(0, HOME, rest, rest, (), (), (), rest.astype(bool))
    jumped = true._replace(q=HOME + 0.3)
    prepared.arm.start(HOME, rest)
    prepared.check.begin(HOME, rest, prepared.arm.tau)
    timing.start(0)
    missing = jumped._replace(not_finite=ROBOT.joint_names[:1])
    for state in (jumped, missing, jumped):
        reason = reason_to_brake(prepared, state, timing, 0.0, DT, 0.1)
        used = state_to_use(prepared, state, reason)
        assert reason
    assert reason.reason is Reason.POSITION_JUMPED
    assert np.abs(used.q - HOME).max() < 1e-3


FAST, SLOW = ROBOT.joint_names[:4], ROBOT.joint_names[4:]


def judged(report, commanded=ROBOT.joint_names, seconds=0.99, period=5):
    """Reasons to brake, and whether to hand over, for publishers of 1 kHz and of a period [ms].

    Args:
        report: returns the positions of the message of a publisher from its joints, the true ones
            and the time [s]; None: none comes.
    """
    frame = 'tool0' if SLOW[-1] in commanded else 'forearm_link'
    parameters = ImpedanceParameters(command_joints=commanded, frame=frame)
    prepared, timing = PreparedArm.of(ROBOT, parameters, frame), StateTiming()
    buffer, found = StateBuffer(ROBOT, (), 0.5), []
    for k in range(round(seconds / DT)):
        t = k * DT
        q, v = HOME + 0.1 * np.sin(2.0 * t), 0.2 * np.cos(2.0 * t) * np.ones(ROBOT.nv)
        for names, every, late in ((SLOW, period, 400_000), (FAST, 1, 0)):
            places = [ROBOT.joint_names.index(name) for name in names]
            told = report(names, q[places], t)
            if k % every or told is None:
                continue
            stamp = 0, (k + 1) * MILLISECOND - late
            buffer.update(JointValues(*stamp, names, told, v[places], 0.0 * v[places]))
            state = buffer.due_state()
            if state is None:
                continue
            if not found:
                prepared.arm.start(state.q, state.v)
                prepared.check.begin(state.q, state.v, prepared.arm.tau)
                timing.start(state.time, simulated=True)
            interval = timing.interval(state.time)
            reason = reason_to_brake(prepared, state, timing, 0.0, interval, 0.1)
            found.append((t, reason.reason, prepared.check.blind and prepared.check.lasting))
    return found


@pytest.mark.parametrize(
    ('frozen', 'period'),
    [(FAST, 5), (SLOW, 5), ((), 5), ((), 20)],
    ids=['fast', 'slow', 'none', 'none, 50 Hz'],
)
def test_frozen_states_beside_those_of_another_publisher_are_handed_over(frozen, period):
    held = {}

    def report(names, q, t):
        held[names] = held[names] if names == frozen and t > 0.5 else q
        return held[names]

    found = judged(report, period=period)
    over = [t for t, _, lasting in found if lasting]
    if not frozen:
        # Until it has moved, a joint counts as reported every 5 ms.
        assert {reason for t, reason, _ in found if t > 0.05} == {Reason.OK}
        assert not over
        return
    assert 0.5 + LASTING < over[0] < 0.5 + LASTING + 0.05


def test_jumps_of_a_joint_that_is_not_commanded_brake_nothing():
    """A gripper moves and is zeroed by others: no feedback acts on it."""
    found = judged(lambda names, q, t: q + 0.3 * (names == SLOW and t > 0.5), FAST)
    assert {reason for _, reason, _ in found} == {Reason.OK}


def test_a_joint_that_is_missing_raises_no_doubt_about_the_others():
    """One jump of another would hand over at once what is only braked."""

    def report(names, q, t):
        if names == SLOW and t > 0.3:
            return None
        return q + 0.3 if names == FAST and 0.9 < t < 0.905 else q

    for commanded in (ROBOT.joint_names, FAST):
        found = judged(report, commanded)
        assert not any(lasting for *_, lasting in found)
        assert {reason for t, reason, _ in found if 0.45 < t < 0.9} == {Reason.JOINTS_STALE}
