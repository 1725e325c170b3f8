# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What free motion tells: friction, offsets, noise, and what stays unexplained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, FILE, OFFSET, ROBOT, ROTOR, VISCOUS, motion, recording, truth

from benchmarks.estimation_standstill import standstill
from benchmarks.unmodelled_arms import STICKING, UnmodelledArm
from dynamics_ros import Robot
from dynamics_ros.calibration.in_motion import with_joints_as_before
from dynamics_ros.calibration.outputs import check_path, parameter_values
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.files import write_files
from dynamics_ros.identification import (
    JointSamples,
    NotThisRobotError,
    UnusableRecordingError,
    identify,
)
from dynamics_ros.identification.bodies.pseudo_inertia import given
from dynamics_ros.identification.evaluation import Accuracy
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.noise import sample_noise
from dynamics_ros.identification.uncertainty import (
    Recorder,
    identify_drives,
    learn,
    learn_unexplained,
)
from dynamics_ros.identification.uncertainty.free_motion import MAX_BYTES
from dynamics_ros.identification.uncertainty.learn import STICTION
from dynamics_ros.identification.uncertainty.residuals import chosen_gain

AS_DESCRIBED = truth(1, off=0.0)
NOTHING = EffortModel.ideal(ROBOT)


@pytest.fixture(scope='module')
def samples():
    return recording(AS_DESCRIBED, duration=20.0)


@pytest.fixture(scope='module')
def drives(samples):
    return identify_drives(ROBOT, samples, NOTHING)


@pytest.fixture(scope='module')
def found(drives):
    return drives.identified


def test_friction_offsets_and_rotors_are_found_within_their_deviations(drives, found):
    model = found.effort_model
    for name, told, true in (
        ('viscous', model.viscous, VISCOUS),
        ('coulomb', model.coulomb, COULOMB),
        ('offset', -model.offset, OFFSET),
    ):
        deviation = drives.identified.deviations(name)
        assert (deviation < 0.02).all()
        assert (np.abs(told - true) < 4.0 * deviation).all(), name
    assert model.rotor_inertia == pytest.approx(ROTOR, abs=0.01)
    assert found.noise.effort == pytest.approx(np.full(7, 0.1), rel=0.2)
    np.testing.assert_array_equal(found.bodies, given(ROBOT))


def test_a_payload_and_gravity_that_efforts_leave_out_count(samples):
    carried = Robot.from_urdf(FILE, adjustable=True).with_payload('tool0', 2.0, (0, 0, 0.1))
    states = motion(samples.time)
    more = carried.inverse_dynamics(*states) - ROBOT.inverse_dynamics(*states)
    fast = replace(samples, effort=samples.effort - ROBOT.gravity(samples.position))
    model = NOTHING.with_values(includes_gravity=False)
    bare = identify_drives(ROBOT, fast, model).identified.effort_model
    assert bare.coulomb == pytest.approx(COULOMB, abs=0.05)
    loaded = replace(samples, effort=samples.effort + more)
    assert identify_drives(
        carried, loaded, NOTHING
    ).identified.effort_model.coulomb == pytest.approx(COULOMB, abs=0.05)


def pushed(samples):
    effort = samples.effort.copy()
    effort[(samples.time > 10.0) & (samples.time < 11.5)] += 8.0
    return replace(samples, effort=effort)


def knocked(samples):
    """10 N at the tool for 0.3 s."""
    effort = samples.effort.copy()
    rows = (samples.time > 10.0) & (samples.time < 10.3)
    J = ROBOT.jacobian(samples.position[rows], 'tool0')[:, :3]
    effort[rows] -= J.transpose(0, 2, 1) @ np.array([6.0, 8.0, 0.0])
    return replace(samples, effort=effort)


def of_another_robot(samples):
    rng = np.random.default_rng(0)
    return replace(samples, effort=rng.normal(size=samples.effort.shape).cumsum(axis=0))


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        (pushed, r'efforts after (9|10) s .* push'),
        (knocked, r'efforts after (9|10)[. ].*push'),
        (lambda samples: replace(samples, effort=20.0 * samples.effort), r'effort\.scale'),
        (lambda samples: replace(samples, effort=-samples.effort), 'other way round'),
        (lambda samples: replace(samples, effort=0.0 * samples.effort), 'no efforts'),
        (lambda samples: replace(samples, position=np.degrees(samples.position)), 'degrees'),
        (lambda _: recording(AS_DESCRIBED, duration=6.0, joints=()), 'no joint moves'),
        (of_another_robot, r'left unexplained|free motion'),
    ],
)
def test_what_would_be_put_in_force_wrongly_is_refused(samples, changed, words):
    with pytest.raises((NotThisRobotError, UnusableRecordingError), match=words):
        identify_drives(ROBOT, changed(samples), NOTHING)


@pytest.mark.parametrize(('memory', 'least'), [(MAX_BYTES, 1000), (100 * 22 * 8, 50)])
def test_a_recorder_keeps_bounded_memory_and_says_what_is_missing(memory, least, monkeypatch):
    monkeypatch.setattr(f'{Recorder.__module__}.MAX_BYTES', memory)
    recorder = Recorder(ROBOT, 'motion')
    assert recorder.missing == ('no joint states yet',)
    for k in range(1000):
        q = np.zeros(7)
        q[0], q[1] = np.sin(0.01 * k), 0.001 * k
        v = np.zeros(7)
        v[0], v[1] = np.cos(0.01 * k), 0.1
        assert recorder.add(10_000_000 * k, q, v, q)
        assert not recorder.add(10_000_000 * k, q, v, q)
    kept = recorder.samples
    assert recorder.count == 1000 and recorder.duration == pytest.approx(9.99)
    assert least <= len(kept) <= max(least, 100)
    assert not np.shares_memory(kept.position, recorder.samples.position)
    assert np.ptp(np.diff(kept.time)) < 1e-9
    np.testing.assert_allclose(kept.position[:, 0], np.sin(kept.time), atol=1e-12)
    told = ' '.join(recorder.missing)
    first, second, third = ROBOT.joint_names[:3]
    assert first not in told
    assert f'{second} has moved in one direction only' in told
    assert f'{third} has not moved' in told


def test_parameters_are_written_only_where_they_overwrite_nothing_else(tmp_path):
    path = tmp_path / 'found.yaml'
    check_path(path)
    path.write_text('# What calibration found; for tests\n')
    check_path(path)
    write_files({path: '# What calibration found; for tests\n'})
    check_path(path)
    assert [one.name for one in tmp_path.iterdir()] == ['found.yaml']
    path.write_text('mine: 1\n')
    (tmp_path / 'link.yaml').symlink_to(path)
    for wrong, words in (
        (path, 'not written by a calibration'),
        (tmp_path / 'link.yaml', 'not written by a calibration'),
        (tmp_path / 'found.txt', 'absolute path'),
        (tmp_path / 'nowhere' / 'found.yaml', 'folder that cannot be written'),
        (type(path)('found.yaml'), 'absolute path'),
        (tmp_path / f'{"a" * 300}.yaml', 'File name too long'),
        (tmp_path / ('a' * 300) / 'found.yaml', 'File name too long'),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            check_path(wrong)


IDEAL = EffortModel.ideal(ROBOT)
RATE = 250.0


def free_motion(off, duration=40.0, joints=range(7), seed=3):
    """Of the arm as described, without friction; ``off(v, load)`` is what its model leaves over."""
    t = np.arange(0.0, duration, 1.0 / RATE)
    q, v, a = motion(t, seed, joints)
    torque = ROBOT.inverse_dynamics(q, v, a)
    names = ROBOT.joint_names
    return JointSamples('free', names, t, q, v, torque + off(v, torque))


def slow_noise(shape, seed=0):
    """Of deviation 1 over time constants of 50 ms, which an observer lets through."""
    rng = np.random.default_rng(seed)
    noise = np.zeros(shape)
    decay = np.exp(-1.0 / (0.05 * RATE))
    for k in range(1, len(noise)):
        step = np.sqrt(1.0 - decay**2) * rng.normal(size=shape[1])
        noise[k] = decay * noise[k - 1] + step
    return noise


def test_a_deviation_that_grows_with_the_speed_is_found():
    def off(v, _):
        return slow_noise(v.shape) * np.hypot(0.1, 0.8 * v)

    samples = free_motion(off)
    found = learn_unexplained(ROBOT, IDEAL, [samples]).unexplained
    # The observer lets nine tenths of it through, of which some hundred time constants are seen.
    assert found.speed == pytest.approx(np.full(7, 0.72), rel=0.25)
    assert (found.load * np.sqrt((samples.effort**2).mean(axis=0)) < 0.2).all()


def test_a_deviation_that_grows_with_the_load_is_found():
    def off(v, torque):
        return slow_noise(v.shape) * 0.05 * torque

    found = learn_unexplained(ROBOT, IDEAL, [free_motion(off)]).unexplained
    loaded = ROBOT.gravity(np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]))
    heavy = np.abs(loaded) > 0.3 * np.abs(loaded).max()
    assert found.load[heavy] == pytest.approx(np.full(heavy.sum(), 0.05), rel=0.4)


def test_friction_that_the_model_does_not_know_shows_at_reversals():
    def off(v, _):
        return np.sign(v)

    model = IDEAL.with_values(coulomb=1.0, friction_velocity=0.2)
    found = learn_unexplained(ROBOT, model, [free_motion(off)]).unexplained
    assert (found.reversal > 3.0 * found.constant).all()


def test_thresholds_reckon_with_the_posture_where_the_fit_says_least():
    samples = free_motion(lambda v, _: 0.3 * slow_noise(v.shape))
    usual, largest = np.full(7, 0.2), np.linspace(0.2, 2.0, 7)
    found, wide = (
        learn_unexplained(ROBOT, IDEAL, [samples], Accuracy(None, usual, one)).unexplained
        for one in (usual, largest)
    )
    # Covariances are those of the usual posture.
    assert wide.constant == pytest.approx(found.constant)
    residual = np.square(found.constant) - np.square(usual)
    assert (np.square(wide.tail * wide.constant) > 0.99 * (residual + np.square(largest))).all()
    assert wide.tail[0] == pytest.approx(found.tail[0])
    assert wide.tail[-1] > 3.0 * found.tail[-1]


def test_an_uncertain_viscous_friction_is_an_error_per_speed():
    samples, uncertain = free_motion(lambda v, _: 0.1 * slow_noise(v.shape)), np.arange(7.0)
    sure, unsure = (
        learn_unexplained(ROBOT, IDEAL, [samples], Accuracy(of_viscous=one)).unexplained
        for one in (0.0, uncertain)
    )
    assert unsure.speed == pytest.approx(np.hypot(sure.speed, uncertain))
    assert unsure.constant == pytest.approx(sure.constant)


def test_a_push_is_left_out_and_told():
    def off(v, _):
        disturbed = 0.1 * slow_noise(v.shape)
        disturbed[5000:5250, 2] += 15.0
        return disturbed

    free = learn_unexplained(ROBOT, IDEAL, [free_motion(lambda v, _: 0.1 * slow_noise(v.shape))])
    pushed = learn_unexplained(ROBOT, IDEAL, [free_motion(off)])
    assert not free.findings
    assert any(ROBOT.joint_names[2] in sentence for sentence in pushed.findings)
    assert pushed.unexplained.constant[2] < 2.0 * free.unexplained.constant[2] + 0.05


def test_a_calibration_explains_what_other_motion_leaves_over():
    arm = truth()
    identified = identify(ROBOT, [recording(arm, 30.0)])
    learned = learn(identified, [recording(arm, 30.0)])
    found = learned.unexplained
    assert not learned.findings
    again = learn(identified, [recording(arm, 20.0, seed=5)]).unexplained
    # What is learned anew is not far above what was stated and the noise.
    assert (again.constant < 2.5 * np.hypot(found.constant, 0.1)).all()
    assert (found.standing <= STICTION * COULOMB + 0.2).all()
    assert (found.tail >= 1.0).all()


@pytest.mark.slow
@pytest.mark.parametrize('training', ['without stops', 'with stops'])
def test_pushes_at_standstill_are_found_and_starts_are_no_contacts(training):
    alarms, found, pushes = standstill('ur3', training, STICKING, 40.0)
    assert alarms == 0
    assert found == pushes >= 4


OBSERVER_CHOICE_RATE = 500.0


def encoded(step):
    """Free motion of which encoders tell, and differences of what they tell."""
    t = np.arange(0.0, 20.0, 1.0 / OBSERVER_CHOICE_RATE)
    q, v, a = motion(t, 3)
    ticks = step * np.round(q / step)
    velocity = np.diff(ticks, axis=0, prepend=ticks[:1]) * OBSERVER_CHOICE_RATE
    effort = ROBOT.inverse_dynamics(q, v, a)
    effort += 0.05 * np.random.default_rng(0).normal(size=q.shape)
    return JointSamples('encoded', ROBOT.joint_names, t, ticks, velocity, effort)


def chosen(step):
    samples = encoded(step)
    noise = sample_noise(regular_stretches(samples), np.ones(ROBOT.nv))
    return chosen_gain(ROBOT, noise, samples.position, 1.0 / OBSERVER_CHOICE_RATE, 0.0)


def test_coarse_encoders_ask_for_a_lower_gain():
    assert chosen(1e-6) == GAIN
    gains = [chosen(step) for step in (1e-4, 5e-4, 2e-3)]
    assert gains == sorted(gains, reverse=True) and gains[0] < GAIN
    assert gains[0] > gains[-1] >= 10.0


def test_joints_that_did_not_move_keep_their_values():
    some = recording(AS_DESCRIBED, duration=12.0, joints=(1, 3))
    drives = identify_drives(ROBOT, some, NOTHING)
    found = drives.identified
    assert found.moved.tolist() == [False, True, False, True, False, False, False]
    before = {'friction.coulomb': np.full(7, 9.0), 'effort.noise': [0.3] * 6 + [np.inf]}
    merged = with_joints_as_before(parameter_values(found, drives.learned), before, found.moved)
    coulomb = merged['friction.coulomb']
    assert coulomb[0] == 9.0 and coulomb[1] == pytest.approx(COULOMB[1], abs=0.1)
    assert merged['effort.noise'][6] == np.inf
    assert merged['friction.velocity'] == found.effort_model.friction_velocity


@pytest.mark.parametrize('seed', [0, 1])
def test_friction_at_starts_and_stops_is_no_push(seed, monkeypatch):
    # Joints creep before they slide.
    monkeypatch.setattr('benchmarks.unmodelled_arms.BRISTLES', 3e-3)
    arm, rng = UnmodelledArm.made('ur3', STICKING, seed), np.random.default_rng([3, seed])
    stops = arm.samples(arm.going(30.0, rng), rng)
    nothing = EffortModel.ideal(arm.described)
    identify_drives(arm.described, stops, nothing)
    rows = (stops.time > 12.0) & (stops.time < 13.5)
    J = arm.described.jacobian(stops.position[rows], arm.frame)[:, :3]
    effort = stops.effort.copy()
    effort[rows] -= J.transpose(0, 2, 1) @ np.array([10.0, 25.0, 10.0])
    with pytest.raises(UnusableRecordingError, match=r'efforts after 1[123].* push'):
        identify_drives(arm.described, replace(stops, effort=effort), nothing)
