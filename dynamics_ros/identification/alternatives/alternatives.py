# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other readings of a recording, one of which may explain it much better than what was said.

Each is one mistake that engineers make: the robot leans or hangs, two joints are in the wrong
order, one counts the other way round or has another zero, efforts are without gravity or in another
unit at one joint, stamps are on another scale. All are judged by the same misfit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification.joint_states.clock import Stretch
from dynamics_ros.identification.joint_states.plausibility import NotThisRobotError
from dynamics_ros.identification.joint_states.samples import UnusableRecordingError
from dynamics_ros.robot import Robot

from .effort_shares import BETTER, effort_shares
from .misfit import PLAUSIBLE, Explained, Misfit, States

Array = NDArray[np.float64]

FEW, LONG = 50, 10.0
"""States that are judged by, at least, and in s at least."""

REFUSED, TOLD = 1.4, 1.2
"""Misfit of the recording as read over that of another reading, from which on it is read wrongly,
and from which on that is told."""

REFUSED_AS_DESCRIBED = 2.5
"""The ratio from which a recording is rejected when masses are as described. Described masses may
be wrong, so this is higher. It also decides where other masses hide a wrong reading."""

LEAST = 0.04
"""What it has to be better by at least: what is explained well as it is read is not doubted."""

CLOSE = 0.2
"""Misfit that the right reading has at most."""

FAR_OFF = 0.3
"""Misfit from which on masses are doubtful, whatever the reading."""

CLOCKS = (0.1, 0.5, 2.0, 10.0)
"""How many times as fast as stamps say motion may have been."""

ZEROS = {90: 0.5 * np.pi, -90: -0.5 * np.pi, 180: np.pi}
"""Degrees by which zero positions of joints often differ."""

STANDARD = 9.81
"""m/s^2 that are looked for where the robot is described without gravity."""

NEARLY = 1.05
"""What a reading with a number has to be better by than a plain one."""

STARTS, STEPS, SETTLED = 3, 8, 0.02
"""Axes that gravity is searched from, beside the described direction; steps of a search at most;
change at which it ends [m/s^2]."""

LEAN = 3.0
"""Degrees from the described gravity from which on a robot is mounted otherwise."""


@dataclass(frozen=True)
class Reading:
    """Another reading of a recording.

    Attributes:
        explained: how well.
        sentence: what it is, and what to do.
        error: what is raised where it is the right one.
        weight: factor on its misfit, where it is less likely than others.
    """

    explained: Explained
    sentence: str
    error: type[NotThisRobotError | UnusableRecordingError] = NotThisRobotError
    weight: float = 1.0

    @property
    def doubt(self) -> float:
        """What readings are compared by."""
        return self.weight * self.explained.misfit


def check_reading(robot: Robot, stretches: Sequence[Stretch], held: bool = False) -> list[str]:
    """A sentence where another reading of a recording explains it better.

    Nothing is said of short recordings, and where no reading explains it well.

    Args:
        robot: as described.
        stretches: of its recordings.
        held: whether masses are known to be as described.

    Raises:
        NotThisRobotError: one explains it so much better that the recording is read wrongly.
        UnusableRecordingError: the same, and efforts are not what they have to be.
    """
    states = States.of(stretches)
    if sum(len(one) * one.period for one in stretches) < LONG or len(states) < FEW:
        return []
    judge = Misfit(robot, held)
    as_read = judge.explain(states)
    # One unit of shares stands for all: how many of them are a Nm is free in a misfit.
    for shares in effort_shares(robot)[:1]:
        converted = replace(states, effort=states.effort * shares.limits)
        explained = judge.explain(converted)
        if BETTER * explained.misfit < as_read.misfit:
            states, as_read = converted, explained
    best = min(_readings(judge, states, as_read), key=lambda one: one.doubt)
    worse = as_read.misfit / best.doubt
    if best.explained.misfit > CLOSE or worse < TOLD:
        return _far_off(as_read)
    doubtful = as_read.misfit > LEAST + best.doubt
    refused = doubtful and worse > (REFUSED_AS_DESCRIBED if held else REFUSED)
    if not refused and not held:
        refused = _is_refused_as_described(robot, states, best)
    if not refused and not doubtful:
        return _far_off(as_read)
    sentence = (
        f'{best.sentence} (misfit {100.0 * best.explained.misfit:.0f} % of what efforts vary by, '
        f'{100.0 * as_read.misfit:.0f} % as it is)'
    )
    if not refused:
        return [f'masses are doubtful: {sentence}']
    raise best.error(sentence)


def _is_refused_as_described(robot: Robot, states: States, best: Reading) -> bool:
    """Whether described masses explain the best reading well, and the recording as read badly."""
    judge = Misfit(robot, held=True)
    as_read = judge.explain(states)
    other = min(_readings(judge, states, as_read), key=lambda one: one.doubt)
    close = other.explained.misfit < CLOSE and other.error is best.error
    return close and as_read.misfit > REFUSED_AS_DESCRIBED * other.doubt


def _far_off(as_read: Explained) -> list[str]:
    """A sentence on masses that have to be far from the described ones."""
    if as_read.misfit < FAR_OFF:
        return []
    return [
        'the recording is explained only by masses that are far from those of the description '
        f'(misfit {100.0 * as_read.misfit:.0f} % of what efforts vary by, where 5 to 20 are '
        'usual): it is of another robot, or the robot carries what is not in its description'
    ]


def _readings(judge: Misfit, states: States, as_read: Explained) -> Iterator[Reading]:
    robot, names = judge.robot, judge.robot.joint_names
    slides = [joint.kind.slides[0] for joint in robot.model.actuated]
    nv = len(names)
    yield from _mountings(judge, states)
    degrees = np.where(slides, 1.0, np.pi / 180.0)
    yield Reading(
        judge.explain(states.turned(degrees)),
        'angles seem to be in degrees (--units degrees)',
    )
    yield Reading(
        judge.explain(states.faster(0.0)),
        'efforts hold what carries the weight and nothing of the motion: they seem to be computed '
        'or commanded, not measured',
        UnusableRecordingError,
    )
    for factor in CLOCKS:
        yield Reading(
            judge.explain(states.faster(factor)),
            f'the robot moves as if {factor:g} times as fast as the stamps say: they are on '
            'another scale (seconds are expected), or of a simulation that ran at another speed',
            weight=NEARLY,
        )
    for j in range(nv):
        signs = np.ones(nv)
        signs[j] = -1.0
        yield Reading(
            judge.explain(states.turned(signs)),
            f'positions of {names[j]} seem to count the other way round than the description has '
            'it: turn its axis, or the sign of its positions',
        )
        factor = as_read.gains[j] / as_read.usual_gain
        if np.isfinite(factor) and not 1.0 / PLAUSIBLE < factor < PLAUSIBLE:
            effort = states.effort.copy()
            effort[:, j] /= factor
            yield Reading(
                judge.explain(replace(states, effort=effort)),
                f'efforts of {names[j]} seem to be in another unit than the others: they are about '
                f'{factor:.2g} times as large as the description has it',
            )
        if slides[j]:
            continue
        for turned, offset in ZEROS.items():
            q = states.q.copy()
            q[:, j] += offset
            yield Reading(
                judge.explain(replace(states, q=q)),
                f'{names[j]} seems to have another zero than in the description: '
                f'{turned:+d} degrees added to its positions explain the recording',
            )
    for i, j in combinations(range(nv), 2):
        if slides[i] != slides[j]:
            continue
        order = np.arange(nv)
        order[[i, j]] = j, i
        yield Reading(
            judge.explain(states.permuted(order)),
            f'{names[i]} and {names[j]} seem to be swapped in the recording: name them (--joints)',
        )
        yield Reading(
            judge.explain(replace(states, effort=states.effort[:, order])),
            f'efforts of {names[i]} and {names[j]} seem to be swapped in the recording',
        )


def _mountings(judge: Misfit, states: States) -> Iterator[Reading]:
    """Without gravity, and along whatever direction it acts."""
    described = np.array([*judge.robot.model.gravity])
    size = float(np.linalg.norm(described)) or STANDARD
    along = judge.of_gravity(states.q)
    bare = judge.regressor(states) - np.tensordot(described, along, 1)
    torques = np.sqrt(np.mean((np.tensordot(described, along, 1) @ judge.bodies.ravel()) ** 2))
    yield Reading(
        judge.explain(states, bare),
        f'efforts hold nothing of what carries the weight, which is about {torques:.3g} Nm by the '
        'description: the driver reports them without gravity (contact_node: '
        'effort.includes_gravity false); add Robot.gravity(q) to them',
        UnusableRecordingError,
    )
    axes = size * np.concatenate([np.eye(3), -np.eye(3)])
    likely = [judge.explain(states, bare + np.tensordot(g, along, 1)).misfit for g in axes]
    starts = [described] if described.any() else []
    for start in (*starts, *axes[np.argsort(likely)[:STARTS]]):
        explained, found = _gravity(judge, states, bare, along, start)
        # Of a robot without gravity every direction is another one.
        cosine = float(found @ described) / size**2
        if cosine > np.cos(np.radians(LEAN)):
            continue
        told, usual = (' '.join(f'{one:.3g}' for one in g) for g in (found, described))
        angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
        away = f', {angle:.0f} degrees away' if described.any() else ''
        yield Reading(
            explained,
            f'the recorded efforts are those of a robot on which gravity acts along about ({told}) '
            f'm/s^2 in the root frame, not ({usual}){away}: it is mounted '
            f'otherwise (--gravity {told}), or it is another robot',
        )


def _gravity(
    judge: Misfit, states: States, bare: Array, along: Array, start: Array
) -> tuple[Explained, Array]:
    """How well states are explained at best by gravity near a start, and its direction [m/s^2].

    Torques are linear in masses, and in gravity at given masses; each step frees both.
    """
    size, gravity = float(np.linalg.norm(start)), start
    best, direction = judge.explain(states, bare + np.tensordot(start, along, 1)), start
    for _ in range(STEPS):
        columns = np.stack([one @ best.bodies for one in along], axis=-1)
        Y = bare + np.tensordot(direction, along, 1)
        gravity = direction + judge.explain(states, Y, columns).more
        gravity = size * gravity / max(float(np.linalg.norm(gravity)), 1e-300)
        found = judge.explain(states, bare + np.tensordot(gravity, along, 1))
        moved = float(np.linalg.norm(gravity - direction))
        if found.misfit >= best.misfit:
            break
        best, direction = found, gravity
        if moved < SETTLED:
            break
    return best, direction
