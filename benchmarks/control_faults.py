# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states that are frozen or contradict themselves, while an arm moves by impedance control.

The arm is simulated by MuJoCo with rotors that the controller does not know. The controller is
prepared as in impedance_controller_node, with its default parameters; its joint states are frozen
or falsified from some time on, with stamps that go on. This part is skipped without MuJoCo.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.control_plant import mujoco
from benchmarks.descriptions import bare, for_mujoco, without_friction
from benchmarks.records import Goal, Record
from benchmarks.robots import SUBJECTS, urdf_path
from dynamics_ros import Robot
from dynamics_ros.commanding.arm import PreparedArm
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.simulation import comfortable_posture

Array = NDArray[np.float64]
Sample = tuple[Array, Array, Array]
"""Reported q, v and effort."""

SUBSTEP = 2.5e-4
"""Step of the simulation [s]."""

BEFORE, AFTER = 0.5, 0.5
"""Duration of true joint states, and of those with a fault [s]."""

SPEED, PUSH = 0.1, 15.0
"""Speed at which a target or a hand moves the tool [m/s], and largest force of the hand [N]."""

HAND = 500.0
"""Damping with which a hand keeps its speed [Ns/m]."""

VISIBLE = 0.05
"""Speed of a joint whose frozen or wrong samples should be noticed [rad/s]."""

MAX_BRAKING_TIME = 0.5
"""As of impedance_controller_node [s]."""


def _repeated(before: Sample, now: Sample) -> Sample:
    return before


def _at_rest(before: Sample, now: Sample) -> Sample:
    return before[0], np.zeros(len(now[1])), before[2]


def _live_effort(before: Sample, now: Sample) -> Sample:
    return before[0], np.zeros(len(now[1])), now[2]


def _stuck(before: Sample, now: Sample) -> Sample:
    return before[0], now[1], now[2]


def _reversed(before: Sample, now: Sample) -> Sample:
    return now[0], -now[1], now[2]


def _silent(before: Sample, now: Sample) -> Sample:
    return now[0], np.zeros(len(now[1])), now[2]


def _elsewhere(before: Sample, now: Sample) -> Sample:
    return now[0] + 0.3, now[1], now[2]


def _exchanged(before: Sample, now: Sample) -> Sample:
    q, v, effort = (np.roll(x, 1) for x in now)
    return q, v, effort


FAULTS: dict[str, Callable[[Sample, Sample], Sample]] = {
    'q and v repeated': _repeated,
    'q repeated, v = 0': _at_rest,
    'q repeated, v = 0, effort true': _live_effort,
    'q repeated': _stuck,
    'v of the wrong sign': _reversed,
    'v = 0': _silent,
    'q + 0.3': _elsewhere,
    'next joint': _exchanged,
}
"""Faulty sample from the last true one and the present one."""


class Driver:
    """Reports true joint states, as they are.

    Attributes:
        period: of the states [s].
    """

    def __init__(self, period: float) -> None:
        self.period = period

    def report(self, sample: Sample) -> Sample:
        """Report a state."""
        return sample


class Repeating(Driver):
    """Repeats the states of a robot of 125 Hz."""

    def __init__(self, period: float) -> None:
        super().__init__(period)
        self._left, self._last = 0.0, None

    def report(self, sample: Sample) -> Sample:
        """Report a state, or the last one."""
        self._left -= self.period
        if self._last is None or self._left < 1e-9:
            self._left, self._last = self._left % 0.008, sample
        return self._last


class Coarse(Driver):
    """Encoders of 12 bits; velocities are their filtered differences, without efforts."""

    step, late = 2.0 * np.pi / 4096, 0.02

    def __init__(self, period: float) -> None:
        super().__init__(period)
        self._q: Array | None = None

    def report(self, sample: Sample) -> Sample:
        """Report a state."""
        q = self.step * np.round(sample[0] / self.step)
        if self._q is None:
            self._q, self._v = q, np.zeros(len(q))
        share = 1.0 - np.exp(-self.period / self.late)
        self._v = self._v + share * ((q - self._q) / self.period - self._v)
        self._q = q
        return q, self._v, np.zeros(len(q))


class Noisy(Driver):
    """Positions with noise of 1e-5 rad, and velocities with noise that are 20 ms late."""

    def __init__(self, period: float) -> None:
        super().__init__(period)
        self._random, self._v = np.random.default_rng(0), None

    def report(self, sample: Sample) -> Sample:
        """Report a state."""
        q, v, effort = sample
        self._v = v if self._v is None else self._v + (v - self._v) * self.period / 0.02
        noise = self._random.normal(size=(3, len(v)))
        return q + 1e-5 * noise[0], self._v + 0.02 * noise[1], effort + 0.1 * noise[2]


DRIVERS = {
    'exact': Driver,
    'repeating states of 125 Hz': Repeating,
    'encoders of 12 bits': Coarse,
    'noise, late velocities': Noisy,
}
"""True joint states as drivers report them, which must not stop the arm."""

WALL = 1e5
"""Stiffness of a wall [N/m]."""

MODES = ('twist', 'pose', 'guiding', 'braking', 'float', 'rest')
"""What the arm does as the fault begins; rest: it stands, and a twist begins 0.1 s later."""

ALLOWED = {'v of the wrong sign': (1.0, 5.0), 'v = 0': (1.0, 5.0)}
"""Largest increase of the speed of the tool [m/s] and of the energy [J], where not 0.5 and 2."""


@dataclass
class Outcome:
    """What a fault did.

    Attributes:
        detected: time from when one of its joints was faster than ``VISIBLE``, until samples were
            not used any more [s]; NaN for never, 0 if no such joint moved.
        speed: largest increase of the tool speed [m/s].
        energy: largest increase of the kinetic energy beyond the work of the push [J].
        code: of the reason.
    """

    detected: float
    speed: float
    energy: float
    code: str


def hand_along(way: Array, speed: float = SPEED) -> Callable[[Array], Array]:
    """Force (3) of a hand [N] that moves the tool along a way, as a function of its velocity."""
    wanted = way * (speed / max(float(np.linalg.norm(way)), speed))

    def force(velocity: Array) -> Array:
        pull = HAND * (wanted - velocity)
        return pull * min(1.0, PUSH / max(float(np.linalg.norm(pull)), 1e-9))

    return force


class Cell:
    """An arm in MuJoCo and its controller.

    Attributes:
        name: of the arm.
        robot: our model.
        home: (nq) configuration in which it begins.
    """

    def __init__(self, name: str, urdf: str, frame: str, rotors: float) -> None:
        self.name, self.frame = name, frame
        self.robot = Robot.from_urdf(urdf)
        self.home = comfortable_posture(self.robot, frame)
        spec = mujoco.MjSpec.from_string(for_mujoco(urdf))
        for joint in spec.joints:
            joint.armature = rotors
        spec.option.timestep = SUBSTEP
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        names = [self._model.joint(i).name for i in range(self._model.njnt)]
        self._order = np.array([self.robot.joint_names.index(x) for x in names])
        self._rotors = rotors
        parameters = ImpedanceParameters(command_joints=self.robot.joint_names, frame=frame)
        self.prepared = PreparedArm.of(self.robot, parameters, frame)

    def place(self) -> None:
        """Place the arm at rest, and start its controller."""
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos = self.home[self._order]
        self.q, self.v = self.home.copy(), np.zeros(self.robot.nv)
        self.tau = self.robot.gravity(self.q)
        self.pushed = 0.0
        self.prepared.arm.start(self.q, self.v)
        self.prepared.check.begin(self.q, self.v, self.tau)
        self._braking, self._given_up = 0.0, False

    def advance(self, dt: float, force: Callable[[Array], Array] | None) -> None:
        """Hold the torques for some time, beside a force on the tool as a function of its speed."""
        for _ in range(round(dt / SUBSTEP)):
            applied = self.tau
            if force is not None:
                J = self.robot.jacobian(self.q, self.frame)[:3]
                pulled = force(J @ self.v)
                applied = applied + J.T @ pulled
                self.pushed += SUBSTEP * float(pulled @ (J @ self.v))
            self._data.qfrc_applied[:] = applied[self._order]
            mujoco.mj_step(self._model, self._data)
            self.q, self.v = np.empty(self.robot.nq), np.empty(self.robot.nv)
            self.q[self._order], self.v[self._order] = self._data.qpos, self._data.qvel

    def lock(self) -> None:
        """Have brakes hold the arm."""
        self._data.qvel[:], self.v = 0.0, np.zeros(self.robot.nv)

    @property
    def speed(self) -> float:
        """Speed of the tool [m/s]."""
        return float(np.linalg.norm(self.robot.frame_velocity(self.q, self.v, self.frame)[:3]))

    @property
    def energy(self) -> float:
        """Kinetic energy, with the rotors [J]."""
        return float(
            self.robot.kinetic_energy(self.q, self.v) + 0.5 * self._rotors * self.v @ self.v
        )

    def control(self, sample: Sample, dt: float, mode: str, goal: Array, twist: Array) -> str:
        """Compute the torques for a sample as impedance_controller_node does; return the code."""
        arm, check = self.prepared.arm, self.prepared.check
        if self._given_up:
            return check.reason.reason.value
        q, v, effort = sample
        check.judge(q, v, dt, effort, arm.tau)
        if check.reason:
            q, v = check.q, check.v
            self._braking = max(self._braking, dt)
        if self._braking or mode == 'braking':
            self.tau = arm.brake(q, v, dt)
            self._braking += dt
            if mode != 'braking' and (arm.at_rest or self._braking > MAX_BRAKING_TIME):
                self._braking = 0.0
                arm.stay()
            if check.lasting:
                # The last command, which a forward controller holds.
                self.tau, self._given_up = arm.gravity, True
        elif mode == 'guiding':
            self.tau = arm.guide(q, v, dt)
        elif mode == 'float':
            self.tau = arm.give_way(q, v, dt, np.zeros(len(v)))
        elif mode == 'pose':
            self.tau = arm.approach(q, v, dt, goal)
        else:
            self.tau = arm.drive(q, v, dt, twist)
        return check.reason.reason.value if check.reason else ''

    def run(
        self, fault: str, joints: Sequence[int], mode: str, rate: float, upward: float = 1.0
    ) -> Outcome:
        """Move the arm, begin a fault of some joints, and see what becomes of it."""
        self.place()
        dt, axis = 1.0 / rate, np.array([0.3, 0.5, 0.8]) / np.linalg.norm([0.3, 0.5, 0.8])
        axis = upward * axis
        goal = np.array(self.prepared.arm.pose)
        goal[:3, 3] += 0.3 * axis

        hand = hand_along(axis)
        guided = mode in ('guiding', 'float')
        twist = np.append(SPEED * axis, np.zeros(3))
        rest = np.zeros(6)
        mask = np.zeros(self.robot.nv, dtype=bool)
        mask[list(joints)] = True
        last: Sample = (self.q, self.v, self.tau)
        for k in range(round(BEFORE * rate)):
            moving = 'twist' if mode == 'braking' else mode
            self.advance(dt, hand if guided else None)
            last = self.q, self.v, self.tau
            code = self.control(last, dt, moving, goal, rest if mode == 'rest' else twist)
            if code:
                raise AssertionError(f'{code} of true states after {k * dt:.3f} s')
        speed, energy, pushed = self.speed, self.energy, self.pushed
        detected, visible, code = np.nan, np.nan, ''
        outcome = Outcome(np.nan, 0.0, 0.0, '')
        since = 0.1 if mode == 'rest' else 0.0
        for k in range(round((AFTER + since) * rate)):
            self.advance(dt, hand if guided else None)
            t = (k + 1) * dt
            true = self.q, self.v, self.tau
            wrong = FAULTS[fault](last, true)
            sample = tuple(np.where(mask, x, y) for x, y in zip(wrong, true, strict=True))
            moved = rest if mode == 'rest' and t < since else twist
            found = self.control(sample, dt, mode, goal, moved)
            if np.isnan(visible) and np.abs(self.v[mask]).max() > VISIBLE:
                visible = t
            if found and np.isnan(detected):
                detected, code = t, found
            work = self.pushed - pushed
            outcome.speed = max(outcome.speed, self.speed - speed)
            outcome.energy = max(outcome.energy, self.energy - energy - max(work, 0.0))
        outcome.detected = detected - visible if np.isfinite(visible) else 0.0
        outcome.code = code
        return outcome

    def stops(
        self, driver: str, mode: str, rate: float, slow: bool = False, wall: bool = False
    ) -> tuple[int, str]:
        """Number of true states that were not used, and the first reason.

        The arm stands, moves to and fro, slower if asked for, and stands again; with a wall, it
        presses against one that it meets on its way.
        """
        self.place()
        dt, axis = 1.0 / rate, np.array([0.3, 0.5, 0.8]) / np.linalg.norm([0.3, 0.5, 0.8])
        made = DRIVERS[driver](dt)
        q, v, _ = made.report((self.q, self.v, self.tau))
        self.prepared.arm.start(q, v)
        self.prepared.check.begin(q, v, self.tau)
        start = self.robot.forward_kinematics(self.q, self.frame)[:3, 3]
        speed = 0.1 * SPEED if slow else SPEED

        def world(velocity: Array) -> Array:
            if mode == 'guiding':
                return hand_along(sign * axis, speed)(velocity)
            here = self.robot.forward_kinematics(self.q, self.frame)[:3, 3]
            deep = float((here - start) @ axis) - 0.02
            push = WALL * deep + 200.0 * float(velocity @ axis) if wall and deep > 0.0 else 0.0
            return -max(push, 0.0) * axis

        count, first = 0, ''
        for k in range(round(2.5 * rate)):
            t = k * dt
            sign = 0.0 if t < 0.3 or t > 2.0 else 1.0 if wall or t < 1.1 else -1.0
            self.advance(dt, world)
            twist = np.append(sign * speed * axis, np.zeros(3))
            goal = np.array(self.prepared.arm.pose)
            goal[:3, 3] = start + sign * 0.1 * axis
            sample = made.report((self.q, self.v, self.tau))
            reason = self.control(sample, dt, mode, goal, twist)
            count, first = count + bool(reason), first or reason
        return count, first


def cells(robot: str, rotors: float) -> Iterator[Cell]:
    """The arms whose names contain a text."""
    shipped = Path(__file__).parents[1] / 'urdf' / 'seven_joint_arm.urdf'
    texts = [('arm', shipped, 'tool0', ())]
    texts += [
        (x.name, urdf_path(x.name), x.frame, x.locked)
        for x in SUBJECTS
        if x.name in ('panda', 'ur5', 'xarm7')
    ]
    for name, path, frame, locked in texts:
        if robot in name and not (robot == 'arm' != name):
            yield Cell(name, without_friction(bare(path, locked)), frame, rotors)


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Print the worst of all subsets of joints for each arm, fault and mode."""
    if mujoco is None:
        print('faults is left out: MuJoCo is not installed')
        return
    rates = (1000.0,) if options.quick else (1000.0, 250.0)
    for rotors in (0.0, 0.1):
        for cell in cells(options.robot, rotors):
            single = range(0, cell.robot.nv, 3)
            subsets = [range(cell.robot.nv), range(0, cell.robot.nv, 2), *([k] for k in single)]
            for fault, mode, rate in itertools.product(FAULTS, MODES, rates):
                yield from _records(cell, fault, mode, rate, rotors, subsets)
            if not rotors:
                continue  # velocities that are late shake a wrist without rotors
            for driver, slow, wall in itertools.product(DRIVERS, (False, True), (False, True)):
                for mode, rate in itertools.product(('twist', 'guiding'), rates):
                    value, _ = cell.stops(driver, mode, rate, slow, wall)
                    how = f'{"slow, " * slow}{"wall, " * wall}{rate:.0f} Hz, rotors {rotors:g}'
                    case = f'{driver}; {mode}, {how}: true states not used'
                    goal = Goal(0.0, of='value')
                    yield Record('control', case, cell.name, value, '', goal=goal)


def _records(
    cell: Cell, fault: str, mode: str, rate: float, rotors: float, subsets: list[Sequence[int]]
) -> Iterator[Record]:
    outcomes = [cell.run(fault, joints, mode, rate) for joints in subsets]
    case = f'{fault}; {mode}, {rate:.0f} Hz, rotors {rotors:g}'
    most_speed, most_energy = ALLOWED.get(fault, (0.5, 2.0))
    latest = 1e3 * max(0.02, 5.0 / rate)
    detected = 1e3 * np.array([x.detected for x in outcomes])
    for what, value, unit, limit in (
        ('detected', float(np.nanmax(detected, initial=0.0)), 'ms', latest),
        ('never detected', float(np.isnan(detected).sum()), 'subsets', 0.0),
        ('tool speed', max(x.speed for x in outcomes), 'm/s', most_speed),
        ('energy', max(x.energy for x in outcomes), 'J', most_energy),
    ):
        goal = None if limit is None else Goal(limit, of='value')
        yield Record('control', f'{case}: {what}', cell.name, value, unit, goal=goal)
