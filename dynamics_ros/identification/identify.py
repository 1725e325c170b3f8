# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of a robot from recordings, with findings and accuracy of the result.

Stages fill one record, ``Identified``, one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.robot import Robot

from .alternatives import check_mounting, effort_scale
from .bodies.base_parameters import BaseParameters
from .deviations import covariances, parameters, torque_deviations
from .equations import EquationMaker, cutoff_for
from .evaluation import Accuracy, Evaluation, Identified, effort_model_of
from .findings import (
    STILL,
    constant_efforts,
    much_left_over,
    resting,
    unexplained_times,
    usual_share,
)
from .fit import FRICTION, LOAD_REACH, grams, regularized, solved, squares
from .joint_states.clock import regular_stretches
from .joint_states.joint_matching import NotThisRobotError, named
from .joint_states.noise import sample_noise
from .joint_states.samples import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

MAX_UNEXPLAINED = 40.0
"""Unexplained share of the efforts from which a recording is attributed to another robot [%]."""

SPEEDS = 0.004 * 2.0 ** (0.5 * np.arange(9))
"""Candidates of the speed at which dry friction reaches 76 % [rad/s]."""


def identify(
    robot: Robot,
    recordings: Sequence[JointSamples],
    scale: Array | None = None,
    held: bool = False,
    without: Collection[str] = (),
) -> Identified:
    """Identify masses, friction, rotors and noise of a robot from recordings.

    Args:
        robot: described robot with a fixed base and joints of one coordinate.
        recordings: recordings of its joints in its order (``for_robot``).
        scale: (nv) torque per unit of reported effort; None: it is estimated.
        held: whether bodies are fixed to the description; then only friction, offsets, rotors and
            noise are identified.
        without: names of mechanisms that are left out, of ``OPTIONAL``.

    Raises:
        UnusableRecordingError: a recording contains no usable information.
        NotThisRobotError: no masses explain the recordings, or another mounting explains them much
            better.
    """
    result = Identified(robot, recordings, held, scale, without)
    for stage in STAGES:
        stage(result)
    return result


def read(result: Identified) -> None:
    """Stage: recordings in the order of time, without invalid samples."""
    result.recordings = [samples.cleaned() for samples in result.recordings]
    notes = dict.fromkeys(note for samples in result.recordings for note in samples.notes)
    result.findings += notes


def resample(result: Identified) -> None:
    """Stage: samples at equal time steps, and which joints move in them.

    Raises:
        UnusableRecordingError: no ten samples follow each other, no joint moves, or efforts of
            joints that move are constant.
    """
    stretches = [one for samples in result.recordings for one in regular_stretches(samples)]
    if not stretches:
        raise UnusableRecordingError('no ten samples follow each other without a gap')
    robot, result.stretches = result.robot, stretches
    span = np.max([np.ptp(one.position, axis=0) for one in stretches], axis=0)
    result.moved = span >= STILL * motion_scales(robot)
    result.findings += [*resting(result), *constant_efforts(result)]


def convert(result: Identified) -> None:
    """Stage: efforts in Nm or N, and a check of the mounting.

    Raises:
        NotThisRobotError, UnusableRecordingError: as ``check_mounting``.
    """
    robot, stretches = result.robot, result.stretches
    if result.scale is None:
        result.scale, findings = np.ones(robot.nv), list[str]()
        if result.uses('units'):
            result.scale, findings = effort_scale(robot, stretches)
        result.findings += findings
    if result.uses('mounting'):
        result.findings += check_mounting(robot, stretches, result.scale, result.held)


def regress(result: Identified) -> None:
    """Stage: linear equations of the recordings."""
    robot, scale = result.robot, result.scale
    assert scale is not None
    cutoff, longest = cutoff_for(result.stretches), max(result.stretches, key=len)
    result.maker = EquationMaker(
        robot,
        BaseParameters.of(robot),
        *(cutoff, min(2.0 * cutoff, 0.42 / longest.period)),
        scale,
        store={},
        fused=result.uses('velocities'),
    )
    result.equations = result.equations_of(result.maker)


def weigh(result: Identified) -> None:
    """Stage: weights of joints and of seconds, and least squares with the prior."""
    result.refit()


def choose_curve(result: Identified) -> None:
    """Stage: the speed at which dry friction begins, of the least squared residual."""
    if not result.uses('curve'):
        return
    fit, weights = result.fit, result.fit.weights / result.fit.sigma[:, np.newaxis] ** 2

    def tried(speed: float) -> tuple[float, Array]:
        """Half the squared residual with a speed, and the unknowns (n)."""
        maker = replace(result.maker, friction_velocity=speed)
        gram = grams(result.equations_of(maker), weights)
        x = solved(fit.layout, gram, fit.prior)
        off = x - fit.prior.mean
        both = squares(fit.layout, gram, x).sum() + off @ fit.prior.information @ off
        return 0.5 * float(both), x

    costs, unknowns = zip(*map(tried, SPEEDS.tolist()), strict=True)
    best = int(np.clip(np.argmin(costs), 1, len(SPEEDS) - 2))
    step = float(np.log(SPEEDS[1] / SPEEDS[0]))
    below, at, above = costs[best - 1 : best + 2]
    # A parabola of the logarithm of the speed, whose prior has a standard deviation of 1.
    information = max(below - 2.0 * at + above, 0.0) / step**2 + 1.0
    shift = np.clip(0.5 * (below - above) / step / information, -step, step)
    speed = float(SPEEDS[best] * np.exp(shift))
    result.maker = replace(result.maker, friction_velocity=speed)
    result.equations = result.equations_of(result.maker)
    result.refit()
    slope = (unknowns[best + 1] - unknowns[best - 1]) / (2.0 * step)
    result.of_speed = slope / np.sqrt(information)


def add_load(result: Identified) -> None:
    """Stage: load-dependent friction of the joints whose loads can show it.

    The load comes from the previous fit, so that the equations stay linear. The load of the final
    fit comes from a fit with load-dependent friction.
    """
    if not result.uses('load'):
        return
    b, counts = len(result.maker.base), result.equations.counts.sum(axis=1)
    base = result.maker.base.combination @ result.fit.x[: result.fit.layout.inertial]
    usual = np.sqrt(((result.equations.rows[..., :b] @ base) ** 2).sum(axis=1) / counts)
    # Smaller loads contain no information about the coefficient.
    chosen = result.moved & (LOAD_REACH * usual > result.fit.sigma)
    for _ in range(2 if chosen.any() else 0):
        base = result.maker.base.combination @ result.fit.x[: result.fit.layout.inertial]
        result.maker = replace(result.maker, load=chosen[:, np.newaxis] * base)
        result.equations = result.equations_of(result.maker)
        result.refit(usual * chosen)


def regularize(result: Identified) -> None:
    """Stage: physically consistent bodies, and the friction of joints that did not move."""
    result.fit = regularized(result.fit)
    if result.uses('rest'):
        result.findings += _friction_at_rest(result)


def _friction_at_rest(result: Identified) -> list[str]:
    """Choose the friction of joints that did not move: the described one, or none.

    The described friction is kept, unless the joints that moved show that it is farther off than
    none: many descriptions contain values that only stabilize a simulator.
    """
    fit, moved, x = result.fit, result.moved, result.fit.x.copy()
    friction, described = fit.layout.friction_of(x), fit.layout.friction_of(fit.prior.mean)
    own, stated = friction[moved], described[moved]
    size = np.maximum(np.maximum(np.abs(own), np.abs(stated)), 1e-12)
    worse = (np.abs(own - stated) / size).sum(axis=0) > (np.abs(own) / size).sum(axis=0)
    worse &= [name in ('viscous', 'coulomb', 'breakaway') for name in FRICTION]
    changed = described[:, worse].any(axis=1) & ~moved
    if not changed.any():
        return []
    friction[np.ix_(~moved, worse)] = 0.0
    result.fit = replace(fit, x=x)
    return [
        'the described friction of joints that moved is farther off than none, so '
        f'{named(result.robot, changed)}, which did not move, are taken to have none'
    ]


def judge(result: Identified) -> None:
    """Stage: findings on the fit.

    Raises:
        NotThisRobotError: most of the efforts are unexplained.
    """
    fit, equations = result.fit, result.equations
    result.train = Evaluation.joined([result.evaluate(samples) for samples in result.recordings])
    for finding in (unexplained_times, much_left_over):
        result.findings += finding(result)
    # A push of some seconds may have as large a residual in total, but not in the other blocks.
    if min(result.train.percent_all, 100.0 * usual_share(fit, equations)) > MAX_UNEXPLAINED:
        whatever = 'friction, with masses as described' if result.held else 'masses'
        raise NotThisRobotError(
            f'{result.train.percent_all:.0f} % of the recorded efforts are left unexplained, '
            f'whatever the {whatever}: the recording is of another robot, of one mounted otherwise '
            '(--gravity), its joints are in another order or count the other way (--joints), its '
            'efforts are no torques, or its angles are in degrees (--units degrees)'
        )


def finish(result: Identified) -> None:
    """Stage: the effort model, and the accuracy of parameters and torques."""
    covariance = covariances(result)
    result.effort_model = effort_model_of(result.maker, result.fit)
    result.parameters = parameters(result, covariance)
    result.noise = sample_noise(result.stretches, result.maker.scale)
    of_fit = torque_deviations(result, covariance[0])
    viscous = result.deviations('viscous')
    result.accuracy = Accuracy(result.noise, *of_fit, result.train.rms, viscous)
    result.maker = replace(result.maker, store=None)
    result.recordings, result.stretches = (), []
    del result.equations


STAGES: tuple[Callable[[Identified], None], ...] = (
    *(read, resample, convert, regress, weigh, choose_curve, add_load, regularize, judge, finish),
)
"""The stages of an identification, in their order."""
