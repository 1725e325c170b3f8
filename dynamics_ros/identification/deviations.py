"""How well identified parameters are known, and which motion would tell the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .base_parameters import with_rotors
from .equations import EquationMaker, Equations
from .evaluation import Evaluation
from .fit import Fit
from .normal_equations import FRICTION, Layout, assembled, grams

Array = NDArray[np.float64]

TOLD = 0.3
"""A parameter is identified when its deviation is below this part of what was open before."""

LONGEST_MEMORY = 1.0
"""s over which residuals may hang together."""


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
    left, count = evaluation.residual, len(evaluation.time)
    period = float(np.median(np.diff(evaluation.time)))
    memory = min(max(1, round(LONGEST_MEMORY / period)), count // 4)
    centered = left - left.mean(axis=0)
    variance = np.maximum((centered**2).mean(axis=0), 1e-300)
    factors = np.ones(left.shape[1])
    for lag in range(1, memory + 1):
        product = (centered[lag:] * centered[:-lag]).mean(axis=0) / variance
        # What a lag has by chance alone is no memory.
        sure = np.maximum(np.abs(product) - 2.0 / np.sqrt(count), 0.0) * np.sign(product)
        factors += 2.0 * (1.0 - lag / (memory + 1.0)) * sure
    found: Array = np.maximum(factors, 1.0)
    return found


def parameters(
    maker: EquationMaker, fit: Fit, equations: Equations, evaluation: Evaluation
) -> list[Parameter]:
    """All parameters with their deviations: base parameters, then bodies, rotors, friction."""
    factors = correlation_factors(evaluation)
    weights = fit.weights / (fit.sigma**2 * factors)[:, np.newaxis]
    everything = np.ones(len(equations.counts), dtype=bool)
    gram = grams(equations, weights, everything)
    base = maker.base
    small = Layout(replace(base, combination=np.eye(len(base))), fit.layout.joints)
    H, _, _ = assembled(small, gram, fit.shape)
    own = fit.prior.precision[fit.layout.inertial :, fit.layout.inertial :]
    H[len(base) :, len(base) :] += own
    spread = _deviations(H)
    open_before = np.linalg.inv(_inertial(fit.prior.divergence, fit.layout))
    reach = np.sqrt(np.einsum('bi,ij,bj->b', base.combination, open_before, base.combination))
    values = base.combination @ fit.x[: fit.layout.inertial]
    found = [
        Parameter(name, 'base', base.units[i], value, deviation, bool(deviation < TOLD * width))
        for name, i, value, deviation, width in zip(
            base.expressions, base.chosen, values, spread, reach, strict=False
        )
    ]
    whole, _, _ = assembled(fit.layout, gram, fit.shape)
    posterior = _deviations(whole + fit.prior.precision + fit.prior.divergence)
    before = np.sqrt(np.diag(open_before))
    for i, name in enumerate(base.names):
        kind = 'body' if i < fit.layout.bodies else 'rotor'
        told = bool(posterior[i] < TOLD * before[i])
        found.append(Parameter(name, kind, base.units[i], fit.x[i], posterior[i], told))
    size = np.sqrt((evaluation.measured**2).mean(axis=0))
    friction = spread[len(base) :].reshape(-1, len(FRICTION))
    for j, joint in enumerate(maker.robot.joint_names):
        for k, name in enumerate(FRICTION[: fit.shape.unknowns().shape[1]]):
            value, deviation = fit.friction[j, k], friction[j, k]
            told = deviation < max(TOLD * abs(value), 0.05 * size[j])
            unit = 'Nms/rad' if name == 'viscous' else 'Nm'
            found.append(
                Parameter(f'{name} {joint}', 'friction', unit, value, deviation, bool(told))
            )
    return found


def motions_that_would_tell(robot: Robot, maker: EquationMaker, missing: list[str]) -> list[str]:
    """For base parameters by their first name: one sentence each on what would show it."""
    base, nv = maker.base, robot.nv
    rng = np.random.default_rng(1)
    q = np.array([robot.random_configuration(rng) for _ in range(40)])
    zero = np.zeros((len(q), nv))

    def strengths(v: Array, a: Array) -> Array:
        Y = with_rotors(robot.regressor(q, v, a), a)[..., base.chosen]
        found: Array = np.sqrt((Y**2).mean(axis=(0, 1)))
        return found

    still = strengths(zero, zero)
    alone = np.array([strengths(v := 2.0 * np.eye(nv)[k] + zero, 2.0 * v) for k in range(nv)])
    sentences = []
    first = [base.names[i] for i in base.chosen]
    for name in missing:
        i = first.index(name)
        if still[i] > 1e-9:
            sentences.append(f'{name}: other postures, of the joints below that link above all')
            continue
        strongest = np.argsort(-alone[:, i])[:2]
        joints = ' and '.join(robot.joint_names[k] for k in strongest if alone[k, i] > 1e-9)
        if joints:
            sentences.append(f'{name}: faster motion and harder starts of {joints}')
    return sentences


def _inertial(matrix: Array, layout: Layout) -> Array:
    return matrix[: layout.inertial, : layout.inertial]


def _deviations(H: Array) -> Array:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    # Directions that were not seen at all are known to nothing, but finitely.
    spread = (vectors**2 / np.maximum(values, 1e-14)).sum(axis=1)
    found: Array = scale * np.sqrt(spread)
    return found
