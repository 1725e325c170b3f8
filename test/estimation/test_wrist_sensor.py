# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A force-torque sensor in front of a load: its identification, and the wrench that remains.

The readings come from the motion of a point mass, by differences of its position.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm import ROBOT, STILL, Q

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import NotIdentifiableError
from dynamics_ros.estimation.wrist_sensor import (
    Place,
    SensorLoad,
    WristSensor,
    WristSensorIdentifier,
)

FRAME = 'tool0'
G = np.array([0.0, 0.0, -9.81])
MASS, CENTER = 1.7, np.array([0.02, -0.03, 0.11])
BIAS = np.array([4.0, -7.0, 12.0, 0.3, -0.2, 0.5])
NOISE = np.array([0.3, 0.3, 0.3, 0.01, 0.01, 0.01])
LOAD = SensorLoad(MASS, tuple(CENTER), tuple(BIAS))
NOTHING, STEADY, ALIGNED = np.zeros(6), np.zeros(3), np.eye(3)
STEP = 2_000_000
"""ns: 500 Hz."""


def pose(q):
    return ROBOT.forward_kinematics(q, FRAME)


def reading(q, *, external=NOTHING, acceleration=STEADY, mass=MASS, sign=1.0):
    """What the sensor says: external wrench, weight and inertia in its axes, and its bias."""
    R = pose(q)[:3, :3]
    force = mass * R.T @ (G - acceleration)
    return sign * (external + np.concatenate([force, np.cross(CENTER, force)]) + BIAS)


def postures(count, seed=1):
    rng = np.random.default_rng(seed)
    lower, upper = ROBOT.lower_limits, ROBOT.upper_limits
    return [rng.uniform(np.maximum(lower, -2.5), np.minimum(upper, 2.5)) for _ in range(count)]


def identified(chosen, *, frame=FRAME, turn=ALIGNED, noise=1.0, **how):
    """The estimate of 0.5 s in each posture; on the way, readings are of no weight."""
    rng = np.random.default_rng(7)
    identifier, stamp = WristSensorIdentifier(ROBOT, frame), 10**9
    for q in chosen:
        for k in range(250):
            stamp += STEP
            clean = reading(q, **how) if k > 60 else np.full(6, 100.0)
            w = np.concatenate([turn @ clean[:3], turn @ clean[3:]])
            moving = STILL + 0.5 * (k == 30)
            identifier.add(stamp, q, moving, w + noise * NOISE * rng.normal(size=6))
    return identifier.estimate()


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_mass_centre_bias_and_sign_follow_from_postures_at_rest(sign):
    errors = []
    for seed in range(20):
        found = identified(postures(8, seed), sign=sign)
        load, payload = found.load, found.payload
        assert load.reversed == (sign < 0.0)
        assert payload.mass_observable and payload.center_of_mass_observable.all()
        errors.append(
            np.concatenate(
                [
                    [(load.mass - MASS) / payload.mass_deviation],
                    (load.center_of_mass - CENTER) / payload.center_of_mass_deviation,
                    (load.bias - BIAS) / np.array(load.bias_deviation),
                ]
            )
        )
        np.testing.assert_allclose(load.noise, NOISE, rtol=0.3)
        assert payload.mass_deviation < 0.02 and abs(load.mass - MASS) < 0.05
    # Stated deviations are those of the errors.
    assert 0.6 < np.sqrt(np.mean(np.square(errors))) < 1.5


def test_a_light_load_does_not_tell_the_sign():
    found = identified(postures(8), mass=1e-4)
    assert not found.load.reversed and found.load.mass < 0.02
    assert not found.payload.center_of_mass_observable.any()


@pytest.mark.parametrize(
    ('chosen', 'how', 'words'),
    [
        (postures(2), {}, '2 postures at rest; 4 are needed'),
        ([Q, Q + 1e-4, Q, Q, Q], {}, '1 postures at rest'),
        (postures(8), {'turn': np.diag([1.0, -1.0, -1.0])}, "in the axes of 'tool0'"),
    ],
)
def test_what_does_not_identify_a_load_is_refused(chosen, how, words):
    with pytest.raises(NotIdentifiableError, match=words):
        identified(chosen, **how)


def test_a_frame_that_no_joint_moves_is_refused():
    with pytest.raises(InvalidArgumentError, match='no joint moves'):
        WristSensorIdentifier(ROBOT, ROBOT.root_frame)


def moved(t):
    """Configuration and velocity at a time: up to 1.5 rad/s."""
    phase = np.arange(7.0)
    return Q + 0.3 * np.sin(5.0 * t + phase), 1.5 * np.cos(5.0 * t + phase)


def acceleration(t, h=1e-4):
    """Acceleration of the mass, by differences of its position."""
    before, now, after = (
        pose(moved(t + k * h)[0])[:3, :3] @ CENTER + pose(moved(t + k * h)[0])[:3, 3]
        for k in (-1.0, 0.0, 1.0)
    )
    return (after - 2.0 * now + before) / h**2


@pytest.mark.parametrize('count', [1, 4])
def test_the_covariance_is_that_of_the_wrench(count):
    """Filtered white noise of the mean of some readings, and a bias that is off at random."""
    rng, deviation = np.random.default_rng(3), 0.2 * NOISE
    load = SensorLoad(
        MASS, tuple(CENTER), tuple(BIAS), False, tuple(NOISE), tuple(deviation.tolist())
    )
    ends = []
    for _ in range(400):
        bias = tuple((BIAS + deviation * rng.normal(size=6)).tolist())
        sensor = WristSensor(ROBOT, FRAME, replace(load, bias=bias), gain=50.0)
        for k in range(60):
            mean = reading(Q) + NOISE * rng.normal(size=6) / np.sqrt(count)
            end = sensor.update(10**9 + k * STEP, Q, STILL, mean, count)
        ends.append(end)
    stated = np.diag(sensor.covariance)
    np.testing.assert_allclose(np.var(ends, axis=0), stated, rtol=0.3)
    assert (stated < np.square(NOISE) / count).all()
    sensor.restart()
    sensor.update(10**9, Q, STILL, reading(Q), count)
    np.testing.assert_allclose(
        np.diag(sensor.covariance), np.square(NOISE) / count + np.square(deviation)
    )


def test_in_motion_weight_and_inertia_of_the_load_are_subtracted():
    sensor = WristSensor(ROBOT, FRAME, LOAD, gain=50.0)
    quiet = WristSensor(ROBOT, FRAME, SensorLoad(MASS, tuple(CENTER), tuple(BIAS)), gain=50.0)
    push = np.array([10.0, 0.0, -5.0, 0.0, 0.4, 0.0])
    free, pushed, inertia = [], [], []
    for k in range(1000):
        t = k * STEP * 1e-9
        q, v = moved(t)
        a = acceleration(t)
        stamp = 10**9 + k * STEP
        free.append(quiet.update(stamp, q, v, reading(q, acceleration=a)))
        pushed.append(sensor.update(stamp, q, v, reading(q, external=push, acceleration=a)))
        inertia.append(MASS * np.linalg.norm(a))
    free, pushed = np.array(free)[200:], np.array(pushed)[200:]
    assert np.max(inertia) > 10.0
    assert np.abs(free).max(axis=0)[:3].max() < 0.3
    assert np.abs(free).max(axis=0)[3:].max() < 0.03
    # The filter lags by 20 ms behind a wrench that turns with the tool.
    np.testing.assert_allclose(pushed.mean(axis=0), push, atol=0.5)


def test_a_step_goes_over_with_the_gain_and_a_gap_restarts():
    sensor = WristSensor(ROBOT, FRAME, LOAD, gain=50.0)
    push = np.array([8.0, 0.0, 0.0, 0.0, 0.0, 0.2])
    sensor.update(10**9, Q, STILL, reading(Q))
    for k in range(1, 11):  # 20 ms: one time constant
        found = sensor.update(10**9 + k * STEP, Q, STILL, reading(Q, external=push))
    np.testing.assert_allclose(found, (1.0 - np.exp(-1.0)) * push, rtol=1e-6, atol=1e-9)
    found = sensor.update(10**10, Q, STILL, reading(Q, external=push))
    np.testing.assert_allclose(found, push, atol=1e-9)


@pytest.mark.parametrize(
    ('external', 'torques', 'place'),
    [
        (0.0, np.zeros(7), Place.NOWHERE),
        (0.0, np.array([0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Place.BEFORE),
        (8.0, None, Place.BEHIND),
        (40.0, np.zeros(7), Place.CONTRADICTED),
    ],
)
def test_sensor_and_joint_torques_tell_where_a_contact_is(external, torques, place):
    sensor = WristSensor(ROBOT, FRAME, LOAD, gain=50.0)
    push = external * np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    sensor.update(10**9, Q, STILL, reading(Q, external=push))
    assert sensor.touches(5.0) == (external > 0.0)
    if torques is None:
        torques = ROBOT.jacobian(Q, FRAME, reference='local').T @ push
    assert sensor.compared(Q, torques, np.full(7, 2.0)) is place
