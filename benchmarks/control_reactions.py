# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Collisions of an arm with a stiff wall at 0.5 m/s in MuJoCo, with and without a reaction.

Contacts are detected from motor torques, as in contact_node. This part is skipped without MuJoCo.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.control_plant import PERIOD, POSTURE, Plant, mujoco
from benchmarks.records import Goal, Record
from benchmarks.robots import SUBJECTS
from dynamics_ros.control import (
    STRATEGIES,
    ArmSettings,
    Compliance,
    CompliantArm,
    Guiding,
    Reaction,
    ReactionSettings,
    SetpointLimits,
)
from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.estimation.contact_settings import (
    ContactEffortSettings,
    ContactSettings,
    ObserverSettings,
    ThresholdSettings,
    UnexplainedSettings,
)
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.estimation.samples.robot_state import RobotState

Array = NDArray[np.float64]

SPEED, WAY = 0.5, 0.2
"""Speed [m/s]; distance of the wall below the tool [m]."""

WALL, WALL_DAMPING = 2e4, 20.0
"""Stiffness [N/m] and damping [Ns/m] of the wall."""

BODIES = {'abdomen': 1e4, 'chest': 2.5e4, 'hand': 7.5e4}
"""Stiffness [N/m] of regions of the human body (ISO/TS 15066:2016, annex A)."""

STIFFNESS, LEAD, RATE, THRESHOLD = 1000.0, 0.1, 2000.0, 5.0
"""Stiffness [N/m] and largest lead [m] of the springs that push on, largest torque rate [Nm/s],
collision threshold [Nm]."""

FAST = 300.0
"""Gain of an observer whose noise is still below the collision threshold [1/s]."""

SECONDS, IMPACT = 1.5, 20
"""Duration [s]; duration of the first impact [ms]."""


@dataclass
class Collision:
    """Result of a collision.

    Attributes:
        peak: largest force [N].
        lasting: largest force after the first impact [N].
        after: final force [N].
        touched, detected: cycle of the touch and of the detection; NaN for never.
        torques: (cycles, nv) commanded torques [Nm].
        steepest: largest torque rate [Nm/s].
    """

    peak: float
    lasting: float
    after: float
    touched: float
    detected: float
    torques: Array
    steepest: float


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure each strategy on each arm of `POSTURE`."""
    if mujoco is None:
        print('reactions is left out: MuJoCo is not installed')
        return
    for subject in SUBJECTS:
        if subject.name not in POSTURE or options.robot not in subject.name:
            continue
        plant = Plant(subject)

        def record(
            case: str, value: float, unit: str, goal: Goal | None = None, name: str = subject.name
        ) -> Record:
            return Record('control', case, name, value, unit, goal=goal)

        without = _collide(plant, '', unbound=True)
        yield record('collision: peak force without reaction', without.peak, 'N')
        caught = _collide(plant, '').peak
        yield record('collision: peak force, running away is braked', caught, 'N')
        yield record('collision: detected after', _milliseconds(without), 'ms')
        for strategy in STRATEGIES:
            found = _collide(plant, strategy)
            lower = 100.0 * (1.0 - found.peak / without.peak)
            yield record(f'{strategy}: peak force', found.peak, 'N')
            goal = Goal(60.0, of='value', at_least=True)
            yield record(f'{strategy}: lower by', lower, '%', goal)
            lasting = 100.0 * (1.0 - found.lasting / without.lasting)
            yield record(f'{strategy}: after the first 20 ms lower by', lasting, '%')
            goal = Goal(2.0, of='value')
            # Both runs are equal until the reaction.
            others = np.abs(found.torques - without.torques).max(axis=1) > 1e-9
            cycles = float(np.flatnonzero(others)[0]) - found.detected + 1.0
            yield record(f'{strategy}: other torques after detection', cycles, 'cycles', goal)
            yield record(f'{strategy}: force in the end', found.after, 'N')
            most = Goal(1.0 + 1e-9, of='value')
            yield record(f'{strategy}: torque rate over limit', found.steepest / RATE, '', most)
            found = _collide(plant, strategy, gain=FAST)
            lower = 100.0 * (1.0 - found.peak / without.peak)
            yield record(f'{strategy}: lower by, observer.gain {FAST:g}', lower, '%')
        words = f'collision: detected after, observer.gain {FAST:g}'
        yield record(words, _milliseconds(found), 'ms')
        for body, wall in BODIES.items():
            without = _collide(plant, '', unbound=True, wall=wall)
            yield record(f'{body}: peak force without reaction', without.peak, 'N')
            yield record(f'{body}: detected after', _milliseconds(without), 'ms')
            for strategy in STRATEGIES:
                for gain in (GAIN, FAST):
                    peak = _collide(plant, strategy, gain=gain, wall=wall).peak
                    words = f'{body}, {strategy}: lower by, observer.gain {gain:g}'
                    yield record(words, 100.0 * (1.0 - peak / without.peak), '%')


def _collide(
    plant: Plant,
    strategy: str,
    unbound: bool = False,
    gain: float = GAIN,
    wall: float = WALL,
) -> Collision:
    """Simulate a collision with the wall.

    Args:
        plant: the arm.
        strategy: strategy of the reaction; '' for none.
        unbound: whether the speed of the arm is not limited.
        gain: of the observer [1/s].
        wall: stiffness of the wall [N/m].
    """
    robot, frame, home = plant.robot, plant.frame, plant.home
    plant.place(home)
    settings = _settings()
    if unbound:
        settings = replace(settings, largest_speed=math.inf)
    arm = CompliantArm(plant.controller, settings)
    arm.start(home, np.zeros(robot.nv))
    thresholds, exact = ThresholdSettings(collision=(THRESHOLD,)), UnexplainedSettings((0.0,))
    observer = ObserverSettings(gain=(gain,))
    # Torques are held from one sample to the next.
    effort = ContactEffortSettings(sampling='interval')
    contact = ContactSettings(
        *((frame,), effort), unexplained=exact, thresholds=thresholds, observer=observer
    )
    pipeline = ContactPipeline(robot, contact, frame)
    pipeline.compile(wait=True)
    start = plant.pose
    goal, surface = start.copy(), start[2, 3] - WAY
    goal[2, 3] = surface - 2.0 * LEAD
    reaction, rests = None, False
    forces = np.zeros(round(SECONDS / PERIOD))
    torques = np.empty((len(forces), robot.nv))
    touched = detected = math.nan
    unmissed = np.zeros(robot.nv, dtype=bool)
    for k in range(len(forces)):
        q, v = plant.q, plant.v
        stamp = 10**9 + round(1e9 * k * PERIOD)
        told = pipeline.update(RobotState(stamp, q, v, plant.tau, (), (), (), unmissed))
        if math.isnan(detected) and told is not None and told.report.collision_latched:
            detected = k
            if strategy:
                reaction = Reaction(ReactionSettings(strategy), arm)
        if rests:
            tau = arm.approach(q, v, PERIOD, None)
        elif reaction is None:
            tau = arm.approach(q, v, PERIOD, goal)
        else:
            tau = reaction.step(q, v, PERIOD)
            if reaction.over and arm.at_rest:
                rests = True
                arm.stay()
        depth, speed = surface - arm.pose[2, 3], plant.twist[2]
        if depth > 0.0:
            forces[k] = max(0.0, wall * depth - WALL_DAMPING * speed)
            touched = k if math.isnan(touched) else touched
        torques[k] = tau
        plant.advance(tau, forces[k] * np.eye(6)[2])
    return Collision(
        float(forces.max()),
        float(forces[int(touched) + IMPACT :].max()),
        float(forces[-50:].mean()),
        touched,
        detected,
        torques,
        plant.steepest,
    )


def _milliseconds(found: Collision) -> float:
    return 1e3 * PERIOD * (found.detected - found.touched)


def _settings() -> ArmSettings:
    far = np.full(3, 1e9)
    return ArmSettings(
        Compliance(np.diag([STIFFNESS] * 3 + [20.0] * 3)),
        Guiding(np.zeros(6, dtype=bool), -far, far, np.ones(6), np.ones(6)),
        SetpointLimits(SPEED, 1.0, 4.0, 4.0, LEAD, 0.3),
        {'posture_stiffness': 5.0, 'posture_damping': 2.0, 'max_torque_rate': RATE},
    )
