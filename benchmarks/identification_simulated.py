# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of simulated arms: stops, payloads, stated deviations, cost."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.identification_arms import NAMES, RATE, SUITE, Arm, figure, simulated
from benchmarks.records import Goal, Record
from benchmarks.unmodelled_arms import OTHERS, STICKING, Motion, UnmodelledArm, named
from dynamics_ros import Robot
from dynamics_ros.estimation import PayloadEstimate
from dynamics_ros.identification import (
    Identified,
    JointSamples,
    identify,
    identify_with_payload,
)
from dynamics_ros.identification import fit as fitting
from dynamics_ros.identification.bodies.pseudo_inertia import Program, solve
from dynamics_ros.identification.uncertainty import calibrated_robot

Array = NDArray[np.float64]

DURATION = 30.0
STOPS, STOPS_QUICKLY = 60.0, 20.0
"""Duration of recordings with and without stops [s]."""

SLOW = 0.05
"""Speed below which friction depends on the previous motion, which no model describes [rad/s]."""

TRIED, TRIED_QUICKLY = 5, 1
"""Number of arms of each description."""

MASS, CENTER, INERTIA = 1.0, np.array([0.03, 0.02, 0.06]), np.diag([0.002, 0.003, 0.0015])
FRAMES = {'panda': 'panda_link8', 'ur5': 'tool0', 'xarm7': 'link_eef'}

LENGTH, FAST_RATE = 60.0, 1000.0
"""Duration [s] and rate [Hz] of the recording whose identification is timed."""


def chosen(options: argparse.Namespace) -> list[str]:
    """Names of the selected arms."""
    return named(options.robot, NAMES)


def stops(options: argparse.Namespace) -> Iterator[Record]:
    """Training with stops and stiction, compared with training without stops."""
    for name in named(options.robot):
        arm, rng = UnmodelledArm.made(name, STICKING), np.random.default_rng(13)
        duration = STOPS_QUICKLY if options.quick else STOPS
        other = arm.swinging(duration, rng)
        with_stops, without = (
            _torque_error(arm, identify(arm.described, [arm.samples(motion, rng)]), other)
            for motion in (arm.going(duration, rng), arm.swinging(duration, rng))
        )
        case = 'stops: torques of other motion off'
        yield Record(SUITE, case, name, with_stops, '%', 'no stops', without)


def _torque_error(arm: UnmodelledArm, found: Identified, motion: Motion) -> float:
    """RMS error of the torques of moving joints, relative to the true torques [%]."""
    loads = arm.real.inverse_dynamics(motion.q, motion.v, motion.a)
    true, model = loads + arm.friction(motion, loads), found.effort_model
    own = calibrated_robot(found).inverse_dynamics(motion.q, motion.v, motion.a)
    own = own + model.rotor_inertia * motion.a
    rows = zip(motion.v, own, strict=True)
    own += np.array([model.friction_torque(v, carried) - model.offset for v, carried in rows])
    moving = np.abs(motion.v) > SLOW
    return 100.0 * float(np.sqrt(((own - true)[moving] ** 2).sum() / (true[moving] ** 2).sum()))


def _frame(name: str) -> str:
    """Frame of an arm that carries a payload."""
    return FRAMES[name] if name in FRAMES else OTHERS[name][1]


def payload(options: argparse.Namespace) -> Iterator[Record]:
    """Identification of a payload, from a run without and a run with it.

    Motions differ; with unmodelled friction also pairs of the same motion.
    """
    tried = range(TRIED_QUICKLY if options.quick else TRIED)
    for name in chosen(options):
        pairs = []
        for seed in tried:
            arm, rng = simulated(name, seed), np.random.default_rng([2, seed])
            t, joints = np.arange(0.0, DURATION, 1.0 / RATE), np.arange(arm.described.nv)
            loaded = arm.loaded(_frame(name), MASS, CENTER, INERTIA)
            runs = [one.recorded(t, one.motion(t, rng, joints, 1.0), rng) for one in (arm, loaded)]
            pairs.append(_payload_of(arm.described, runs, _frame(name)))
        yield from _of_pairs('payload pair', name, pairs)
    for name in named(options.robot):
        pairs, alike = [], []
        for seed in tried:
            empty, rng = UnmodelledArm.made(name, STICKING, seed), np.random.default_rng([5, seed])
            real = empty.real.with_payload(empty.frame, MASS, CENTER, INERTIA)
            arms = empty, replace(empty, real=real)
            runs = [one.samples(one.swinging(DURATION, rng), rng) for one in arms]
            pairs.append(_payload_of(empty.described, runs, empty.frame))
            rng = np.random.default_rng([5, seed])
            motion = empty.swinging(DURATION, rng)
            runs = [one.samples(motion, rng) for one in arms]
            alike.append(_payload_of(empty.described, runs, empty.frame))
        yield from _of_pairs('payload pair, unmodelled friction', name, pairs)
        yield from _of_pairs('payload pair, unmodelled friction, same motion', name, alike)


def _payload_of(robot: Robot, runs: list[JointSamples], frame: str) -> PayloadEstimate:
    _, found = identify_with_payload(robot, runs[:1], runs[1:], frame)
    return found


def _of_pairs(case: str, name: str, pairs: list[PayloadEstimate]) -> Iterator[Record]:
    """How far the worst is off, and all over their stated deviations."""
    masses = np.array([pair.mass for pair in pairs]) - MASS
    centers = np.array([pair.center_of_mass for pair in pairs]) - CENTER
    yield figure(f'{case}: mass off', name, 100.0 * float(np.abs(masses).max()) / MASS, '%', 2.0)
    farthest = 1e3 * float(np.linalg.norm(centers, axis=1).max())
    yield figure(f'{case}: centre off', name, farthest, 'mm', 5.0)
    stated = [[pair.mass_deviation, *pair.center_of_mass_deviation] for pair in pairs]
    over = np.column_stack([masses, centers]) / np.array(stated)
    off = float(np.sqrt(np.mean(np.square(over))))
    yield figure(f'{case}: off over stated', name, off, 'dev.', 1.3)


def coverage(options: argparse.Namespace) -> Iterator[Record]:
    """Share of parameters whose true value is within 1.96 stated deviations."""
    within: dict[str, list[bool]] = {}
    for name in chosen(options):
        for seed in range(TRIED_QUICKLY if options.quick else 2 * TRIED):
            arm, rng = simulated(name, seed), np.random.default_rng([3, seed])
            t, joints = np.arange(0.0, DURATION, 1.0 / RATE), np.arange(arm.described.nv)
            found = identify(arm.described, [arm.recorded(t, arm.motion(t, rng, joints, 1.0), rng)])
            for parameter, true in zip(found.parameters, _true_parameters(arm, found), strict=True):
                ok = abs(parameter.value - true) < 1.96 * parameter.deviation
                kind = parameter.kind if parameter.identifiable else f'{parameter.kind}, not told'
                within.setdefault(kind, []).append(ok)
                if parameter.kind == 'friction' and parameter.identifiable:
                    within.setdefault(parameter.name.partition(' ')[0], []).append(ok)
                if parameter.identifiable:
                    within.setdefault('identified', []).append(ok)
    for kind, those in sorted(within.items()):
        share = 100.0 * float(np.mean(those))
        if kind != 'identified':
            yield figure(f'truth within 1.96 dev.: {kind}', 'all', share, '%')
            continue
        goal = Goal(92.0, of='value', at_least=True)
        yield Record(SUITE, 'truth within 1.96 dev.: identified', 'all', share, '%', goal=goal)
        yield figure('the same, not more than', 'all', share, '%', 98.0)


def _true_parameters(arm: Arm, found: Identified) -> list[float]:
    """True values in the order of the parameters."""
    inertial = np.concatenate([arm.bodies.ravel(), arm.rotor])
    known = {
        f'{name} {joint}': value
        for name, values in (
            *(('viscous', arm.viscous), ('offset', arm.offset), ('load', 0.0 * arm.coulomb)),
            *(('coulomb', arm.coulomb), ('breakaway', arm.coulomb)),
        )
        for joint, value in zip(arm.described.joint_names, values, strict=True)
    }
    told = [known[one.name] for one in found.parameters if one.kind == 'friction']
    return [*found.maker.base.combination @ inertial, *inertial, *told]


def cost(options: argparse.Namespace) -> Iterator[Record]:
    """Time of an identification from a minute at 1 kHz, and of its semidefinite program."""
    arm, rng = simulated('panda', 0), np.random.default_rng(4)
    t = np.arange(0.0, LENGTH, 1.0 / FAST_RATE)
    samples = arm.recorded(t, arm.motion(t, rng, np.arange(7), 1.0), rng)
    programs: list[Program] = []

    def kept(program: Program) -> Array:
        programs.append(program)
        return solve(program)

    original = fitting.pseudo_inertia.solve
    fitting.pseudo_inertia.solve = kept
    try:
        seconds = []
        for _ in range(3):
            begin = time.perf_counter()
            identify(arm.described, [samples])
            seconds.append(time.perf_counter() - begin)
    finally:
        fitting.pseudo_inertia.solve = original
    yield figure('60 s at 1 kHz, first call', 'panda', seconds[0], 's', 5.0)
    yield figure('60 s at 1 kHz, then', 'panda', min(seconds), 's', 5.0)
    begin = time.perf_counter()
    solve(programs[-1])
    yield figure('semidefinite program', 'panda', time.perf_counter() - begin, 's', 1.0)
