# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of a robot from recordings, with findings and accuracy of the result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.robot import Robot

from .alternatives import check_mounting, effort_scale
from .bodies import pseudo_inertia
from .bodies.base_parameters import BaseParameters
from .deviations import (
    Accuracy,
    Parameter,
    covariances,
    motions_that_would_tell,
    parameters,
    torque_deviations,
)
from .drives import effort_model_of
from .equations import ColumnStore, EquationMaker, Filtering
from .evaluation import Evaluation, evaluate
from .findings import (
    brief,
    constant_efforts,
    doubtful_efforts,
    mostly_standing,
    moved_joints,
    much_left_over,
    resting,
    single_spikes,
    unexplained_times,
    usual_share,
    without_friction,
)
from .fit import Fit, Layout, regularized
from .friction_terms import add_load, choose_curve
from .joint_states.clock import extremes_of, regular_stretches
from .joint_states.noise import SampleNoise, sample_noise
from .joint_states.plausibility import NotThisRobotError
from .joint_states.samples import JointSamples, UnusableRecordingError
from .problem import Problem, Stage

Array = NDArray[np.float64]


RANGE_FACTOR = 1.3
"""Factor on the recorded ranges of positions, in which the accuracy of torques is computed."""

HALF_A_TURN = np.array([[-np.pi], [np.pi]])

MAX_UNEXPLAINED = 40.0
"""Unexplained share of the efforts from which a recording is attributed to another robot [%]."""


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
        missing: one sentence for each motion that would identify further parameters.
        noise: noise of single samples.
        model_error: (nv) RMS residual of the model [Nm or N].
        torque_deviation: (nv) RMS over ``postures`` of the standard deviation of modelled static
            torques, from the uncertainty of the parameters [Nm or N].
        largest_torque_deviation: (nv) largest such standard deviation over the postures [Nm or N].
        postures: (2, nv) lowest and highest positions of these postures [rad or m].
    """

    robot: Robot
    maker: EquationMaker
    fit: Fit
    effort_model: EffortModel
    train: Evaluation
    parameters: tuple[Parameter, ...]
    moved: NDArray[np.bool_]
    findings: tuple[str, ...]
    missing: tuple[str, ...]
    noise: SampleNoise
    model_error: Array
    torque_deviation: Array
    largest_torque_deviation: Array
    postures: Array

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

    @property
    def accuracy(self) -> Accuracy:
        """Known errors of the model and noise of the samples."""
        return Accuracy(
            self.noise,
            self.torque_deviation,
            self.largest_torque_deviation,
            self.model_error,
            self.deviations('viscous'),
        )

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
        without: names of mechanisms that are left out, of ``problem.OPTIONAL``.

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
    problem.findings += [*notes, *single_spikes(problem.robot, problem.recordings)]


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
    problem.span = np.max([np.ptp(one.position, axis=0) for one in stretches], axis=0)
    problem.moved = moved_joints(robot, problem.span)
    problem.findings += resting(robot, problem.span)
    problem.findings += constant_efforts(robot, stretches, problem.span, problem.held)
    problem.findings += brief(sum(len(one) * one.period for one in stretches))


def regress(problem: Problem) -> None:
    """Stage: linear equations of the recordings, with efforts as reported."""
    robot, base = problem.robot, BaseParameters.of(problem.robot)
    problem.maker = EquationMaker(
        robot,
        base,
        Filtering.for_motion(problem.stretches),
        np.ones(robot.nv),
        store=ColumnStore(),
        fused=problem.uses('velocities'),
    )
    problem.equations = problem.equations_of(problem.maker)


def convert(problem: Problem) -> None:
    """Stage: efforts in Nm or N, and a check of the mounting.

    Raises:
        NotThisRobotError, UnusableRecordingError: as ``check_mounting``.
    """
    robot, scale = problem.robot, problem.scale
    if scale is None:
        scale = np.ones(robot.nv)
        if problem.uses('units'):
            layout = Layout(problem.maker.base, robot.nv)
            scale, findings = effort_scale(robot, layout, problem.equations, problem.moved)
            problem.findings += findings
    if (scale != 1.0).any():
        problem.maker = replace(problem.maker, scale=scale)
        problem.equations = problem.equations.scaled(scale)
    problem.findings += doubtful_efforts(robot, problem.stretches, scale)
    if problem.uses('mounting'):
        problem.findings += check_mounting(robot, problem.stretches, scale, problem.held)


def weigh(problem: Problem) -> None:
    """Stage: weights of joints and of seconds, and least squares with the prior."""
    problem.refit()


def regularize(problem: Problem) -> None:
    """Stage: physically consistent bodies."""
    problem.fit = regularized(problem.fit)


def judge(problem: Problem) -> None:
    """Stage: findings on the fit.

    Raises:
        NotThisRobotError: most of the efforts are unexplained.
    """
    robot, fit, equations, moved = problem.robot, problem.fit, problem.equations, problem.moved
    problem.train = Evaluation.joined(
        [evaluate(problem.maker, fit, samples) for samples in problem.recordings]
    )
    problem.findings += mostly_standing(robot, equations, moved)
    problem.findings += unexplained_times(robot, equations, fit)
    problem.findings += [*much_left_over(fit, equations), *without_friction(fit, equations, moved)]
    # A push of some seconds may have as large a residual in total, but not in the other blocks.
    if min(problem.train.percent_all, 100.0 * usual_share(fit, equations)) > MAX_UNEXPLAINED:
        whatever = 'friction, with masses as described' if problem.held else 'masses'
        raise NotThisRobotError(
            f'{problem.train.percent_all:.0f} % of the recorded efforts are left unexplained, '
            f'whatever the {whatever}: the recording is of another robot, of one mounted otherwise '
            '(--gravity), its joints are in another order or count the other way (--joints), its '
            'efforts are no torques, or its angles are in degrees (--units degrees)'
        )


STAGES: tuple[Stage, ...] = (
    *(read, resample, regress, convert, weigh, choose_curve, add_load, regularize, judge),
)
"""The stages of an identification, in their order."""


def _result(problem: Problem) -> Identified:
    maker, fit, equations, train = problem.maker, problem.fit, problem.equations, problem.train
    covariance = covariances(fit, equations, train)
    known = parameters(maker, fit, covariance, train, problem.moved)
    postures = _postures(problem.robot, extremes_of(problem.stretches), problem.moved)
    return Identified(
        problem.robot,
        replace(maker, store=None),
        fit,
        effort_model_of(maker, fit),
        train,
        tuple(known),
        problem.moved,
        tuple(problem.findings),
        tuple(motions_that_would_tell(maker, fit, known, train.rms)),
        sample_noise(problem.stretches, maker.scale),
        np.sqrt((train.residual**2).mean(axis=0)),
        *torque_deviations(maker, fit, covariance[0], postures),
        postures,
    )


def _postures(robot: Robot, extremes: Array, moved: NDArray[np.bool_]) -> Array:
    """(2, nv) lowest and highest positions for which the accuracy of torques is computed.

    ``RANGE_FACTOR`` times the recorded range, within limits; all positions of a joint that did not
    move.
    """
    lowest, highest = extremes
    half = 0.5 * (RANGE_FACTOR - 1.0) * (highest - lowest)
    limits = np.array([robot.lower_limits, robot.upper_limits])
    wider = np.clip([lowest - half, highest + half], *limits)
    reached = np.array([np.minimum(wider[0], lowest), np.maximum(wider[1], highest)])
    anywhere = np.where(np.isfinite(limits), limits, 0.5 * (lowest + highest) + HALF_A_TURN)
    return np.where(moved, reached, anywhere)
