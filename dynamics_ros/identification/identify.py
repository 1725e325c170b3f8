# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of a robot from recordings, with findings and accuracy of the result.

Stages fill one record, ``Problem``, one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.robot import Robot

from .alternatives import check_mounting, effort_scale
from .bodies import pseudo_inertia
from .bodies.base_parameters import BaseParameters
from .deviations import (
    Accuracy,
    Parameter,
    covariances,
    parameters,
    torque_deviations,
)
from .equations import EquationMaker, Filtering
from .evaluation import Evaluation, Problem, effort_model_of, evaluate
from .findings import (
    STILL,
    brief,
    constant_efforts,
    much_left_over,
    named,
    resting,
    unexplained_times,
    usual_share,
)
from .fit import FRICTION, LOAD_REACH, Fit, grams, regularized, solved, squares
from .joint_states.clock import regular_stretches
from .joint_states.joint_matching import NotThisRobotError
from .joint_states.noise import SampleNoise, sample_noise
from .joint_states.samples import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

MAX_UNEXPLAINED = 40.0
"""Unexplained share of the efforts from which a recording is attributed to another robot [%]."""

SPEEDS = 0.004 * 2.0 ** (0.5 * np.arange(9))
"""Candidates of the speed at which dry friction reaches 76 % [rad/s]."""


@dataclass(frozen=True, eq=False)
class Identified:
    """Result of an identification.

    Attributes:
        robot: the described robot.
        maker: source of the equations, with filters and effort scale.
        fit: the fitted unknowns.
        effort_model: meaning of reported efforts, with friction and rotors.
        train: residuals on the recordings.
        parameters: all parameters with their standard deviations.
        moved: (nv) whether the joints moved.
        findings: one sentence for each fact that a user should know.
        noise: noise of single samples.
        accuracy: known errors of the model, and noise of the samples.
    """

    robot: Robot
    maker: EquationMaker
    fit: Fit
    effort_model: EffortModel
    train: Evaluation
    parameters: tuple[Parameter, ...]
    moved: NDArray[np.bool_]
    findings: tuple[str, ...]
    noise: SampleNoise
    accuracy: Accuracy

    @property
    def bodies(self) -> Array:
        """(bodies, 10) inertial parameters, in the order of ``robot.body_names``."""
        return self.fit.bodies

    @property
    def consistent(self) -> bool:
        """Whether the inertial parameters are physically consistent."""
        return pseudo_inertia.consistent(self.bodies)

    def deviations(self, name: str) -> Array:
        """(nv) standard deviations of 'offset', 'viscous' or 'coulomb' [Nm, Nms/rad, N or Ns/m]."""
        by_name = {one.name: one.deviation for one in self.parameters}
        return np.array([by_name[f'{name} {joint}'] for joint in self.robot.joint_names])

    def evaluate(self, samples: JointSamples) -> Evaluation:
        """Residuals on another recording."""
        return evaluate(self.maker, self.fit, samples)


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
    problem = Problem(robot, recordings, held, scale, without)
    for stage in STAGES:
        stage(problem)
    return _result(problem)


def read(problem: Problem) -> None:
    """Stage: recordings in the order of time, without invalid samples."""
    problem.recordings = [samples.cleaned() for samples in problem.recordings]
    notes = dict.fromkeys(note for samples in problem.recordings for note in samples.notes)
    problem.findings += notes


def resample(problem: Problem) -> None:
    """Stage: samples at equal time steps, and which joints move in them.

    Raises:
        UnusableRecordingError: no ten samples follow each other, no joint moves, or efforts of
            joints that move are constant.
    """
    stretches = [one for samples in problem.recordings for one in regular_stretches(samples)]
    if not stretches:
        raise UnusableRecordingError('no ten samples follow each other without a gap')
    robot, problem.stretches = problem.robot, stretches
    span = np.max([np.ptp(one.position, axis=0) for one in stretches], axis=0)
    problem.moved = span >= STILL * motion_scales(robot)
    problem.findings += [*resting(problem), *constant_efforts(problem), *brief(problem)]


def convert(problem: Problem) -> None:
    """Stage: efforts in Nm or N, and a check of the mounting.

    Raises:
        NotThisRobotError, UnusableRecordingError: as ``check_mounting``.
    """
    robot, stretches = problem.robot, problem.stretches
    if problem.scale is None:
        problem.scale, findings = np.ones(robot.nv), list[str]()
        if problem.uses('units'):
            problem.scale, findings = effort_scale(robot, stretches)
        problem.findings += findings
    if problem.uses('mounting'):
        problem.findings += check_mounting(robot, stretches, problem.scale, problem.held)


def regress(problem: Problem) -> None:
    """Stage: linear equations of the recordings."""
    robot, scale = problem.robot, problem.scale
    assert scale is not None
    problem.maker = EquationMaker(
        robot,
        BaseParameters.of(robot),
        Filtering.for_motion(problem.stretches),
        scale,
        store={},
        fused=problem.uses('velocities'),
    )
    problem.equations = problem.equations_of(problem.maker)


def weigh(problem: Problem) -> None:
    """Stage: weights of joints and of seconds, and least squares with the prior."""
    problem.refit()


def choose_curve(problem: Problem) -> None:
    """Stage: the speed at which dry friction begins, of the least squared residual."""
    if not problem.uses('curve'):
        return
    fit, weights = problem.fit, problem.fit.weights / problem.fit.sigma[:, np.newaxis] ** 2

    def tried(speed: float) -> tuple[float, Array]:
        """Half the squared residual with a speed, and the unknowns (n)."""
        maker = replace(problem.maker, friction_velocity=speed)
        gram = grams(problem.equations_of(maker), weights)
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
    problem.maker = replace(problem.maker, friction_velocity=speed)
    problem.equations = problem.equations_of(problem.maker)
    problem.refit()
    slope = (unknowns[best + 1] - unknowns[best - 1]) / (2.0 * step)
    problem.of_speed = slope / np.sqrt(information)


def add_load(problem: Problem) -> None:
    """Stage: load-dependent friction of the joints whose loads can show it.

    The load comes from the previous fit, so that the equations stay linear. The load of the final
    fit comes from a fit with load-dependent friction.
    """
    if not problem.uses('load'):
        return
    b, counts = len(problem.maker.base), problem.equations.counts.sum(axis=1)
    base = problem.maker.base.combination @ problem.fit.x[: problem.fit.layout.inertial]
    usual = np.sqrt(((problem.equations.rows[..., :b] @ base) ** 2).sum(axis=1) / counts)
    # Smaller loads contain no information about the coefficient.
    chosen = problem.moved & (LOAD_REACH * usual > problem.fit.sigma)
    for _ in range(2 if chosen.any() else 0):
        base = problem.maker.base.combination @ problem.fit.x[: problem.fit.layout.inertial]
        problem.maker = replace(problem.maker, load=chosen[:, np.newaxis] * base)
        problem.equations = problem.equations_of(problem.maker)
        problem.refit(usual * chosen)


def regularize(problem: Problem) -> None:
    """Stage: physically consistent bodies, and the friction of joints that did not move."""
    problem.fit = regularized(problem.fit)
    if problem.uses('rest'):
        problem.findings += _friction_at_rest(problem)


def _friction_at_rest(problem: Problem) -> list[str]:
    """Choose the friction of joints that did not move: the described one, or none.

    The described friction is kept, unless the joints that moved show that it is farther off than
    none: many descriptions contain values that only stabilize a simulator.
    """
    fit, moved, x = problem.fit, problem.moved, problem.fit.x.copy()
    friction, described = fit.layout.friction_of(x), fit.layout.friction_of(fit.prior.mean)
    own, stated = friction[moved], described[moved]
    size = np.maximum(np.maximum(np.abs(own), np.abs(stated)), 1e-12)
    worse = (np.abs(own - stated) / size).sum(axis=0) > (np.abs(own) / size).sum(axis=0)
    worse &= [name in ('viscous', 'coulomb', 'breakaway') for name in FRICTION]
    changed = described[:, worse].any(axis=1) & ~moved
    if not changed.any():
        return []
    friction[np.ix_(~moved, worse)] = 0.0
    problem.fit = replace(fit, x=x)
    return [
        'the described friction of joints that moved is farther off than none, so '
        f'{named(problem.robot, changed)}, which did not move, are taken to have none'
    ]


def judge(problem: Problem) -> None:
    """Stage: findings on the fit.

    Raises:
        NotThisRobotError: most of the efforts are unexplained.
    """
    fit, equations = problem.fit, problem.equations
    problem.train = Evaluation.joined(
        [evaluate(problem.maker, fit, samples) for samples in problem.recordings]
    )
    for finding in (unexplained_times, much_left_over):
        problem.findings += finding(problem)
    # A push of some seconds may have as large a residual in total, but not in the other blocks.
    if min(problem.train.percent_all, 100.0 * usual_share(fit, equations)) > MAX_UNEXPLAINED:
        whatever = 'friction, with masses as described' if problem.held else 'masses'
        raise NotThisRobotError(
            f'{problem.train.percent_all:.0f} % of the recorded efforts are left unexplained, '
            f'whatever the {whatever}: the recording is of another robot, of one mounted otherwise '
            '(--gravity), its joints are in another order or count the other way (--joints), its '
            'efforts are no torques, or its angles are in degrees (--units degrees)'
        )


STAGES: tuple[Callable[[Problem], None], ...] = (
    *(read, resample, convert, regress, weigh, choose_curve, add_load, regularize, judge),
)
"""The stages of an identification, in their order."""


def _result(problem: Problem) -> Identified:
    robot, maker, fit, train = problem.robot, problem.maker, problem.fit, problem.train
    covariance = covariances(problem)
    known = parameters(problem, covariance)
    noise = sample_noise(problem.stretches, maker.scale)
    viscous = [one.deviation for one in known if one.name.startswith('viscous ')]
    of_fit = torque_deviations(problem, covariance[0])
    return Identified(
        robot,
        replace(maker, store=None),
        fit,
        effort_model_of(maker, fit),
        train,
        tuple(known),
        problem.moved,
        tuple(problem.findings),
        noise,
        Accuracy(noise, *of_fit, train.rms, np.array(viscous)),
    )
