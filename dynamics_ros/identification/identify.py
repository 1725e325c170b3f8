# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of a robot from recordings, with findings and accuracy of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.robot import Robot

from .alternatives.alternatives import check_reading
from .bodies import pseudo_inertia
from .bodies.base_parameters import BaseParameters
from .deviations import Parameter, motions_that_would_tell, parameters, torque_deviations
from .drives import effort_model_of, friction_at_rest
from .effort_scale import effort_scale
from .equations import EquationMaker, Equations, Filtering
from .equations.column_store import ColumnStore
from .evaluation import Evaluation, evaluate
from .findings import (
    brief,
    constant_efforts,
    mostly_standing,
    moved_joints,
    much_left_over,
    resting,
    single_spikes,
    unexplained_times,
    usual_share,
    without_friction,
)
from .fit import Fit, fit_equations
from .friction_shape import with_best_shape
from .joint_states.clock import extremes_of, regular_stretches
from .joint_states.noise import sample_noises
from .joint_states.plausibility import (
    NotThisRobotError,
    cut_off_at,
    doubtful_efforts,
)
from .joint_states.samples import JointSamples, UnusableRecordingError
from .load_friction import with_load
from .normal_equations import Layout

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
        effort_noise: (nv) standard deviation of one reported effort, as a torque [Nm or N].
        velocity_noise: (nv) standard deviation of one reported velocity in motion, as it acts at
            low frequency [rad/s or m/s].
        velocity_differenced: (nv) share of its variance that comes from position differences.
        velocity_cutoff: (nv) cutoff of the driver's low-pass filter of velocities; 0: none [Hz].
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
    effort_noise: Array
    velocity_noise: Array
    velocity_differenced: Array
    velocity_cutoff: Array
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

    def evaluate(self, samples: JointSamples) -> Evaluation:
        """Residuals on another recording."""
        return evaluate(self.maker, self.fit, samples)


def identify(
    robot: Robot,
    recordings: Sequence[JointSamples],
    scale: Array | None = None,
    held: bool = False,
) -> Identified:
    """Identify masses, friction, rotors and noise of a robot from recordings.

    Args:
        robot: described robot with a fixed base and joints of one coordinate.
        recordings: recordings of its joints in its order (``for_robot``).
        scale: (nv) torque per unit of reported effort; None: it is estimated.
        held: whether bodies are fixed to the description; then only friction, offsets, rotors and
            noise are identified.

    Raises:
        UnusableRecordingError: a recording contains no usable information.
        NotThisRobotError: no masses explain the recordings, or another reading of them (mounting,
            joint order, signs, units, clock) explains them much better.
    """
    base = BaseParameters.of(robot)
    recordings = [samples.cleaned() for samples in recordings]
    stretches = [one for samples in recordings for one in regular_stretches(samples)]
    if not stretches:
        raise UnusableRecordingError('no ten samples follow each other without a gap')
    span = np.max([np.ptp(one.position, axis=0) for one in stretches], axis=0)
    still = resting(robot, span)
    constant = constant_efforts(robot, stretches, span, held)
    doubts = check_reading(robot, stretches, held)
    edges, cut_off = cut_off_at(stretches)
    filtering = Filtering.for_motion(stretches)
    maker = EquationMaker(
        robot, base, filtering, np.ones(robot.nv), cut_off=edges, store=ColumnStore()
    )
    spikes = single_spikes(robot, recordings)

    def equations_by(maker: EquationMaker) -> Equations:
        return Equations.joined([maker.equations(samples) for samples in recordings])

    equations, layout = equations_by(maker), Layout(base, robot.nv)
    findings: list[str] = []
    moved = moved_joints(robot, span)
    if scale is None:
        estimated = effort_scale(robot, layout, equations, moved)
        findings += estimated.doubts
        scale = estimated.scale
    if (scale != 1.0).any():
        maker, equations = replace(maker, scale=scale), equations.scaled(scale)

    def fitted(maker: EquationMaker, equations: Equations) -> Fit:
        return fit_equations(maker, equations, moved, held)

    fit = fitted(maker, equations)
    maker, equations, of_speed = with_best_shape(maker, equations, fit, equations_by)
    fit = fitted(maker, equations)
    maker, equations, fit = with_load(maker, equations, fit, equations_by, moved)
    fit = replace(fit, of_speed=of_speed)
    fit, guessed = friction_at_rest(robot, fit, moved)
    findings += [*still, *guessed, *mostly_standing(robot, equations, moved)]
    findings += [*constant, *spikes, *unexplained_times(robot, equations, fit)]
    findings += [*much_left_over(fit, equations), *without_friction(fit, equations, moved)]
    train = Evaluation.joined([evaluate(maker, fit, samples) for samples in recordings])
    # A push of some seconds may have as large a residual in total, but not in the other blocks.
    if min(train.percent_all, 100.0 * usual_share(fit, equations)) > MAX_UNEXPLAINED:
        whatever = 'friction, with masses as described' if held else 'masses'
        raise NotThisRobotError(
            f'{train.percent_all:.0f} % of the recorded efforts are left unexplained, whatever the '
            f'{whatever}: the recording is of another robot, of one mounted otherwise (--gravity), '
            'its efforts are no torques, or its angles are in degrees (--units degrees)'
        )
    known = parameters(maker, fit, equations, train, moved)
    postures = _postures(robot, extremes_of(stretches), moved)
    # Base parameters are the first ones of the list.
    missing = [k for k, parameter in enumerate(known) if _is_unidentified(parameter)]
    doubts += doubtful_efforts(robot, stretches, scale, cut_off)
    doubts += brief(sum(len(one) * one.period for one in stretches))
    notes = dict.fromkeys(note for samples in recordings for note in samples.notes)
    return Identified(
        robot,
        replace(maker, store=None),
        fit,
        effort_model_of(maker, fit),
        train,
        tuple(known),
        moved,
        (*notes, *findings, *doubts),
        tuple(motions_that_would_tell(maker, fit, missing, moved, train.rms)),
        *sample_noises(stretches, scale),
        np.sqrt((train.residual**2).mean(axis=0)),
        *torque_deviations(maker, fit, equations, train, postures),
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


def _is_unidentified(parameter: Parameter) -> bool:
    return parameter.kind == 'base' and not parameter.identifiable
