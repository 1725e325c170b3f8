# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Admittance against a wall: stable or not, beside the damping that is predicted to be enough.

The plant is a tool that follows commanded velocities late, before a wall without damping, with its
own integration. A hand pushes with 20 N towards the wall, at 0.1 m/s at first.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.records import Goal, Record
from dynamics_ros.control import Admittance, required_damping

PERIOD, STEP, DURATION = 0.005, 1e-4, 15.0
"""Period of the node, step of the plant, and duration [s]."""

HAND, APPROACH = 20.0, 0.1
"""Force [N] and first speed [m/s] towards the wall."""

LARGEST = 200.0
"""Force beyond which the node stops by default [N]."""

CALM = 5e-4
"""Speed in the last second below which a contact is calm [m/s]."""

STIFFNESSES, DELAYS, MASSES = (1e4, 1e5), (0.004, 0.01), (2.0, 10.0)
SHARES = (0.2, 0.5, 0.8, 1.3, 2.0)
"""Shares of the required damping."""


@dataclass
class Contact:
    """Result of a contact.

    Attributes:
        calm: whether the tool came to rest.
        peak: largest force of the wall [N].
        given: largest energy that the arm has given to its surroundings, with the hand [J].
        reported: when the reversals were reported [s]; inf if they were not.
    """

    calm: bool
    peak: float
    given: float
    reported: float


def contact(mass: float, damping: float, stiffness: float, delay: float) -> Contact:
    """Simulate a contact."""
    law, pose = Admittance(mass, damping), np.eye(4)
    for _ in range(20):  # led at this speed for long
        law.twist(damping * APPROACH * np.eye(6)[0], pose, np.eye(3), 10.0)
    late = deque([APPROACH] * round(delay / STEP))
    x, peak, energy, given, reported, speeds = -0.005, 0.0, 0.0, 0.0, np.inf, []
    for k in range(round(DURATION / PERIOD)):
        force = HAND - stiffness * max(x, 0.0)
        pose[0, 3] = x
        v = float(law.twist(force * np.eye(6)[0], pose, np.eye(3), PERIOD)[0])
        if law.oscillates:
            reported = min(reported, k * PERIOD)
        before = x
        for _ in range(round(PERIOD / STEP)):
            late.append(v)
            x += STEP * late.popleft()
            peak = max(peak, stiffness * x)
        energy -= force * (x - before)
        given = max(given, energy)
        speeds.append(abs(v))
    return Contact(max(speeds[-round(1.0 / PERIOD) :]) < CALM, peak, given, reported)


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Stability, peak forces, and what an observer of energy and the reversals would see."""
    wrong, missed, late, given = 0, 0, 0.0, {True: 0.0, False: 0.0}
    for stiffness in STIFFNESSES:
        for delay in DELAYS:
            for mass in MASSES:
                required = required_damping(stiffness, delay, PERIOD)
                case = f'admittance {stiffness:.0e} N/m {1e3 * delay:g} ms {mass:g} kg'
                for share in SHARES:
                    found = contact(mass, share * required, stiffness, delay)
                    # Light masses need less than is predicted; what is predicted has to be calm.
                    wrong += share > 1.0 and not found.calm
                    given[found.calm] = max(given[found.calm], found.given)
                    if not found.calm:
                        missed += not np.isfinite(found.reported) and found.peak < LARGEST
                        late = max(late, found.reported if np.isfinite(found.reported) else 0.0)
                    what = f'{share:g} D, {"calm" if found.calm else "unstable"}: peak'
                    yield Record('control', f'{case}, {what}', '', found.peak, 'N')
    yield Record(
        'control', 'unstable with the damping predicted', '', wrong, '', goal=Goal(0.0, of='value')
    )
    yield Record('control', 'unstable, not reported, below 200 N', '', missed, '')
    yield Record('control', 'unstable, reported after at most', '', late, 's')
    for calm, energy in given.items():
        name = 'calm' if calm else 'unstable'
        yield Record('control', f'most energy given, {name}', '', energy, 'J')
