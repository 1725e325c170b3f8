# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Payload identification: from torques of a robot that is known to hold something."""

from __future__ import annotations

import numpy as np
import pytest
from closed_mechanisms import MECHANISMS

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.constraints import inverse_dynamics_in_loops, motors
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.estimation import NotIdentifiableError, PayloadIdentifier
from dynamics_ros.estimation.payload_identification import estimate_of

FRAME = 'panda_link8'
MASS = 1.0
CENTER = np.array([0.03, 0.02, np.sqrt(0.05**2 - 0.03**2 - 0.02**2)])
INERTIA = np.array([[0.004, 0.0005, 0.0], [0.0005, 0.003, -0.0004], [0.0, -0.0004, 0.002]])
PERIOD = 0.001


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def loaded(panda):
    return panda.with_payload(FRAME, MASS, CENTER, INERTIA)


def motion(robot, duration, seed=0):
    """Sines of every arm joint: stamps, q, v, a."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, PERIOD)[:, np.newaxis]
    moving = np.arange(robot.nv) < 7
    amplitude, w = 0.5 * moving, rng.uniform(1.5, 4.0, robot.nv)
    phase = rng.uniform(0.0, 6.28, robot.nv)
    center = np.where(moving, 0.5 * (robot.lower_limits + robot.upper_limits), 0.02)
    q = center + amplitude * np.sin(w * t + phase)
    v = amplitude * w * np.cos(w * t + phase)
    a = -amplitude * w**2 * np.sin(w * t + phase)
    return 10**9 + np.round(t[:, 0] * 1e9).astype(int), q, v, a


def fed(identifier, stamps, q, v, tau, rng=None):
    """The identifier after all samples, with the noise of the requirements where a rng is given."""
    if rng is not None:
        q = q + 1e-5 * rng.normal(size=q.shape)
        v = v + 1e-3 * rng.normal(size=v.shape)
        tau = tau + 0.05 * rng.normal(size=tau.shape)
    for sample in zip(stamps.tolist(), q, v, tau, strict=True):
        identifier.add(*sample)
    return identifier


def still(robot, loaded, count, seed=0, seconds=0.5):
    """Stamps, q, v, tau in several postures one after another."""
    rng = np.random.default_rng(seed)
    parts = []
    for k in range(count):
        q = robot.random_configuration(rng)
        stamps = (k + 1) * 10**10 + np.arange(0, round(seconds * 1e9), round(PERIOD * 1e9))
        states = np.broadcast_to(q, (len(stamps), robot.nq))
        parts.append((stamps, states, 0.0 * states, loaded.gravity(states)))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def test_a_motion_tells_all_ten_parameters(panda, loaded):
    stamps, q, v, a = motion(panda, 5.0)
    found = fed(
        PayloadIdentifier(panda, FRAME), stamps, q, v, loaded.inverse_dynamics(q, v, a)
    ).estimate()
    # What is left is the error of differences and means over windows.
    assert found.mass == pytest.approx(MASS, rel=1e-4)
    np.testing.assert_allclose(found.center_of_mass, CENTER, atol=1e-5)
    np.testing.assert_allclose(found.inertia, INERTIA, atol=1e-5)
    assert found.mass_observable
    assert found.center_of_mass_observable.all()
    assert found.inertia_observable.all()
    assert found.frame == FRAME


def test_with_noise_the_errors_are_those_that_are_stated(panda, loaded):
    stamps, q, v, a = motion(panda, 4.0)
    tau = loaded.inverse_dynamics(q, v, a)
    scores = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        found = fed(PayloadIdentifier(panda, FRAME), stamps, q, v, tau, rng).estimate()
        assert found.mass == pytest.approx(MASS, rel=0.03)
        assert np.linalg.norm(found.center_of_mass - CENTER) < 0.005
        scores += [(found.mass - MASS) / found.mass_deviation]
        scores += list((found.center_of_mass - CENTER) / found.center_of_mass_deviation)
        scores += list(
            (np.diag(found.inertia) - np.diag(INERTIA)) / np.diag(found.inertia_deviation)
        )
    # 84 normalised errors: their mean square is 1 but for scatter, and for the noise of windows
    # that touch, which share the velocity between them, so that errors are rather smaller.
    assert 0.1 < np.mean(np.square(scores)) < 1.7


@pytest.mark.parametrize('still_postures', [0, 8])
def test_offsets_of_joint_torques_do_not_move_the_centre(panda, loaded, still_postures):
    rng = np.random.default_rng(5)
    if still_postures:
        stamps, q, v, tau = still(panda, loaded, still_postures)
    else:
        stamps, q, v, a = motion(panda, 5.0)
        tau = loaded.inverse_dynamics(q, v, a)
    tau = tau + 0.3 * rng.choice([-1.0, 1.0], panda.nv)
    off = {}
    for offset in (0.0, None):
        found = fed(PayloadIdentifier(panda, FRAME, effort_offset=offset), stamps, q, v, tau, rng)
        estimate = found.estimate()
        off[offset] = np.linalg.norm(estimate.center_of_mass - CENTER)
    assert off[0.0] > 0.01
    assert off[None] < (0.008 if still_postures else 0.002)
    errors = estimate.center_of_mass - CENTER
    assert (np.abs(errors) < 3.5 * estimate.center_of_mass_deviation).all()
    assert estimate.mass == pytest.approx(MASS, rel=0.03)


def test_deviations_count_errors_that_last_longer_than_a_window(panda, loaded):
    stamps, q, v, a = motion(panda, 20.0)
    tau = loaded.inverse_dynamics(q, v, a)
    scores = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        # As friction that is not modelled, constant for a second and a half.
        steps = rng.normal(size=(len(stamps) // 1500 + 1, panda.nv)) * 0.3
        slow = np.repeat(steps, 1500, axis=0)[: len(stamps)]
        found = fed(PayloadIdentifier(panda, FRAME), stamps, q, v, tau + slow, rng).estimate()
        scores.append((found.mass - MASS) / found.mass_deviation)
        scores += list((found.center_of_mass - CENTER) / found.center_of_mass_deviation)
    # 2.9 if each window counted.
    assert 0.1 < np.mean(np.square(scores)) < 1.6


@pytest.mark.parametrize('name', list(MECHANISMS))
def test_motors_feel_a_payload_through_closed_loops(name):
    mechanism = MECHANISMS[name]
    robot, t = mechanism.robot(), np.arange(0.0, 2.0, 0.004)
    holding = robot.with_payload(mechanism.tool, 0.8, CENTER)
    waves = 1.0 - np.cos(np.linspace(2.0, 4.0, len(mechanism.u)) * t[:, np.newaxis])
    q = np.array([mechanism.q(robot, mechanism.u * (1.0 + 0.2 * wave)) for wave in waves])
    v = np.gradient(q, t, axis=0)
    a = np.gradient(v, t, axis=0)
    tau = inverse_dynamics_in_loops(holding, q, v, a)
    # What passive joints report is no torque of a motor.
    tau = np.where(motors(robot), tau + 0.02 * np.random.default_rng(2).normal(size=tau.shape), 5.0)
    stamps = np.round(1e9 * t).astype(int)
    found = fed(PayloadIdentifier(robot, mechanism.tool), stamps, q, v, tau).estimate()
    assert found.mass == pytest.approx(0.8, rel=0.02)
    off = np.abs([found.mass - 0.8, *(found.center_of_mass - CENTER)])
    assert (off < 4.0 * np.array([found.mass_deviation, *found.center_of_mass_deviation])).all()
    # The others do not turn it.
    assert found.center_of_mass_observable.any() == (name == 'palletizer')


def test_a_single_posture_leaves_the_centre_open_along_gravity(panda, loaded):
    """Of the centre of mass, torques feel what is off the vertical through the frame."""
    found = fed(PayloadIdentifier(panda, FRAME), *still(panda, loaded, 1, seed=3)).estimate()
    assert found.mass_observable
    assert not found.center_of_mass_observable.all()
    assert found.center_of_mass_deviation.max() > 1.0


def test_nothing_held_is_found_to_weigh_nothing(panda):
    stamps, q, v, a = motion(panda, 3.0)
    tau = panda.inverse_dynamics(q, v, a)
    rng = np.random.default_rng(2)
    found = fed(PayloadIdentifier(panda, FRAME), stamps, q, v, tau, rng).estimate()
    assert 0.0 <= found.mass < 0.02
    # A body can be so: no negative mass, no inertia that breaks the triangle inequality.
    assert np.linalg.eigvalsh(found.inertia)[0] >= -1e-12


def test_what_is_found_is_a_body_even_where_noise_says_otherwise(panda):
    """A point mass has no inertia: plain least squares gives negative moments half of the time."""
    point = panda.with_payload(FRAME, 0.5, [0.0, 0.0, 0.05])
    stamps, q, v, a = motion(panda, 3.0)
    tau = point.inverse_dynamics(q, v, a)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found = fed(PayloadIdentifier(panda, FRAME), stamps, q, v, tau, rng).estimate()
        moments = np.linalg.eigvalsh(found.inertia)
        assert moments[0] >= -1e-9
        assert moments[2] <= moments[0] + moments[1] + 1e-9
        assert found.mass == pytest.approx(0.5, rel=0.03)
        panda.with_payload(FRAME, found.mass, found.center_of_mass, found.inertia)


@pytest.mark.parametrize(
    ('mass', 'inertia', 'center', 'deviation'),
    [
        (0.25, 0.0, 0.1, [0.02, 0.02, 0.0412]),
        (0.25, -1e-3, 0.1, [0.02, 0.02, 0.0412]),
        (0.05, 0.0, 0.0, [0.1, 0.1, 0.141]),
    ],
)
def test_the_centre_of_a_light_payload_stays_uncertain(mass, inertia, center, deviation):
    across = mass * 0.1**2 + inertia
    pi = np.array([mass, 0.0, 0.0, mass * 0.1, across, 0.0, across, 0.0, 0.0, inertia])
    variances = [0.09**2, *3 * [0.005**2], *6 * [1e-6]]
    found = estimate_of(FRAME, pi, np.diag(variances), 0.1, 100)
    assert found.mass == pytest.approx(mass)
    assert found.center_of_mass == pytest.approx([0.0, 0.0, center])
    assert found.center_of_mass_deviation == pytest.approx(deviation, rel=0.01)
    assert found.center_of_mass_observable.tolist() == [x < 0.03 for x in deviation]


def test_torques_that_were_held_over_an_interval_are_told_apart_from_instants(panda, loaded):
    stamps, q, v, a = motion(panda, 4.0)
    middle = 0.5 * (stamps[1:] + stamps[:-1]) - stamps[0]
    tau = loaded.inverse_dynamics(q, v, a)
    held = np.array([np.interp(middle, stamps - stamps[0], column) for column in tau.T]).T
    errors = {
        sampling: fed(
            PayloadIdentifier(panda, FRAME, effort_sampling=sampling),
            stamps[1:],
            q[1:],
            v[1:],
            held,
        )
        .estimate()
        .residual
        for sampling in ('interval', 'instant')
    }
    assert errors['interval'] < 0.2 * errors['instant']


def test_too_little_is_refused_and_says_what_is_missing(panda, loaded):
    identifier = PayloadIdentifier(panda, FRAME)
    with pytest.raises(NotIdentifiableError, match='0 samples make no window'):
        identifier.estimate()
    # Hanging straight down over the vertical axis of its first joint, nothing of it is felt.
    column = Robot.from_urdf(
        '<robot name="c"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1"'
        ' iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" '
        'type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    blind = PayloadIdentifier(column, 'b')
    for k in range(300):
        blind.add(k * 10**6, [0.0], [0.0], [0.0])
    with pytest.raises(NotIdentifiableError, match='move the joints'):
        blind.estimate()


def test_few_postures_do_not_show_that_joints_have_no_friction(panda):
    loaded, errors = panda.with_payload(FRAME, 1.0, [0.02, 0.01, 0.05]), []
    for seed in range(8):
        rng, identifier = np.random.default_rng(seed), PayloadIdentifier(panda, FRAME)
        for posture in range(3):
            q = panda.random_configuration(100 * seed + posture)
            held = loaded.gravity(q) + 0.3 * rng.uniform(-1.0, 1.0, panda.nv)
            for i in range(100 * posture, 100 * posture + 100):
                effort = held + 0.02 * rng.normal(size=panda.nv)
                identifier.add(10**7 * (i + 1), q, np.zeros(panda.nv), effort)
        found = identifier.estimate()
        errors.append((found.mass - 1.0) / found.mass_deviation)
    assert np.sqrt(np.mean(np.square(errors))) < 4.0


@pytest.mark.parametrize(
    ('call', 'error', 'argument'),
    [
        (lambda r: PayloadIdentifier(r, 'nose'), UnknownFrameError, 'frame'),
        (lambda r: PayloadIdentifier(r, 'panda_link0'), InvalidArgumentError, 'frame'),
        (
            lambda r: PayloadIdentifier(r, FRAME, effort_sampling='later'),
            InvalidArgumentError,
            'effort_sampling',
        ),
        (
            lambda r: PayloadIdentifier(r, FRAME).add(1, r.neutral(), np.zeros(8), [np.nan] * 8),
            InvalidArgumentError,
            'effort',
        ),
    ],
)
def test_bad_settings_are_named(panda, call, error, argument):
    with pytest.raises(error, match=argument):
        call(panda)
