# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Force-torque sensor in front of a load: what it reads of the load, and what remains.

Forces and torques (f, t) at the origin S of the sensor's frame, on the load behind it, which has
mass m and centre of mass c. With the bias b of the readings w and the sign s of the driver,

    s w - b = (f, t) + (m g, c x m g) - d/dt (P, L) - (0, v_S x P),

where (f, t) is the wrench of the environment, P = m v_c the momentum of the load and L = c x P its
angular momentum about S (that about c is neglected). At rest this is linear in m, m c and b
([Atkeson1986], section 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_positive, finite_vector

from .payload_identification import (
    MAX_STATIC_SPEED,
    PRIOR,
    NotIdentifiableError,
    PayloadEstimate,
    estimate_of,
    solve,
)
from .uncertainty.thresholds import motion_scales

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

SETTLING = 0.2
"""Time at rest before the first reading that counts [s]: arms swing, and drivers filter."""

MIN_SAMPLES, MAX_SAMPLES = 10, 2000
"""Least and largest number of readings of a posture; further ones change their median little."""

SAME_POSTURE = math.radians(2.0)
"""Rotation of gravity in the sensor's axes up to which readings are of one posture [rad]."""

MIN_TURN = math.radians(20.0)
"""Rotation of gravity in the sensor's axes that makes another posture [rad]."""

NORMAL = 1.4826
"""Standard deviation of a normal distribution over the median of its absolute deviations."""

MIN_POSTURES = 4
"""Number of postures: three determine mass, centre and bias, and a fourth contradicts a mistake."""

MAX_MISFIT = 0.1
"""Largest residual of the forces, as a share of the weight, that is a weight."""

MIN_MISFIT = 1.0
"""Residual of the forces that is never refused [N]."""

MAX_BIAS = 1e3
"""Prior standard deviation of a bias [N, Nm]."""

MAX_GAP = 0.1
"""Longest time between two states over which momentum is compared [s]."""

LEVER = 0.1
"""Torque that is a contact, over the force that is one [m]."""

RELEASE = 0.6
"""Share of the force of a contact below which it ends."""


class Place(Enum):
    """Where sensor and joint torques, compared, show a contact."""

    NOWHERE = 'none'
    BEHIND = 'behind the sensor'
    BEFORE = 'between base and sensor'
    BOTH = 'on both sides of the sensor'
    CONTRADICTED = 'of the sensor alone: joint torques do not show it'


@dataclass(frozen=True)
class SensorLoad:
    """What a wrist sensor reads without contact.

    Attributes:
        mass: mass behind the sensor [kg].
        center_of_mass: its centre in the sensor's frame [m].
        bias: (6) force [N] and torque [Nm] that are subtracted, after ``reversed``.
        reversed: whether the driver states the wrench of the robot on the environment.
        noise: (6) standard deviation of one reading [N, Nm]; 0 if it is not known.
        bias_deviation: (6) standard deviation of the bias [N, Nm].
    """

    mass: float = 0.0
    center_of_mass: tuple[float, ...] = (0.0, 0.0, 0.0)
    bias: tuple[float, ...] = (0.0,) * 6
    reversed: bool = False
    noise: tuple[float, ...] = (0.0,) * 6
    bias_deviation: tuple[float, ...] = (0.0,) * 6


@dataclass(frozen=True, eq=False)
class SensorEstimate:
    """Identified load of a wrist sensor.

    Attributes:
        payload: mass and centre of mass in the sensor's frame; its residual is of the forces [N].
        load: the same with bias, sign and deviations.
    """

    payload: PayloadEstimate
    load: SensorLoad


class _Posture(NamedTuple):
    """Readings of a posture at rest, and gravity (3) in the sensor's axes."""

    gravity: Array
    readings: list[Array]


class WristSensorIdentifier:
    """Collects readings at rest and estimates mass, centre of mass, bias and sign."""

    def __init__(self, robot: Robot, frame: str, *, was_reversed: bool = False) -> None:
        """Creates an identifier without readings.

        Args:
            robot: the robot.
            frame: frame of the readings.
            was_reversed: sign to keep if the load is too light to tell it.

        Raises:
            UnknownFrameError: the frame does not exist.
            InvalidArgumentError: no joint turns the frame with respect to gravity.
        """
        self.robot, self.frame, self._was_reversed = robot, frame, was_reversed
        if not robot.model.ancestors(robot.model.frame(frame).body):
            raise InvalidArgumentError('frame', f'no joint moves {frame!r}', 'a frame that moves')
        self._gravity = np.array([*robot.model.gravity])
        self._still = MAX_STATIC_SPEED * motion_scales(robot)
        self._postures: list[_Posture] = []
        self._posture: _Posture | None = None
        self._rest_since, self._direction = 2**63, np.zeros(3)
        self.samples = 0

    @property
    def postures(self) -> int:
        """Number of postures whose gravity differs by ``MIN_TURN`` in the sensor's axes."""
        distinct: list[Array] = []
        for posture in self._complete():
            if all(_angle(posture.gravity, other) >= MIN_TURN for other in distinct):
                distinct.append(posture.gravity)
        return len(distinct)

    def add(self, stamp: int, q: ArrayLike, v: ArrayLike, wrench: ArrayLike) -> bool:
        """Adds a reading; returns whether the robot has been at rest, so that it counts.

        Args:
            stamp: ns.
            q, v: configuration (nq) and velocity (nv).
            wrench: (6) reading of the sensor [N, Nm].

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        q, v = finite_vector('q', q, self.robot.nq), finite_vector('v', v, self.robot.nv)
        reading = finite_vector('wrench', wrench, 6)
        rotation = self.robot.forward_kinematics(q, self.frame)[:3, :3]
        gravity = rotation.T @ self._gravity
        moving = (np.abs(v) > self._still).any() or stamp < self._rest_since
        if moving or _angle(gravity, self._direction) > SAME_POSTURE:
            self._rest_since, self._direction, self._posture = stamp, gravity, None
        if stamp - self._rest_since < SETTLING * 1e9:
            return False
        if self._posture is None:
            self._posture = _Posture(gravity, [])
            self._postures.append(self._posture)
        if len(self._posture.readings) < MAX_SAMPLES:
            self._posture.readings.append(reading)
            self.samples += 1
        return True

    def _complete(self) -> list[_Posture]:
        return [each for each in list(self._postures) if len(each.readings) >= MIN_SAMPLES]

    def estimate(self) -> SensorEstimate:
        """Returns the load that explains the readings best.

        Raises:
            NotIdentifiableError: too few postures, or readings that no load explains.
        """
        if self.postures < MIN_POSTURES:
            raise NotIdentifiableError(
                f'{self.postures} postures at rest; {MIN_POSTURES} are needed between which '
                f'gravity turns by {math.degrees(MIN_TURN):.0f} degrees in the axes of '
                f'{self.frame!r}'
            )
        postures = self._complete()
        gravity = np.array([each.gravity for each in postures])
        # Medians: readings of the beginning of a motion may come before its joint states.
        middle = np.array([np.median(each.readings, axis=0) for each in postures])
        distances = [
            np.median(np.abs(each.readings - center), axis=0)
            for each, center in zip(postures, middle, strict=True)
        ]
        noise = NORMAL * np.mean(distances, axis=0)
        # Columns of mass and first moment, of which e_i x g is the moment of the weight.
        columns = np.zeros((2, len(postures), 3, 4))
        columns[0, ..., 0] = gravity
        columns[1, ..., 1:] = np.cross(np.eye(3), gravity[:, np.newaxis]).swapaxes(1, 2)
        # Those of few postures may fit by chance: not better than the noise of the medians.
        least = np.sqrt(np.square(noise).reshape(2, 3).mean(axis=1))
        least *= math.sqrt(0.5 * math.pi * len(postures) / self.samples)
        solution = solve(
            (columns * PRIOR[:4]).reshape(2, -1, 4),
            np.tile(MAX_BIAS * np.eye(3), (2, len(postures), 1)),
            middle.reshape(-1, 2, 3).swapaxes(0, 1).reshape(2, -1),
            least + 1e-3,
            least=least,
        )
        pi = PRIOR * np.concatenate([solution.shared, np.zeros(6)])
        covariance = np.diag(PRIOR**2)
        covariance[:4, :4] *= solution.covariance[0, :4, :4]
        mass, deviation = float(pi[0]), math.sqrt(covariance[0, 0])
        misfit = float(np.sqrt(np.mean(solution.residual[0] ** 2)))
        weight = abs(mass) * float(np.linalg.norm(self._gravity))
        if misfit > max(MAX_MISFIT * weight, MIN_MISFIT):
            raise NotIdentifiableError(
                f'forces deviate by {misfit:.2g} N from those of a mass of {abs(mass):.2g} kg: '
                f'check that the readings are in the axes of {self.frame!r}, and that nothing '
                'touches or pulls the load, such as a cable'
            )
        is_reversed = mass < 0.0 if abs(mass) > 3.0 * deviation else self._was_reversed
        sign = -1.0 if is_reversed else 1.0
        payload = estimate_of(self.frame, sign * pi, covariance, misfit, self.samples)
        bias = sign * MAX_BIAS * solution.own.ravel()
        of_bias = solution.covariance.diagonal(axis1=1, axis2=2)[:, 4:].ravel()
        bias_deviation = MAX_BIAS * np.sqrt(of_bias)
        center, *numbers = (
            tuple(x.tolist()) for x in (payload.center_of_mass, bias, noise, bias_deviation)
        )
        load = SensorLoad(payload.mass, center, numbers[0], is_reversed, *numbers[1:])
        return SensorEstimate(payload, load)


def _angle(a: Array, b: Array) -> float:
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))


def _cross(a: Array, b: Array) -> Array:
    """Returns a x b of two vectors (3); ``np.cross`` takes far longer."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


class WristSensor:
    """Wrench of the environment from the readings: without bias, weight and inertia of the load.

    A first-order low-pass filter of the equation of the module; since it filters the derivative of
    the momentum too, no acceleration is needed, as in a momentum observer.

    Attributes:
        load: what is subtracted; may be replaced at any time.
        wrench: (6) latest wrench at the frame's origin in its axes [N, Nm]; NaN before the first.
        touched: whether it is a contact.
        variance: (6) of the noise of ``wrench`` [N^2, Nm^2].
    """

    def __init__(self, robot: Robot, frame: str, load: SensorLoad, gain: float) -> None:
        """Creates it; ``frame`` of the readings, ``gain`` is the bandwidth of the filter [1/s].

        Raises:
            UnknownFrameError: the frame does not exist.
            InvalidArgumentError: the gain is not positive.
        """
        check_positive('gain', gain)
        robot.model.frame(frame)
        self.robot, self.frame, self.load, self.gain = robot, frame, load, gain
        self._gravity = np.array([*robot.model.gravity])
        self.restart()

    def restart(self) -> None:
        """Forgets the past, after a gap or a change of the robot."""
        self.wrench = np.full(6, np.nan)
        self.touched = False
        self._filtered = np.zeros(6)
        self.variance = np.zeros(6)
        self._momentum = np.zeros(6)
        self._stamp: int | None = None

    @property
    def covariance(self) -> Array:
        """Covariance (6, 6) of ``wrench``: noise of the readings, and deviation of the bias.

        Errors of mass and centre of mass, and noise of the velocities, are not included.
        """
        return np.diag(self.variance + np.square(self.load.bias_deviation))

    def update(self, stamp: int, q: Array, v: Array, reading: Array, count: int = 1) -> Array:
        """Processes a reading with the state of its time; returns ``wrench``.

        Args:
            stamp: time of the state [ns].
            q, v: configuration (nq) and velocity (nv).
            reading: (6) mean of the readings since the last state [N, Nm].
            count: number of these readings.
        """
        load, robot = self.load, self.robot
        rotation = robot.forward_kinematics(q, self.frame)[:3, :3]
        twist = robot.frame_velocity(q, v, self.frame)
        center = rotation @ np.asarray(load.center_of_mass)
        # P and L, and what the sensor and gravity do to the load, in root axes about S.
        linear = load.mass * (twist[:3] + _cross(twist[3:], center))
        momentum = np.concatenate([linear, _cross(center, linear)])
        measured = (-reading if load.reversed else reading) - np.asarray(load.bias)
        weight = load.mass * self._gravity
        known = np.concatenate(
            [
                weight - rotation @ measured[:3],
                _cross(center, weight) - rotation @ measured[3:] - _cross(twist[:3], linear),
            ]
        )
        dt = MAX_GAP if self._stamp is None else (stamp - self._stamp) * 1e-9
        noise = np.square(load.noise) / count
        if 0.0 < dt < MAX_GAP:
            share = -math.expm1(-self.gain * dt)
            rate = (momentum - self._momentum) / dt
            self._filtered = self._filtered + share * (rate - known - self._filtered)
            self.variance = (1.0 - share) ** 2 * self.variance + share**2 * noise
        elif dt:
            self._filtered, self.variance = -known, noise
        self._momentum, self._stamp = momentum, stamp
        self.wrench = np.concatenate(
            [rotation.T @ self._filtered[:3], rotation.T @ self._filtered[3:]]
        )
        return self.wrench

    def touches(self, force: float) -> bool:
        """Updates and returns ``touched`` for the least force of a contact [N]."""
        size = max(np.linalg.norm(self.wrench[:3]), np.linalg.norm(self.wrench[3:]) / LEVER)
        self.touched = bool(size > (RELEASE * force if self.touched else force))
        return self.touched

    def compared(self, q: Array, external: Array, thresholds: Array) -> Place:
        """Returns where a contact is, by ``touched`` and the external torques of an observer.

        Args:
            q: (nq) configuration.
            external: (nv) tared external torques [Nm or N].
            thresholds: (nv) those of a contact [Nm or N].
        """
        above = np.abs(external) > thresholds
        if not self.touched:
            return Place.BEFORE if above.any() else Place.NOWHERE
        jacobian = self.robot.jacobian(q, self.frame, reference='local')
        torques = jacobian.T @ self.wrench
        if not (np.abs(external - torques) > thresholds).any():
            return Place.BEHIND
        shown = np.abs(torques) > 2.0 * thresholds
        return Place.CONTRADICTED if shown.any() and not above[shown].any() else Place.BOTH
