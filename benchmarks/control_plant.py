# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Impedance control of an arm in MuJoCo: stiffness, null space, torque rates, faults.

This part is skipped without MuJoCo.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.descriptions import bare, for_mujoco, without_friction
from benchmarks.records import Goal, Record
from benchmarks.robots import SUBJECTS, Subject, urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.control.impedance import FLAGS
from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    CompliantArm,
    Guiding,
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
    damping_of_ratio,
)
from dynamics_ros.parameters.impedance import GuidingParameters

try:
    import mujoco
except ImportError:
    mujoco = None

Array = NDArray[np.float64]

PERIOD, SUBSTEPS = 1e-3, 4

STIFFNESS = np.array([1500.0, 1000.0, 2000.0, 20.0, 15.0, 10.0])
"""Stiffness of the tool [N/m, Nm/rad]: without rotors a wrist has 1e-4 kg m^2, which limits its
rotational stiffness at 1 kHz."""

POSTURE = {
    'panda': (0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4),
    'xarm7': (0.1, 0.3, 0.2, 1.2, 0.3, 0.9, 0.4),
}

RATE = 1000.0
"""Largest torque rate [Nm/s]."""

POSTURE_CHANGE_TIME = 0.5
"""Duration of a smooth posture change [s]."""

IDENTIFIED = 0.95
"""Share of the joint friction that is compensated, as after calibrate_robot."""

MIN_MOTION = 5e-3
"""Displacement from which the tool counts as moving [m]."""

GUIDED, HAND = 0.1, 500.0
"""Speed at which a hand moves the tool [m/s], and damping with which it keeps that speed [Ns/m]."""

SHOVE, SHOVED = 60.0, 0.25
"""Force of a sudden push [N] and its duration [s]."""

Push = Callable[['Plant', float], Array]


class Plant:
    """An arm in MuJoCo, moved by torques that are held for a millisecond.

    Attributes:
        robot: our model.
        q, v: positions and velocities (nv).
        steepest: largest torque rate [Nm/s].
        acting: flags that were set since the last reset of this set.
        largest: largest ratio of a torque to its limit.
    """

    def __init__(self, subject: Subject) -> None:
        urdf = without_friction(bare(urdf_path(subject.name), subject.locked))
        self.robot = Robot.from_urdf(urdf)
        self.frame = subject.frame
        self.controller = ImpedanceController(self.robot, subject.frame)
        spec = mujoco.MjSpec.from_string(for_mujoco(urdf))
        for joint in spec.joints:
            joint.armature = 0.0
        spec.option.timestep = PERIOD / SUBSTEPS
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        names = [self.model.joint(i).name for i in range(self.model.njnt)]
        self._order = np.array([self.robot.joint_names.index(name) for name in names])
        self.home = np.array(POSTURE[subject.name])
        self.place(self.home)

    def place(self, q: Array) -> None:
        """Place the arm at rest at a configuration (nq), held by gravity torques."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos = q[self._order]
        self.q, self.v = q.copy(), np.zeros(self.robot.nv)
        self.tau = self.robot.gravity(q)
        self.memory = self.controller.start(q)
        self.steepest, self.largest = 0.0, 0.0
        self.acting: set[str] = set()

    def run(
        self,
        target: ImpedanceTarget,
        gains: ImpedanceGains,
        seconds: float,
        push: Array | Push | None = None,
        seen: Callable[[Array], Array] | None = None,
    ) -> Iterator[Plant]:
        """Run the controller step by step.

        Args:
            target, gains: as for ``ImpedanceController.step``.
            seconds: duration [s].
            push: wrench (6) on the tool, or a function of the plant and the time [s].
            seen: changes q and v before the controller gets them.
        """
        for k in range(round(seconds / PERIOD)):
            wrench = push(self, k * PERIOD) if callable(push) else push
            q, v = (self.q, self.v) if seen is None else (seen(self.q), seen(self.v))
            said = self.controller.step(ImpedanceState(q, v, PERIOD), target, gains, self.memory)
            self.memory = said.memory
            self.acting |= set(said.acting)
            self.advance(said.tau, wrench)
            yield self

    def advance(self, tau: Array, wrench: Array | None = None) -> None:
        """Advance by one period with controller torques (nv) and a wrench (6) on the tool."""
        robot = self.robot
        self.steepest = max(self.steepest, float(np.abs(tau - self.tau).max()) / PERIOD)
        self.largest = max(self.largest, float((np.abs(tau) / robot.effort_limits).max()))
        self.tau = tau
        pushed = 0.0 if wrench is None else robot.jacobian(self.q, self.frame).T @ wrench
        self.move(tau + pushed)

    def move(self, tau: Array) -> None:
        """Advance by one period with torques (nv)."""
        self.data.qfrc_applied[:] = tau[self._order]
        for _ in range(SUBSTEPS):
            mujoco.mj_step(self.model, self.data)
        self.q, self.v = np.empty(self.robot.nq), np.empty(self.robot.nv)
        self.q[self._order], self.v[self._order] = self.data.qpos, self.data.qvel

    def rub(self, coulomb: Array, viscous: Array) -> None:
        """Set the joint friction (nv) [Nm, Nms/rad]."""
        self.model.dof_frictionloss[:] = coulomb[self._order]
        self.model.dof_damping[:] = viscous[self._order]

    def settle(self, *arguments: Any, **options: Any) -> None:
        """Run to the end; arguments as for ``run``."""
        for _ in self.run(*arguments, **options):
            pass

    @property
    def pose(self) -> Array:
        """Pose of the tool (4, 4)."""
        return self.robot.forward_kinematics(self.q, self.frame)

    @property
    def twist(self) -> Array:
        """Twist of the tool (6)."""
        return self.robot.frame_velocity(self.q, self.v, self.frame)


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure each arm of `POSTURE`."""
    if mujoco is None:
        print('plant is left out: MuJoCo is not installed')
        return
    for subject in SUBJECTS:
        if subject.name not in POSTURE or options.robot not in subject.name:
            continue
        plant = Plant(subject)
        for case, value, unit, goal in _measures(plant, options.quick):
            yield Record('control', case, subject.name, value, unit, goal=goal)


def _gains(plant: Plant, scale: float = 1.0, damping: float = 0.9, **options: Any) -> Any:
    joints = {'posture_stiffness': 3.0, 'posture_damping': 3.0, 'max_torque_rate': RATE}
    joints |= options.pop('joints', {})
    inertia, _, _ = plant.robot.operational_space(plant.home, 0.0 * plant.home, plant.frame)
    D = damping_of_ratio(inertia, STIFFNESS, damping)
    return ImpedanceGains(plant.robot, scale * STIFFNESS, D, joints=joints, **options)


Measure = tuple[str, float, str, Goal | None]


def _measures(plant: Plant, quick: bool) -> Iterator[Measure]:
    yield from stiffness_measures(plant)
    yield from freedom_measures(plant)
    yield from _rates(plant)
    yield from _faults(plant)
    yield from guiding_measures(plant, 6.0 if quick else 60.0)


def stiffness_measures(plant: Plant) -> Iterator[Measure]:
    """Stiffness error and cross-coupling, from displacements by a push along each axis."""
    gains, target = _gains(plant), plant.controller.target_at(plant.home)
    forces = np.repeat([5.0, 0.2], 3)
    compliance = np.empty((6, 6))
    for i in range(6):
        plant.place(plant.home)
        wrench = forces[i] * np.eye(6)[i]
        # The rate limits could not follow a torque step on a wrist without rotor.
        plant.settle(target, gains, 4.0, lambda _, t, wrench=wrench: min(1.0, 2.0 * t) * wrench)
        moved = plant.pose[:3, 3] - target.pose[:3, 3]
        turn = plant.pose[:3, :3] @ target.pose[:3, :3].T
        turned = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        compliance[:, i] = np.concatenate([moved, 0.5 * np.array(turned)]) / forces[i]
    # In units in which K is the identity.
    roots = np.sqrt(STIFFNESS)
    unit = compliance * roots * roots[:, None]
    diagonal = 100.0 * float(np.abs(1.0 / np.diag(unit) - 1.0).max())
    beside = 100.0 * float(np.abs(unit - np.diag(np.diag(unit))).max())
    yield 'stiffness, error', diagonal, '%', Goal(1.0, of='value')
    yield 'cross-coupling', beside, '%', Goal(1.0, of='value')


def freedom_measures(plant: Plant) -> Iterator[Measure]:
    """Motion of the tool while the posture changes in the null space, by a jump or smoothly."""
    target = plant.controller.target_at(plant.home)
    free = np.linalg.svd(plant.robot.jacobian(plant.home, plant.frame))[2][-1]
    plant.place(plant.home)
    other = ImpedanceTarget(target.pose, plant.home + 0.5 * free)
    farthest = 0.0
    for now in plant.run(other, _gains(plant), 3.0):
        farthest = max(farthest, float(np.linalg.norm(now.pose[:3, 3] - target.pose[:3, 3])))
    yield 'posture moves', float(np.abs(plant.q - plant.home).max()), 'rad', None
    yield 'and the tool', 1e3 * farthest, 'mm', Goal(0.1, of='value')
    plant.place(plant.home)
    gains, farthest = _gains(plant), 0.0
    for k in range(round(3.0 / PERIOD)):
        share = min(1.0, k * PERIOD / POSTURE_CHANGE_TIME)
        led = ImpedanceTarget(target.pose, plant.home + share * 0.5 * free)
        plant.settle(led, gains, PERIOD)
        farthest = max(farthest, float(np.linalg.norm(plant.pose[:3, 3] - target.pose[:3, 3])))
    yield 'and the tool, posture led', 1e3 * farthest, 'mm', Goal(0.1, of='value')


def _rates(plant: Plant) -> Iterator[Measure]:
    target, gains = plant.controller.target_at(plant.home), _gains(plant)
    plant.place(plant.home)
    plant.settle(target, gains, 0.5)
    moved = float(np.linalg.norm(plant.pose[:3, 3] - target.pose[:3, 3]))
    yield 'activation at rest moves the tool', 1e3 * moved, 'mm', Goal(0.1, of='value')
    # Tolerance for rounding of the difference of two torques.
    most = Goal(1.0 + 1e-9, of='value')
    yield 'torque rate over limit: activation', plant.steepest / RATE, '', most
    plant.settle(target, gains, 0.5, np.array([10.0, 5.0, -5.0, 0.0, 0.0, 0.0]))
    plant.steepest = 0.0
    plant.settle(target, _gains(plant, 4.0, 2.0), 0.5, np.array([10.0, 5.0, -5.0, 0.0, 0.0, 0.0]))
    yield 'torque rate over limit: gains x 4', plant.steepest / RATE, '', most
    away = target.pose.copy()
    away[:3, 3] += [-0.7, 0.5, -0.5]
    plant.steepest = 0.0
    plant.settle(ImpedanceTarget(away, plant.home), gains, 0.5)
    yield 'torque rate over limit: jump of 1 m', plant.steepest / RATE, '', most
    yield 'torque over limit', plant.largest, '', Goal(1.0, of='value')


def guiding_measures(plant: Plant, seconds: float) -> Iterator[Measure]:
    """Drift and forces of hand guiding, with compensation of the identified friction."""
    n = plant.robot.nv
    coulomb, viscous = np.where(np.arange(n) < 4, 0.5, 0.2), np.where(np.arange(n) < 4, 0.4, 0.1)
    plant.rub(coulomb, viscous)
    node = GuidingParameters()
    guiding = Guiding(np.array(node.damping))
    known = {'coulomb': IDENTIFIED * coulomb, 'viscous': IDENTIFIED * viscous}
    settings = ArmSettings(Compliance(np.diag(STIFFNESS)), guiding, joints=known)
    arm = CompliantArm(plant.controller, settings)

    def led(duration: float, hand: Callable[[float], Array]) -> Iterator[tuple[float, Array]]:
        """Time [s] and hand force (3) [N], step by step from rest."""
        plant.place(plant.home)
        arm.forget()
        arm.start(plant.q, plant.v)
        for k in range(round(duration / PERIOD)):
            force = hand(k * PERIOD)
            tau = arm.guide(plant.q, plant.v, PERIOD)
            push = plant.robot.jacobian(plant.q, plant.frame)[:3].T @ force
            plant.move(tau + push)
            yield k * PERIOD, force

    start = plant.robot.forward_kinematics(plant.home, plant.frame)[:3, 3]
    for _ in led(seconds, lambda _: np.zeros(3)):
        pass
    drift = 1e3 * float(np.linalg.norm(plant.pose[:3, 3] - start)) * 60.0 / seconds
    yield 'guiding: drift in a minute', drift, 'mm', Goal(1.0, of='value')
    begin, on = [], []
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        for _, force in led(8.0, lambda t, d=direction: 2.0 * t * d):
            if np.linalg.norm(plant.pose[:3, 3] - start) > MIN_MOTION:
                begin.append(float(np.linalg.norm(force)))
                break
        else:
            begin.append(np.inf)
        # A hand that keeps its speed with the required force.
        pulls = [
            float(force @ direction)
            for t, force in led(
                1.0, lambda _, d=direction: HAND * (GUIDED * d - d * (plant.twist[:3] @ d))
            )
            if t > 0.5
        ]
        on.append(float(np.mean(pulls)))
    arm.settings = replace(
        settings, guiding=replace(guiding, speed=node.speed, angular_speed=node.angular_speed)
    )
    speeds = [
        float(np.linalg.norm(plant.twist[:3]))
        for direction in np.vstack([np.eye(3), -np.eye(3)])
        for _ in led(SHOVED, lambda _, d=direction: SHOVE * d)
    ]
    yield f'guiding: fastest tool, pushed with {SHOVE:g} N', max(speeds), 'm/s', None
    plant.rub(np.zeros(n), np.zeros(n))
    goal = Goal(2.0, of='value')
    yield f'guiding: force that moves the tool by {1e3 * MIN_MOTION:g} mm', max(begin), 'N', goal
    yield f'guiding: force at {GUIDED:g} m/s', max(on), 'N', goal


def _faults(plant: Plant) -> Iterator[Measure]:
    """Faults during motion: whether the flag is set, and the largest torque over its limit."""
    home = plant.controller.target_at(plant.home)
    away = home.pose.copy()
    away[:3, 3] += [0.1, 0.1, -0.1]
    moving = ImpedanceTarget(away, plant.home)
    no_pose = ImpedanceTarget(away, plant.home)
    object.__setattr__(no_pose, 'pose', away * np.nan)
    far = home.pose.copy()
    far[:3, 3] += [2.0, 0.0, 1.0]
    stretched = ImpedanceTarget(far, plant.home)
    beyond = ImpedanceTarget(home.pose, np.full(7, 10.0))
    loose = _gains(plant, 0.0, 0.02, joints={'posture_stiffness': 20.0})
    gains = _gains(plant)
    faults: dict[str, tuple[str, ImpedanceTarget, Any, Any]] = {
        'lost state': ('state', moving, gains, lambda x: x * np.nan),
        'target of NaN': ('input', no_pose, gains, None),
        'target out of reach': ('torque_rate', stretched, gains, None),
        'range of joints': ('guard', beyond, loose, None),
    }
    for name, (flag, target, given, seen) in faults.items():
        assert flag in FLAGS
        plant.place(plant.home)
        plant.settle(moving, gains, 0.1)
        plant.acting, plant.largest = set(), 0.0
        plant.settle(target, given, 0.3 if seen else 1.5, seen=seen)
        told = float(flag in plant.acting)
        yield f'{name}: told', told, '', Goal(1.0, of='value', at_least=True)
        yield f'{name}: torque over limit', plant.largest, '', Goal(1.0, of='value')
