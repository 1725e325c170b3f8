# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Alternative readings of a recording, which may explain it much better than the given one.

Each alternative is one common mistake: another mounting, two joints in the wrong order, an opposite
sign or another zero of a joint, efforts without gravity or in another unit at one joint, stamps on
another scale. All are compared by the same misfit.
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

from .effort_shares import MIN_MISFIT_RATIO, effort_shares
from .misfit import MAX_UNIT_RATIO, Explained, Misfit
from .states import States, Sums

Array = NDArray[np.float64]
Error = NotThisRobotError | UnusableRecordingError

MIN_STATES, MIN_DURATION = 50, 10.0
"""Least number of states, and least duration [s], for a comparison."""

REJECTION_RATIO, REPORT_RATIO = 1.4, 1.2
"""Ratios of misfits, given reading over alternative, from which a recording is rejected, and from
which the alternative is reported."""

REJECTION_RATIO_HELD = 2.5
"""The ratio from which a recording is rejected when masses are as described. Described masses may
be wrong, so this is higher. It also decides where other masses hide a wrong reading."""

MIN_DIFFERENCE = 0.04
"""Least difference of the misfits: a reading with a small misfit is not questioned."""

MAX_ACCEPTED_MISFIT = 0.2
"""Largest misfit of an alternative that is accepted."""

CLOCKS = (0.1, 0.5, 2.0, 10.0)
"""Candidates for the ratio of the real to the stamped speed of the motion."""

ZEROS = {90: 0.5 * np.pi, -90: -0.5 * np.pi, 180: np.pi}
"""Usual differences of zero positions, by degrees [rad]."""

STANDARD_GRAVITY = 9.81
"""Magnitude of gravity for a robot that is described without gravity [m/s^2]."""

FITTED_NUMBER_FACTOR = 1.05
"""Factor on the misfit of alternatives with a fitted number."""

STARTS, MAX_STEPS, CONVERGED = 3, 8, 0.02
"""Number of start directions for the search of gravity, besides the described one; largest number
of steps; change at which the search ends [m/s^2]."""

MIN_TILT = 3.0
"""Angle to the described gravity from which the mounting differs [degrees]."""


@dataclass(frozen=True)
class Reading:
    """An alternative reading of a recording.

    Attributes:
        explained: best explanation of the states.
        sentence: description of the reading, and remedy.
        error: exception class if it is the right one.
        weight: factor on its misfit, above 1 for less likely readings.
    """

    explained: Explained
    sentence: str
    error: type[Error] = NotThisRobotError
    weight: float = 1.0

    @property
    def doubt(self) -> float:
        """Weighted misfit, by which readings are compared."""
        return self.weight * self.explained.misfit


def check_reading(robot: Robot, stretches: Sequence[Stretch], held: bool = False) -> list[str]:
    """A sentence if an alternative reading explains a recording better.

    Short recordings, and recordings that no reading explains well, are not judged by alternatives.

    Args:
        robot: described robot.
        stretches: its recordings.
        held: whether masses are known to be as described.

    Raises:
        NotThisRobotError: an alternative explains the recording so much better that it is certain.
        UnusableRecordingError: the same, for efforts that are not measured torques.
    """
    states = States.of(stretches)
    if sum(len(one) * one.period for one in stretches) < MIN_DURATION or len(states) < MIN_STATES:
        return []
    judge = Misfit(robot, held)
    as_read = judge.explain(states)
    for shares in effort_shares(robot):
        if not shares.explain(as_read.gains):
            continue
        converted = replace(states, effort=states.effort * shares.limits)
        explained = judge.explain(converted)
        if MIN_MISFIT_RATIO * explained.misfit < as_read.misfit:
            states, as_read = converted, explained
    best = min(_alternative_readings(judge, states, as_read), key=lambda one: one.doubt)
    worse = as_read.misfit / best.doubt
    if best.explained.misfit > MAX_ACCEPTED_MISFIT or worse < REPORT_RATIO:
        return []
    doubtful = as_read.misfit > MIN_DIFFERENCE + best.doubt
    refused = doubtful and worse > (REJECTION_RATIO_HELD if held else REJECTION_RATIO)
    if not refused and not held:
        refused = _is_refused_as_described(robot, states, best)
    if not refused and not doubtful:
        return []
    sentence = (
        f'{best.sentence} (misfit {100.0 * best.explained.misfit:.0f} % of what efforts vary by, '
        f'{100.0 * as_read.misfit:.0f} % as it is)'
    )
    if not refused:
        return [f'masses are doubtful: {sentence}']
    raise best.error(sentence)


def _is_refused_as_described(robot: Robot, states: States, best: Reading) -> bool:
    """Whether described masses explain the best alternative well, and the given reading badly."""
    judge = Misfit(robot, held=True)
    as_read = judge.explain(states)
    other = min(_alternative_readings(judge, states, as_read), key=lambda one: one.doubt)
    close = other.explained.misfit < MAX_ACCEPTED_MISFIT and other.error is best.error
    return close and as_read.misfit > REJECTION_RATIO_HELD * other.doubt


def _alternative_readings(judge: Misfit, states: States, as_read: Explained) -> Iterator[Reading]:
    yield from _gravity_readings(judge, states)
    yield from _effort_readings(judge, states, as_read)
    motions = list(_motions(judge.robot, states))
    explained = judge.explain_all([other for other, *_ in motions])
    for one, (_, sentence, error, weight) in zip(explained, motions, strict=True):
        yield Reading(one, sentence, error, weight)


def _motions(robot: Robot, states: States) -> Iterator[tuple[States, str, type[Error], float]]:
    """States with another motion, with the sentence, error and weight of their reading."""
    names = robot.joint_names
    slides = [joint.kind.slides[0] for joint in robot.model.actuated]
    nv = len(names)

    def motion(
        other: States, sentence: str, error: type[Error] = NotThisRobotError, weight: float = 1.0
    ) -> tuple[States, str, type[Error], float]:
        return other, sentence, error, weight

    degrees = np.where(slides, 1.0, np.pi / 180.0)
    yield motion(states.turned(degrees), 'angles seem to be in degrees (--units degrees)')
    yield motion(
        states.faster(0.0),
        'efforts hold what carries the weight and nothing of the motion: they seem to be computed '
        'or commanded, not measured',
        UnusableRecordingError,
    )
    for factor in CLOCKS:
        yield motion(
            states.faster(factor),
            f'the robot moves as if {factor:g} times as fast as the stamps say: they are on '
            'another scale (seconds are expected), or of a simulation that ran at another speed',
            weight=FITTED_NUMBER_FACTOR,
        )
    for j in range(nv):
        signs = np.ones(nv)
        signs[j] = -1.0
        yield motion(
            states.turned(signs),
            f'positions of {names[j]} seem to count the other way round than the description has '
            'it: turn its axis, or the sign of its positions',
        )
        if slides[j]:
            continue
        for turned, offset in ZEROS.items():
            q = states.q.copy()
            q[:, j] += offset
            yield motion(
                replace(states, q=q),
                f'{names[j]} seems to have another zero than in the description: '
                f'{turned:+d} degrees added to its positions explain the recording',
            )
    for order in _swaps(slides):
        i, j = np.flatnonzero(order != np.arange(nv)).tolist()
        yield motion(
            states.permuted(order),
            f'{names[i]} and {names[j]} seem to be swapped in the recording: name them (--joints)',
        )


def _swaps(slides: Sequence[bool]) -> Iterator[NDArray[np.int64]]:
    """Orders with two joints of the same kind exchanged."""
    for i, j in combinations(range(len(slides)), 2):
        if slides[i] == slides[j]:
            order = np.arange(len(slides))
            order[[i, j]] = j, i
            yield order


def _effort_readings(judge: Misfit, states: States, as_read: Explained) -> Iterator[Reading]:
    """Readings with efforts in another unit or order."""
    names, efforts, sentences = judge.robot.joint_names, [], []
    for j, name in enumerate(names):
        factor = as_read.gains[j] / as_read.usual_gain
        if np.isfinite(factor) and not 1.0 / MAX_UNIT_RATIO < factor < MAX_UNIT_RATIO:
            effort = states.effort.copy()
            effort[:, j] /= factor
            efforts.append(effort)
            sentences.append(
                f'efforts of {name} seem to be in another unit than the others: they are about '
                f'{factor:.2g} times as large as the description has it'
            )
    for order in _swaps([joint.kind.slides[0] for joint in judge.robot.model.actuated]):
        i, j = np.flatnonzero(order != np.arange(len(names))).tolist()
        efforts.append(states.effort[:, order])
        sentences.append(
            f'efforts of {names[i]} and {names[j]} seem to be swapped in the recording'
        )
    yield from map(Reading, judge.explain_efforts(states, efforts), sentences)


def _gravity_readings(judge: Misfit, states: States) -> Iterator[Reading]:
    """Readings without gravity, and with gravity in other directions."""
    described = np.array([*judge.robot.model.gravity])
    size = float(np.linalg.norm(described)) or STANDARD_GRAVITY
    sums = judge.sums_of_gravity(states)
    axes = size * np.concatenate([np.eye(3), -np.eye(3)])
    bare, *along = judge.explain_sums(sums.along(_with_motion(np.vstack([np.zeros(3), axes]))))
    carried = np.append(0.0, described)
    squares = np.einsum('jmn,m,n->j', sums.described[0], carried, carried)
    torques = float(np.sqrt((squares * sums.spread[0] ** 2).sum()))
    yield Reading(
        bare,
        f'efforts hold nothing of what carries the weight, which is about {torques:.3g} Nm by the '
        'description: the driver reports them without gravity (contact_node: '
        'effort.includes_gravity false); add Robot.gravity(q) to them',
        UnusableRecordingError,
    )
    likely = axes[np.argsort([one.misfit for one in along])[:STARTS]]
    starts = np.array([described] if described.any() else []).reshape(-1, 3)
    new = [axis for axis in likely if not np.isclose(axis, starts).all(axis=1).any()]
    for explained, found in _best_gravities(judge, sums, np.vstack([starts, *new])):
        # For a robot described without gravity, every direction differs.
        cosine = float(found @ described) / size**2
        if cosine > np.cos(np.radians(MIN_TILT)):
            continue
        axis, usual = (' '.join(f'{one:.3g}' for one in g) for g in (found, described))
        angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
        away = f', {angle:.0f} degrees away' if described.any() else ''
        yield Reading(
            explained,
            f'the recorded efforts are those of a robot on which gravity acts along about ({axis}) '
            f'm/s^2 in the root frame, not ({usual}){away}: it is mounted '
            f'otherwise (--gravity {axis}), or it is another robot',
        )


def _best_gravities(judge: Misfit, sums: Sums, starts: Array) -> list[tuple[Explained, Array]]:
    """Best explanation by gravity near each start direction, and this gravity [m/s^2].

    Torques are linear in masses, and in gravity for given masses; each step solves for both.

    Args:
        judge: misfit of the robot.
        sums: sums from ``Misfit.sums_of_gravity``.
        starts: (s, 3) start directions [m/s^2].
    """
    directions, best = starts.copy(), judge.explain_sums(sums.along(_with_motion(starts)))
    moving = list(range(len(starts)))
    for _ in range(MAX_STEPS):
        if not moving:
            break
        bodies = np.stack([best[i].bodies for i in moving])
        both = sums.along(_with_motion(directions[moving]), bodies)
        gravity = directions[moving] + [one.more for one in judge.explain_sums(both, more=3)]
        length = np.maximum(np.linalg.norm(gravity, axis=1, keepdims=True), 1e-300)
        gravity *= np.linalg.norm(starts[moving], axis=1, keepdims=True) / length
        found = judge.explain_sums(sums.along(_with_motion(gravity)))
        further = []
        for i, one, direction in zip(moving, found, gravity, strict=True):
            if one.misfit >= best[i].misfit:
                continue
            if np.linalg.norm(direction - directions[i]) >= CONVERGED:
                further.append(i)
            best[i], directions[i] = one, direction
        moving = further
    return list(zip(best, directions, strict=True))


def _with_motion(gravity: Array) -> Array:
    """(k, 4) factors of the parts of the regressor: those of motion, and of gravity (k, 3)."""
    return np.column_stack([np.ones(len(gravity)), gravity])
