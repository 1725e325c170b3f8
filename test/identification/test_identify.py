# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm other than described is found from its motion, within the stated deviations."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import simulated_arm
import yaml
from simulated_arm import (
    COULOMB,
    FILE,
    OFFSET,
    ROBOT,
    ROTOR,
    SMOOTH,
    VISCOUS,
    as_csv,
    motion,
    recording,
    truth,
)

from benchmarks.unmodelled_arms import STICKING, UnmodelledArm
from dynamics_ros import Robot
from dynamics_ros.calibration.command import main
from dynamics_ros.calibration.outputs import node_parameters, parameter_values
from dynamics_ros.calibration.results import report
from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.identification import (
    JointSamples,
    NotThisRobotError,
    UnusableRecordingError,
    for_robot,
    identify,
)
from dynamics_ros.identification.alternatives import check_mounting
from dynamics_ros.identification.bodies.base_parameters import BaseParameters, with_rotors
from dynamics_ros.identification.bodies.pseudo_inertia import (
    Program,
    consistent,
    parameters_of,
    pseudo_inertia,
    solve,
)
from dynamics_ros.identification.equations import FRICTION_VELOCITY
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.uncertainty import calibrated_robot, learn
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.recordings.settings import settings_of
from dynamics_ros.settings import replaced

ARM = truth(1)


@pytest.fixture(scope='module')
def found():
    return identify(ROBOT, [recording(ARM)])


def test_friction_rotors_and_offsets_are_found(found):
    model = found.effort_model
    assert model.viscous == pytest.approx(VISCOUS, abs=0.05)
    assert model.coulomb == pytest.approx(COULOMB, abs=0.05)
    assert model.offset == pytest.approx(-OFFSET, abs=0.05)
    assert model.rotor_inertia == pytest.approx(ROTOR, abs=0.02)
    assert (model.load_friction < 0.03).all()
    assert found.noise.effort == pytest.approx(np.full(7, 0.1), rel=0.2)


def test_another_motion_is_explained_down_to_the_noise(found):
    # 0.1 Nm of noise at 200 Hz, of which the filter lets pass what lies below its cutoff.
    noise = 0.1 * np.sqrt(found.maker.cutoff / 100.0)
    tested = found.evaluate(recording(ARM, seed=5))
    assert (tested.rms < 1.3 * noise).all()
    assert tested.percent_all < 0.5
    assert found.consistent
    assert 'effort_model' in repr(found)


def test_deviations_are_honest(found):
    base = found.maker.base
    true = base.combination @ np.concatenate([ARM.bodies.ravel(), ROTOR])
    told = [p for p in found.parameters if p.kind == 'base']
    off = np.array([(p.value - t) / p.deviation for p, t in zip(told, true, strict=True)])
    assert (np.abs(off) < 2.6).mean() > 0.97
    friction = {p.name: p for p in found.parameters if p.kind == 'friction'}
    for name, values in (('viscous', VISCOUS), ('coulomb', COULOMB)):
        for joint, value in zip(ROBOT.joint_names, values, strict=True):
            one = friction[f'{name} {joint}']
            assert one.identifiable
            assert abs(one.value - value) < 4.0 * one.deviation < 0.5


def test_a_push_counts_little_and_is_told_of(found):
    pushed = recording(ARM)
    push = (pushed.time > 10.0) & (pushed.time < 11.0)
    effort = pushed.effort.copy()
    effort[push] += np.array([5.0, 20.0, 5.0, 10.0, 2.0, 2.0, 0.5])
    result = identify(ROBOT, [replace(pushed, effort=effort)])
    (sentence,) = [one for one in result.findings if 'push' in one]
    assert ' 10.' in sentence or ' 9.' in sentence
    assert result.evaluate(recording(ARM, seed=5)).percent_all < 0.6


def test_efforts_of_the_opposite_sign_and_in_other_units_are_told_of():
    turned = identify(ROBOT, [recording(truth(1, scale=-1.0))])
    assert (turned.effort_model.scale == -1.0).all()
    assert any('opposite sign' in one for one in turned.findings)
    assert turned.effort_model.coulomb == pytest.approx(COULOMB, abs=0.05)
    percent = identify(ROBOT, [recording(truth(1, scale=0.05))])
    assert any('other units' in one for one in percent.findings)
    assert percent.effort_model.scale * 0.05 == pytest.approx(np.ones(7), abs=0.4)


def test_what_nothing_can_be_told_from_is_refused():
    still = recording(ARM, duration=5.0, joints=())
    with pytest.raises(UnusableRecordingError, match='no joint moves'):
        identify(ROBOT, [still])
    with pytest.raises(UnusableRecordingError, match='too short'):
        identify(ROBOT, [recording(ARM, duration=0.5)])
    silent = replace(still, effort=np.zeros_like(still.effort))
    with pytest.raises(UnusableRecordingError, match='holds no efforts'):
        for_robot(silent, ROBOT)
    degrees = replace(still, position=np.degrees(still.position) + 50.0)
    with pytest.raises(UnusableRecordingError, match='degrees'):
        for_robot(degrees, ROBOT)
    other = recording(ARM)
    rng = np.random.default_rng(0)
    noise = replace(other, effort=rng.normal(size=other.effort.shape).cumsum(axis=0))
    with pytest.raises(NotThisRobotError, match='another robot'):
        identify(ROBOT, [noise])


def test_stamps_of_arrival_losses_and_gaps_are_seen_through():
    samples = recording(ARM, duration=10.0)
    rng = np.random.default_rng(2)
    kept = np.sort(rng.choice(len(samples), round(0.98 * len(samples)), replace=False))
    kept = kept[(samples.time[kept] < 4.0) | (samples.time[kept] > 5.0)]
    late = samples.rows(kept)
    late = replace(late, time=np.sort(late.time + rng.exponential(0.0005, len(late))))
    stretches = regular_stretches(late)
    assert len(stretches) == 2
    assert stretches[0].period == pytest.approx(0.005, rel=1e-3)
    q = stretches[0].position
    lag = np.arange(len(q)) * stretches[0].period
    true = np.stack([np.interp(lag, samples.time, column) for column in samples.position.T], 1)
    # The mean delay of the stamps stays, their jitter does not.
    assert np.abs(q - true)[50:-50].max() < 5e-3
    v = np.diff(q, axis=0) / stretches[0].period
    clean = np.diff(true, axis=0) / stretches[0].period
    assert np.sqrt(np.mean((v - clean)[50:-50] ** 2)) < 0.03


OTHER = 0.0224
"""rad/s at which dry friction of this arm has reached 76 %: not the speed of the model."""


def other_friction(samples, arm, speed):
    """A recording as if dry friction began at another speed."""
    _, v, _ = motion(samples.time)
    before, after = (COULOMB * np.tanh(v / one) for one in (simulated_arm.SMOOTH, speed))
    return replace(samples, effort=samples.effort + arm.scale * (after - before))


@pytest.fixture(scope='module')
def found_deviations():
    arm = truth()
    return identify(ROBOT, [other_friction(recording(arm, noise=0.05), arm, OTHER)])


def of_kind(found, name):
    """(7) values and deviations."""
    told = {one.name: one for one in found.parameters}
    ones = [told[f'{name} {joint}'] for joint in ROBOT.joint_names]
    return np.array([x.value for x in ones]), np.array([x.deviation for x in ones])


def test_friction_is_within_its_deviations_where_its_speed_is_another(found_deviations):
    assert OTHER != FRICTION_VELOCITY
    for name, true in (('coulomb', COULOMB), ('viscous', VISCOUS), ('offset', OFFSET)):
        value, deviation = of_kind(found_deviations, name)
        off = (value - true) / deviation
        # Seven numbers; beyond 4 deviations is one in sixteen thousand.
        assert np.abs(off).max() < 4.0, name
        assert np.sqrt(np.mean(off**2)) < 1.8, name


SLIDE = """
<robot name="lift">
  <link name="base"/>
  <joint name="lift" type="prismatic">
    <parent link="base"/><child link="car"/><axis xyz="{axis}"/>
    <limit lower="0" upper="1" velocity="1" effort="500"/>
  </joint>
  <link name="car">
    <inertial><mass value="5"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""


@pytest.mark.parametrize(('axis', 'told'), [('0 0 1', False), ('0 1 0', True)])
def test_the_weight_on_a_slide_is_not_told_from_an_offset(axis, told):
    """What accelerates is mass and rotor together; what is constant is weight and offset."""
    robot = Robot.from_urdf(SLIDE.format(axis=axis))
    t = np.arange(0.0, 30.0, 0.01)[:, np.newaxis]
    q, v, a = 0.3 * np.sin(2.0 * t), 0.6 * np.cos(2.0 * t), -1.2 * np.sin(2.0 * t)
    effort = robot.inverse_dynamics(q, v, a) + 3.0 * np.tanh(v / 0.02) + 4.0 * v
    effort += 0.1 * np.random.default_rng(0).normal(size=q.shape)
    samples = JointSamples('slide', robot.joint_names, t[:, 0], q, v, effort)
    found = identify(robot, [samples])
    (mass,) = [one for one in found.parameters if one.kind == 'base' and 'm car' in one.name]
    assert mass.identifiable == told


GROWS = np.array([0.1, 0.08, 0.0, 0.12, 0.0, 0.1, 0.0])


def carried(q, v, a):
    return ARM.robot.inverse_dynamics(q, v, a) + ROTOR * a


def loaded(seed=0):
    """A recording of an arm with such friction in four joints, written down here."""
    plain = recording(ARM, seed=seed)
    q, v, a = motion(plain.time, seed)
    more = GROWS * np.abs(carried(q, v, a)) * np.tanh(v / SMOOTH)
    return replace(plain, effort=plain.effort + more)


@pytest.fixture(scope='module')
def found_load_friction():
    return identify(ROBOT, [loaded()])


def test_it_is_found_within_its_deviations(found_load_friction):
    told = {p.name: p for p in found_load_friction.parameters}
    for joint, true in zip(ROBOT.joint_names, GROWS, strict=True):
        one = told.get(f'load {joint}')
        assert one or not true, 'a joint without loads has no such friction'
        if one:
            assert abs(one.value - true) < 4.0 * one.deviation < 0.12
            assert one.identifiable or not true
    assert found_load_friction.effort_model.coulomb == pytest.approx(COULOMB, abs=0.05)
    assert found_load_friction.consistent


RATE, NOISE = 200.0, 0.1


def stopping(arm=ARM, duration=60.0, seed=0):
    """From posture to posture with rests, in which joints are held by any dry friction there is."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / RATE)
    q, v, a, held = np.zeros((4, len(t), 7))
    rest = np.zeros(len(t), dtype=bool)
    here, begin = np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]), 0.0
    while begin < duration:
        there = np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]) + rng.uniform(-0.8, 0.8, 7)
        move, end = rng.uniform(1.0, 2.0), rng.uniform(1.0, 3.0)
        inside = (t >= begin) & (t < begin + move + end)
        x = np.minimum((t[inside] - begin) / move, 1.0)[:, np.newaxis]
        q[inside] = here + (there - here) * x**3 * (10.0 + x * (6.0 * x - 15.0))
        v[inside] = (there - here) * 30.0 * x**2 * (1.0 - x) ** 2 / move
        a[inside] = (there - here) * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / move**2
        still = inside & (t >= begin + move)
        # Brakes let a joint sag: friction carries, mostly, what gravity asks for.
        held[still] = 0.6 * COULOMB + 0.4 * COULOMB * rng.uniform(-1.0, 1.0, 7)
        rest |= still
        here, begin = there, begin + move + end
    torque = arm.robot.inverse_dynamics(q, v, a) + ROTOR * a
    effort = torque + VISCOUS * v + COULOMB * np.tanh(v / SMOOTH) + OFFSET + held
    effort += NOISE * rng.normal(size=q.shape)
    q = q + 2e-5 * rng.normal(size=q.shape)
    return JointSamples('stops', ROBOT.joint_names, t, q, None, effort), rest


@pytest.fixture(scope='module')
def samples():
    return stopping()[0]


@pytest.fixture(scope='module')
def found_rests(samples):
    return identify(ROBOT, [samples])


def gravity_off(identified):
    """RMS of the error of weights and offsets in other postures [Nm]."""
    base = BaseParameters.of(ROBOT)
    true = np.concatenate([ARM.bodies.ravel(), ROTOR])
    rng, zero = np.random.default_rng(5), np.zeros((40, 7))
    q = np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]) + rng.uniform(-0.8, 0.8, zero.shape)
    off = identified.fit.x[: len(true)] - true
    Y = with_rotors(ROBOT.regressor(q, zero, zero), zero)
    torque = Y[..., base.chosen] @ (base.combination @ off)
    return float(np.sqrt(((torque + identified.fit.friction[:, 1] - OFFSET) ** 2).mean()))


def test_friction_and_weights_are_those_of_motion(samples, found_rests):
    assert gravity_off(found_rests) < 0.1, 'friction holds with 0.4 to 3 Nm, on one side'
    assert found_rests.effort_model.coulomb == pytest.approx(COULOMB, abs=0.15)
    assert found_rests.effort_model.viscous == pytest.approx(VISCOUS, abs=0.15)
    tested = found_rests.evaluate(recording(ARM, seed=5))
    assert tested.percent_all < 0.5


def test_stops_are_seen_and_no_pushes(samples, found_rests):
    rest = stopping()[1].mean()
    assert found_rests.train.standing.mean() == pytest.approx(rest, abs=0.1)
    assert not any('push' in sentence for sentence in found_rests.findings)


def test_a_push_at_rest_that_friction_cannot_hold_is_told(samples):
    _, rest = stopping()
    effort = samples.effort.copy()
    first = np.flatnonzero(rest & (samples.time > 20.0))[0]
    push = slice(first + 20, first + 180)
    effort[push] += 30.0
    result = identify(ROBOT, [replace(samples, effort=effort)])
    (sentence,) = [one for one in result.findings if 'push' in one]
    begin = samples.time[push.start]
    assert any(f'{begin + k:.0f}.' in sentence for k in (-1, 0, 1)), sentence


UNSEEN_JOINTS_ARM = truth(1, off=0.0)
MOVED = (1, 3)
STILL = [k for k in range(7) if k not in MOVED]
EPOCH = 1_750_000_000 * 10**9


@pytest.fixture(scope='module')
def poor():
    return recording(UNSEEN_JOINTS_ARM, joints=MOVED)


@pytest.fixture(scope='module')
def found_unseen_joints(poor):
    return identify(ROBOT, [poor])


@pytest.fixture(scope='module')
def learned(found_unseen_joints, poor):
    return learn(found_unseen_joints, [poor])


def test_their_friction_is_not_told_and_its_deviation_reaches_to_what_it_may_be(
    found_unseen_joints,
):
    told = {one.name: one for one in found_unseen_joints.parameters}
    for joint, true in zip(ROBOT.joint_names, zip(VISCOUS, COULOMB, strict=True), strict=True):
        moved = ROBOT.joint_names.index(joint) in MOVED
        for kind, value in zip(('viscous', 'coulomb'), true, strict=True):
            one = told[f'{kind} {joint}']
            assert one.identifiable is moved
            assert abs(one.value - value) < 3.0 * one.deviation + 0.05


def test_free_motion_of_them_is_no_contact_and_deviations_hold(found_unseen_joints, learned):
    given = yaml.safe_load(yaml.safe_dump(parameter_values(found_unseen_joints, learned)))
    values = replaced(settings_of(ContactParameters, given), ('frames',), ('tool0',))
    pipeline = ContactPipeline(calibrated_robot(found_unseen_joints), values, 'tool0')
    pipeline.compile(wait=True)
    samples = recording(UNSEEN_JOINTS_ARM, duration=20.0, seed=8, speed=0.5)
    nothing = np.zeros(7, dtype=bool)
    contacts, ratios = 0, []
    for k, time in enumerate(samples.time):
        rows = samples.position[k], samples.velocity[k], samples.effort[k]
        state = RobotState(EPOCH + round(time * 1e9), *rows, (), (), (), nothing)
        external = pipeline.update(state)
        if external is None or time < 1.0:
            continue
        contacts += external.report.state is not ContactState.NONE
        ratios.append(external.values / external.deviation)
    assert contacts == 0
    rms = np.sqrt(np.mean(np.square(ratios), axis=0))
    assert (rms < 2.0).all()


def test_a_person_is_told_in_every_output(found_unseen_joints, learned, poor, tmp_path, capsys):
    text = node_parameters(found_unseen_joints, learned)
    (comment,) = [line for line in text.splitlines() if 'did not move' in line]
    page = report(found_unseen_joints, None, [])
    for k, name in enumerate(ROBOT.joint_names):
        assert (name in comment) == (k in STILL)
    assert page.count('>unknown</td>') == 2 * len(STILL)
    assert list(yaml.safe_load(text)) == ['/**/contact_node']
    path = as_csv(poor, tmp_path / 'poor.csv')
    assert main([str(path), '--robot', str(FILE), '--json']) == 0
    said = capsys.readouterr().out
    rows = {line.split()[0]: line for line in said.splitlines() if line and ' Nm ' in line}
    for k, name in enumerate(ROBOT.joint_names):
        assert ('unknown' in rows[name]) == (k in STILL)
    result = json.loads(said.splitlines()[-1])
    assert any('thresholds are raised' in finding for finding in result['findings'])


def bodies(rng, count):
    points = rng.normal(size=(count, 6, 4)) * np.array([0.2, 0.1, 0.3, 0.0])
    points[..., 3] = 1.0
    return parameters_of(0.5 * points.transpose(0, 2, 1) @ points)


def program(weight):
    """A fit whose best bodies without a cone are none that exist."""
    rng = np.random.default_rng(0)
    near = bodies(rng, 2)
    n = 22
    A = rng.normal(size=(18, n))
    wanted = np.concatenate([near.ravel(), [-0.3, 0.4]])
    wanted[4] = -0.2
    H = 100.0 * A.T @ A + np.diag([*np.zeros(20), 1.0, 1.0])
    positive = np.zeros(n, dtype=bool)
    positive[20:] = True
    return Program(H, H @ wanted, near, weight, positive)


def test_a_body_of_points_is_consistent_and_one_of_negative_mass_is_not():
    some = bodies(np.random.default_rng(1), 5)
    assert consistent(some)
    assert np.abs(parameters_of(pseudo_inertia(some)) - some).max() < 1e-12
    some[2, 0] *= -1.0
    assert not consistent(some)


def test_no_step_from_the_solution_is_better():
    task = program(1.0)
    x = solve(task)
    rng = np.random.default_rng(4)
    for _ in range(50):
        step = x + 1e-3 * rng.normal(size=22) * np.abs(x)
        if consistent(step[:20].reshape(2, 10)) and (step[20:] >= 0.0).all():
            assert task.value(step) > task.value(x) - 1e-5


def test_base_parameters_give_the_torques_of_all_parameters():
    base = BaseParameters.of(ROBOT)
    rng = np.random.default_rng(3)
    q = np.array([ROBOT.random_configuration(rng) for _ in range(20)])
    v, a = rng.normal(size=(2, 20, 7))
    Y = with_rotors(ROBOT.regressor(q, v, a), a)
    phi = np.concatenate([ARM.bodies.ravel(), ROTOR])
    expected = ARM.robot.inverse_dynamics(q, v, a) + ROTOR * a
    assert np.abs(Y[..., base.chosen] @ (base.combination @ phi) - expected).max() < 1e-9
    stacked = Y[..., base.chosen].reshape(-1, len(base))
    assert np.linalg.matrix_rank(stacked) == len(base)
    assert base.expressions[0].startswith(base.names[base.chosen[0]])


def test_friction_of_an_arm_whose_masses_are_exact_is_not_taken_for_other_masses():
    arm, rng = UnmodelledArm.made('xarm7', STICKING), np.random.default_rng(1)
    own = arm.samples(arm.going(25.0, rng), rng)
    assert not check_mounting(arm.described, regular_stretches(own), np.ones(arm.described.nv))
