# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Standard deviations of identified parameters and of modelled torques."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.payload_identification import correlation_factors
from dynamics_ros.estimation.uncertainty.thresholds import unmeasured_friction

from .bodies.base_parameters import with_rotors
from .evaluation import Identified, Parameter
from .fit import FRICTION, grams, inverse, normal_equations

Array = NDArray[np.float64]

IDENTIFIED_RATIO = 0.3
"""Ratio of posterior to prior deviation below which a parameter counts as identified."""

OFFSET_PRIOR_SHARE = 0.01
"""Share of the prior information of offsets that is used to decide what the motion identifies."""

POSTURES, RANGE_FACTOR, HALF_A_TURN = 40, 1.3, np.array([[-np.pi], [np.pi]])
"""Number of random postures; factor on the recorded ranges of positions; range without limits."""

MAX_CORRELATION_TIME = 1.0
"""Largest correlation time of residuals [s]."""

MOSTLY = 0.9
"""Share of rows at rest from which rows at rest are not excluded."""


def memory_of(period: float) -> int:
    """Largest lag of correlated residuals of rows with a period [s]."""
    return max(1, round(MAX_CORRELATION_TIME / period))


def covariances(result: Identified) -> tuple[Array, Array]:
    """Covariances (n, n) of the unknowns: as they are, and with hardly known offsets.

    The prior of masses has the weight 1, independently of its weight in the fit. The second one
    shows what the motion identifies, without the prior of the offsets.
    """
    fit, train = result.fit, result.train
    # Residuals of static friction at rest are not noise; these rows have separate weights.
    moves = ~train.standing | (train.standing.mean(axis=0) > MOSTLY)
    memory = memory_of(float(np.median(np.diff(train.time))))
    factors = correlation_factors(train.residual, moves, memory)
    weights = fit.weights / (fit.sigma**2 * factors)[:, np.newaxis]
    information, _ = normal_equations(fit.layout, grams(result.equations, weights))
    information = information + fit.prior.precision + fit.prior.divergence
    loose, own = information.copy(), fit.layout.each('offset')
    loose[own, own] += (OFFSET_PRIOR_SHARE - 1.0) * fit.prior.precision[own, own]
    of_speed = np.outer(result.of_speed, result.of_speed)
    return inverse(information) + of_speed, inverse(loose) + of_speed


def parameters(result: Identified, covariance: tuple[Array, Array]) -> list[Parameter]:
    """All parameters with their deviations: base parameters, then bodies, rotors, friction.

    If bodies are fixed to the description: only rotors and friction.

    Args:
        result: the identification.
        covariance: its ``covariances``.
    """
    fit, base = result.fit, result.maker.base
    layout, inertial = fit.layout, slice(0, fit.layout.inertial)
    rows = np.vstack([base.combination, np.eye(layout.inertial)])
    names, units = (*base.expressions, *base.names), [base.units[i] for i in base.chosen]
    kinds = ['base'] * len(base) + ['body'] * layout.bodies + ['rotor'] * layout.joints
    deviation, loose, before = (
        np.sqrt(np.maximum(np.einsum('ri,ij,rj->r', rows, one[inertial, inertial], rows), 0.0))
        for one in (*covariance, fit.prior.covariance)
    )
    found = [
        Parameter(*one)
        for one in zip(
            *(names, kinds, (*units, *base.units), rows @ fit.x[inertial], deviation),
            (loose < IDENTIFIED_RATIO * before).tolist(),
            strict=True,
        )
    ]
    first = len(base) + layout.bodies if fit.held else 0
    spread = np.sqrt(np.diag(covariance[0])[layout.inertial :])
    return found[first:] + _friction_parameters(result, spread)


def _friction_parameters(result: Identified, spread: Array) -> list[Parameter]:
    """Friction parameters of all joints, with standard deviations (5 nv) of the fit.

    For a joint that did not move, the value is that of the fit, which is the described one. The
    deviation includes all plausible friction, also that which may be part of the identified offset
    at rest.
    """
    fit, moved = result.fit, result.moved
    size = np.sqrt((result.train.measured**2).mean(axis=0))
    friction, found = spread.reshape(-1, len(FRICTION)).copy(), []
    # Uniform distributions with these bounds; viscous friction may reach the bound at 1 rad/s or
    # m/s.
    dry = unmeasured_friction(result.robot, fit.friction[:, 2])
    unseen = np.stack([np.maximum(dry, fit.friction[:, 0]), dry, dry, dry], axis=1) / np.sqrt(3.0)
    friction[~moved, :4] = np.hypot(friction[~moved, :4], unseen[~moved])
    for j, joint in enumerate(result.robot.joint_names):
        carried = fit.loads[j]
        for k, name in enumerate(FRICTION):
            if name == 'load' and not carried:
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


def torque_deviations(result: Identified, covariance: Array) -> tuple[Array, Array]:
    """(nv) RMS and (nv) maximum standard deviation of static torques in other postures [Nm or N].

    Postures are random in ``RANGE_FACTOR`` times the recorded ranges, within limits, and in all
    positions of a joint that did not move.

    Args:
        result, covariance: the identification, and the covariance (n, n) of its unknowns.
    """
    layout, robot, stretches = result.fit.layout, result.robot, result.stretches
    lowest = np.min([one.position.min(axis=0) for one in stretches], axis=0)
    highest = np.max([one.position.max(axis=0) for one in stretches], axis=0)
    half = 0.5 * (RANGE_FACTOR - 1.0) * (highest - lowest)
    limits = np.array([robot.lower_limits, robot.upper_limits])
    wider = np.clip([lowest - half, highest + half], *limits)
    reached = np.array([np.minimum(wider[0], lowest), np.maximum(wider[1], highest)])
    anywhere = np.where(np.isfinite(limits), limits, 0.5 * (lowest + highest) + HALF_A_TURN)
    rng, zero = np.random.default_rng(2), np.zeros((POSTURES, robot.nv))
    low, high = np.where(result.moved, reached, anywhere)
    q = rng.uniform(low, high, zero.shape)
    rows = np.zeros((POSTURES, robot.nv, layout.count))
    rows[..., : layout.inertial] = with_rotors(robot.regressor(q, zero, zero), zero)
    # The offset; static friction is not part of the modelled torque.
    rows[:, np.arange(robot.nv), layout.each('offset')] = 1.0
    squares = np.einsum('tji,ik,tjk->tj', rows, covariance, rows)
    return np.sqrt(squares.mean(axis=0)), np.sqrt(squares.max(axis=0))
