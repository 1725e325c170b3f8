# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detectors of collisions at the same rate of false alarms: observers of several gains, and CUSUM.

All of them see the same external torques between two samples, of which each observer is a low-pass
filter. A CUSUM sums their excess over a torque and detects where the sum, an impulse, is larger
than noise explains. This part is skipped without MuJoCo.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.control_plant import PERIOD, POSTURE, mujoco
from benchmarks.records import Record
from benchmarks.robots import SUBJECTS
from dynamics_ros import Robot
from dynamics_ros.estimation import MomentumObserver
from dynamics_ros.estimation.observers import GAIN

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]
Told = tuple[int, Array, Array, Array]

GAINS = (GAIN, 150.0, 300.0, 600.0)
"""Gains of the observers [1/s]."""

ALLOWED = 4.0
"""Torque above which a CUSUM sums [Nm]; about the largest error of the model below."""

MARGIN = 1.3
"""Threshold of each joint over the largest value in free motion."""

SETTLED, SEED = 1500, 1
"""Samples until the motion has its full amplitude and the observers have settled; of the noise."""

COLLISIONS = 3
"""Collisions whose delay is averaged; each has another noise."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure each arm of `POSTURE`."""
    if mujoco is None:
        print('detection is left out: MuJoCo is not installed')
        return
    from benchmarks.control_reactions import THRESHOLD, collision_states
    from benchmarks.estimation_arms import NOISE, Setting
    from benchmarks.estimation_world import Faults

    faults = {
        'exact model': Faults(),
        'masses off by 10 %': Faults(mass=1.1),
        'friction of 2 %': Faults(friction=0.02),
    }
    for subject in SUBJECTS:
        if subject.name not in POSTURE or options.robot not in subject.name:
            continue
        rng = np.random.default_rng(SEED)
        collisions = []
        for _ in range(COLLISIONS):
            robot, states, touched = collision_states(subject, NOISE, rng)
            collisions.append((_means(robot, states), touched))
        for name, statistic in _statistics().items():
            found = [_delay(statistic(means), THRESHOLD, at) for means, at in collisions]
            if name != _cusum_name():
                words = f'{name}: collision detected after, {THRESHOLD:g} Nm'
                yield Record('control', words, subject.name, float(np.mean(found)), 'ms')
        for words, fault in faults.items():
            setting = Setting(subject.name, fault)
            seconds = 6.0 if options.quick else 60.0
            samples = setting.arm.run(seconds, setting.fast, lambda _: np.zeros(3))
            told = [(one.stamp, *NOISE.of(one, rng)) for one in samples]
            free = _means(setting.arm.robot, told)
            for name, statistic in _statistics().items():
                largest = statistic(free)[SETTLED:].max(axis=0)
                unit = 'Nms' if name == _cusum_name() else 'Nm'
                case = f'{words}: {name}: largest in free motion'
                yield Record('control', case, subject.name, float(largest.max()), unit)
                found = [_delay(statistic(e), MARGIN * largest, at) for e, at in collisions]
                case = f'{words}: {name}: detected after, at {MARGIN:g} of the largest'
                yield Record('control', case, subject.name, float(np.mean(found)), 'ms')


def _means(robot: Robot, told: list[Told]) -> Array:
    """Mean external torques (n, nv) between consecutive samples, each stamp, q, v and effort."""
    observer = MomentumObserver(robot, GAIN, effort_sampling='interval')
    decay, before = math.exp(-GAIN * PERIOD), np.zeros(robot.nv)
    means = []
    for sample in told:
        filtered = observer.update(*sample)
        means.append((filtered - decay * before) / (1.0 - decay))
        before = filtered
    return np.array(means[1:])


def _statistics() -> dict[str, Statistic]:
    def filtered(gain: float) -> Statistic:
        return lambda means: _in_two(np.abs(_low_pass(means, gain)))

    found: dict[str, Statistic] = {f'observer.gain {gain:g}': filtered(gain) for gain in GAINS}
    return found | {_cusum_name(): _cusum}


def _cusum_name() -> str:
    return f'CUSUM above {ALLOWED:g} Nm'


def _low_pass(means: Array, gain: float) -> Array:
    decay, value, found = math.exp(-gain * PERIOD), np.zeros(means.shape[1]), np.empty_like(means)
    for i, mean in enumerate(means):
        value = mean + decay * (value - mean)
        found[i] = value
    return found


def _in_two(values: Array) -> Array:
    """The smaller one of each value and the one before: both have to exceed a threshold."""
    return np.minimum(values, np.vstack([np.zeros(values.shape[1]), values[:-1]]))


def _cusum(means: Array) -> Array:
    """Largest sum of the excess of either sign over ``ALLOWED`` since any sample [Nms]."""
    found, sums = np.empty_like(means), np.zeros((2, means.shape[1]))
    for i, mean in enumerate(means):
        sums = np.maximum(0.0, sums + PERIOD * (np.array([mean, -mean]) - ALLOWED))
        found[i] = sums.max(axis=0)
    return found


def _delay(values: Array, threshold: float | Array, touched: int) -> float:
    """Time from the touch to the detection [ms]; NaN without one."""
    # The torques of an interval are known at the sample that ends it.
    detected = np.flatnonzero((values > threshold).any(axis=1)) + 1
    later = detected[detected >= touched]
    return 1e3 * PERIOD * float(later[0] - touched) if len(later) else math.nan
