# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states that freeze or contradict themselves: what is found, and what the arm does."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from few_joint_arms import few_joint_arm
from patience import times
from test_control_compliant_arm import DT, HOME, ROBOT, Plant

from benchmarks.control_faults import ALLOWED, DRIVERS, FAULTS, MAX_BRAKING_TIME, Cell, cells
from dynamics_ros import Robot
from dynamics_ros.commanding.arm import PreparedArm
from dynamics_ros.commanding.joint_states import (
    StateTiming,
    UnseenTime,
    reason_to_brake,
    state_to_use,
    unseen_before,
)
from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    CompliantArm,
    ImpedanceController,
    MotionCheck,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.reasons import Reason
from dynamics_ros.simulation import comfortable_posture

LATEST = 0.0201
"""Time in which a fault of a moving joint is detected at 1 kHz [s]."""


JUMPS = ('q + 0.3', 'next joint')
"""Faults whose positions are elsewhere."""


@pytest.fixture(scope='module', params=[0.0, 0.1], ids=['bare', 'rotors'])
def cell(request):
    return next(cells('arm', request.param))


@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('mode', ['twist', 'guiding', 'braking', 'rest'])
@pytest.mark.few(8)
def test_an_arm_with_wrong_joint_states_is_braked(cell, fault, mode):
    speed, energy = ALLOWED.get(fault, (0.5, 2.0))
    for joints in (range(7), *([number] for number in times((3,), (1, 3, 5)))):
        outcome = cell.run(fault, joints, mode, 1000.0)
        assert outcome.speed <= speed, joints
        assert outcome.energy <= energy, joints
        stands = mode in ('rest', 'guiding')  # a joint that stands as its position freezes
        if fault in ALLOWED or not stands:
            assert outcome.detected <= LATEST, joints
        if mode == 'twist' and len(joints) == 7:
            assert outcome.detected <= LATEST
            named = 'states_contradictory' if fault in ALLOWED else 'states_frozen'
            assert outcome.code == ('position_jumped' if fault in JUMPS else named)


def test_an_arm_that_stays_blind_gets_gravity_torques_and_slows_down(cell):
    cell.run('q and v repeated', range(7), 'twist', 1000.0)
    assert cell.prepared.check.lasting
    assert np.abs(cell.tau - cell.robot.gravity(cell.q)).max() < 2.0
    assert cell.speed < 0.3


@pytest.mark.parametrize('missing', ['one joint', 'numbers of one joint', 'all joints'])
def test_an_arm_whose_joint_states_are_missing_is_handed_over_before_it_is_fast(cell, missing):
    arm, timing, unseen, timeout = cell.prepared.arm, StateTiming(), UnseenTime(), 0.1
    cell.place()
    for _ in range(500):
        cell.advance(DT, None)
        sample = cell.q, cell.v, cell.tau
        cell.control(sample, DT, 'twist', arm.pose, np.array([0.05, 0.1, 0.2, 0.0, 0.0, 0.0]))
    held, speed, energy, seconds = sample, cell.speed, cell.energy, 0.0
    timing.start(0, simulated=True)
    lost = np.arange(7) == 3
    over = False
    while not over:
        seconds += DT
        cell.advance(DT, None)
        if missing == 'all joints':
            cell.tau = arm.reckon(DT)
            over = unseen.lasts(timeout, DT, 0.0)
        else:
            q, v, effort = (np.where(lost, x, y) for x, y in zip(held, (cell.q, cell.v, cell.tau)))
            stamp = round(1e9 * seconds)
            ages = np.where(lost, stamp, 0)
            state = RobotState(stamp, q, v, effort, (), (), (), np.zeros(7, dtype=bool), ages)
            if missing == 'numbers of one joint':
                state = state._replace(not_finite=(cell.robot.joint_names[3],))
            interval = timing.interval(stamp)
            reason = reason_to_brake(cell.prepared, state, timing, 0.0, interval, timeout)
            state = state_to_use(cell.prepared, state, reason)
            cell.tau = arm.brake(state.q, state.v, interval)
            over = unseen.lasts(timeout, DT, unseen_before(cell.prepared, reason, timeout))
        assert cell.speed - speed < 0.5
        assert cell.energy - energy < 2.0
    assert timeout + 0.2 - 1.5 * DT < seconds < timeout + 0.2 + 5.0 * DT


@pytest.mark.parametrize('missing', [0.05, 0.15, 0.25])
@pytest.mark.parametrize('as_numbers', [False, True], ids=['unreported', 'not finite'])
def test_an_arm_with_a_joint_that_was_missing_is_controlled_again(cell, missing, as_numbers):
    arm, timing, unseen, timeout = cell.prepared.arm, StateTiming(), UnseenTime(), 0.1
    cell.place()
    timing.start(0, simulated=True)
    lost, nothing = np.arange(7) == 3, np.zeros(7, dtype=bool)
    braking, controlled, speed, held = 0.0, np.nan, 0.0, None
    for k in range(600):
        t = k * DT - 0.5
        if t < 0.0:
            speed = cell.speed
            held = cell.q, cell.v, cell.tau
        true = cell.q, cell.v, cell.tau
        gone = 0.0 <= t < missing - 1e-9
        q, v, effort = (np.where(lost & gone, x, y) for x, y in zip(held, true))
        ages = np.where(lost & gone, round(1e9 * (t + DT)), 0)
        overdue = ages > 3_000_000
        state = RobotState(
            *(round(1e9 * (t + 1.0)), q, v, effort, (), (), (), nothing, ages),
            overdue if overdue.any() and not as_numbers else None,
            (cell.robot.joint_names[3],) if gone and as_numbers else (),
        )
        interval = timing.interval(state.time)
        reason = reason_to_brake(cell.prepared, state, timing, 0.0, interval, timeout)
        state = state_to_use(cell.prepared, state, reason)
        known = unseen_before(cell.prepared, reason, timeout)
        assert not unseen.lasts(timeout, interval, known)
        assert not cell.prepared.check.lasting, reason
        assert bool(reason) == gone or 0.0 <= t < 0.01, reason
        if reason or braking:
            cell.tau = arm.brake(state.q, state.v, interval)
            braking += DT
            if not reason and (arm.at_rest or braking > MAX_BRAKING_TIME):
                braking = 0.0
                arm.stay()
        else:
            twist = np.array([0.0, 0.0, 0.25, 0.0, 0.0, 0.0]) * (t < 0.0)
            cell.tau = arm.drive(state.q, state.v, interval, twist)
            if t >= missing and np.isnan(controlled):
                controlled = t - missing
        assert cell.speed < speed + 0.1 or t < 0.0
        cell.advance(DT, None)
    assert speed > 0.2
    assert missing + controlled < MAX_BRAKING_TIME + 0.02
    assert cell.speed < 0.02


@pytest.mark.parametrize('seconds', [0.06, 0.15])
def test_states_that_were_repeated_for_a_moment_are_believed_again(cell, seconds):
    cell.place()
    twist, held, codes = np.array([0.0, 0.0, 0.25, 0.0, 0.0, 0.0]), None, []
    for k in range(600):
        t = k * DT - 0.5
        true = cell.q, cell.v, cell.tau
        held = true if t < 0.0 else held
        sample = held if t < seconds else true
        codes.append(cell.control(sample, DT, 'twist', cell.prepared.arm.pose, twist))
        assert not cell.prepared.check.lasting
        assert cell.speed < 0.35
        cell.advance(DT, None)
    assert any(codes) and not any(codes[-50:])


@pytest.fixture
def loaded(cell):
    """The arm with and without a payload, of which the plant knows nothing."""
    bare = cell.prepared
    values = ImpedanceParameters(command_joints=cell.robot.joint_names, frame=cell.frame)
    robot = cell.robot.with_payload(cell.frame, 0.5, [0.0, 0.0, 0.1])
    yield itertools.cycle((PreparedArm.of(robot, values, cell.frame), bare))
    cell.prepared = bare


@pytest.mark.parametrize('fault', ['none', 'q and v repeated', 'q + 0.3'])
@pytest.mark.parametrize('speed', [0.0, 0.1])
def test_payloads_that_change_all_the_time_hide_no_fault(cell, loaded, fault, speed):
    cell.place()
    twist, lost = np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0]), np.arange(7) == 3
    held = cell.q, cell.v, cell.tau
    start = 500 if fault != 'none' else 1000
    for k in range(start + 125 * (fault != 'none')):
        true = cell.q, cell.v, cell.tau
        held = held if k > start else true
        wrong = FAULTS[fault](held, true) if k > start else true
        if k % 50 == 49:  # as in Impedance.adopt
            before = cell.prepared
            cell.prepared = next(loaded)
            cell.prepared.arm.start(before.arm.q, before.arm.v, before.arm.tau)
            cell.prepared.check.go_on(before.check)
        sample = tuple(np.where(lost, x, y) for x, y in zip(wrong, true, strict=True))
        code = cell.control(sample, DT, 'twist', cell.prepared.arm.pose, twist)
        assert not code or k > start
        if cell.prepared.check.lasting:
            break
        cell.advance(DT, None)
    assert cell.prepared.check.lasting == (fault != 'none')


def test_a_joint_may_have_moved_while_it_was_missing_and_the_payload_changed(cell, loaded):
    first, second = cell.prepared.check, next(loaded).check
    q, v, tau = HOME.copy(), np.zeros(7), cell.robot.gravity(HOME)
    lost = np.arange(7) == 3
    first.begin(q, v, tau)
    for check in (first, second):
        if check is second:
            check.go_on(first)
        for _ in range(100):
            assert not check.judge(q, v, DT, tau, tau, lost)
    q = q + 0.5 * lost
    assert not second.judge(q, v, DT, tau, tau)


def test_an_arm_that_rests_on_a_base_that_tilts_is_not_taken_for_frozen(cell):
    check, v = cell.prepared.check, np.zeros(7)
    check.begin(HOME, v, cell.robot.gravity(HOME))
    for angle in np.linspace(0.0, 0.15, 30)[: times(12, 30)]:  # every 0.1 s
        robot = cell.robot.with_gravity([9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle)])
        before, check, tau = check, MotionCheck(robot, check.friction), robot.gravity(HOME)
        check.go_on(before)
        assert not any(check.judge(HOME, v, 2.0 * DT, tau, tau) for _ in range(50))


@pytest.mark.parametrize('driver', DRIVERS)
@pytest.mark.parametrize('slow', [False, True], ids=['usual', 'slow'])
@pytest.mark.few(2)
def test_true_joint_states_stop_nothing(driver, slow):
    cell = next(cells('arm', 0.1))
    usual = (('twist', 1000.0), ('guiding', 250.0))
    for mode, rate in times(usual, (*usual, ('twist', 250.0), ('guiding', 1000.0))):
        assert cell.stops(driver, mode, rate, slow=slow) == (0, ''), (mode, rate)
    assert cell.stops(driver, 'twist', 500.0, slow=slow, wall=True) == (0, '')


MODES = ('twist', 'pose', 'guiding', 'braking', 'float')


def speeds(cell, mode, rate, push):
    """Joint speeds [rad/s] of a second, for a force of 0.2 s on the tool."""
    cell.place()
    goal, found = np.array(cell.prepared.arm.pose), []
    for k in range(round(rate)):
        pushed = 0.1 <= k / rate < 0.3
        cell.advance(1.0 / rate, (lambda v: push) if pushed else None)
        cell.control((cell.q, cell.v, cell.tau), 1.0 / rate, mode, goal, np.zeros(6))
        found.append(np.abs(cell.v).max())
    return np.array(found)


@pytest.mark.parametrize('name', ['arm', 'xarm7'])
@pytest.mark.parametrize('rotors', [0.0, 0.1])
def test_a_light_wrist_comes_to_rest_however_rare_its_states_are(name, rotors):
    """Springs of 10 Nm/rad, and a damper of 0.5 Nms/rad, swung wrists at 10 to 25 rad/s."""
    cell = next(cells(name, rotors))
    for rate in times((50.0, 1000.0), (50.0, 100.0, 250.0, 1000.0)):
        for mode in MODES:
            assert speeds(cell, mode, rate, np.zeros(3)).max() < 1e-3, (rate, mode)
        for mode in ('twist', 'braking', 'guiding'):
            found = speeds(cell, mode, rate, np.array([12.0, -12.0, 8.0]))
            assert found[-10:].max() < 0.7 * found.max(), (rate, mode)
            assert found[-10:].max() < 1.0, (rate, mode)


@pytest.mark.parametrize('name', ['arm', 'xarm7'])
@pytest.mark.parametrize('rate', [250.0, 1000.0])
def test_a_stiff_tool_gives_way_only_for_a_moment_if_one_state_is_late(name, rate):
    """A hand presses with 20 N while one state comes 20 ms late."""

    def deflections(late):
        cell = next(cells(name, 0.0))
        cell.place()
        arm, found = cell.prepared.arm, []
        stiffness = np.diag([1000.0] * 3 + [20.0] * 3)
        compliance = replace(arm.settings.compliance, stiffness=stiffness)
        arm.settings = replace(arm.settings, compliance=compliance)
        goal = arm.pose
        for k in range(round(3.0 * rate)):
            dt = 1.0 / rate + late * (k == round(rate))
            pressed = k > 0.2 * rate
            cell.advance(dt, (lambda v: np.array([0.0, 0.0, 20.0])) if pressed else None)
            cell.tau = arm.approach(cell.q, cell.v, dt, goal)
            found.append(arm.pose[2, 3] - goal[2, 3])
        return np.array(found)

    usual, late = deflections(0.0), deflections(0.02)
    assert late.max() < 1.7 * usual.max()
    assert abs(late[-1] - usual[-1]) < 0.1 * usual[-1]


def run_free(robot, tool, joints, q, v, dt, seconds):
    """Joint velocities after a time in which an arm without rotors holds its tool."""
    settings = ArmSettings(Compliance(np.diag([400.0] * 3 + [10.0] * 3)), joints=joints)
    arm = CompliantArm(ImpedanceController(robot, tool), settings)
    arm.start(q, v)
    for _ in range(round(seconds / dt)):
        tau = arm.approach(q, v, dt, None)
        for _ in range(round(dt / 5e-4)):
            v = v + 5e-4 * robot.forward_dynamics(q, v, tau)
            q = robot.integrate(q, 5e-4 * v)
    return v


@pytest.mark.parametrize('dt', [0.004, 0.01, 0.02])
def test_springs_of_joint_ranges_do_not_swing_a_light_wrist(dt):
    robot = next(cells('xarm7', 0.0)).robot
    q = comfortable_posture(robot, 'link_eef')
    joints = {'posture_stiffness': 5.0, 'posture_damping': 2.0, 'margin': 0.2}
    joints |= {'limit_stiffness': 100.0, 'upper': q + np.append(np.ones(6), 0.15)}
    v = run_free(robot, 'link_eef', joints, q, np.zeros(robot.nv), dt, 2.0)
    assert np.abs(v).max() < 0.02


@pytest.mark.parametrize('dt', [0.001, 0.01])
def test_joints_beyond_the_controlled_frame_are_damped_no_more_than_samples_allow(dt):
    """All of 2 Nms/rad on a wrist of 1e-4 kg m^2 threw it, at 1 kHz too."""
    robot = next(cells('arm', 0.0)).robot
    joints = {'posture_stiffness': 5.0, 'posture_damping': 2.0}
    q, v = comfortable_posture(robot, 'tool0'), 0.05 * np.ones(robot.nv)
    assert np.abs(run_free(robot, 'forearm_link', joints, q, v, dt, 1.5)).max() < 0.05


REST = np.zeros(ROBOT.nv)
NAMES = list(ROBOT.joint_v_indices)


def judged(before, now, dt):
    check = MotionCheck(ROBOT)
    check.begin(*before)
    return check.judge(*now, dt)


def test_a_position_that_cannot_be_is_named():
    jumped = HOME.copy()
    jumped[3] += 0.1
    assert judged((HOME, REST), (HOME, REST), DT) == ''
    assert judged((HOME, REST), (jumped, REST), DT) == f'the position of {NAMES[3]} has jumped'
    assert judged((HOME, REST), (jumped, REST), 0.5) == ''


def jumping(check, wrong, speed, differenced, seconds=0.1):
    """What is said of a joint whose position is wrong by (samples), and its error [rad]."""
    check.begin(HOME, REST, ROBOT.gravity(HOME))
    last, told, errors = HOME[2], [], []
    for k in range(1, round(seconds / DT)):
        q, v = HOME.copy(), REST.copy()
        q[2] += k * DT * speed
        true, v[2], tau = q[2], speed, ROBOT.gravity(q)
        q[2] += wrong[k - 40] if 40 <= k < 40 + len(wrong) else 0.0
        if differenced:
            v[2] = (q[2] - last) / DT
        last = q[2]
        told.append(str(check.judge(q, v, DT, tau=tau)))
        errors.append(check.q[2] - true)
    return told, np.abs(errors)


@pytest.mark.parametrize('differenced', [False, True], ids=['true', 'differenced'])
@pytest.mark.parametrize('speed', [0.0, 0.5, -0.5])
def test_a_joint_that_jumps_is_predicted_until_it_comes_back(speed, differenced):
    check = MotionCheck(ROBOT, 0.005 * ROBOT.effort_limits)
    for wrong in (
        *([size] * n for size in (0.1, 0.3, -1.0) for n in (1, 2, 5)),
        *([size] * n for size in (0.01, 0.03) for n in (1, 2, 5) if not differenced),
        [0.3, -0.3, 0.5],
        [0.1, 0.2, 0.3, 0.2, 0.1],
        0.3 * 0.6 ** np.arange(30),
        [0.3, np.nan, 0.3],
    ):
        told, errors = jumping(check, np.array(wrong), speed, differenced)
        assert not any(told[:39]) and not any(told[40 + len(wrong) :]), wrong
        assert not check.lasting
        if told[39]:
            assert np.nanmax(errors) < 0.04, wrong
        assert bool(told[39]) or np.abs(wrong[0]) < 0.05, 'small jumps of a joint that stood'


@pytest.mark.parametrize('speed', [0.0, 0.3])
@pytest.mark.parametrize('size', [0.1, -0.3, 2.0])
def test_a_position_that_has_jumped_is_not_believed_however_long_it_stays(size, speed):
    check = MotionCheck(ROBOT, 0.005 * ROBOT.effort_limits)
    told, errors = jumping(check, np.full(500, size), speed, False, 0.8)
    assert all(x.endswith('has jumped') for x in told[39:])
    assert check.lasting
    assert errors[: 39 + round(0.2 / DT)].max() < 0.02


def test_a_joint_that_a_push_drives_fast_has_not_jumped():
    fast, step = REST.copy(), 0.004
    fast[5] = -6.0 * ROBOT.velocity_limits[5]
    # It goes on, is stopped, and is driven even faster.
    for v in (fast, REST, 3.0 * fast):
        gone_on = 0.5 * step * (fast + v)
        for moved in (REST, gone_on):
            assert 'jumped' not in judged((HOME, fast), (HOME + moved, v), step)
        # Neither beyond that, nor the other way, nor another joint.
        for moved in (gone_on + 1.5 * step * fast, -step * fast, step * np.roll(fast, 1)):
            assert 'jumped' in judged((HOME, fast), (HOME + moved, v), step)
    # Half of a jump is explained by a velocity that is the difference of positions.
    for size, found in ((0.1, True), (0.05, False)):
        moved = np.where(fast != 0.0, size, 0.0)
        assert ('jumped' in judged((HOME, REST), (HOME + moved, moved / step), step)) == found


@pytest.mark.parametrize('end', ['lower_limits', 'upper_limits'])
def test_a_joint_that_is_beyond_its_range_is_named_from_a_tenth_of_a_radian_on(end):
    outwards = {'lower_limits': -1.0, 'upper_limits': 1.0}[end]
    q = HOME.copy()
    for beyond, told in ((0.05, ''), (0.31, f'{NAMES[1]} is 0.31 beyond its range')):
        q[1] = getattr(ROBOT, end)[1] + outwards * beyond
        assert judged((q, REST), (q, REST), DT) == told


def gantry(stroke):
    ends = f'"{-stroke / 2}" upper="{stroke / 2}"'
    return few_joint_arm('gantry').replace('"-3" upper="3"', ends)


@pytest.mark.parametrize(('stroke', 'far'), [(6.0, 0.1), (0.5, 0.05), (0.04, 0.01)])
def test_a_slide_is_beyond_its_range_from_a_tenth_of_its_stroke_on(stroke, far):
    robot = Robot.from_urdf(gantry(stroke))
    check, rest = MotionCheck(robot), np.zeros(3)
    for share, named in ((0.9, False), (1.1, True)):
        q = np.array([0.0, -(stroke / 2 + share * far), 0.0])
        check.begin(q, rest)
        found = check.judge(q, rest, DT)
        assert (found.reason is Reason.POSITIONS_BEYOND_LIMITS) == ('joint_2 is' in found) == named


@pytest.mark.parametrize('stroke', [6.0, 0.1])
def test_a_gantry_with_wrong_joint_states_stays_slow_and_true_ones_stop_nothing(stroke):
    cell = Cell('gantry', gantry(stroke), 'tool', 0.1)
    # Joints that stand at the same position may be exchanged without a trace.
    faults = [fault for fault in FAULTS if fault != 'next joint']
    for fault, mode in itertools.product(faults, times(['rest'], ['rest', 'twist', 'guiding'])):
        outcome = cell.run(fault, range(3), mode, 1000.0)
        assert outcome.speed <= 0.5 and outcome.energy <= 2.0, (fault, mode)
        assert outcome.detected <= 0.1, (fault, mode)
    for driver in ('repeating states of 125 Hz', 'noise, late velocities'):
        assert cell.stops(driver, 'guiding', 1000.0) == (0, '')


CONTRADICT = 'positions and velocities of {} contradict each other'


def through(check, seconds, position, velocity, k=2):
    """What is said of a joint that is told to move so, and when [s]."""
    check.begin(HOME, REST)
    for i in range(round(seconds / DT)):
        q, v = HOME.copy(), REST.copy()
        q[k] += position(i * DT)
        v[k] = velocity(i * DT)
        told = check.judge(q, v, DT)
        if told:
            return told, i * DT
    return '', seconds


FROZEN = 'the joint state of {} is frozen'


def sine(rate, speed=1.0):
    """Position of a swing of a rate [1/s] and a largest speed, which begins at rest."""
    return lambda t: speed / rate * (1.0 - np.cos(rate * t))


@pytest.mark.parametrize(
    ('position', 'velocity', 'said', 'within'),
    [
        (lambda t: 0.0, lambda t: 1.0, FROZEN, 0.02),
        # Of another unit or sign, or none.
        (lambda t: 0.5 * t, lambda t: 0.0, CONTRADICT, 1.0),
        (lambda t: 0.5 * t, lambda t: -0.5, CONTRADICT, 1.0),
        (lambda t: 0.01 * t, lambda t: 0.573, CONTRADICT, 1.0),
        # It stays the same while the joint swings.
        (lambda t: np.sin(3.0 * t) / 3.0, lambda t: 0.0, CONTRADICT, 0.03),
        (lambda t: np.sin(30.0 * t) / 30.0, lambda t: 0.0, CONTRADICT, 0.03),
    ],
)
def test_a_position_and_a_velocity_that_contradict_each_other_are_found(
    position, velocity, said, within
):
    told, after = through(MotionCheck(ROBOT), 2.0, position, velocity)
    assert told == said.format(NAMES[2])
    assert after <= within


def test_a_reason_has_a_code_and_lasts_until_states_are_true_again():
    check = MotionCheck(ROBOT)
    assert not check.reason
    assert not check.blind
    through(check, 1.0, lambda t: 0.0, lambda t: 1.0)
    assert check.reason.reason is Reason.STATES_FROZEN
    assert check.blind
    for k in range(200):
        assert check.judge(HOME, REST, DT)
        assert check.lasting == (k * DT >= 0.2 - 2.0 * DT)
    assert check.judge(HOME + 1e-6, REST, DT) == ''
    assert not check.blind


@pytest.mark.parametrize(('delay', 'late'), [(0.0, 0.0), (0.012, 0.0), (0.0, 0.02), (0.0, 0.04)])
@pytest.mark.parametrize('rate', [0.5, 3.0])
def test_a_velocity_that_is_delayed_or_that_a_filter_makes_late_contradicts_nothing(
    delay, late, rate
):
    fastest, lag = min(1.5, 0.5 * rate), np.arctan(rate * late)

    def filtered(t):
        """Sine from t = 0 on, behind a filter of first order."""
        fading = np.exp(-t / late) * np.sin(lag) if late else 0.0
        return np.cos(lag) * (np.sin(rate * t - lag) + fading)

    velocity = lambda t: fastest * filtered(max(t - delay, 0.0))  # noqa: E731
    assert through(MotionCheck(ROBOT), 4.0, sine(rate, fastest), velocity)[0] == ''


def test_coarse_and_noisy_measurements_contradict_nothing():
    random = np.random.default_rng(3)
    told, _ = through(
        MotionCheck(ROBOT),
        4.0,
        lambda t: 1e-3 * np.round(0.3 * np.sin(2.0 * t) / 1e-3),
        lambda t: 0.6 * np.cos(2.0 * t) + random.normal(0.0, 0.2),
    )
    assert told == ''


def test_a_prediction_stays_within_bounds_however_long_states_are_frozen():
    check = MotionCheck(ROBOT)
    check.begin(HOME, REST, REST)
    through(check, 1.0, lambda t: t, lambda t: 1.0)
    q, v = HOME.copy(), REST.copy()
    q[2], v[2] = HOME[2] + 1.0 - DT, 1.0
    for _ in range(5000):
        check.judge(q, v, DT, None, 0.5 * ROBOT.effort_limits)
        assert np.abs(check.q - q).max() <= 1.0 + 1e-12
        assert (np.abs(check.v) <= 2.0 * ROBOT.velocity_limits).all()
    assert check.lasting


@pytest.mark.parametrize('fault', ['q and v repeated', 'v of the wrong sign'])
@pytest.mark.parametrize('mode', ['twist', 'rest'])
def test_slow_joint_states_are_no_excuse(cell, fault, mode):
    speed, energy = ALLOWED.get(fault, (0.5, 2.0))
    outcome = cell.run(fault, range(7), mode, 250.0)
    assert outcome.detected <= LATEST or mode == 'rest'
    assert outcome.speed <= speed and outcome.energy <= energy


@pytest.mark.parametrize('slow', [False, True], ids=['usual', 'slow'])
@pytest.mark.few(1)
def test_encoders_of_12_bits_stop_no_arm_whose_wrist_is_light_beside_its_rotors(slow):
    """A step of one joint moved the predictions of others, and rotors were not expected there."""
    cell = next(cells('xarm7', 0.1))
    for mode in ('twist', 'guiding'):
        assert cell.stops('encoders of 12 bits', mode, 1000.0, slow=slow) == (0, ''), mode


def test_light_joints_whose_positions_freeze_beside_live_efforts_stay_slow():
    """At 250 Hz a forearm reached 17 rad/s, and the tool 1.8 m/s."""
    cell = next(cells('xarm7', 0.0))
    outcome = cell.run('q repeated, v = 0, effort true', range(0, 7, 2), 'twist', 250.0)
    assert outcome.speed <= 0.5
    assert outcome.energy <= 2.0


def test_what_is_no_number_is_told_and_forgotten():
    check = MotionCheck(ROBOT)
    check.begin(HOME, REST)
    for wrong in (np.nan, np.inf):
        assert 'not finite' in check.judge(HOME + wrong, REST, DT)
        assert 'not finite' in check.judge(HOME, REST + wrong, DT)
    assert check.judge(HOME, REST, DT) == ''
    assert through(check, 1.0, lambda t: 0.0, lambda t: 1.0)[0] == FROZEN.format(NAMES[2])


def test_the_simulated_arm_contradicts_nothing_when_it_is_pushed():
    plant, told = Plant(), set()
    check = MotionCheck(ROBOT)
    check.begin(plant.q, plant.v)
    plant.push([40.0, 20.0, -30.0], 0.2)

    def step(q, v, dt):
        told.add(check.judge(q, v, dt))
        return plant.arm.approach(q, v, dt, None)

    plant.live(2.0, step)
    assert told == {''}
