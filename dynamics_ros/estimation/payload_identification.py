# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of a load by least squares ([Atkeson1986]): of a robot, or of a wrist sensor.

Torques are linear in the ten inertial parameters pi of a load,

    tau - tau_robot(q, v, a) = Y(q, v, a) pi,

and so are forces and torques of a sensor in front of it. The equations of each joint j, or of the
forces and of the torques of a sensor, are

    y_j = X_j x + Z_j z_j + e_j,    x, z_j ~ N(0, 1),    e_j ~ N(0, sigma_j^2),

with unknowns x that all share, such as pi, and unknowns z_j of one joint, such as its offset or
friction. Columns are multiplied by the prior deviations of their unknowns. The noise sigma_j
follows from the residuals; equations whose residuals are correlated in time count as fewer.

A pi that is physically impossible is replaced: a negative mass by none, an inertia about the centre
of mass that violates the triangle inequality by the nearest one whose pseudo-inertia is positive
semidefinite ([Rucker2022]).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.torque_observer import EFFORT_SAMPLINGS
from dynamics_ros.constraints import gravity_in_loops, motor_map, motors
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.multibody.arguments import finite_vector, per_entry
from dynamics_ros.multibody.linear_systems import apply
from dynamics_ros.spatial import Inertia, Matrix3, Vector3

from .effort_model import EffortModel
from .uncertainty.thresholds import by_effort_limit

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

WINDOW, MAX_GAP = 100_000_000, 50_000_000
"""Averaging time, and longest time without samples within a window [ns]."""

PRIOR = np.array([100.0, *3 * [30.0], *6 * [10.0]])
"""Prior standard deviations of the parameters of a load [kg, kg m, kg m^2]."""

OBSERVABLE_MASS, MIN_MASS = 0.1, 0.1
"""A mass is observable if its deviation is below this share of it, or of the least mass [kg]."""

OBSERVABLE_LENGTH = 0.03
"""A centre of mass is observable if its deviation is below this length [m], an inertia if its
deviation is below mass times length^2."""

OFFSET = 0.01
"""Default prior deviation of the offset of a joint torque, over its range of efforts."""

MAX_LAG = 50
"""Largest lag over which correlations of residuals are summed [windows]."""

MAX_STATIC_SPEED = 0.01
"""Maximum speed of a joint in a static posture, times ``EffortModel.motion`` [rad/s]."""

MIN_DISTANCE = 0.1
"""Minimum motion of a joint between static postures, times ``EffortModel.motion`` [rad]."""

MAX_TORQUE = 1e9
"""Bound of plausible torques; squares of much larger ones overflow [Nm or N]."""

ROUNDS, UNCORRELATED = 6, 2
"""Iterations of the noise; those before residuals are correlated by what is not fitted yet."""

MIN_NOISE, LEAST_NOISE = 0.01, 1e-6
"""Least noise, over the largest one of all joints or levels, and [Nm or N]: a perfect fit must not
get all the weight."""

USUAL_ROWS = 30.0
"""Rows of usual noise that the logarithm of a level's is averaged with, and those of the noisiest
joint that another is averaged with: few rows say little."""

MIN_FREEDOM = 0.1
"""Of the equations, which are counted at least when noise is computed from residuals."""


class NotIdentifiableError(DynamicsRosError):
    """Raised if the samples do not determine the payload."""


class Solution(NamedTuple):
    """Solution of the equations of a load.

    Attributes:
        shared: (k) shared unknowns.
        own: (joints, m) unknowns of each joint.
        covariance: (joints, k + m, k + m) of shared and own unknowns.
        residual: (joints, n) residuals of the equations that count for the noise, else 0.
    """

    shared: Array
    own: Array
    covariance: Array
    residual: Array


def solve(
    shared: Array,
    own: Array,
    right: Array,
    noise: Array,
    *,
    level: NDArray[np.int64] | None = None,
    memory: int = 0,
    least: ArrayLike = 0.0,
) -> Solution:
    """Solves linear equations with unit normal priors, and estimates their noise.

    Args:
        shared, own: (joints, n, k), (joints, n, m) factors X and Z.
        right: (joints, n) right sides y.
        noise: (joints) standard deviation that the iteration begins with.
        level: (joints, n) number of the noise level of each equation from 1 on, such as that of a
            speed; 0 for equations that are left out. None: one level.
        memory: largest lag of correlated residuals [equations].
        least: (joints) least noise.
    """
    k, m = shared.shape[-1], own.shape[-1]
    level = np.ones(right.shape, dtype=np.int64) if level is None else level
    whole = np.concatenate([shared, own, right[..., np.newaxis]], axis=-1)
    masks = [level == number for number in range(1, int(level.max()) + 1)]
    products = np.stack([(whole * x[..., np.newaxis]).swapaxes(1, 2) @ whole for x in masks], 1)
    counts = np.stack([mask.sum(axis=1) for mask in masks], axis=1)
    rows = np.maximum(counts.sum(axis=1), 1.0)
    variance, factors, relative = np.square(noise), np.ones(len(right)), np.ones(counts.shape)
    for number in range(ROUNDS + 1):
        G = np.einsum(
            'jl,jlcd->jcd', 1.0 / ((variance * factors)[:, np.newaxis] * relative), products
        )
        # Each joint's own unknowns are eliminated: what is left are equations of the shared ones.
        effects = np.linalg.inv(G[:, k:-1, k:-1] + np.eye(m))
        follow = effects @ G[:, k:-1, :k]
        H = (G[:, :k, :k] - G[:, :k, k:-1] @ follow).sum(axis=0)
        values, vectors = np.linalg.eigh(H)
        # By eigenvalues, since the variances of different directions differ by more than double
        # precision.
        coloring = vectors / np.sqrt(1.0 + np.maximum(values, 0.0))
        pull = (G[:, :k, -1] - (G[:, k:-1, -1, np.newaxis] * follow).sum(axis=1)).sum(axis=0)
        x = coloring @ (coloring.T @ pull)
        z = (effects @ G[:, k:-1, -1:])[..., 0] - follow @ x
        roots = np.concatenate([np.tile(coloring, (len(right), 1, 1)), -follow @ coloring], axis=1)
        covariance = roots @ roots.swapaxes(1, 2)
        covariance[:, k:, k:] += effects
        residual = (level > 0) * (right - shared @ x - (own @ z[..., np.newaxis])[..., 0])
        if number == ROUNDS:
            break
        # Numbers that the equations determine.
        spent = (G[:, :-1, :-1] * covariance).sum(axis=(1, 2))
        freedom = np.clip(1.0 - spent / rows, MIN_FREEDOM, 1.0)
        squares = np.stack([(residual**2 * mask).sum(axis=1) for mask in masks], axis=1) + 1e-300
        usual = (squares.sum(axis=1) / rows)[:, np.newaxis]
        relative = (squares / (np.maximum(counts, 1.0) * usual)) ** (counts / (counts + USUAL_ROWS))
        relative = np.maximum(relative, MIN_NOISE**2)
        variance = (squares / relative).sum(axis=1) / rows / freedom
        # Few rows do not show that a joint has less noise than others.
        share = np.maximum(USUAL_ROWS / (rows + USUAL_ROWS), MIN_NOISE)
        floor = np.maximum(least, LEAST_NOISE + share * np.sqrt(variance.max()))
        variance = np.maximum(variance, np.square(floor))
        if number >= UNCORRELATED:
            usual = np.take_along_axis(relative, np.maximum(level - 1, 0), axis=1)
            white = residual / np.sqrt(usual)
            factors = correlation_factors(white.T, (level > 0).T, memory)
    return Solution(x, z, covariance, residual)


def correlation_factors(left: Array, counts: NDArray[np.bool_], memory: int) -> Array:
    """Returns how many times as large the variance of means is by correlations in time (columns).

    Args:
        left: (n, columns) residuals.
        counts: (n, columns) whether they count.
        memory: largest lag over which correlations are summed, at most a quarter of n.
    """
    memory, total = min(memory, len(left) // 4), np.maximum(counts.sum(axis=0), 1)
    left = counts * (left - (counts * left).sum(axis=0) / total)
    variance = np.maximum((left**2).sum(axis=0) / total, 1e-300)
    found = np.ones(left.shape[1])
    for lag in range(1, memory + 1):
        pairs = np.maximum((counts[lag:] & counts[:-lag]).sum(axis=0), 1)
        product = (left[lag:] * left[:-lag]).sum(axis=0) / pairs / variance
        # Correlations within the statistical error of independent residuals do not count.
        sure = np.maximum(np.abs(product) - 2.0 / np.sqrt(total), 0.0) * np.sign(product)
        found += 2.0 * (1.0 - lag / (memory + 1.0)) * sure
    return np.asarray(np.maximum(found, 1.0))


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """Estimated payload.

    Attributes:
        frame: frame of the result.
        mass: kg.
        center_of_mass: (3) in the frame [m].
        inertia: (3, 3) about the centre of mass, in the frame's axes [kg m^2]; zero if no entry is
            observable.
        mass_deviation, center_of_mass_deviation, inertia_deviation: standard deviations; (3, 3) for
            the inertia.
        mass_observable, center_of_mass_observable, inertia_observable: whether the deviation is
            below a tenth of the mass; 3 cm; mass times (3 cm)^2.
        residual: root mean square of the residuals of the window means [Nm or N].
        samples: number of samples used.
        own_weight: weight of the robot by recordings without the payload, over that of its
            description, at the joints that tell the payload. Not 1 if masses or the unit of efforts
            are not as described; deviations of the mass include its difference from 1.
    """

    frame: str
    mass: float
    center_of_mass: Array
    inertia: Array
    mass_deviation: float
    center_of_mass_deviation: Array
    inertia_deviation: Array
    mass_observable: bool
    center_of_mass_observable: NDArray[np.bool_]
    inertia_observable: NDArray[np.bool_]
    residual: float
    samples: int
    own_weight: float = 1.0


class PayloadIdentifier:
    """Collects joint states and estimates the payload that explains them."""

    def __init__(
        self,
        robot: Robot,
        frame: str,
        *,
        effort_model: EffortModel | None = None,
        effort_noise: ArrayLike = 0.1,
        effort_offset: ArrayLike | None = None,
        effort_sampling: str = 'instant',
    ) -> None:
        """Creates an identifier without samples.

        Args:
            robot: the robot without the payload.
            frame: frame that the payload is fixed to.
            effort_model: meaning of the reported efforts; None means the torques on the rigid
                bodies.
            effort_noise: initial standard deviation of the residual torques, number or (nv) [Nm or
                N]; inf for an unused joint.
            effort_offset: prior standard deviation of constant offsets of the torques, number or
                (nv), 0 for none [Nm or N]; None: 1 % of the effort limits. Offsets are left out if
                the mass cannot be told from them, as in a single posture.
            effort_sampling: 'instant' for torques at their stamps, 'interval' for torques held
                since the previous sample.

        Raises:
            UnknownFrameError: the frame does not exist.
            InvalidArgumentError: a frame that no joint moves, or a value out of range.
        """
        if effort_sampling not in EFFORT_SAMPLINGS:
            raise InvalidArgumentError(
                'effort_sampling', repr(effort_sampling), f'one of {", ".join(EFFORT_SAMPLINGS)}'
            )
        self.robot, self.frame = robot, frame
        body = robot.model.frame(frame).body
        noise = per_entry('effort_noise', effort_noise, robot.nv, least=1e-12, infinite=True)
        moved = [i for k in robot.model.ancestors(body) for i in robot.model.joints[k].v_indices]
        carries = np.zeros(robot.nv, dtype=bool)
        carries[moved] = True
        if robot.model.loops and moved:
            carries = motors(robot)
        self._rows = np.flatnonzero(carries & np.isfinite(noise))
        if not len(self._rows):
            raise InvalidArgumentError('frame', f'no joint feels {frame!r}', 'a frame that moves')
        self._noise = noise[self._rows]
        if effort_offset is None:
            effort_offset = by_effort_limit(robot, OFFSET)
        offset = per_entry('effort_offset', effort_offset, robot.nv, least=0.0)
        self._offset = offset[self._rows]
        self._columns = slice(10 * body, 10 * body + 10)
        self._to_body = parameter_map(robot, frame)
        self._efforts = EffortModel.ideal(robot) if effort_model is None else effort_model
        self._held = effort_sampling == 'interval'
        self._stamps: list[int] = []
        self._samples: list[Array] = []
        self._static_postures: list[Array] = []

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self._stamps)

    @property
    def postures(self) -> int:
        """Number of distinct static postures."""
        return len(self._static_postures)

    def add(self, stamp: int, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> bool:
        """Adds a sample.

        Args:
            stamp: ns; a sample that is not later than the previous one is ignored.
            q, v: configuration (nq) and velocity (nv).
            effort: (nv) reported effort [Nm or N, by default].

        Returns:
            Whether it was added.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        robot, efforts = self.robot, self._efforts
        q, v = finite_vector('q', q, robot.nq), finite_vector('v', v, robot.nv)
        gravity = None
        if not efforts.includes_gravity:
            gravity = gravity_in_loops(robot, q) if robot.model.loops else robot.gravity(q)
        tau = efforts.joint_torque(effort, v, gravity)
        if self._stamps and stamp <= self._stamps[-1]:
            return False
        # Append the stamp last: an estimate in another thread uses the number of stamps.
        self._samples.append(np.concatenate([q, v, tau]))
        self._stamps.append(stamp)
        if np.abs(v / efforts.motion).max() < MAX_STATIC_SPEED and all(
            np.abs(robot.difference(k, q) / efforts.motion).max() > MIN_DISTANCE
            for k in self._static_postures
        ):
            self._static_postures.append(q.copy())
        return True

    def estimate(self) -> PayloadEstimate:
        """Returns the payload that explains the samples best.

        Raises:
            NotIdentifiableError: there are too few samples, or they do not determine the mass.
        """
        Y, torques, samples = self._means()
        if not np.abs(torques).max() < MAX_TORQUE:
            raise NotIdentifiableError(
                f'torques of {np.abs(torques).max():.3g} Nm or N are no torques of a robot'
            )
        for offset in (self._offset, 0.0 * self._offset):
            offsets = np.tile(offset[:, np.newaxis, np.newaxis], (1, len(torques[0]), 1))
            found = solve(Y * PRIOR, offsets, torques, self._noise, memory=MAX_LAG)
            pi = found.shared * PRIOR
            covariance = found.covariance[0, :10, :10] * np.outer(PRIOR, PRIOR)
            # A single posture does not tell offsets from a weight.
            if math.sqrt(covariance[0, 0]) < OBSERVABLE_MASS * max(pi[0], MIN_MASS):
                break
        residual = float(np.sqrt(np.mean(found.residual**2)))
        return estimate_of(self.frame, pi, covariance, residual, samples)

    def _means(self) -> tuple[Array, Array, int]:
        """Returns Y (rows, windows, 10), torques (rows, windows) and the number of samples."""
        robot = self.robot
        regressors, torques, samples = [], [], 0
        for first, last in self._windows():
            block = np.array(self._samples[first : last + 1])
            stamps = np.array(self._stamps[first : last + 1])
            t = (stamps - stamps[0]) * 1e-9
            q, v, tau = np.split(block, [robot.nq, robot.nq + robot.nv], axis=1)
            a = np.gradient(v, t, axis=0, edge_order=1)
            own = robot.inverse_dynamics(q, v, a) + self._efforts.rotor_inertia * a
            Y = robot.regressor(q, v, a)[..., self._columns] @ self._to_body
            if robot.model.loops:
                to_motors = motor_map(robot, q)
                own, tau = apply(to_motors, own), apply(to_motors, tau * motors(robot))
                Y = to_motors @ Y
            steps = np.diff(t, prepend=0.0) / t[-1]
            # Trapezoidal rule: each sample has half of the steps before and after it.
            mean = 0.5 * (steps + np.append(steps[1:], 0.0))
            held = steps if self._held else mean
            torques.append((held @ tau - mean @ own)[self._rows])
            regressors.append(np.einsum('t,tij->ij', mean, Y[:, self._rows]))
            samples += len(t)
        if not torques:
            raise NotIdentifiableError(
                f'{self.samples} samples make no window of {WINDOW * 1e-9:g} s without a '
                'gap: joint states have to come all the time'
            )
        return np.array(regressors).swapaxes(0, 1), np.array(torques).T, samples

    def _windows(self) -> list[tuple[int, int]]:
        """Returns first and last sample of each window; a window ends where the next one begins."""
        found, first = [], 0
        for i in range(1, self.samples):
            if self._stamps[i] - self._stamps[i - 1] > MAX_GAP:
                first = i
            elif self._stamps[i] - self._stamps[first] >= WINDOW:
                if i - first >= 2:
                    found.append((first, i))
                first = i
        return found


def estimate_of(
    frame: str,
    pi: Array,
    covariance: Array,
    residual: float,
    samples: int,
) -> PayloadEstimate:
    """Returns the estimate for parameters (10) with a covariance (10, 10).

    Args:
        frame, residual, samples: see ``PayloadEstimate``.
        pi, covariance: parameters in the frame, about its origin, and their covariance.

    Raises:
        NotIdentifiableError: the mass is not determined.
    """
    deviation = math.sqrt(covariance[0, 0])
    is_observable = deviation < OBSERVABLE_MASS * max(pi[0], MIN_MASS)
    if not is_observable and deviation > max(pi[0], MIN_MASS):
        raise NotIdentifiableError(
            f'the samples do not determine the mass: {pi[0]:.2f} kg with a deviation of '
            f'{deviation:.2f} kg; move the joints that carry the payload'
        )
    possible = _possible(pi, deviation)
    mass, (center, inertia) = float(possible[0]), np.split(_center_and_inertia(possible), [3])
    step = 1e-6 * max(mass, MIN_MASS)
    ends = (_center_and_inertia(possible + sign * step * np.eye(10)) for sign in (1.0, -1.0))
    J = np.subtract(*ends).T / (2.0 * step)
    spread = np.sqrt(np.maximum(np.einsum('ij,jk,ik->i', J, covariance, J), 0.0))
    # A first moment that was left out is an error of the centre.
    center_deviation = np.hypot(spread[:3], pi[1:4] / mass - center)
    inertia_deviation = spread[3:].reshape(3, 3)
    observable = inertia_deviation < mass * OBSERVABLE_LENGTH**2
    return PayloadEstimate(
        frame=frame,
        mass=mass,
        center_of_mass=center,
        inertia=inertia.reshape(3, 3) * observable.any(),
        mass_deviation=deviation,
        center_of_mass_deviation=center_deviation,
        inertia_deviation=inertia_deviation,
        mass_observable=bool(is_observable),
        # A massless payload has no centre of mass.
        center_of_mass_observable=(center_deviation < OBSERVABLE_LENGTH) & (mass > deviation),
        inertia_observable=observable,
        residual=residual,
        samples=samples,
    )


def parameter_map(robot: Robot, frame: str) -> Array:
    """Returns the map (10, 10) from parameters in a frame to those in the body that carries it."""
    placement = robot.model.frame(frame).placement
    # ``Inertia`` loses the first moment of a massless body: add each parameter to a unit mass.
    base = np.eye(10)[0]
    moved = [placement.act(Inertia.from_array(base + unit)).array() for unit in np.eye(10)]
    return np.array(moved).T - placement.act(Inertia.from_array(base)).array()[:, np.newaxis]


def _center_and_inertia(pi: Array) -> Array:
    """Returns centre of mass, and inertia about it, row by row (..., 12)."""
    body = Inertia.from_array(pi)
    numbers = [*body.center, *(x for row in body.rotational for x in row)]
    return np.stack(np.broadcast_arrays(*numbers), axis=-1)


def _possible(pi: Array, deviation: float) -> Array:
    """Returns ``pi``, or possible parameters with the same mass and first moment.

    Args:
        pi: (10) parameters.
        deviation: that of the mass [kg]; a mass that it exceeds stays at the origin, because an
            unknown centre far away would mean a large inertia.
    """
    if pi[0] <= deviation:
        return max(float(pi[0]), 1e-3 * deviation) * np.eye(10)[0]
    center, inertia = np.split(_center_and_inertia(pi), [3])
    values, vectors = np.linalg.eigh(inertia.reshape(3, 3))
    # Second moments of the mass along the principal axes: the triangle inequality.
    moments = np.maximum(0.5 * values.sum() - values, 0.0)
    inertia = (vectors * (moments.sum() - moments)) @ vectors.T
    return Inertia(float(pi[0]), Vector3(*center), Matrix3(inertia)).array()
