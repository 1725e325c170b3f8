# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How much later efforts are than the motion that they belong to.

Drivers filter efforts, or report those of another cycle than the positions. With a lag d, efforts
are those that the model has at t - d, so that to first order

    scale effort(t) + d scale d/dt effort(t) = Y phi + friction,

where d is one more unknown of the linear equations, the same for all joints. What a fit can explain
of the slope of the efforts by masses and friction is no evidence of a lag.
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

SURE = 3.0
"""Deviations that a lag has to be away from none."""

LEAST = 1e-3
"""s: a shorter lag changes nothing that matters."""

MUCH = 5e-3
"""s: a longer one is told."""

LONGEST = 0.25
"""s: no driver is as late; what is beyond is explained by something else, or by nothing."""

ROUNDS = 4
"""First-order steps at most; a tenth of a second takes two or three."""


@dataclass(frozen=True)
class EffortLag:
    """How late efforts are.

    Attributes:
        seconds: after positions; negative where efforts are earlier.
        deviation: of that [s]; infinite where nothing is known.
    """

    seconds: float
    deviation: float

    @property
    def sure(self) -> bool:
        """Whether there is one that matters."""
        return abs(self.seconds) > max(LEAST, SURE * self.deviation)


def effort_lag(equations: Equations, fit: Fit) -> EffortLag:
    """The lag that equations still have beside a fit of them.

    Its deviation is the larger one of those by which seconds, and joints, differ: friction at
    reversals can look like a lag of one joint.
    """
    layout = fit.layout
    moving = fit.weights * ~equations.standing
    weights = (moving / fit.sigma[:, np.newaxis] ** 2)[:, equations.block]
    slopes = replace(equations, rows=equations.rows.copy())
    slopes.rows[..., -1] = equations.slope
    nothing = replace(fit.prior, mean=np.zeros_like(fit.prior.mean))

    def left(target: Equations, known: Array) -> Array:
        H, g, _ = normal_system(layout, target, fit.sigma, fit.weights, fit.shape)
        x = ridge(H, g, replace(nothing, mean=known), fit.prior_weight)
        return target.rows[..., -1] - predictions(layout, target.rows, x, fit.shape)

    residual, slope = left(equations, fit.prior.mean), left(slopes, nothing.mean)
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
    """Equations in which efforts and motion are of the same time, and the fit of them.

    Where no such lag is found they stay as they are.

    Args:
        maker, equations, fit: as found, with efforts as stamped.
        made, fitted: equations of another maker, and the fit of equations.
    """
    left = effort_lag(equations, fit)
    if not left.sure:
        return maker, equations, fit, EffortLag(0.0, left.deviation)
    seconds = 0.0
    for _ in range(ROUNDS):
        seconds += left.seconds
        if abs(seconds) > LONGEST:
            break
        aligned = replace(maker, lag=seconds)
        changed = made(aligned)
        other = fitted(aligned, changed)
        left = effort_lag(changed, other)
        if abs(left.seconds) < max(LEAST, left.deviation):
            # Too little for another round, and known no better.
            deviation = float(np.hypot(left.seconds, left.deviation))
            return aligned, changed, other, EffortLag(seconds, deviation)
    return maker, equations, fit, EffortLag(0.0, np.inf)


def late_efforts(robot: Robot, equations: Equations, lag: EffortLag) -> list[str]:
    """A sentence on a lag that was found, with what it amounts to where that is most."""
    if abs(lag.seconds) < MUCH:
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
