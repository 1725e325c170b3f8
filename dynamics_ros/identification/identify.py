# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot identified from its recordings, with what a user should know about the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.joint_friction import friction_torque
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.effort_model import MOST_LOAD_FRICTION
from dynamics_ros.robot import Robot

from . import pseudo_inertia
from .base_parameters import BaseParameters
from .clock import Stretch, regular_stretches
from .deviations import Parameter, motions_that_would_tell, parameters, torque_deviations
from .effort_scale import effort_scale
from .equations import EquationMaker, Equations, Filtering, Load
from .evaluation import Evaluation, evaluate
from .fit import UNEXPLAINED, Fit, Prior, fit_equations, joints_with_load
from .joint_matching import match_joints
from .normal_equations import Layout
from .samples import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

STILL = 0.01
"""rad or m: a joint that stays within does not move."""

MOSTLY = 0.5
"""Share of the time in which a joint stands still, from which on that is told."""

ANOTHER_ROBOT = 40.0
"""% of the efforts that are left unexplained by a robot that is another one."""


class NotThisRobotError(DynamicsRosError):
    """A robot that does not explain a recording, whatever its masses are."""


@dataclass(frozen=True, eq=False)
class Identified:
    """What recordings tell of a robot.

    Attributes:
        robot: as described.
        maker: of equations, with filters and effort scale.
        fit: the unknowns.
        effort_model: what reported efforts mean, with friction and rotors.
        train: how well the recordings are explained.
        parameters: all numbers with their deviations.
        moved: (nv) whether the joints moved.
        findings: what a user should know, one sentence each.
        missing: which motion would tell what this one did not, a sentence for each motion.
        effort_noise: (nv) deviation of one reported effort, as a torque [Nm or N].
        velocity_noise: (nv) deviation of one reported velocity in motion [rad/s or m/s].
        model_error: (nv) what the model leaves unexplained [Nm or N].
        torque_deviation: (nv) deviation of modelled torques at rest in other postures, by that of
            the parameters; RMS over the postures [Nm or N].
        largest_torque_deviation: (nv) the same in the posture where it is largest [Nm or N].
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
    model_error: Array
    torque_deviation: Array
    largest_torque_deviation: Array

    @property
    def bodies(self) -> Array:
        """(bodies, 10) inertial parameters, in the order of ``robot.body_names``."""
        return self.fit.bodies

    @property
    def consistent(self) -> bool:
        """Whether real bodies can have the parameters."""
        return pseudo_inertia.consistent(self.bodies)

    def evaluate(self, samples: JointSamples) -> Evaluation:
        """How well another recording is explained."""
        return evaluate(self.maker, self.fit, samples)


def for_robot(
    samples: JointSamples, robot: Robot, given: Mapping[str, str] | None = None
) -> tuple[JointSamples, str]:
    """The samples of the robot's joints in its order, and what was assumed about names, or ''.

    Raises:
        UnusableRecordingError: a joint was not recorded, or positions are no angles in rad.
    """
    columns, assumed = match_joints(samples.joint_names, robot.joint_names, given)
    absent = [name for name in robot.joint_names if name not in columns]
    if absent:
        raise UnusableRecordingError(
            f'{samples.source}: {", ".join(absent)} was not recorded; lock what does not move '
            'with --lock NAME=POSITION'
        )
    chosen = samples.columns(list(columns.values()), robot.joint_names).cleaned()
    farthest = np.abs(chosen.position).max(axis=0)
    limits = np.maximum(np.abs(robot.lower_limits), np.abs(robot.upper_limits))
    wide = farthest > 10.0 * np.where(np.isfinite(limits), limits, 10.0)
    if wide.any():
        names = ', '.join(n for n, w in zip(robot.joint_names, wide, strict=True) if w)
        raise UnusableRecordingError(
            f'{samples.source}: positions of {names} reach {farthest.max():.4g}, far beyond the '
            'limits of the robot: they seem to be in degrees, or of another robot'
        )
    return chosen, assumed


def identify(
    robot: Robot,
    recordings: Sequence[JointSamples],
    solver: str = 'auto',
    scale: Array | None = None,
    held: bool = False,
) -> Identified:
    """Identify a robot.

    Args:
        robot: as described; fixed base, joints of one coordinate.
        recordings: of it, each with the joints of the robot in its order (``for_robot``).
        solver: as in ``consistency.solve``.
        scale: (nv) torque over reported effort, where it is known; None to judge it.
        held: whether bodies are exactly as described; then only friction, offsets, rotors and
            noise are looked for.

    Raises:
        UnusableRecordingError: a recording that nothing can be told from.
        NotThisRobotError: no masses make this robot explain the recordings.
    """
    base = BaseParameters.of(robot)
    recordings = [samples.cleaned() for samples in recordings]
    stretches = [one for samples in recordings for one in regular_stretches(samples)]
    if not stretches:
        raise UnusableRecordingError('no ten samples follow each other without a gap')
    span = np.max([np.ptp(one.position, axis=0) for one in stretches], axis=0)
    _resting(robot, span)
    constant = _constant(robot, stretches, span)
    maker = EquationMaker(robot, base, Filtering.for_motion(stretches), np.ones(robot.nv))
    parts = [maker.equations(samples) for samples in recordings]
    spikes = _spikes(robot, recordings)
    return identify_equations(
        maker,
        Equations.joined(parts),
        span,
        extremes_of(stretches),
        solver,
        scale,
        lambda maker, fit: Evaluation.joined([evaluate(maker, fit, one) for one in recordings]),
        lambda fit: constant + spikes + _pushes(robot, recordings, parts, fit),
        lambda scale: noises_of(stretches, scale),
        held,
        lambda maker: Equations.joined([maker.equations(samples) for samples in recordings]),
    )


def identify_equations(
    maker: EquationMaker,
    equations: Equations,
    span: Array,
    extremes: Array,
    solver: str,
    scale: Array | None,
    evaluated: Callable[[EquationMaker, Fit], Evaluation],
    pushes: Callable[[Fit], list[str]],
    noises: Callable[[Array], tuple[Array, Array]],
    held: bool = False,
    made: Callable[[EquationMaker], Equations] | None = None,
) -> Identified:
    """What equations tell, whatever recordings they come from.

    Args:
        maker: of the equations, for efforts as reported.
        equations: of all recordings.
        span: (nv) largest range of the positions without a gap [rad or m].
        extremes: (2, nv) lowest and highest positions [rad or m].
        solver, scale, held: as of ``identify``.
        evaluated: how well the recordings are explained.
        pushes: sentences on times that no model explains.
        noises: deviations of single efforts, for a scale, and of single velocities.
        made: the equations by another maker; None: there is no other, and friction is taken not to
            grow with the load.

    Raises:
        UnusableRecordingError: no joint moves.
        NotThisRobotError: no masses make this robot explain the recordings.
    """
    robot, layout = maker.robot, Layout(maker.base, maker.robot.nv)
    findings = _resting(robot, span)
    if scale is None:
        described = Prior.of(robot, layout, np.ones(robot.nv), span >= STILL).mean
        judged = effort_scale(layout, equations, described, robot.joint_names)
        findings += judged.doubts
        scale = judged.scale
    if (scale != 1.0).any():
        maker, equations = replace(maker, scale=scale), equations.scaled(scale)
    fit = fit_equations(maker, equations, span >= STILL, solver, held)
    if made is not None:
        maker, equations, fit = _with_load(maker, equations, fit, made, span >= STILL, solver)
    findings += _standing(robot, equations, span >= STILL)
    findings += pushes(fit)
    train = evaluated(maker, fit)
    if train.percent_all > ANOTHER_ROBOT:
        whatever = 'friction, with masses as described' if held else 'masses'
        raise NotThisRobotError(
            f'{train.percent_all:.0f} % of the recorded efforts are left unexplained, whatever the '
            f'{whatever}: the recording is of another robot, of one mounted otherwise (--gravity), '
            'or its efforts are no torques'
        )
    found = parameters(maker, fit, equations, train)
    # Base parameters come first.
    missing = [k for k, parameter in enumerate(found) if _open(parameter)]
    return Identified(
        robot,
        maker,
        fit,
        _effort_model(robot, fit, scale),
        train,
        tuple(found),
        span >= STILL,
        tuple(findings),
        tuple(motions_that_would_tell(maker, fit, missing, span >= STILL, train.rms)),
        *noises(scale),
        np.sqrt((train.residual**2).mean(axis=0)),
        *torque_deviations(maker, fit, equations, train, _reach(extremes, span)),
    )


def _with_load(
    maker: EquationMaker,
    equations: Equations,
    fit: Fit,
    made: Callable[[EquationMaker], Equations],
    moving: NDArray[np.bool_],
    solver: str,
) -> tuple[EquationMaker, Equations, Fit]:
    """With friction that grows with the load, of joints whose efforts ask for it.

    The load is what a fit before gives, so that equations stay linear; that of the last one is from
    a fit with such friction.
    """
    b, inertial = len(maker.base), fit.layout.inertial

    def loaded(fit: Fit, joints: NDArray[np.bool_]) -> tuple[EquationMaker, Equations]:
        base = maker.base.combination @ fit.x[:inertial]
        other = replace(maker, load=Load(base, fit.shape.velocity, joints))
        return other, made(other)

    other, changed = loaded(fit, moving)
    assert other.load is not None
    squares = (changed.rows[..., :b] @ other.load.base) ** 2
    usual = np.sqrt(squares.sum(axis=1) / changed.counts.sum(axis=1))
    shape = replace(fit.shape, loads=tuple((usual * moving).tolist()))
    chosen = joints_with_load(fit, changed, shape)
    if not chosen.any():
        return maker, equations, fit
    shape = replace(shape, loads=tuple((usual * chosen).tolist()))
    for _ in range(2):
        other, changed = loaded(fit, chosen)
        fit = fit_equations(other, changed, moving, solver, fit.held, (shape, fit.prior_weight))
    return other, changed, fit


def extremes_of(stretches: Sequence[Stretch]) -> Array:
    """(2, nv) lowest and highest positions [rad or m]."""
    lowest = np.min([one.position.min(axis=0) for one in stretches], axis=0)
    highest = np.max([one.position.max(axis=0) for one in stretches], axis=0)
    return np.array([lowest, highest])


def _reach(extremes: Array, span: Array) -> Array:
    """(2, nv) lowest and highest positions; their mean twice for a joint that does not move."""
    lowest, highest = extremes
    middle = 0.5 * (lowest + highest)
    moved = span >= STILL
    return np.array([np.where(moved, lowest, middle), np.where(moved, highest, middle)])


def _open(parameter: Parameter) -> bool:
    return parameter.kind == 'base' and not parameter.identifiable


def _resting(robot: Robot, span: Array) -> list[str]:
    """A sentence on joints that do not move; all of them are an error.

    Raises:
        UnusableRecordingError: no joint moves.
    """
    names = [name for name, s in zip(robot.joint_names, span, strict=True) if s < STILL]
    if len(names) == robot.nv:
        raise UnusableRecordingError('no joint moves in the recording; record a motion of all')
    if not names:
        return []
    return [
        f'{", ".join(names)} did not move: friction and rotor inertia there stay as described, and '
        'masses are told by the other joints alone'
    ]


def _constant(robot: Robot, stretches: Sequence[Stretch], span: Array) -> list[str]:
    """A sentence on joints whose effort never changes though they move; all of them are an error.

    Raises:
        UnusableRecordingError: no joint that moves has an effort that changes.
    """
    lowest = np.min([one.effort.min(axis=0) for one in stretches], axis=0)
    highest = np.max([one.effort.max(axis=0) for one in stretches], axis=0)
    moved = span >= STILL
    constant = moved & (lowest == highest)
    names = ', '.join(name for name, c in zip(robot.joint_names, constant, strict=True) if c)
    if not names:
        return []
    told = f'the efforts of {names} never change while these joints move'
    if (constant == moved).all():
        raise UnusableRecordingError(
            f'{told}: the driver does not report them (a joint_state_broadcaster needs the state '
            'interface "effort")'
        )
    return [f'{told}: the driver may not report them']


def _spikes(robot: Robot, recordings: Sequence[JointSamples]) -> list[str]:
    """A sentence on values that are taken for spikes of a driver."""
    found = []
    for what in ('position', 'effort'):
        parts = [getattr(samples, f'{what}_spikes') for samples in recordings]
        counts = sum(part.sum(axis=0) for part in parts)
        told = [f'{c} of {n}' for n, c in zip(robot.joint_names, counts, strict=True) if c]
        if told:
            found.append(
                f'single {what}s are far off those before and after, and are left out: '
                + ', '.join(told)
            )
    return found


def _standing(robot: Robot, equations: Equations, moved: NDArray[np.bool_]) -> list[str]:
    """A sentence on joints that stand still for most of the time."""
    share = equations.counts[:, equations.standing].sum(axis=1) / equations.counts.sum(axis=1)
    told = [
        f'{name} {100.0 * s:.0f} %'
        for name, s, m in zip(robot.joint_names, share, moved, strict=True)
        if m and s > MOSTLY
    ]
    if not told:
        return []
    return [
        f'joints stand still for most of the time ({", ".join(told)}): that counts little, for '
        'friction of unknown size holds them; let them move for longer'
    ]


def _pushes(
    robot: Robot, recordings: Sequence[JointSamples], parts: Sequence[Equations], fit: Fit
) -> list[str]:
    """Sentences on times that no model explains."""
    found, first = [], 0
    for samples, part in zip(recordings, parts, strict=True):
        own = fit.departures[:, first : first + len(part.begins)]
        first += len(part.begins)
        for block in np.flatnonzero((own > UNEXPLAINED).any(axis=0)):
            names = [
                n for n, d in zip(robot.joint_names, own[:, block], strict=True) if d > UNEXPLAINED
            ]
            found.append((samples.source, part.begins[block], names))
    if not found:
        return []
    times = ', '.join(f'{time:.1f} s ({", ".join(names)})' for _, time, names in found[:5])
    more = f' and {len(found) - 5} more' if len(found) > 5 else ''
    return [
        f'efforts at {times}{more} are not those of free motion, such as a push or a contact: '
        'these times count little'
    ]


def _effort_model(robot: Robot, fit: Fit, scale: Array) -> EffortModel:
    viscous, offset, dry, rest, _ = fit.friction.T
    stribeck = fit.shape.stribeck_velocity
    # The model is of the torques on bodies: what a motor gives beyond them is taken off.
    model = EffortModel.ideal(robot).with_values(
        scale=scale,
        offset=-offset,
        viscous=np.maximum(viscous, 0.0),
        coulomb=np.maximum(dry, 0.0),
        stribeck=np.maximum(rest, 0.0) - np.maximum(dry, 0.0) if stribeck else 0.0,
        load_friction=np.minimum(fit.load_friction, MOST_LOAD_FRICTION),
        rotor_inertia=np.maximum(fit.rotors, 0.0),
        friction_velocity=fit.shape.velocity,
    )
    return model.with_values(stribeck_velocity=stribeck) if stribeck else model


def friction_curve(model: EffortModel, joint: int, v: Array, carried: Array | float = 0.0) -> Array:
    """Friction and offset of a joint as a motor has to bring them (n) [Nm or N].

    Args:
        model: of the drives.
        joint: number.
        v: (n) velocities [rad/s or m/s].
        carried: number or (n), what the joint carries [Nm or N].
    """
    curve: Array = (
        friction_torque(
            v,
            model.viscous[joint],
            model.coulomb[joint],
            model.stribeck[joint],
            model.friction_velocity,
            model.stribeck_velocity,
            model.load_friction[joint],
            carried,
        )
        - model.offset[joint]
    )
    return curve


def noises_of(stretches: Sequence[Stretch], scale: Array) -> tuple[Array, Array]:
    """Deviations of single efforts and velocities, from their third differences in motion."""
    longest = max(stretches, key=len)
    effort = _rough(longest.effort * scale)
    if longest.velocity is None:
        velocity = _rough(np.gradient(longest.position, longest.period, axis=0))
    else:
        velocity = _rough(longest.velocity)
    return np.maximum(effort, 1e-4), np.maximum(velocity, 1e-5)


def _rough(values: Array) -> Array:
    """What of values (n, ...) does not go on smoothly: deviation of white noise alike."""
    third = np.diff(values, 3, axis=0)
    found: Array = np.sqrt((third**2).mean(axis=0) / 20.0)
    return found
