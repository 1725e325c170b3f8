"""Motions that tell the most of a robot: Fourier series within its limits ([Swevers1997]).

Each joint moves as a sum of sines of one period, at rest at both ends. The determinant of the
information on base parameters, weighted by what torques of a joint are known to, is made as large
as positions, velocities, torques and distances of links allow (D-optimal).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import minimize

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification.base_parameters import BaseParameters, with_rotors
from dynamics_ros.robot import Robot

from .clearance import Clearance

Array = NDArray[np.float64]

HARMONICS = 5
SAMPLES = 120
"""Times at which a motion is judged."""

NOISE = 0.02
"""Deviation of efforts that deviations are told for, over the effort limit."""

POSITION_MARGIN, VELOCITY_SHARE, EFFORT_SHARE = 0.05, 0.7, 0.7
"""rad or m kept from limits; shares of velocity and effort limits that are used."""

FREE_RANGE, FREE_VELOCITY, ACCELERATION = np.pi / 2.0, 1.5, 4.0
"""rad, rad/s in place of limits that are not given; 1/s times the largest velocity."""

WORST = 10.0
"""Weight of the logarithm of the condition number beside that of the determinant."""

CLEARANCE = 0.04
"""m that links keep apart."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion of one period, at rest at both ends.

    Attributes:
        time: (n) s.
        q, v, a: (n, nv).
        condition: of the regressor of base parameters, its columns scaled alike.
        names: (b) base parameters.
        values: (b) of the description.
        deviations: (b) that an identification over the motion is expected to have.
        clearance: smallest distance of links [m]; inf where no shapes are known.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    condition: float
    names: tuple[str, ...]
    values: Array
    deviations: Array
    clearance: float


class Series:
    """Sums of sines at rest at both ends, from free coefficients."""

    def __init__(self, duration: float, time: Array) -> None:
        w = 2.0 * np.pi * np.arange(1, HARMONICS + 1) / duration
        sines, cosines = np.sin(np.outer(time, w)), np.cos(np.outer(time, w))
        # Velocity and acceleration vanish at time 0, and so at the end.
        at_rest = np.zeros((2, 2 * HARMONICS))
        at_rest[0, :HARMONICS] = w
        at_rest[1, HARMONICS:] = w**2
        free = null_space(at_rest)
        self.q = np.hstack([sines, cosines]) @ free
        self.v = np.hstack([w * cosines, -w * sines]) @ free
        self.a = np.hstack([-(w**2) * sines, -(w**2) * cosines]) @ free

    @property
    def count(self) -> int:
        """Free coefficients of a joint."""
        return int(self.q.shape[1])


class Limits:
    """The room that a motion of a robot has."""

    def __init__(self, robot: Robot) -> None:
        low = np.maximum(robot.lower_limits, -FREE_RANGE)
        high = np.minimum(robot.upper_limits, FREE_RANGE)
        wrong = low >= high
        low = np.where(wrong, robot.lower_limits, low)
        high = np.where(wrong, robot.upper_limits, high)
        margin = np.minimum(POSITION_MARGIN, 0.2 * (high - low))
        self.middle, self.half = 0.5 * (low + high), 0.5 * (high - low) - margin
        self.velocity = VELOCITY_SHARE * np.minimum(robot.velocity_limits, FREE_VELOCITY)
        self.acceleration = ACCELERATION * self.velocity
        self.effort = EFFORT_SHARE * robot.effort_limits


def plan_excitation(
    robot: Robot,
    *,
    duration: float = 20.0,
    rate: float = 100.0,
    clearance: Clearance | None = None,
    floor: float | None = None,
    seed: int = 0,
    starts: int = 24,
    iterations: int = 40,
) -> Excitation:
    """The best motion that is found.

    Args:
        robot: fixed base, joints of one coordinate.
        duration: s.
        rate: of the points that are returned [Hz].
        clearance: of its links; None does not look at them.
        floor: height in the root frame that links stay above [m]; None for none.
        seed: of the random starts.
        starts: random motions, of which the best is improved.
        iterations: of the improvement.

    Raises:
        InvalidArgumentError: no motion within the limits was found.
    """
    base, limits = BaseParameters.of(robot), Limits(robot)
    rough = Series(duration, np.linspace(0.0, duration, SAMPLES, endpoint=False))
    rng = np.random.default_rng(seed)
    noise = NOISE * np.where(np.isfinite(robot.effort_limits), robot.effort_limits, 50.0)
    sizes = _sizes(robot, base, limits, noise, rng)

    def motion(x: Array, series: Series) -> tuple[Array, Array, Array]:
        coefficients = x.reshape(robot.nv, series.count + 1)
        return _within(coefficients, rough, series, limits)

    def cost(x: Array) -> float:
        q, v, a = motion(x, rough)
        information = _information(robot, base, q, v, a, noise, sizes)
        over = np.abs(robot.inverse_dynamics(q, v, a)) / limits.effort - 1.0
        penalty = float(np.square(np.maximum(over, 0.0)).sum())
        values = np.linalg.eigvalsh(information)
        if values[0] <= 0.0:
            return 1e6
        # What is known worst counts once more: the determinant alone lets it go.
        unscaled = np.linalg.eigvalsh(information * np.outer(sizes, sizes))
        spread = WORST * float(np.log(unscaled[-1] / max(unscaled[0], 1e-300)))
        return -float(np.log(values).sum()) + spread + 1e3 * penalty

    def free(x: Array) -> bool:
        q = motion(x, rough)[0]
        if clearance is None:
            return True
        if floor is not None and clearance.lowest(q) < floor:
            return False
        return clearance.smallest(q) > CLEARANCE

    candidates = [0.6 * rng.normal(size=robot.nv * (rough.count + 1)) for _ in range(starts)]
    candidates.sort(key=cost)
    x = next((one for one in candidates if free(one)), None)
    scale = 1.0
    while x is None:
        # Where full motions collide, smaller ones about the middle may not.
        scale *= 0.7
        if scale < 0.05:
            raise InvalidArgumentError(
                'robot', 'no motion keeps its links apart', 'a start with room around it'
            )
        limits.half = limits.half * 0.7
        x = next((one for one in candidates if free(one)), None)
    best = x

    def remember(tried: Array) -> None:
        nonlocal best
        if cost(tried) < cost(best) and free(tried):
            best = tried.copy()

    minimize(cost, x, method='L-BFGS-B', callback=remember, options={'maxiter': iterations})
    time = np.arange(round(duration * rate) + 1) / rate
    q, v, a = motion(best, Series(duration, time))
    weighted = _information(robot, base, q[::5], v[::5], a[::5], noise, np.ones(len(base)))
    # Points follow at ``rate``, of which every fifth was counted.
    spread = np.sqrt(np.diag(np.linalg.pinv(weighted, hermitian=True)) / 5.0)
    described = np.array(
        [float(x) for body in robot.model.inertias for x in body.parameters()] + [0.0] * robot.nv
    )
    return Excitation(
        time,
        q,
        v,
        a,
        condition_number(robot, base, q[::5], v[::5], a[::5]),
        base.expressions,
        base.combination @ described,
        spread,
        np.inf if clearance is None else clearance.smallest(q[:: max(1, len(q) // 200)]),
    )


def random_motion(
    robot: Robot, duration: float, time: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """A random motion within limits, to compare with: q, v, a (n, nv)."""
    rough = Series(duration, np.linspace(0.0, duration, SAMPLES, endpoint=False))
    coefficients = 0.6 * rng.normal(size=(robot.nv, rough.count + 1))
    return _within(coefficients, rough, Series(duration, time), Limits(robot))


def condition_number(robot: Robot, base: BaseParameters, q: Array, v: Array, a: Array) -> float:
    """Of the regressor of base parameters over a motion."""
    Y = with_rotors(robot.regressor(q, v, a), a)[..., base.chosen]
    return float(np.linalg.cond(Y.reshape(-1, len(base))))


def _within(
    coefficients: Array, rough: Series, series: Series, limits: Limits
) -> tuple[Array, Array, Array]:
    """q, v, a of coefficients (nv, count + 1), shrunk and moved until limits hold.

    The last coefficient of a joint says where in its free room the motion lies.
    """
    c, place = coefficients[:, :-1], np.tanh(coefficients[:, -1])
    q, v, a = (part @ c.T for part in (rough.q, rough.v, rough.a))
    low, high = q.min(axis=0), q.max(axis=0)
    used = np.max(
        [
            0.5 * (high - low) / limits.half,
            np.abs(v).max(axis=0) / limits.velocity,
            np.abs(a).max(axis=0) / limits.acceleration,
        ],
        axis=0,
    )
    # A hundredth for what lies between the times that are judged.
    shrunk = 0.99 / np.maximum(used, 1.0)
    center = 0.5 * (low + high) * shrunk
    room = limits.half - 0.5 * (high - low) * shrunk
    shift = limits.middle - center + place * np.maximum(room, 0.0)
    return (
        series.q @ (c * shrunk[:, np.newaxis]).T + shift,
        series.v @ (c * shrunk[:, np.newaxis]).T,
        series.a @ (c * shrunk[:, np.newaxis]).T,
    )


def _information(
    robot: Robot, base: BaseParameters, q: Array, v: Array, a: Array, noise: Array, sizes: Array
) -> Array:
    Y = with_rotors(robot.regressor(q, v, a), a)[..., base.chosen]
    rows = (Y / noise[:, np.newaxis] / sizes).reshape(-1, len(base))
    found: Array = rows.T @ rows
    return found


def _sizes(
    robot: Robot, base: BaseParameters, limits: Limits, noise: Array, rng: np.random.Generator
) -> Array:
    """Norms of columns over random states, so that determinants are of numbers near one."""
    shape = (SAMPLES, robot.nv)
    q = limits.middle + limits.half * rng.uniform(-1.0, 1.0, shape)
    v = limits.velocity * rng.uniform(-1.0, 1.0, shape)
    a = limits.acceleration * rng.uniform(-1.0, 1.0, shape)
    information = _information(robot, base, q, v, a, noise, np.ones(len(base)))
    sizes: Array = np.sqrt(np.diag(information))
    return sizes
