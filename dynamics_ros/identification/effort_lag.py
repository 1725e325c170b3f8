# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Delay of reported efforts relative to positions.

Drivers filter efforts, or report those of another cycle than the positions. With a lag d, reported
efforts are those of the model at t - d, to first order

    scale effort(t) + d scale d/dt effort(t) = Y phi + friction,

where d is another unknown of the linear equations, common to all joints. Only the part of the
effort slope that masses and friction cannot explain contains information about d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .equations import EquationMaker, Equations
from .fit import Fit
from .normal_equations import predictions
from .robust_weights import normal_system, ridge

Array = NDArray[np.float64]

SIGNIFICANT = 3.0
"""Standard deviations by which a lag has to differ from zero."""

MIN_LAG = 1e-3
"""Smallest relevant lag [s]."""

REPORTED_LAG = 5e-3
"""Lag from which it is reported [s]."""

MAX_LAG = 0.25
"""Largest plausible lag [s]; larger values have another cause."""

ROUNDS = 10
"""Largest number of linearizations; a lag of 0.1 s takes two or three, others more."""


@dataclass(frozen=True)
class EffortLag:
    """Estimated delay of efforts.

    Attributes:
        seconds: delay after positions; negative if efforts are earlier [s].
        deviation: its standard deviation [s]; infinite if it is unknown.
    """

    seconds: float
    deviation: float

    @property
    def sure(self) -> bool:
        """Whether the lag is significant and large enough to matter."""
        return abs(self.seconds) > max(MIN_LAG, SIGNIFICANT * self.deviation)


def effort_lag(equations: Equations, fit: Fit) -> EffortLag:
    """Remaining lag of equations, beyond their fit.

    The standard deviation is the larger of those between blocks and between joints, because
    friction at reversals can look like a lag of one joint. Gears bend before they slip, so friction
    turns round late at every joint: a significant lag is therefore estimated again, with a lag
    of friction alone for each joint as further unknowns.
    """
    plain = _lag(equations, fit, with_friction=False)
    return _lag(equations, fit, with_friction=True) if plain.sure else plain


def _lag(equations: Equations, fit: Fit, with_friction: bool) -> EffortLag:
    """Lag of equations, maybe with a further lag of the friction of each joint."""
    layout = fit.layout
    moving = fit.weights * ~equations.standing
    weights = (moving / fit.sigma[:, np.newaxis] ** 2)[:, equations.block]
    nothing = replace(fit.prior, mean=np.zeros_like(fit.prior.mean))

    def left(target: Equations, known: Array) -> Array:
        H, g, _ = normal_system(layout, target, fit.sigma, fit.weights)
        x = ridge(H, g, replace(nothing, mean=known))
        return target.rows[..., -1] - predictions(layout, target.rows, x)

    def left_of(column: Array) -> Array:
        target = replace(equations, rows=equations.rows.copy())
        target.rows[..., -1] = column
        return left(target, nothing.mean)

    residual, slope = left(equations, fit.prior.mean), left_of(equations.slope)
    if with_friction:
        own = np.eye(layout.joints)[..., np.newaxis] * equations.turning
        turned = [left_of(one) for one in own if one.any()]
        root = np.sqrt(weights).ravel()
        T = np.array([root * one.ravel() for one in turned]).reshape(-1, root.size).T
        both = np.stack([root * residual.ravel(), root * slope.ravel()], axis=1)
        shares = np.linalg.lstsq(T, both, rcond=None)[0]
        columns = np.array([one.ravel() for one in turned]).reshape(-1, root.size).T
        residual = residual - (columns @ shares[:, 0]).reshape(residual.shape)
        slope = slope - (columns @ shares[:, 1]).reshape(slope.shape)
    squares = float((weights * slope**2).sum())
    if squares <= 0.0:
        return EffortLag(0.0, np.inf)
    seconds = -float((weights * slope * residual).sum()) / squares
    scores = weights * slope * (residual + seconds * slope)
    by_block = np.stack([np.bincount(equations.block, one) for one in scores])
    spread = [np.sqrt((groups**2).sum()) for groups in (by_block, by_block.sum(axis=1))]
    return EffortLag(seconds, float(max(spread)) / squares)


def without_lag(
    maker: EquationMaker,
    equations: Equations,
    fit: Fit,
    made: Callable[[EquationMaker], Equations],
    fitted: Callable[[EquationMaker, Equations], Fit],
) -> tuple[EquationMaker, Equations, Fit, EffortLag]:
    """Equations with aligned efforts and positions, their fit, and the lag.

    Without a significant lag, equations and fit stay unchanged.

    Args:
        maker, equations, fit: equations with efforts as stamped, and their fit.
        made, fitted: return the equations of another maker, and the fit of equations.
    """
    left = effort_lag(equations, fit)
    if not left.sure:
        return maker, equations, fit, EffortLag(0.0, left.deviation)
    seconds = 0.0
    for _ in range(ROUNDS):
        seconds += left.seconds
        if abs(seconds) > MAX_LAG:
            break
        aligned = replace(maker, lag=seconds)
        changed = made(aligned)
        other = fitted(aligned, changed)
        left = _lag(changed, other, with_friction=True)
        if abs(left.seconds) < max(MIN_LAG, left.deviation):
            # The remainder is too small for another step, and is part of the uncertainty.
            deviation = float(np.hypot(left.seconds, left.deviation))
            return aligned, changed, other, EffortLag(seconds, deviation)
    return maker, equations, fit, EffortLag(0.0, np.inf)


def late_efforts(robot: Robot, equations: Equations, lag: EffortLag) -> list[str]:
    """A sentence on a lag, with the apparent external torque of the joint it affects most."""
    if abs(lag.seconds) < REPORTED_LAG:
        return []
    slopes = np.sqrt((equations.slope**2).sum(axis=1) / equations.counts.sum(axis=1))
    j, seconds = int(np.argmax(slopes)), abs(lag.seconds)
    joint = robot.model.actuated[j]
    return [
        f'efforts come {1e3 * seconds:.0f} ms (deviation {1e3 * lag.deviation:.1f}) '
        f'{"after" if lag.seconds > 0.0 else "before"} the positions that they belong to, by a '
        'filter or by stamps of the driver: that is taken out here, but not on the running robot, '
        f'where it looks like {seconds * slopes[j]:.2g} {"N" if joint.kind.slides[0] else "Nm"} '
        f'from outside at {joint.name} (RMS, in motion as recorded); look for a filter of the '
        'driver'
    ]
