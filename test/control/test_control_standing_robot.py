# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""ANYmal stands, gives way to pushes and trots in MuJoCo, held by one quadratic program a step."""

from __future__ import annotations

import math

import mujoco  # noqa: F401 (without it there is nothing to test)
import numpy as np
import pytest

from benchmarks.descriptions import bare, without_friction
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.control import StandingRobot, StandingSettings, pose_error
from dynamics_ros.demo.known_robots import LEGGED
from dynamics_ros.errors import DynamicsRosError, InfeasibleError, InvalidArgumentError
from dynamics_ros.simulation.mujoco_world import MujocoWorld, Surroundings

KNOWN = LEGGED['anymal']
FEET, RADIUS = KNOWN.feet, KNOWN.foot_radius
PAIRS = (0, 1, 1, 0)
"""Which of two diagonals each foot belongs to."""

PERIOD, SUBSTEPS = 1e-3, 2
STEP_TIME, SWING, LIFT = 0.5, 0.4, 0.06
"""Of a trot: s of a cycle, share of it in the air, m."""

ROBOT = Robot.from_urdf(without_friction(bare(urdf_path('anymal'))), 'floating')
WEIGHT = 9.81 * ROBOT.total_mass
FRICTION = 0.6


def home():
    q = ROBOT.neutral()
    q[7:] = [KNOWN.stance.get(name, 0.0) for name in ROBOT.joint_names]
    q[2] = RADIUS - min(ROBOT.forward_kinematics(q, foot)[2, 3] for foot in FEET)
    return q


HOME = home()


class Walker:
    """The robot in MuJoCo, and what its base and feet are to do."""

    def __init__(self):
        self.world = MujocoWorld(
            ROBOT, PERIOD / SUBSTEPS, Surroundings(dict.fromkeys(FEET, RADIUS), {})
        )
        self.world.place(HOME)
        self.control = StandingRobot(ROBOT, FEET, StandingSettings(friction=FRICTION))
        self.steps = [ROBOT.forward_kinematics(HOME, foot)[:3, 3] for foot in FEET]
        self.lifted = list(self.steps)
        self.target = ROBOT.forward_kinematics(HOME, 'base')
        self.motion = None

    def run(self, seconds, trot=False, velocity=0.0, push=None):
        """Step by step; the base's target moves along x."""
        for k in range(round(seconds / PERIOD)):
            t = k * PERIOD
            q, v = self.world.q, self.world.v
            phases = [(t / STEP_TIME + 0.5 * pair) % 1.0 for pair in PAIRS]
            swings = np.array([trot and phase < SWING for phase in phases])
            self.target[0, 3] += velocity * PERIOD
            speed = np.array([velocity, 0.0, 0.0])
            twist = ROBOT.frame_velocity(q, v, 'base')
            base = 100.0 * pose_error(self.target, ROBOT.forward_kinematics(q, 'base'))
            base -= 20.0 * (twist - np.append(speed, np.zeros(3)))
            swing = np.zeros((4, 3))
            for i, foot in enumerate(FEET):
                place = ROBOT.forward_kinematics(q, foot)[:3, 3]
                if not swings[i]:
                    self.lifted[i] = place
                    continue
                s = phases[i] / SWING
                # Half of the way that the base makes in a stance lies ahead of where it stands.
                ahead = HOME_FEET[i] + self.target[:3, 3] - HOME_BASE
                ahead = ahead + 0.5 * (1.0 - SWING) * STEP_TIME * speed
                share, rate = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / (SWING * STEP_TIME)
                wanted = self.lifted[i] + share * (ahead - self.lifted[i])
                moving = rate * (ahead - self.lifted[i])
                wanted[2] = RADIUS + LIFT * math.sin(math.pi * s)
                moving[2] = LIFT * math.pi / (SWING * STEP_TIME) * math.cos(math.pi * s)
                v_foot = ROBOT.frame_velocity(q, v, foot)[:3]
                swing[i] = 600.0 * (wanted - place) + 40.0 * (moving - v_foot)
            posture = 50.0 * (HOME[7:] - q[7:]) - 10.0 * v[6:]
            self.motion = self.control.solve(q, v, base, swing, posture, ~swings)
            tau = np.concatenate([np.zeros(6), self.motion.tau])
            if push is not None:
                tau += ROBOT.jacobian(q, 'base').T @ np.append(push, np.zeros(3))
            for _ in range(SUBSTEPS):
                self.world.step(tau)
            yield swings

    @property
    def tilt(self):
        """Angle of the base's z axis from the vertical [rad]."""
        R = ROBOT.forward_kinematics(self.world.q, 'base')[:3, :3]
        return math.acos(min(1.0, R[2, 2]))


HOME_FEET = [ROBOT.forward_kinematics(HOME, foot)[:3, 3] for foot in FEET]
HOME_BASE = ROBOT.forward_kinematics(HOME, 'base')[:3, 3]


def off(walker):
    """How far the base is from where it should be [m]."""
    place = ROBOT.forward_kinematics(walker.world.q, 'base')[:3, 3]
    return np.abs(place - walker.target[:3, 3]).max()


def test_it_stands_on_forces_within_friction_that_are_those_of_the_ground():
    walker = Walker()
    for _ in walker.run(0.8):
        pass
    assert off(walker) < 0.005 and walker.tilt < 0.01
    forces = walker.motion.forces
    assert forces[:, 2].sum() == pytest.approx(WEIGHT, rel=0.01)
    assert (np.linalg.norm(forces[:, :2], axis=1) <= FRICTION * forces[:, 2] + 1e-6).all()
    true = walker.world.contact_wrenches()
    for foot, force in zip(FEET, forces, strict=True):
        assert true[foot][:3] == pytest.approx(force, abs=0.01 * WEIGHT)


@pytest.mark.slow
def test_pushed_aside_it_keeps_its_feet_and_comes_back():
    walker = Walker()
    for _ in walker.run(0.3):
        pass
    moved = []
    for _ in walker.run(0.5, push=np.array([0.0, 80.0, 0.0])):
        moved.append(off(walker))
    for _ in walker.run(1.0):
        pass
    assert 0.005 < max(moved) < 0.1
    assert off(walker) < 0.005
    for foot, place in zip(FEET, HOME_FEET, strict=True):
        now = ROBOT.forward_kinematics(walker.world.q, foot)[:3, 3]
        assert np.abs(now - place).max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize('velocity', [0.0, 0.3])
def test_it_trots(velocity):
    walker = Walker()
    for _ in walker.run(0.3):
        pass
    highest, worst = np.zeros(4), 0.0
    for swings in walker.run(3.0, trot=True, velocity=velocity):
        heights = [ROBOT.forward_kinematics(walker.world.q, foot)[2, 3] for foot in FEET]
        highest = np.maximum(highest, np.where(swings, heights, 0.0))
        worst = max(worst, walker.tilt)
    # Each foot has been in the air, and the base has stayed level on the others.
    assert (highest > RADIUS + 0.7 * LIFT).all()
    assert worst < 0.15
    assert off(walker) < 0.05
    moved = ROBOT.forward_kinematics(walker.world.q, 'base')[0, 3] - HOME_BASE[0]
    assert moved == pytest.approx(3.0 * velocity, abs=0.06)


def solve(standing=(1, 1, 1, 1), **options):
    control = StandingRobot(ROBOT, FEET, **options)
    rng = np.random.default_rng(0)
    q, v = ROBOT.integrate(HOME, 0.05 * rng.normal(size=18)), 0.1 * rng.normal(size=18)
    base, swing = rng.normal(size=6), rng.normal(size=(4, 3))
    return q, v, control.solve(q, v, base, swing, np.zeros(12), standing), base, swing


@pytest.mark.parametrize('standing', [(1, 1, 1, 1), (1, 0, 0, 1), (0, 1, 1, 1)])
def test_a_solution_obeys_physics_contacts_friction_and_limits(standing):
    q, v, motion, _, swing = solve(standing)
    tau = np.concatenate([np.zeros(6), motion.tau])
    held = sum(
        ROBOT.jacobian(q, foot)[:3].T @ force
        for foot, force in zip(FEET, motion.forces, strict=True)
    )
    assert ROBOT.inverse_dynamics(q, v, motion.a) - held == pytest.approx(tau, abs=1e-5)
    for i, foot in enumerate(FEET):
        a = ROBOT.frame_acceleration(q, v, motion.a, foot)[:3]
        if standing[i]:
            assert a == pytest.approx(np.zeros(3), abs=1e-6)
            sideways = np.linalg.norm(motion.forces[i, :2])
            assert sideways <= 0.6 * motion.forces[i, 2] + 1e-6
            assert motion.forces[i, 2] >= 5.0 - 1e-6
        else:
            assert a == pytest.approx(swing[i], abs=0.5)
            assert np.abs(motion.forces[i]).max() < 1e-6
    assert (np.abs(motion.tau) <= ROBOT.effort_limits + 1e-6).all()


class TestRefusals:
    def test_motors_that_cannot_carry_it(self):
        with pytest.raises(InfeasibleError):
            solve(limits=np.full(12, 0.1))

    def test_arguments(self):
        with pytest.raises(InvalidArgumentError, match='floating'):
            StandingRobot(Robot.from_urdf(bare(urdf_path('ur5'))), ['tool0'])
        with pytest.raises(InvalidArgumentError, match='limits'):
            StandingRobot(ROBOT, FEET, limits=[1.0])
        with pytest.raises(InvalidArgumentError, match='friction'):
            StandingRobot(ROBOT, FEET, StandingSettings(friction=-1.0))

    def test_without_daqp(self, monkeypatch):
        from dynamics_ros.control import standing_robot

        monkeypatch.setattr(standing_robot, 'daqp', None)
        with pytest.raises(DynamicsRosError, match='pip install daqp'):
            StandingRobot(ROBOT, FEET)
