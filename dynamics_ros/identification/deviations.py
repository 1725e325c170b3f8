# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Standard deviations of identified parameters, and motions that would identify the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import payload_identification
from dynamics_ros.estimation.uncertainty.thresholds import unmeasured_friction
from dynamics_ros.robot import Robot

from .bodies.base_parameters import with_rotors
from .equations import EquationMaker, Equations
from .evaluation import Evaluation
from .fit import BasePrior, Fit
from .joint_states.noise import SampleNoise
from .normal_equations import FRICTION, normal_system

Array = NDArray[np.float64]

IDENTIFIED_RATIO = 0.3
"""Ratio of posterior to prior deviation below which a parameter counts as identified."""

OFFSET_PRIOR_SHARE = 0.01
"""Share of the prior information of offsets that is used to decide what the motion identifies."""

RELEVANT_TORQUE = 0.5
"""Least torque of the uncertainty of a parameter, over the residual, for which it matters."""

NO_MOTION = 'no motion, for they give less torque than what is left over'

TEST_SPEED, TEST_RATE = 2.0, 2.0
"""Speed of a test motion [rad/s or m/s]; ratio of its acceleration to its speed [1/s]."""

MAX_CORRELATION_TIME = 1.0
"""Largest correlation time of residuals [s]."""

MOSTLY = 0.9
"""Share of rows at rest from which rows at rest are not excluded."""


@dataclass(frozen=True)
class Parameter:
    """An identified parameter.

    Attributes:
        name: quantity, with its link or joint.
        kind: 'base', 'body', 'rotor' or 'friction'.
        unit: unit of value and deviation.
        value: identified value.
        deviation: standard deviation.
        identifiable: whether the motion identifies it; otherwise the value is that of the
            description, changed by its correlation with other parameters.
    """

    name: str
    kind: str
    unit: str
    value: float
    deviation: float
    identifiable: bool


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Errors of a model and noise of samples that are known before residuals are learned.

    Attributes:
        noise: noise of single samples, which estimators get separately; None: no noise.
        of_fit: (nv) standard deviation of modelled torques in other postures [Nm or N].
        largest_of_fit: (nv) the same in the worst posture, in which a robot may work permanently,
            so thresholds use it [Nm or N].
        residual: (nv) RMS residual of the model in slow motion; smaller noise does not require
            another observer [Nm or N].
        of_viscous: (nv) standard deviation of viscous friction; in faster motion than that of the
            recordings it is an error per speed [Nms/rad or Ns/m].
    """

    noise: SampleNoise | None = None
    of_fit: Array | float = 0.0
    largest_of_fit: Array | float = 0.0
    residual: Array | float = 0.0
    of_viscous: Array | float = 0.0


def correlation_factors(evaluation: Evaluation) -> Array:
    """(nv) ratio of the low-frequency variance of correlated residuals to that of white noise."""
    # Residuals of static friction at rest are not noise; these rows have separate weights.
    moves = ~evaluation.standing | (evaluation.standing.mean(axis=0) > MOSTLY)
    return factors_of(evaluation.residual, moves, float(np.median(np.diff(evaluation.time))))


def factors_of(left: Array, moves: NDArray[np.bool_], period: float) -> Array:
    """``correlation_factors`` of residuals (n, nv).

    Args:
        left: the residuals.
        moves: (n, nv) which rows count.
        period: of the rows [s].
    """
    mean = (moves * left).sum(axis=0) / np.maximum(moves.sum(axis=0), 1)
    memory = max(1, round(MAX_CORRELATION_TIME / period))
    return payload_identification.correlation_factors(moves * (left - mean), moves, memory)


def parameters(
    maker: EquationMaker,
    fit: Fit,
    equations: Equations,
    evaluation: Evaluation,
    moved: NDArray[np.bool_],
) -> list[Parameter]:
    """All parameters with their deviations: base parameters, then bodies, rotors, friction.

    If bodies are fixed to the description: only rotors and friction. The prior of masses has the
    weight 1, independently of its weight in the fit.

    Args:
        maker, fit, equations, evaluation: fit of the recordings.
        moved: (nv) whether joints moved in them.
    """
    factors = correlation_factors(evaluation)
    weights = fit.weights / (fit.sigma**2 * factors)[:, np.newaxis]
    base, layout = maker.base, fit.layout
    whole, _, _ = normal_system(layout, equations, weights)
    posterior = whole + fit.prior.precision + fit.prior.divergence
    if fit.held:
        free = slice(layout.bodies, None)
        spread = _standard_deviations(posterior[free, free], fit.of_speed[free])
        found = _body_parameters(maker, fit, np.concatenate([np.zeros(layout.bodies), spread]))
        return found[layout.bodies :] + _friction_parameters(
            maker, fit, evaluation, spread[layout.joints :], moved
        )
    combined = np.zeros((len(base), layout.count))
    combined[:, : layout.inertial] = base.combination
    reach, values = BasePrior.of(layout, fit.prior).deviations, combined @ fit.x
    # A parameter that only the prior of the offsets determines, such as the mass on a vertical
    # slide, is not identified by the motion.
    loose = posterior + (OFFSET_PRIOR_SHARE - 1.0) * _offset_precision(fit)
    found = [
        Parameter(
            name, 'base', base.units[i], value, deviation, bool(open_ < IDENTIFIED_RATIO * width)
        )
        for name, i, value, deviation, open_, width in zip(
            *(base.expressions, base.chosen, values),
            *(_standard_deviations(one, fit.of_speed, combined) for one in (posterior, loose)),
            reach,
            strict=False,
        )
    ]
    spread = _standard_deviations(posterior, fit.of_speed)
    found += _body_parameters(maker, fit, spread, _standard_deviations(loose, fit.of_speed))
    return found + _friction_parameters(maker, fit, evaluation, spread[layout.inertial :], moved)


def _offset_precision(fit: Fit) -> Array:
    """(n, n) prior precision of the offsets alone."""
    found, layout = np.zeros_like(fit.prior.precision), fit.layout
    own = layout.inertial + FRICTION.index('offset') + len(FRICTION) * np.arange(layout.joints)
    found[own, own] = fit.prior.precision[own, own]
    return found


def _body_parameters(
    maker: EquationMaker, fit: Fit, spread: Array, open_: Array | None = None
) -> list[Parameter]:
    """Parameters of bodies and rotors.

    Args:
        maker, fit: fit of the recordings.
        spread: (n) standard deviations of the unknowns.
        open_: (n) the same with a wide prior of offsets; None: ``spread``.
    """
    base, found = maker.base, []
    open_ = spread if open_ is None else open_
    before = np.sqrt(np.diag(fit.prior.open_inertial))
    for i, name in enumerate(base.names):
        kind = 'body' if i < fit.layout.bodies else 'rotor'
        certain = bool(open_[i] < IDENTIFIED_RATIO * before[i])
        found.append(Parameter(name, kind, base.units[i], fit.x[i], spread[i], certain))
    return found


def _friction_parameters(
    maker: EquationMaker,
    fit: Fit,
    evaluation: Evaluation,
    spread: Array,
    moved: NDArray[np.bool_],
) -> list[Parameter]:
    """Friction parameters of all joints.

    For a joint that did not move, the value is that of the fit, which is the described one. The
    deviation includes all plausible friction, also that which may be part of the identified offset
    at rest.

    Args:
        maker, fit, evaluation: fit of the recordings.
        spread: (5 nv) standard deviations in the order of the unknowns.
        moved: (nv) whether joints moved.
    """
    size = np.sqrt((evaluation.measured**2).mean(axis=0))
    friction, found = spread.reshape(-1, len(FRICTION)).copy(), []
    # Uniform distributions with these bounds; viscous friction may reach the bound at 1 rad/s or
    # m/s.
    dry = unmeasured_friction(maker.robot, fit.friction[:, 2])
    unseen = np.stack([np.maximum(dry, fit.friction[:, 0]), dry, dry, dry], axis=1) / np.sqrt(3.0)
    friction[~moved, :4] = np.hypot(friction[~moved, :4], unseen[~moved])
    for j, joint in enumerate(maker.robot.joint_names):
        carried = fit.loads[j]
        terms = ('breakaway', maker.stribeck), ('load', carried)
        absent = [name for name, has in terms if not has]
        for k, name in enumerate(FRICTION):
            if name in absent:
                continue
            value, deviation = fit.friction[j, k], friction[j, k]
            torque = deviation * carried if name == 'load' else deviation
            certain = moved[j] and (
                deviation < IDENTIFIED_RATIO * abs(value) or torque < 0.05 * size[j]
            )
            unit = {'viscous': 'Nms/rad', 'load': 'Nm/Nm'}.get(name, 'Nm')
            found.append(
                Parameter(f'{name} {joint}', 'friction', unit, value, deviation, bool(certain))
            )
    return found


def torque_deviations(
    maker: EquationMaker, fit: Fit, equations: Equations, evaluation: Evaluation, postures: Array
) -> tuple[Array, Array]:
    """Standard deviations of modelled static torques in other postures.

    Args:
        maker, fit, equations, evaluation: fit of the recordings.
        postures: (2, nv) lowest and highest positions.

    Returns:
        (nv) RMS and (nv) maximum over random postures [Nm or N].
    """
    layout, robot = fit.layout, maker.robot
    weights = fit.weights / (fit.sigma**2 * correlation_factors(evaluation))[:, np.newaxis]
    whole, _, _ = normal_system(layout, equations, weights)
    information = whole + fit.prior.precision + fit.prior.divergence
    scale = 1.0 / np.sqrt(np.diag(information))
    open_ = np.linalg.inv(information * np.outer(scale, scale)) * np.outer(scale, scale)
    rng, zero = np.random.default_rng(2), np.zeros((POSTURES, robot.nv))
    q = rng.uniform(postures[0], postures[1], zero.shape)
    rows = np.zeros((POSTURES, robot.nv, layout.count))
    rows[..., : layout.inertial] = with_rotors(robot.regressor(q, zero, zero), zero)
    for joint in range(robot.nv):
        # The offset; static friction is not part of the modelled torque.
        rows[:, joint, layout.friction(joint).start + 1] = 1.0
    squares = np.einsum('tji,ik,tjk->tj', rows, open_, rows)
    return np.sqrt(squares.mean(axis=0)), np.sqrt(squares.max(axis=0))


POSTURES = 40


def motions_that_would_tell(
    maker: EquationMaker, fit: Fit, missing: Sequence[int], moved: NDArray[np.bool_], left: Array
) -> list[str]:
    """Motions that would identify base parameters, one sentence for each motion.

    Args:
        maker: source of the equations.
        fit: fit with its prior.
        missing: indices of base parameters that are not identified.
        moved: (nv) whether joints moved.
        left: (nv) RMS residual of the efforts [Nm or N].
    """
    robot, base = maker.robot, maker.base
    # Torques of the prior deviation of each parameter, relative to the residual.
    reach = BasePrior.of(fit.layout, fit.prior).deviations[:, np.newaxis]
    postures, motions = ((part * reach / left).max(axis=2) for part in _unit_torques(maker))
    by_motion: dict[str, list[str]] = {}
    for i in missing:
        by_gravity, by_inertia = postures[:, i], motions[:, i]
        if max(by_gravity.max(), by_inertia.max()) < RELEVANT_TORQUE:
            motion = NO_MOTION
        elif by_gravity.max() >= RELEVANT_TORQUE:
            motion = f'other postures of {_strongest_joints(by_gravity, moved, robot)}'
        else:
            motion = (
                f'faster motion and harder starts of {_strongest_joints(by_inertia, moved, robot)}'
            )
        by_motion.setdefault(motion, []).append(base.names[base.chosen[i]])
    last = by_motion.pop(NO_MOTION, None)
    sentences = [f'{motion}: {", ".join(names)}' for motion, names in by_motion.items()]
    if last is not None:
        sentences.append(f'{NO_MOTION}: {", ".join(last)}')
    return sentences


def _unit_torques(maker: EquationMaker) -> tuple[Array, Array]:
    """RMS torques (joints, b, nv) of a unit of each base parameter, if one joint moves alone.

    Returns:
        Changes of static torques by the posture of the joint; torques of its motion without
        gravity.
    """
    robot, nv = maker.robot, maker.robot.nv
    rng = np.random.default_rng(1)
    q, others = (np.array([robot.random_configuration(rng) for _ in range(40)]) for _ in range(2))
    turned = np.repeat(q[np.newaxis], nv, axis=0)
    joints = np.arange(nv)
    turned[joints, :, joints] = others.T
    speeds = np.where(np.isfinite(robot.velocity_limits), robot.velocity_limits, TEST_SPEED)
    v = np.zeros((nv, *q.shape))
    v[joints, :, joints] = np.minimum(speeds, TEST_SPEED)[:, np.newaxis]
    still = np.zeros_like(v)
    # At rest, with one joint turned, and with one joint moving, speeding up and slowing down.
    Q = np.concatenate([q[np.newaxis], turned, *2 * [np.repeat(q[np.newaxis], nv, axis=0)]])
    V = np.concatenate([still[:1], still, v, v])
    A = np.concatenate([still[:1], still, TEST_RATE * v, -TEST_RATE * v])
    Y = maker.base.columns(robot.regressor(Q, V, A), A)
    changes = Y[1:].reshape(3, nv, *Y.shape[1:]) - Y[0]
    postures = np.sqrt((changes[0] ** 2).mean(axis=1))
    motions = np.sqrt((changes[1:] ** 2).mean(axis=(0, 2)))
    return postures.swapaxes(1, 2), motions.swapaxes(1, 2)


def _strongest_joints(strengths: Array, moved: NDArray[np.bool_], robot: Robot) -> str:
    """The two joints with the largest strengths (nv), joints that did not move first."""
    enough = [int(k) for k in np.flatnonzero(strengths >= RELEVANT_TORQUE)]
    strongest = sorted(sorted(enough, key=lambda k: (moved[k], -strengths[k]))[:2])
    words = ('' if m else ' (did not move)' for m in moved[strongest])
    names = (robot.joint_names[k] for k in strongest)
    return ' and '.join(name + word for name, word in zip(names, words, strict=True))


def _standard_deviations(H: Array, of_speed: Array, rows: Array | None = None) -> Array:
    """Standard deviations of unknowns with the information H.

    Args:
        H: (n, n) information.
        of_speed: (n) deviation of all unknowns together due to that of the friction speed.
        rows: (m, n) linear combinations of the unknowns; None: each unknown.

    Returns:
        (n), or (m) for combinations.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    combined = np.diag(scale) if rows is None else rows * scale
    # Limit the deviation in directions without information.
    own = np.linalg.norm(combined @ vectors / np.sqrt(np.maximum(values, 1e-14)), axis=1)
    found: Array = np.hypot(own, of_speed if rows is None else rows @ of_speed)
    return found
