# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Admittance: the law beside its differential equation, contact with a wall, and its sensor."""

from __future__ import annotations

import math
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dynamics_ros import Robot
from dynamics_ros.control import Admittance, MeasuredWrench, required_damping, wrench_at
from dynamics_ros.control.admittance import TARE_TIME
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.inverse_kinematics.differential import CartesianServo
from dynamics_ros.reasons import Reason
from dynamics_ros.simulation.mujoco_world import MujocoWorld

MASS = np.array([2.0, 4.0, 8.0, 0.2, 0.4, 0.8])
DAMPING = np.array([30.0, 20.0, 60.0, 1.0, 3.0, 4.0])
STIFFNESS = np.array([0.0, 200.0, 500.0, 0.0, 5.0, 20.0])
WRENCH = np.array([5.0, -8.0, 12.0, 0.1, -0.2, 0.15])
AXES = Rotation.from_rotvec([0.3, -0.5, 0.9]).as_matrix()


def moved(pose, twist, dt):
    """The pose after a step with a twist at its origin, in root axes."""
    pose = pose.copy()
    pose[:3, 3] += dt * twist[:3]
    pose[:3, :3] = Rotation.from_rotvec(dt * twist[3:]).as_matrix() @ pose[:3, :3]
    return pose


def simulated(law, wrench, dt, duration, axes=None):
    """Last twist and displacement of the start, in root axes."""
    pose = np.eye(4)
    axes = np.eye(3) if axes is None else axes
    law.begin()
    for _ in range(round(duration / dt)):
        v = law.twist(wrench, pose, axes, dt)
        pose = moved(pose, v, dt)
    turned = Rotation.from_matrix(pose[:3, :3]).as_rotvec()
    return v, np.concatenate([pose[:3, 3], turned])


def turned(axes, six):
    return (six.reshape(2, 3) @ axes.T).ravel()


@pytest.mark.parametrize('axis', range(6))
def test_each_axis_moves_by_its_differential_equation_in_the_axes_of_the_frame(axis):
    m, d, k, f = MASS[axis], DAMPING[axis], STIFFNESS[axis], WRENCH[axis]
    exact = solve_ivp(
        lambda _, y: [y[1], (f - d * y[1] - k * y[0]) / m], (0.0, 0.3), [0.0, 0.0], rtol=1e-9
    ).y[:, -1]
    wrench = turned(AXES, np.where(np.arange(6) == axis, WRENCH, 0.0))
    errors = []
    for dt in (0.002, 0.001):
        v, x = simulated(Admittance(MASS, DAMPING, STIFFNESS), wrench, dt, 0.3, AXES)
        errors.append([abs(turned(AXES.T, part)[axis] - e) for part, e in zip((x, v), exact)])
        assert np.abs(np.delete(turned(AXES.T, v), axis)).max() < 1e-12
    # The error is of the first order, so it halves with the step.
    scale = np.abs(exact).max()
    assert max(errors[1]) < 0.01 * scale
    assert np.less(errors[1], np.multiply(errors[0], 0.6) + 1e-6 * scale).all()


@pytest.mark.parametrize('step', [0.001, 0.02, 0.5])
def test_a_released_mass_loses_energy_in_every_step_of_any_length(step):
    law, pose = Admittance(MASS, DAMPING, 1e4 * STIFFNESS), np.eye(4)
    law.twist(np.zeros(6), pose, np.eye(3), step)
    pose = moved(pose, 0.1 * np.ones(6), 1.0)
    before = math.inf
    for _ in range(50):
        v = law.twist(np.zeros(6), pose, np.eye(3), step)
        pose = moved(pose, v, step)
        x = pose[:3, 3]
        energy = MASS[:3] @ v[:3] ** 2 + 1e4 * STIFFNESS[:3] @ x**2
        assert energy <= before * (1.0 + 1e-12)
        before = energy


def test_locked_axes_stand_and_a_dead_zone_is_subtracted_from_the_length():
    law = Admittance(5.0, 50.0, dead_zone=(3.0, 0.1), locked=[False, True, False, True, True, True])
    wrench = np.array([3.0, 100.0, 4.0, 9.0, 9.0, 9.0])
    v, _ = simulated(law, wrench, 0.005, 2.0)
    share = 1.0 - 3.0 / np.linalg.norm(wrench[:3])
    assert v == pytest.approx([0.06 * share, 0.0, 0.08 * share, 0.0, 0.0, 0.0], abs=1e-6)
    quiet, _ = simulated(law, np.array([2.9, 0.0, 0.5, 0.0, 0.0, 0.09]), 0.005, 1.0)
    assert not quiet.any()


def test_a_push_that_lasts_ends_at_the_reach_and_leads_back():
    law = Admittance(5.0, 50.0, reach=(0.1, 0.2))
    wrench = np.array([30.0, 40.0, 0.0, 0.0, 0.0, 30.0])
    v, x = simulated(law, wrench, 0.005, 4.0)
    assert law.at_reach
    assert np.linalg.norm(v) < 1e-3
    assert np.linalg.norm(x[:3]) == pytest.approx(0.1, abs=1e-3)
    assert np.linalg.norm(x[3:]) == pytest.approx(0.2, abs=1e-3)
    pose = moved(np.eye(4), x, 1.0)
    law.moved(np.zeros(6))
    back = law.twist(-wrench, pose, np.eye(3), 0.005)
    assert not law.at_reach
    assert back[:2] == pytest.approx(0.005 * -wrench[:2] / (5.0 + 0.005 * 50.0))


def test_a_mass_that_limits_of_the_arm_slow_gains_no_speed_meanwhile():
    law, push = Admittance(5.0, 50.0), 10.0 * np.eye(6)[0]
    for _ in range(400):
        v = law.twist(push, np.eye(4), np.eye(3), 0.005)
        law.moved(0.95 * v)  # which is not worth a word
    assert v == pytest.approx(0.2 * np.eye(6)[0], abs=1e-6)
    for _ in range(400):
        law.moved(np.zeros(6))
        v = law.twist(push, np.eye(4), np.eye(3), 0.005)
    assert v == pytest.approx(0.005 * push / (5.0 + 0.005 * 50.0))


def test_a_mass_that_is_not_positive_is_refused():
    with pytest.raises(InvalidArgumentError, match='lock an axis'):
        Admittance([1.0, 0.0, 1.0, 1.0, 1.0, 1.0], 1.0)


def test_a_wrench_acts_at_another_point_with_the_same_work():
    source, target = np.eye(4), np.eye(4)
    source[:3, :3], source[:3, 3] = AXES, [0.1, -0.2, 0.3]
    target[:3, 3] = [0.4, 0.1, -0.1]
    twist = np.array([0.3, -0.1, 0.2, 1.0, 0.5, -0.7])  # of one body, at the target
    at_source = twist.copy()
    at_source[:3] += np.cross(twist[3:], source[:3, 3] - target[:3, 3])
    work = WRENCH @ turned(AXES.T, at_source)
    assert wrench_at(WRENCH, source, target) @ twist == pytest.approx(work)


# --- contact ------------------------------------------------------------------------------------

PLANT_STEP = 1e-4


class Wall:
    """A tool before a wall along x; the arm follows commanded velocities late, and without noise.

    Args:
        stiffness: of the wall [N/m].
        delay: between command and motion [s].
        lag: time constant of the arm [s].
        pulls: whether the tool is fixed to the wall.
    """

    period = 0.005

    def __init__(self, stiffness, delay, lag=0.0, pulls=False):
        self.stiffness, self.lag, self.pulls = stiffness, lag, pulls
        self._late = deque([0.0] * round(delay / PLANT_STEP))
        self.x, self._speed = -0.002 * (not pulls), 0.0

    @property
    def force(self):
        return -self.stiffness * (self.x if self.pulls else max(self.x, 0.0))

    def move(self, velocity):
        """One period."""
        for _ in range(round(self.period / PLANT_STEP)):
            self._late.append(velocity)
            late = self._late.popleft()
            share = 1.0 if self.lag == 0.0 else -math.expm1(-PLANT_STEP / self.lag)
            self._speed += share * (late - self._speed)
            self.x += PLANT_STEP * self._speed


def pressed(wall, mass, damping, push=10.0, duration=4.0):
    """Push the tool against the wall by hand; when the law reports it [s], and all speeds."""
    law, pose, speeds = Admittance(mass, damping), np.eye(4), []
    reported = None
    for k in range(round(duration / wall.period)):
        wrench = np.array([wall.force + push, 0.0, 0.0, 0.0, 0.0, 0.0])
        v = law.twist(wrench, pose, np.eye(3), wall.period)
        if law.oscillates and reported is None:
            reported = k * wall.period
        wall.move(float(v[0]))
        speeds.append(abs(v[0]))
    return reported, np.array(speeds)


def growth(mass, damping, stiffness, delay, period):
    """Largest eigenvalue of the law before a wall: exact, as the arm moves steadily in a period."""
    whole = int(delay / period + 1e-9)
    part = delay / period - whole
    late = np.zeros(whole + 3)  # which of v, x and the x before is what the sensor reports
    late[1 + whole : 3 + whole] = 1.0 - part, part
    A = np.eye(whole + 3, k=-1)
    implicit = mass + period * damping
    A[0] = mass / implicit * np.eye(1, whole + 3)[0] - period * stiffness / implicit * late
    A[1] = np.eye(1, whole + 3, 1)[0] + period * A[0]
    return np.abs(np.linalg.eigvals(A)).max()


@pytest.mark.parametrize('period', [0.001, 0.005, 0.02])
def test_the_required_damping_is_enough_for_every_mass_and_delay(period):
    for delay in period * np.linspace(0.0, 4.0, 17):
        damping = required_damping(1e5, delay, period)
        for mass in np.logspace(-3.0, 3.0, 13):
            assert growth(mass, 1.01 * damping, 1e5, delay, period) < 1.0
        if delay >= period / 2.0:  # and a heavy mass needs it
            assert growth(1e6 * delay**2, 0.97 * damping, 1e5, delay, period) > 1.0


@pytest.mark.parametrize('mass', [2.0, 10.0, 40.0])
@pytest.mark.parametrize(('delay', 'lag'), [(0.004, 0.0), (0.002, 0.006)])
def test_a_wall_is_stable_above_the_required_damping(mass, delay, lag):
    required = required_damping(1e5, delay + lag)
    for share in (0.5, 1.1):
        wall = Wall(1e5, delay, lag, pulls=True)
        _, speeds = pressed(wall, mass, share * required, duration=6.0)
        first, last = speeds[200:600].max(), speeds[-400:].max()
        assert (last > first) == (share < 1.0)


@pytest.mark.parametrize(('mass', 'damping'), [(10.0, 150.0), (2.0, 100.0)])
def test_an_unstable_contact_is_reported_within_a_second(mass, damping):
    reported, _ = pressed(Wall(1e5, 0.004), mass, damping, push=20.0)
    assert reported < 1.0


@pytest.mark.parametrize('share', [0.05, 1.1])
def test_an_arm_in_mujoco_is_calm_at_a_wall_above_the_required_damping(share):
    """A position-controlled arm follows the servo 4 ms late; a spring of 1e5 N/m stops its tool.

    Its drives are springs of 40 Hz with velocity feed-forward. Their delay is part of T, and they
    are soft beside the wall, so that a fifth of the damping is calm, too.
    """
    stiffness, period, substeps, rate = 1e5, 0.002, 4, 2.0 * math.pi * 40.0
    robot = Robot.from_urdf(Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf')
    world, servo = MujocoWorld(robot, period / substeps), CartesianServo(robot, 'tool0')
    law = Admittance(5.0, share * required_damping(stiffness, 0.004 + 1.0 / rate, period))
    q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
    world.place(q)
    late, speeds, reported = deque([(q, np.zeros(7))] * 2), [], False
    wall = robot.forward_kinematics(q, 'tool0')[0, 3] + 0.001
    for _ in range(1500):
        pose = robot.forward_kinematics(world.q, 'tool0')
        pressed = max(pose[0, 3] - wall, 0.0)
        force = np.array([15.0 - stiffness * pressed, 0.0, 0.0, 0.0, 0.0, 0.0])
        v = servo.follow_twist(q, law.twist(force, pose, np.eye(3), period), period).v
        q = q + period * v
        reported |= law.oscillates
        late.append((q, v))
        held, pace = late.popleft()
        for step in range(substeps):
            push = np.zeros(6)
            pose = robot.forward_kinematics(world.q, 'tool0')
            push[0] = 15.0 - stiffness * max(pose[0, 3] - wall, 0.0)
            behind = held - (1.0 - step / substeps) * period * pace - world.q
            a = rate**2 * behind + 2.0 * rate * (pace - world.v)
            tau = robot.inverse_dynamics(world.q, world.v, a)
            world.step(tau + robot.jacobian(world.q, 'tool0').T @ push)
        speeds.append(np.abs(robot.jacobian(world.q, 'tool0') @ world.v)[0])
    assert reported == (share < 1.0)
    assert (max(speeds[-250:]) < 1e-3) == (share > 1.0)


def test_a_hand_that_shakes_the_tool_is_no_unstable_contact():
    law = Admittance(5.0, 30.0)
    for k in range(2000):
        wrench = 60.0 * math.sin(2.0 * math.pi * 4.0 * 0.005 * k) * np.eye(6)[0]
        law.twist(wrench, np.eye(4), np.eye(3), 0.005)
        assert not law.oscillates


# --- the sensor ---------------------------------------------------------------------------------


class Sensor:
    """A sensor with a bias and noise that is read 500 times a second."""

    def __init__(self, **limits):
        self.measured = MeasuredWrench(**{'largest': (200.0, 20.0), 'timeout': 0.05} | limits)
        self.now, self.q, self.wrench, self.noise = 10.0, np.zeros(6), np.full(6, 1.5), 0.1
        self._random = np.random.default_rng(0)

    def read(self, seconds):
        for _ in range(round(seconds / 0.002)):
            self.now += 0.002
            noise = self._random.uniform(-self.noise, self.noise, 6)
            self.measured.add(self.now, self.wrench + noise, self.q)

    def tare(self):
        return self.measured.tare(self.now, (2.0, 2.0))

    def problem(self):
        return self.measured.problem(self.now).reason


@pytest.fixture
def sensor():
    one = Sensor()
    one.read(0.5)
    return one


def test_a_tare_subtracts_the_mean(sensor):
    assert not sensor.tare()
    sensor.wrench = sensor.wrench + np.arange(6.0)
    sensor.read(0.1)
    assert sensor.measured.value == pytest.approx(np.arange(6.0), abs=0.15)
    assert sensor.problem() == Reason.OK


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda s: (setattr(s, 'noise', 4.0), s.read(0.1)), 'let go of the tool'),
        (lambda s: (setattr(s, 'q', s.q + 0.01), s.read(0.05)), 'the arm still moves'),
        (lambda s: s.measured.refuse(s.now, 'not finite'), 'not finite'),
        (lambda s: setattr(s, 'now', s.now + 0.1), 'no wrench has come'),
        (lambda s: (setattr(s, 'noise', 0.0), s.read(0.3)), 'exactly the same'),
    ],
)
def test_a_tare_is_refused_with_its_reason(sensor, change, words):
    change(sensor)
    assert words in sensor.tare()
    sensor.noise = 0.1
    sensor.read(2.0 * TARE_TIME)
    assert not sensor.tare()


def test_a_tare_needs_a_while_of_samples():
    one = Sensor()
    assert 'no wrench has come' in one.tare()
    one.read(0.05)
    assert 'there is no wrench of the last' in one.tare()


@pytest.mark.parametrize('wrench', [np.full(6, 1e308), 300.0 * np.eye(6)[0], 30.0 * np.eye(6)[4]])
def test_one_implausible_wrench_is_doubted_until_the_next_tare(sensor, wrench):
    assert not sensor.tare()
    sensor.measured.add(sensor.now, wrench, sensor.q)
    sensor.read(0.02)
    assert sensor.problem() == Reason.WRENCH_INVALID
    sensor.read(2.0 * TARE_TIME)
    assert sensor.problem() == Reason.WRENCH_INVALID
    assert not sensor.tare()
    assert sensor.problem() == Reason.OK


def test_silence_and_a_frozen_sensor_are_two_reasons(sensor):
    assert not sensor.tare()
    sensor.now += 0.06
    assert sensor.problem() == Reason.WRENCH_STOPPED
    sensor.read(0.1)
    assert sensor.problem() == Reason.OK
    sensor.noise = 0.0
    sensor.read(0.09)
    assert sensor.problem() == Reason.OK
    sensor.read(0.03)
    assert sensor.problem() == Reason.WRENCH_FROZEN
