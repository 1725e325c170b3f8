# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Friction, offsets and noise from half a minute of free motion, with masses as described."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import (
    COULOMB,
    FILE,
    OFFSET,
    ROBOT,
    ROTOR,
    VISCOUS,
    motion,
    recording,
    truth,
)

from dynamics_ros import Robot
from dynamics_ros.calibration.outputs import check_path
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.files import write_files
from dynamics_ros.identification import (
    NotThisRobotError,
    UnusableRecordingError,
)
from dynamics_ros.identification.bodies.pseudo_inertia import given
from dynamics_ros.identification.uncertainty import Recorder, identify_drives

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


def leaned_on(samples, force):
    """For half of the time, by the same force in root axes."""
    rows = (samples.time > 5.0) & (samples.time < 15.0)
    J = ROBOT.jacobian(samples.position[rows], 'tool0')[:, :3]
    effort = samples.effort.copy()
    effort[rows] -= J.transpose(0, 2, 1) @ force
    return replace(samples, effort=effort)


def test_a_contact_that_lasts_is_told(samples, drives):
    assert not any('force' in sentence for sentence in drives.learned.findings)
    leaned = identify_drives(ROBOT, leaned_on(samples, np.array([9.0, 0.0, -12.0])), NOTHING)
    (told,) = [one for one in leaned.learned.findings if 'a force of about' in one]
    size = float(told.split('about ')[1].split(' N')[0])
    assert 8.0 < size < 22.0
    assert 'something touches the robot' in told


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


def test_a_recorder_keeps_bounded_memory_and_says_what_is_missing():
    recorder = Recorder(ROBOT, 'motion', most=100)
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
    assert 50 <= len(kept) <= 100
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
