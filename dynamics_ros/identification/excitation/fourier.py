# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Optimal exciting motions: Fourier series within the limits of a robot ([Swevers1997]).

Each joint moves as a sum of sines with a common period, at rest at both ends. The objective of the
best of several random motions is improved by quasi-Newton steps with analytic derivatives;
violations of position, velocity, acceleration and torque limits have a quadratic penalty. If links
collide, the range of positions is reduced.

The objective is the information of a motion about the parameters,

    f = -log det M + w log cond Y^T Y,   M = sum over times of Y^T S^-2 Y

for the regressor Y of base parameters, standard deviations S of efforts and the weight w of the
condition number. The derivative of f by the regressor is a matrix W of the same shape, with which
the pullback of the regressor gives the derivatives by the motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.fit import inverse
from dynamics_ros.robot import Robot

from .clearance import CLEARANCE, Clearance

Array = NDArray[np.float64]

CONDITION_WEIGHT = 30.0
"""Weight of the condition number; the determinant alone neglects the least known parameters."""

HARMONICS = 5
SAMPLES = 120
"""Number of times at which a motion is evaluated."""

NOISE = 0.02
"""Standard deviation of efforts over the effort limit."""

POSITION_MARGIN, VELOCITY_SHARE, EFFORT_SHARE = 0.05, 0.7, 0.7
"""Distance from position limits [rad or m]; used shares of velocity and effort limits."""

FREE_RANGE, FREE_VELOCITY, ACCELERATION = np.pi / 2.0, 1.5, 4.0
"""Largest magnitude of positions [rad or m] and velocities [rad/s or m/s] that is used; ratio of
the largest acceleration to the largest velocity [1/s]."""

PENALTY = 300.0
"""Weight of squared relative limit violations."""

STARTS = 24
"""Number of random motions, the best of which is improved."""

RANGES = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.08)
"""Shares of the position range that are tried until links keep their distance."""

CHECKED_STEPS = 12
"""Number of steps of the optimization whose link distances are checked, the last one first."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion of one period, at rest at both ends.

    Attributes:
        time: (n) times [s].
        q, v, a: (n, nv) positions, velocities, accelerations.
        condition: condition number of the regressor of base parameters.
        clearance: smallest distance of links [m]; inf if shapes are unknown.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    condition: float
    clearance: float


class Series:
    """Basis functions of Fourier series that are at rest at both ends."""

    def __init__(self, duration: float, time: Array) -> None:
        w = 2.0 * np.pi * np.arange(1, HARMONICS + 1) / duration
        sines, cosines = np.sin(np.outer(time, w)), np.cos(np.outer(time, w))
        # Velocity and acceleration are zero at time 0, and so at the end of the period.
        at_rest = np.zeros((2, 2 * HARMONICS))
        at_rest[0, :HARMONICS] = w
        at_rest[1, HARMONICS:] = w**2
        free = scipy.linalg.null_space(at_rest)
        self.q = np.hstack([sines, cosines]) @ free
        self.v = np.hstack([w * cosines, -w * sines]) @ free
        self.a = np.hstack([-(w**2) * sines, -(w**2) * cosines]) @ free


class Limits:
    """Limits of a motion of a robot, with a share of its range of positions."""

    def __init__(self, robot: Robot, share: float = 1.0) -> None:
        low = np.maximum(robot.lower_limits, -FREE_RANGE)
        high = np.minimum(robot.upper_limits, FREE_RANGE)
        wrong = low >= high
        low = np.where(wrong, robot.lower_limits, low)
        high = np.where(wrong, robot.upper_limits, high)
        margin = np.minimum(POSITION_MARGIN, 0.2 * (high - low))
        self.middle, self.half = 0.5 * (low + high), share * (0.5 * (high - low) - margin)
        self.velocity = VELOCITY_SHARE * np.minimum(robot.velocity_limits, FREE_VELOCITY)
        self.acceleration = ACCELERATION * self.velocity
        self.effort = EFFORT_SHARE * robot.effort_limits


def plan_excitation(
    robot: Robot,
    *,
    duration: float = 20.0,
    rate: float = 100.0,
    clearance: Clearance | None = None,
    iterations: int = 400,
) -> Excitation:
    """Plan an exciting motion.

    Args:
        robot: robot with a fixed base and joints of one coordinate.
        duration: period [s].
        rate: rate of the returned points [Hz].
        clearance: distances of links and floor; None: not checked.
        iterations: number of iterations.

    Raises:
        InvalidArgumentError: no motion within the limits was found.
    """
    base, rng = BaseParameters.of(robot), np.random.default_rng(0)

    def free(q: Array) -> bool:
        try:
            if clearance is not None:
                clearance.check(q, CLEARANCE, 'the motion')
        except InvalidArgumentError:
            return False
        return True

    rough = Series(duration, np.linspace(0.0, duration, SAMPLES, endpoint=False))
    for share in RANGES:
        search = _Search(robot, base, Limits(robot, share), rough)
        path = search.improved(rng, iterations)
        looked_at = path[:: -max(1, len(path) // CHECKED_STEPS)]
        best = next((x for x in looked_at if free(search.motion(x, rough)[0])), None)
        if best is not None:
            break
    else:
        raise InvalidArgumentError(
            'robot', 'no motion keeps its links apart', 'a start with room around it'
        )
    time = np.arange(round(duration * rate) + 1) / rate
    q, v, a = search.motion(best, Series(duration, time))
    return Excitation(
        time,
        q,
        v,
        a,
        condition_number(robot, base, q, v, a),
        np.inf if clearance is None else clearance.smallest(q[:: max(1, len(q) // 200)]),
    )


class _Search:
    """Motions of a robot as vectors: scaled coefficients (nv, count), then scaled centres (nv).

    A coefficient of 1 uses up one of the limits of its joint. A centre is relative to the middle of
    the position range, in units of half the range.
    """

    def __init__(self, robot: Robot, base: BaseParameters, limits: Limits, rough: Series) -> None:
        self._robot, self._base, self._limits, self._rough = robot, base, limits, rough
        self._noise = NOISE * np.where(np.isfinite(robot.effort_limits), robot.effort_limits, 50.0)
        self._slopes_of_regressor = robot.kernel('regressor').pullback()
        self._slopes_of_torques = robot.kernel('inverse_dynamics').pullback()
        parts = (
            (rough.q, limits.half),
            (rough.v, limits.velocity),
            (rough.a, limits.acceleration),
        )
        uses = [np.abs(part).max(axis=0) / limit[:, np.newaxis] for part, limit in parts]
        self._units = 1.0 / np.max(uses, axis=0)

    def motion(self, x: Array, series: Series) -> tuple[Array, Array, Array]:
        """q, v, a (n, nv), reduced if a limit is still exceeded."""
        return _states(*_scaled_to_limits(*self._split(x), self._rough, self._limits), series)

    def improved(self, rng: np.random.Generator, iterations: int) -> list[Array]:
        """Iterates of the optimization, from the best random motion to the best result."""
        starts = []
        for _ in range(STARTS):
            c, shift = _random_coefficients(rng, self._rough, self._limits)
            places = (shift - self._limits.middle) / self._limits.half
            starts.append(np.concatenate([(c / self._units).ravel(), places]))
        path = [min(starts, key=lambda x: self.cost(x)[0])]
        scipy.optimize.minimize(
            self.cost,
            path[0],
            jac=True,
            method='L-BFGS-B',
            callback=lambda x: path.append(x.copy()),
            options={'maxiter': iterations},
        )
        return path

    def cost(self, x: Array) -> tuple[float, Array]:
        """Objective f with penalties, and its gradient."""
        limits, series = self._limits, self._rough
        q, v, a = _states(*self._split(x), series)
        value, W = self._objective(self._base.columns(self._robot.regressor(q, v, a), a))
        if not np.isfinite(value):
            return 1e9, np.zeros_like(x)
        slopes = self._slopes(W, q, v, a)
        bounds = (
            (q - limits.middle, limits.half),
            (v, limits.velocity),
            (a, limits.acceleration),
        )
        for k, (values, limit) in enumerate(bounds):
            cost, slope = _limit_penalty(values, limit)
            value += cost
            slopes[k] += slope
        cost, slope = _limit_penalty(self._robot.inverse_dynamics(q, v, a), limits.effort)
        value += cost
        if cost > 0.0:
            for k, part in enumerate(self._slopes_of_torques(q, v, a, slope)):
                slopes[k] += part
        by_c = slopes[0].T @ series.q + slopes[1].T @ series.v + slopes[2].T @ series.a
        by_place = limits.half * slopes[0].sum(axis=0)
        return value, np.concatenate([(by_c * self._units).ravel(), by_place])

    def _objective(self, Y: Array) -> tuple[float, Array]:
        """f of a regressor (n, nv, b), and its derivative by the regressor."""
        Z = Y / self._noise[:, np.newaxis]
        M, plain = (np.einsum('nib,nic->bc', X, X, optimize=True) for X in (Z, Y))
        sign, logarithm = np.linalg.slogdet(M)
        values, vectors = np.linalg.eigh(plain)
        if sign <= 0.0 or values[0] <= 0.0:
            return np.inf, np.zeros_like(Y)
        spread = np.log(values[-1] / values[0])
        weights = np.zeros(len(values))
        weights[-1], weights[0] = 1.0 / values[-1], -1.0 / values[0]
        W = -2.0 * (Z @ inverse(M)) / self._noise[:, np.newaxis]
        W += 2.0 * CONDITION_WEIGHT * (Y @ ((vectors * weights) @ vectors.T))
        return -float(logarithm) + CONDITION_WEIGHT * float(spread), W

    def _slopes(self, W: Array, q: Array, v: Array, a: Array) -> list[Array]:
        """Derivatives of f by q, v, a (n, nv each) from that by the regressor (n, nv, b)."""
        joints, bodies = np.arange(self._robot.nv), 10 * len(self._robot.body_names)
        whole = np.zeros((*q.shape, bodies + len(joints)))
        whole[..., self._base.chosen] = W
        slopes = list(self._slopes_of_regressor(q, v, a, whole[..., :bodies]))
        slopes[2] += whole[:, joints, bodies + joints]
        return slopes

    def _split(self, x: Array) -> tuple[Array, Array]:
        """Coefficients and centres of a motion."""
        count = self._units.size
        shift = self._limits.middle + x[count:] * self._limits.half
        return x[:count].reshape(self._units.shape) * self._units, shift


def _limit_penalty(values: Array, limits: Array) -> tuple[float, Array]:
    """Penalty of values (n, nv) beyond limits (nv), and its derivative."""
    over = np.maximum(np.abs(values) / limits - 1.0, 0.0)
    slope: Array = 2.0 * PENALTY * over * np.sign(values) / limits
    return PENALTY * float(np.square(over).sum()), slope


def condition_number(robot: Robot, base: BaseParameters, q: Array, v: Array, a: Array) -> float:
    """Condition number of the regressor of base parameters over a motion."""
    return float(np.linalg.cond(base.columns(robot.regressor(q, v, a), a).reshape(-1, len(base))))


def _states(c: Array, shift: Array, series: Series) -> tuple[Array, Array, Array]:
    """q, v, a (n, nv) for coefficients (nv, count) and centres (nv)."""
    return series.q @ c.T + shift, series.v @ c.T, series.a @ c.T


def _scaled_to_limits(c: Array, shift: Array, rough: Series, limits: Limits) -> tuple[Array, Array]:
    """Coefficients (nv, count) and centres (nv), reduced and shifted until limits hold."""
    q, v, a = _states(c, np.zeros(len(c)), rough)
    low, high = q.min(axis=0), q.max(axis=0)
    used = np.max(
        [
            0.5 * (high - low) / limits.half,
            np.abs(v).max(axis=0) / limits.velocity,
            np.abs(a).max(axis=0) / limits.acceleration,
        ],
        axis=0,
    )
    # A margin of 1 % for motion between the evaluated times.
    shrunk = 0.99 / np.maximum(used, 1.0)
    lowest = limits.middle - limits.half - low * shrunk
    highest = limits.middle + limits.half - high * shrunk
    return c * shrunk[:, np.newaxis], np.clip(shift, lowest, highest)


def _random_coefficients(
    rng: np.random.Generator, rough: Series, limits: Limits
) -> tuple[Array, Array]:
    """Coefficients and centres of a random motion within the position range."""
    nv = len(limits.half)
    c, _ = _scaled_to_limits(
        0.6 * rng.normal(size=(nv, rough.q.shape[1])), limits.middle, rough, limits
    )
    q = rough.q @ c.T
    low, high = q.min(axis=0), q.max(axis=0)
    room = limits.half - 0.5 * (high - low)
    place = np.tanh(0.6 * rng.normal(size=nv))
    return c, limits.middle - 0.5 * (low + high) + place * np.maximum(room, 0.0)
