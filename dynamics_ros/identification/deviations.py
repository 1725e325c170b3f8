# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How well identified parameters are known, and which motion would tell the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .bodies.base_parameters import BaseParameters, with_rotors
from .equations import (
    FRICTION_VELOCITIES,
    STRIBECK_VELOCITIES,
    EquationMaker,
    Equations,
    FrictionShape,
)
from .evaluation import Evaluation
from .fit import Fit
from .normal_equations import FRICTION, Layout, Sums, grams
from .prior import unmeasured_friction

Array = NDArray[np.float64]

TOLD = 0.3
"""A parameter is identified when its deviation is below this part of what was open before."""

LOOSE = 0.01
"""Share of what is known of offsets that is left where it is asked what motion tells."""

MATTERS = 0.5
"""What is open of a parameter matters when it can give this part of what is left over."""

SLIGHT = 'no motion, for they give less torque than what is left over'

LIVELY, HARD = 2.0, 2.0
"""rad/s or m/s of a lively motion; 1/s: its acceleration over its speed."""

LONGEST_MEMORY = 1.0
"""s over which residuals may hang together."""

MOSTLY = 0.9
"""Share of rows at rest from which on these are all that there is of a joint."""


@dataclass(frozen=True)
class Parameter:
    """One number that was identified.

    Attributes:
        name: what it is, with its link or joint.
        kind: 'base', 'body', 'rotor' or 'friction'.
        unit: of value and deviation.
        value: the identified one.
        deviation: its standard deviation.
        identifiable: whether the motion told it; otherwise it is what the description says, moved
            with what it hangs together with.
    """

    name: str
    kind: str
    unit: str
    value: float
    deviation: float
    identifiable: bool


def correlation_factors(evaluation: Evaluation) -> Array:
    """(nv) how much more noise correlated residuals have in the band of the motion than white."""
    # What stiction leaves over at rest is no noise; those rows have weights of their own.
    moves = ~evaluation.standing | (evaluation.standing.mean(axis=0) > MOSTLY)
    return factors_of(evaluation.residual, moves, float(np.median(np.diff(evaluation.time))))


def factors_of(left: Array, moves: NDArray[np.bool_], period: float) -> Array:
    """``correlation_factors`` of residuals (n, nv).

    Args:
        left: the residuals.
        moves: (n, nv) which rows count.
        period: of the rows [s].
    """
    memory = min(max(1, round(LONGEST_MEMORY / period)), len(left) // 4)
    kept = np.maximum(moves.sum(axis=0), 1)
    centered = moves * (left - (moves * left).sum(axis=0) / kept)
    variance = np.maximum((centered**2).sum(axis=0) / kept, 1e-300)
    factors = np.ones(left.shape[1])
    for lag in range(1, memory + 1):
        pairs = np.maximum((moves[lag:] & moves[:-lag]).sum(axis=0), 1)
        product = (centered[lag:] * centered[:-lag]).sum(axis=0) / pairs / variance
        # What a lag has by chance alone is no memory.
        sure = np.maximum(np.abs(product) - 2.0 / np.sqrt(kept), 0.0) * np.sign(product)
        factors += 2.0 * (1.0 - lag / (memory + 1.0)) * sure
    found: Array = np.maximum(factors, 1.0)
    return found


def parameters(
    maker: EquationMaker,
    fit: Fit,
    equations: Equations,
    evaluation: Evaluation,
    moved: NDArray[np.bool_],
) -> list[Parameter]:
    """All parameters with their deviations: base parameters, then bodies, rotors, friction.

    Where bodies are held as described, rotors and friction alone. What is known beside the
    recordings is that masses are of the size described, whatever weight the fit gives to that.

    Args:
        maker, fit, equations, evaluation: of the recordings.
        moved: (nv) whether joints moved in them.
    """
    factors = correlation_factors(evaluation)
    weights = fit.weights / (fit.sigma**2 * factors)[:, np.newaxis]
    everything = np.ones(len(equations.begins), dtype=bool)
    gram = grams(equations, weights, everything)
    base, layout = maker.base, fit.layout
    whole, _, _ = Sums.of(layout, gram).assembled(fit.shape)
    posterior = whole + fit.prior.precision + fit.prior.divergence
    if fit.held:
        free = slice(layout.bodies, None)
        spread = _deviations(posterior[free, free], _of_shape(fit, layout, gram)[free])
        found = _of_bodies(maker, fit, np.concatenate([np.zeros(layout.bodies), spread]))
        return found[layout.bodies :] + _of_friction(
            maker, fit, evaluation, spread[layout.joints :], moved
        )
    speeds = _of_shape(fit, layout, gram)
    combined = np.zeros((len(base), layout.count))
    combined[:, : layout.inertial] = base.combination
    reach, values = _reach(fit, base), combined @ fit.x
    # What only a guess of the offsets tells, such as the mass on a vertical slide, no motion does.
    loose = posterior + (LOOSE - 1.0) * _of_offsets(fit)
    found = [
        Parameter(name, 'base', base.units[i], value, deviation, bool(open_ < TOLD * width))
        for name, i, value, deviation, open_, width in zip(
            *(base.expressions, base.chosen, values),
            *(_deviations(one, speeds, combined) for one in (posterior, loose)),
            reach,
            strict=False,
        )
    ]
    spread = _deviations(posterior, speeds)
    found += _of_bodies(maker, fit, spread, _deviations(loose, speeds))
    return found + _of_friction(maker, fit, evaluation, spread[layout.inertial :], moved)


def _of_offsets(fit: Fit) -> Array:
    """(n, n) what is known beside the recordings of offsets alone."""
    found, layout = np.zeros_like(fit.prior.precision), fit.layout
    own = layout.inertial + FRICTION.index('offset') + len(FRICTION) * np.arange(layout.joints)
    found[own, own] = fit.prior.precision[own, own]
    return found


def _of_bodies(
    maker: EquationMaker, fit: Fit, spread: Array, open_: Array | None = None
) -> list[Parameter]:
    """Parameters of bodies and rotors.

    Args:
        maker, fit: of the recordings.
        spread: deviations of all unknowns.
        open_: the same where offsets are hardly known; None: as spread.
    """
    base, found = maker.base, []
    open_ = spread if open_ is None else open_
    before = np.sqrt(np.diag(np.linalg.inv(_inertial(fit.prior.divergence, fit.layout))))
    for i, name in enumerate(base.names):
        kind = 'body' if i < fit.layout.bodies else 'rotor'
        told = bool(open_[i] < TOLD * before[i])
        found.append(Parameter(name, kind, base.units[i], fit.x[i], spread[i], told))
    return found


def _of_friction(
    maker: EquationMaker,
    fit: Fit,
    evaluation: Evaluation,
    spread: Array,
    moved: NDArray[np.bool_],
) -> list[Parameter]:
    """Friction of all joints, with its deviations in the order of the unknowns.

    Of a joint that did not move, the fit keeps what is described; what friction may be is stated,
    and held at rest it may be part of what was taken for an offset.
    """
    size = np.sqrt((evaluation.measured**2).mean(axis=0))
    friction, found = spread.reshape(-1, len(FRICTION)).copy(), []
    # Bounds of even distributions; viscous friction may be as much at 1 rad/s or m/s.
    dry = unmeasured_friction(maker.robot, fit.friction[:, 2])
    unseen = np.stack([np.maximum(dry, fit.friction[:, 0]), dry, dry, dry], axis=1) / np.sqrt(3.0)
    friction[~moved, :4] = np.hypot(friction[~moved, :4], unseen[~moved])
    for j, joint in enumerate(maker.robot.joint_names):
        loads, rest = fit.shape.loads, fit.shape.stribeck_velocity is not None
        carried = loads[j] if loads else 0.0
        absent = [name for name, has in (('breakaway', rest), ('load', carried)) if not has]
        for k, name in enumerate(FRICTION):
            if name in absent:
                continue
            value, deviation = fit.friction[j, k], friction[j, k]
            torque = deviation * carried if name == 'load' else deviation
            told = moved[j] and (deviation < TOLD * abs(value) or torque < 0.05 * size[j])
            unit = {'viscous': 'Nms/rad', 'load': 'Nm/Nm'}.get(name, 'Nm')
            found.append(
                Parameter(f'{name} {joint}', 'friction', unit, value, deviation, bool(told))
            )
    return found


def torque_deviations(
    maker: EquationMaker, fit: Fit, equations: Equations, evaluation: Evaluation, postures: Array
) -> tuple[Array, Array]:
    """Deviations of modelled torques at rest in other postures, by that of all parameters.

    Args:
        maker, fit, equations, evaluation: of the recordings.
        postures: (2, nv) lowest and highest positions.

    Returns:
        (nv) RMS over the postures; (nv) where it is largest [Nm or N].
    """
    layout, robot = fit.layout, maker.robot
    weights = fit.weights / (fit.sigma**2 * correlation_factors(evaluation))[:, np.newaxis]
    gram = grams(equations, weights, np.ones(len(equations.begins), dtype=bool))
    whole, _, _ = Sums.of(layout, gram).assembled(fit.shape)
    information = whole + fit.prior.precision + fit.prior.divergence
    scale = 1.0 / np.sqrt(np.diag(information))
    open_ = np.linalg.inv(information * np.outer(scale, scale)) * np.outer(scale, scale)
    rng, zero = np.random.default_rng(2), np.zeros((POSTURES, robot.nv))
    q = rng.uniform(postures[0], postures[1], zero.shape)
    rows = np.zeros((POSTURES, robot.nv, layout.count))
    rows[..., : layout.inertial] = with_rotors(robot.regressor(q, zero, zero), zero)
    for joint in range(robot.nv):
        # The offset; friction at rest is not known from its fit.
        rows[:, joint, layout.friction(joint).start + 1] = 1.0
    squares = np.einsum('tji,ik,tjk->tj', rows, open_, rows)
    return np.sqrt(squares.mean(axis=0)), np.sqrt(squares.max(axis=0))


POSTURES = 40


def motions_that_would_tell(
    maker: EquationMaker, fit: Fit, missing: Sequence[int], moved: NDArray[np.bool_], left: Array
) -> list[str]:
    """Which motion would tell base parameters, one sentence for each motion.

    Args:
        maker: of the equations.
        fit: with what was known before.
        missing: numbers of base parameters.
        moved: (nv) which joints did.
        left: (nv) what the model leaves over of the efforts [Nm or N].
    """
    robot, base = maker.robot, maker.base
    # What is open of a parameter gives so much torque, over what is left over anyway.
    reach = _reach(fit, base)[:, np.newaxis]
    postures, motions = ((part * reach / left).max(axis=2) for part in _strengths(maker))
    by_motion: dict[str, list[str]] = {}
    for i in missing:
        by_gravity, by_inertia = postures[:, i], motions[:, i]
        if max(by_gravity.max(), by_inertia.max()) < MATTERS:
            motion = SLIGHT
        elif by_gravity.max() >= MATTERS:
            motion = f'other postures of {_listed(by_gravity, moved, robot)}'
        else:
            motion = f'faster motion and harder starts of {_listed(by_inertia, moved, robot)}'
        by_motion.setdefault(motion, []).append(base.names[base.chosen[i]])
    last = by_motion.pop(SLIGHT, None)
    sentences = [f'{motion}: {", ".join(names)}' for motion, names in by_motion.items()]
    if last is not None:
        sentences.append(f'{SLIGHT}: {", ".join(last)}')
    return sentences


def _strengths(maker: EquationMaker) -> tuple[Array, Array]:
    """RMS torques (joints, b, nv) of a unit of each base parameter, by what one joint does alone.

    First what changes as it takes other postures, at rest; then what is beyond gravity as it moves.
    """
    robot, nv = maker.robot, maker.robot.nv
    rng = np.random.default_rng(1)
    q, others = (np.array([robot.random_configuration(rng) for _ in range(40)]) for _ in range(2))
    zero = np.zeros((len(q), nv))

    def columns(q: Array, v: Array, a: Array) -> Array:
        Y: Array = with_rotors(robot.regressor(q, v, a), a)[..., maker.base.chosen]
        return Y

    held = columns(q, zero, zero)
    speeds = np.where(np.isfinite(robot.velocity_limits), robot.velocity_limits, LIVELY)
    postures, motions = [], []
    for k in range(nv):
        turned = q.copy()
        turned[:, k] = others[:, k]
        changed = columns(turned, zero, zero) - held
        postures.append(np.sqrt((changed**2).mean(axis=0)).T)
        v = zero + min(speeds[k], LIVELY) * np.eye(nv)[k]
        moving = [columns(q, v, sign * HARD * v) - held for sign in (1.0, -1.0)]
        motions.append(np.sqrt(np.mean(np.square(moving), axis=(0, 1))).T)
    return np.array(postures), np.array(motions)


def _reach(fit: Fit, base: BaseParameters) -> Array:
    """(b) deviation of base parameters that is left open by the description."""
    open_before = np.linalg.inv(_inertial(fit.prior.divergence, fit.layout))
    found: Array = np.sqrt(
        np.einsum('bi,ij,bj->b', base.combination, open_before, base.combination)
    )
    return found


def _listed(strengths: Array, moved: NDArray[np.bool_], robot: Robot) -> str:
    """Two joints whose strength (nv) matters, those that did not move before others."""
    enough = [int(k) for k in np.flatnonzero(strengths >= MATTERS)]
    strongest = sorted(sorted(enough, key=lambda k: (moved[k], -strengths[k]))[:2])
    words = ('' if m else ' (did not move)' for m in moved[strongest])
    names = (robot.joint_names[k] for k in strongest)
    return ' and '.join(name + word for name, word in zip(names, words, strict=True))


def _inertial(matrix: Array, layout: Layout) -> Array:
    return matrix[: layout.inertial, : layout.inertial]


@dataclass(frozen=True, eq=False)
class _Speeds:
    """Speeds that the shape of friction was chosen by, as unknowns beside those of the fit.

    Attributes:
        cross: (n, m) products of the columns of the unknowns with those of m speeds.
        own: (m, m) of the latter.
        cells: (m) speeds between which the chosen one is the nearest that was tried.
        values: (m) the chosen ones [rad/s or m/s].
    """

    cross: Array
    own: Array
    cells: Array
    values: Array

    def __getitem__(self, rows: slice) -> _Speeds:
        """Beside some of the unknowns."""
        return replace(self, cross=self.cross[rows])


def _of_shape(fit: Fit, layout: Layout, gram: Array) -> _Speeds:
    """What is told of the speeds v_f and v_s.

    The column of a speed is what friction changes by with it: the difference of friction at the
    speeds that were tried next to the chosen one. All joints share the speeds.

    Args:
        fit: whose friction it is.
        layout: of the unknowns; its inertial ones may be base parameters.
        gram: products of all columns.
    """
    T, b = fit.shape.unknowns(), len(layout.base)
    friction = fit.friction[:, : T.shape[1]]
    columns, cells, values = [], [], []
    for name, tried in (
        ('velocity', FRICTION_VELOCITIES),
        ('stribeck_velocity', STRIBECK_VELOCITIES),
    ):
        value = getattr(fit.shape, name)
        if value is None:
            continue
        speeds = sorted(tried)
        k = speeds.index(value)
        low, high = speeds[max(k - 1, 0)], speeds[min(k + 1, len(speeds) - 1)]
        below, above = (_with_speed(fit.shape, name, x).unknowns() for x in (low, high))
        columns.append(friction @ (above - below).T / (high - low))
        cells.append(0.5 * (high - low) * (1.0 if low < value < high else 2.0))
        values.append(value)
    D = np.stack(columns, axis=-1)
    inertial, of_friction = gram[:, :b, b:-1], gram[:, b:-1, b:-1]
    cross = np.zeros((layout.count, D.shape[-1]))
    cross[: layout.inertial] = layout.base.combination.T @ (inertial @ D).sum(axis=0)
    for joint in range(layout.joints):
        first = layout.friction(joint).start
        cross[first : first + T.shape[1]] = T.T @ of_friction[joint] @ D[joint]
    own = (D.transpose(0, 2, 1) @ of_friction @ D).sum(axis=0)
    return _Speeds(cross, own, np.array(cells), np.array(values))


def _with_speed(shape: FrictionShape, name: str, value: float) -> FrictionShape:
    if name == 'velocity':
        return replace(shape, velocity=value)
    return replace(shape, stribeck_velocity=value)


def _deviations(H: Array, speeds: _Speeds, rows: Array | None = None) -> Array:
    """Of unknowns with the information H (n, n), where speeds of friction were chosen as well.

    With x(s) the unknowns that are best for speeds s, dx/ds = -H^-1 C, the deviations count those
    of the speeds: what the recording leaves open of them, as of any unknowns [SeberWild1989], and
    that only some were tried, of which the nearest is off by an even distribution over its cell.

    Args:
        H, speeds: that.
        rows: (m, n) combinations of the unknowns; None: each of them.

    Returns:
        (n), or (m) of the combinations.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    # Directions that were not seen at all are known to nothing, but finitely.
    inverse = vectors / np.maximum(values, 1e-14) @ vectors.T
    cross = scale[:, np.newaxis] * speeds.cross
    moved = inverse @ cross
    # A speed is of the size that it was found to have, whatever friction tells of it.
    told = speeds.own - cross.T @ moved + np.diag(1.0 / speeds.values**2)
    open_ = np.linalg.inv(told) + np.diag(speeds.cells**2 / 12.0)
    combined = np.diag(scale) if rows is None else rows * scale
    covariance = inverse + moved @ open_ @ moved.T
    found: Array = np.sqrt(np.einsum('mi,ij,mj->m', combined, covariance, combined))
    return found
