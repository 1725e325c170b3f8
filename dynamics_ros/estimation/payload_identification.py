# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of a payload from joint torques in motion or in static postures ([Atkeson1986]).

Torques are linear in the ten inertial parameters pi of the payload,

    tau - tau_robot(q, v, a) = Y(q, v, a) pi,

and so are their means over short time windows. Means are used because the acceleration is a
difference quotient of noisy velocities: over a window its noise reduces to that of two samples, as
in the momentum form. Weighted least squares over the windows gives pi and its covariance; the
weights are the inverse standard deviations of the residual torques of each joint. Constant offsets
of the joint torques are fitted together with pi, because they would move its centre of mass. Window
means whose residuals are correlated in time count as fewer windows.

A pi that is physically impossible is replaced: a negative mass by none, an inertia about the centre
of mass that violates the triangle inequality by the nearest one whose pseudo-inertia is positive
semidefinite ([Rucker2022]).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.torque_observer import EFFORT_SAMPLINGS
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.multibody.arguments import finite_vector, per_entry
from dynamics_ros.spatial import Inertia

from .effort_model import EffortModel
from .uncertainty.thresholds import by_effort_limit

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

WINDOW, MAX_GAP = 100_000_000, 50_000_000
"""Averaging time, and longest time without samples within a window [ns]."""

LENGTH = 0.1
"""Length that scales parameters with a length to kg [m]."""

UNITS = np.array([1.0, *3 * [LENGTH], *6 * [LENGTH**2]])
"""Parameters of a body over their values in kg."""

PRIOR = 30.0
"""Prior standard deviation of each scaled parameter [kg]."""

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


class NotIdentifiableError(DynamicsRosError):
    """Raised if the samples do not determine the payload."""


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
        self._rows = np.array([i for i in sorted(set(moved)) if np.isfinite(noise[i])], dtype=int)
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
        gravity = None if efforts.includes_gravity else robot.gravity(q)
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
        pi, covariance, scatter = self._fitted(Y, torques, self._offset)
        if math.sqrt(covariance[0, 0]) >= OBSERVABLE_MASS * max(pi[0], MIN_MASS):
            # A single posture does not tell offsets from a weight.
            pi, covariance, scatter = self._fitted(Y, torques, 0.0 * self._offset)
        residual = float(np.sqrt(np.mean(scatter**2)))
        return estimate_of(self.frame, pi, covariance, residual, samples)

    def _fitted(self, Y: Array, torques: Array, offset: Array) -> tuple[Array, Array, Array]:
        """Returns parameters (10), their covariance (10, 10), and residuals of the rows.

        Args:
            Y: (windows, rows, 10) regressor.
            torques: (windows, rows) torques of the payload.
            offset: (rows) prior deviations of constant offsets; 0 for none.
        """
        # Offsets of the rows are further unknowns, scaled to the same prior deviation.
        offsets = np.broadcast_to(np.diag(offset / PRIOR), (len(Y), *2 * (Y.shape[1],)))
        Y = np.concatenate([Y / UNITS, offsets], axis=2)
        weights = 1.0 / self._noise
        for _ in range(3):
            x, _ = _solved(Y, torques, weights)
            left = torques - Y @ x
            scatter = np.sqrt(np.mean(left**2, axis=0))
            # A joint with a perfect fit must not get all the weight.
            weights = 1.0 / np.maximum(scatter, 1e-6 + 0.01 * scatter.max())
        factors = correlation_factors(left, np.ones(left.shape, dtype=bool), MAX_LAG)
        x, covariance = _solved(Y, torques, weights / np.sqrt(factors))
        return x[:10] / UNITS, covariance[:10, :10] / np.outer(UNITS, UNITS), scatter

    def _means(self) -> tuple[Array, Array, int]:
        """Returns Y (windows, rows, 10), torques of the payload, and the number of samples."""
        robot = self.robot
        regressors, torques, samples = [], [], 0
        for first, last in self._windows():
            block = np.array(self._samples[first : last + 1])
            stamps = np.array(self._stamps[first : last + 1])
            t = (stamps - stamps[0]) * 1e-9
            q, v, tau = np.split(block, [robot.nq, robot.nq + robot.nv], axis=1)
            a = np.gradient(v, t, axis=0, edge_order=1)
            own = robot.inverse_dynamics(q, v, a) + self._efforts.rotor_inertia * a
            Y = robot.regressor(q, v, a)[:, self._rows, self._columns] @ self._to_body
            steps = np.diff(t, prepend=0.0) / t[-1]
            # Trapezoidal rule: each sample has half of the steps before and after it.
            mean = 0.5 * (steps + np.append(steps[1:], 0.0))
            held = steps if self._held else mean
            torques.append(held @ tau[:, self._rows] - mean @ own[:, self._rows])
            regressors.append(np.einsum('t,tij->ij', mean, Y))
            samples += len(t)
        if not torques:
            raise NotIdentifiableError(
                f'{self.samples} samples make no window of {WINDOW * 1e-9:g} s without a '
                'gap: joint states have to come all the time'
            )
        return np.array(regressors), np.array(torques), samples

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
    values, vectors = np.linalg.eigh(covariance * np.outer(UNITS, UNITS))
    coloring = vectors * np.sqrt(np.maximum(values, 1e-16 * values[-1])) / UNITS[:, np.newaxis]
    deviation = float(np.linalg.norm(coloring[0]))
    is_observable = deviation < OBSERVABLE_MASS * max(pi[0], MIN_MASS)
    if not is_observable and deviation > max(pi[0], MIN_MASS):
        raise NotIdentifiableError(
            f'the samples do not determine the mass: {pi[0]:.2f} kg with a deviation of '
            f'{deviation:.2f} kg; move the joints that carry the payload'
        )
    possible = _possible(pi, deviation)
    mass, center, inertia = _split(possible)
    spread = np.linalg.norm(_split_derivative(possible) @ coloring, axis=1)
    # A first moment that was left out is an error of the centre.
    center_deviation = np.hypot(spread[:3], pi[1:4] / mass - center)
    inertia_deviation = spread[3:].reshape(3, 3)
    observable = inertia_deviation < mass * OBSERVABLE_LENGTH**2
    return PayloadEstimate(
        frame=frame,
        mass=mass,
        center_of_mass=center,
        inertia=inertia if observable.any() else np.zeros((3, 3)),
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


def _solved(Y: Array, torques: Array, weights: Array) -> tuple[Array, Array]:
    """Returns the unknowns (n) with a prior, and their covariance (n, n)."""
    weighted = Y * (weights**2)[:, np.newaxis]
    information = np.einsum('tij,tik->jk', weighted, Y)
    # Whitening by eigenvalues, since the variances of different directions differ by more than
    # double precision.
    values, vectors = np.linalg.eigh(information)
    coloring = vectors / (np.maximum(values, 0.0) + PRIOR**-2) ** 0.5
    covariance: Array = coloring @ coloring.T
    return coloring @ (coloring.T @ np.einsum('tij,ti->j', weighted, torques)), covariance


def correlation_factors(left: Array, counts: NDArray[np.bool_], memory: int) -> Array:
    """Returns how many times as large the variance of means is by correlations in time (columns).

    Args:
        left: (n, columns) residuals; 0 where they do not count.
        counts: (n, columns) whether they count.
        memory: largest lag over which correlations are summed, at most a quarter of n.
    """
    memory, total = min(memory, len(left) // 4), np.maximum(counts.sum(axis=0), 1)
    variance = np.maximum((left**2).sum(axis=0) / total, 1e-300)
    found = np.ones(left.shape[1])
    for lag in range(1, memory + 1):
        pairs = np.maximum((counts[lag:] & counts[:-lag]).sum(axis=0), 1)
        product = (left[lag:] * left[:-lag]).sum(axis=0) / pairs / variance
        # Correlations within the statistical error of independent residuals do not count.
        sure = np.maximum(np.abs(product) - 2.0 / np.sqrt(total), 0.0) * np.sign(product)
        found += 2.0 * (1.0 - lag / (memory + 1.0)) * sure
    return np.asarray(np.maximum(found, 1.0))


def parameter_map(robot: Robot, frame: str) -> Array:
    """Returns the map (10, 10) from parameters in a frame to those in the body that carries it."""
    placement = robot.model.frame(frame).placement
    # ``Inertia`` loses the first moment of a massless body: add each parameter to a unit mass.
    base = np.eye(10)[0]
    moved = [placement.act(Inertia.from_array(base + unit)).array() for unit in np.eye(10)]
    return np.array(moved).T - placement.act(Inertia.from_array(base)).array()[:, np.newaxis]


def _split(pi: Array) -> tuple[float, Array, Array]:
    """Returns mass, centre of mass, and inertia about it."""
    body = Inertia.from_array(pi)
    return float(pi[0]), np.array([*body.center]), np.array([[*row] for row in body.rotational])


def _split_derivative(pi: Array) -> Array:
    """Returns the derivative (12, 10) of centre and inertia, by central differences."""

    def parts(pi: Array) -> Array:
        return np.concatenate([part.ravel() for part in _split(pi)[1:]])

    step = 1e-6 * max(pi[0], MIN_MASS)
    return np.array([(parts(pi + s) - parts(pi - s)) / (2.0 * step) for s in step * np.eye(10)]).T


_PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def _basis() -> Array:
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for k in range(3):
        basis[1 + k, k, 3] = basis[1 + k, 3, k] = 1.0
    for k, (i, j) in enumerate(_PAIRS):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        basis[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return basis


BASIS = _basis()
"""(10, 4, 4) pseudo-inertias of a unit of each parameter."""


def pseudo_inertia(parameters: Array) -> Array:
    """Pseudo-inertias (..., 4, 4) of parameters (..., 10)."""
    P: Array = np.tensordot(parameters, BASIS, axes=1)
    return P


def parameters_of(P: Array) -> Array:
    """Parameters (..., 10) of pseudo-inertias (..., 4, 4)."""
    S = P[..., :3, :3]
    inertia = np.trace(S, axis1=-2, axis2=-1)[..., np.newaxis, np.newaxis] * np.eye(3) - S
    entries = [
        P[..., 3, 3],
        *(P[..., k, 3] for k in range(3)),
        *(inertia[..., i, j] for i, j in _PAIRS),
    ]
    return np.stack(entries, axis=-1)


def _possible(pi: Array, deviation: float) -> Array:
    """Returns ``pi``, or possible parameters with the same mass and first moment.

    Args:
        pi: (10) parameters.
        deviation: that of the mass [kg]; a mass that it exceeds stays at the origin, because an
            unknown centre far away would mean a large inertia.
    """
    if pi[0] <= deviation:
        return max(float(pi[0]), 1e-3 * deviation) * np.eye(10)[0]
    P = pseudo_inertia(pi)
    about_origin = np.outer(P[:3, 3], P[:3, 3]) / pi[0]
    values, vectors = np.linalg.eigh(P[:3, :3] - about_origin)
    if values[0] < 0.0:
        P[:3, :3] = (vectors * np.maximum(values, 0.0)) @ vectors.T + about_origin
    return parameters_of(P)
