# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pose and twist of a floating base from an IMU and from feet that stand on the ground.

A contact-aided invariant extended Kalman filter ([Hartley2020]). Between samples of the IMU the
orientation, velocity and position of its frame are integrated; a foot in contact does not move but
rolls, and forward kinematics say where it is. The error is right-invariant: with X the matrix of
orientation, velocity, position and feet, X_estimated = exp(xi) X_true, so that the linearization
does not depend on the estimate, and a wrong start converges. Position and yaw cannot be observed;
their deviations grow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, finite_vector

from .legged import FootContactEstimator, feet_of
from .observers import MomentumObserver
from .wrench import frame_list

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

UP = np.array([0.0, 0.0, 1.0])

START = 100_000_000
"""Time over which the first samples of the IMU are averaged for the direction of gravity [ns]."""

MAX_GAP = 100_000_000
"""Longest time between samples of the IMU, or between it and joint states [ns]."""

LARGEST_RATE, LARGEST_FORCE = 100.0, 500.0
"""Largest readings that an IMU has [rad/s, m/s^2]."""

BLOW = 30.0
"""Change of the specific force between two readings beyond which its mean is not known [m/s^2]."""

LEVEL = 0.05
"""Largest relative difference of the mean specific force from gravity at the start."""

SPACING = 4_000_000
"""Shortest time between two corrections [ns]; between them the IMU is integrated."""

OUTLIER = 16.0
"""Squared distance, in deviations, above which the position of a foot is not used: it slips."""

SLIDING = 0.1
"""Speed above which a foot that has slipped slides on and is not used [m/s]."""

GAIN = 200.0
"""Gain of the observer that finds the loads of the feet [1/s]: a foot that is lifted still seems to
carry for a few of its time constants."""

SETTLED = 50_000_000
"""Time from the start of the observer after which the loads are known [ns]."""

LOAD = 0.3
"""Share of the weight over the number of feet that a standing foot has to carry."""

GYROSCOPE, ACCELEROMETER = 1e-3, 1e-2
"""Noise densities of the IMU [rad/s/sqrt(Hz), m/s^2/sqrt(Hz)]."""

GYROSCOPE_DRIFT, ACCELEROMETER_DRIFT = 1e-5, 1e-4
"""Random walk of the biases [rad/s^2/sqrt(Hz), m/s^3/sqrt(Hz)]."""

SLIP, FOOT_POSITION = 0.01, 0.003
"""Random walk of a foot in contact [m/s/sqrt(Hz)]; deviation of its position by forward kinematics
[m]."""

ROTATION, VELOCITY, POSITION = slice(0, 3), slice(3, 6), slice(6, 9)
"""Entries of the error; then come the feet, and the biases of gyroscope and accelerometer."""

RATE = slice(-6, -3)
"""Entries of the bias of the gyroscope."""

SKEW = np.cross(np.eye(3), np.eye(3)[:, np.newaxis]).swapaxes(1, 2)
"""(3, 3, 3) (v @ SKEW) @ u is v x u."""


@dataclass(frozen=True, eq=False)
class BaseEstimate:
    """State of a floating base.

    Attributes:
        q: (7) position and quaternion of the root link in the frame in which the robot started: on
            the ground, with z up and x forward [m].
        v: (6) linear and angular velocity in axes of the root link [m/s, rad/s].
        pose_covariance: (6, 6) of position and orientation, in axes of that frame [m^2, rad^2].
        twist_covariance: (6, 6) of v.
    """

    q: Array
    v: Array
    pose_covariance: Array
    twist_covariance: Array


class LoadedFeet:
    """Which feet carry the robot, by its joint torques and a momentum observer."""

    def __init__(self, robot: Robot, feet: Sequence[str]) -> None:
        """Create an observer that settles within ``SETTLED``; arguments as of ``BaseEstimator``."""
        self._observer = MomentumObserver(robot, GAIN)
        self._feet = FootContactEstimator(robot, feet)
        self._gravity = robot.model.gravity.array()
        self._least = LOAD * robot.total_mass * float(np.linalg.norm(self._gravity)) / len(feet)
        self._began = 0

    def update(
        self, stamp: int, estimate: BaseEstimate, q: Array, v: Array, effort: Array
    ) -> Mask | None:
        """Process a joint state; return the feet (n) that carry, None until it has settled.

        Args:
            stamp: ns.
            estimate: the base.
            q, v, effort: (nq), (nv), (nv) configuration, velocity and torques; the base in them is
                ignored [Nm or N].
        """
        self._began = self._began or stamp
        q, v = np.concatenate([estimate.q, q[7:]]), np.concatenate([estimate.v, v[6:]])
        forces = self._feet.update(q, v, self._observer.update(stamp, q, v, effort)).forces
        if stamp - self._began <= SETTLED:
            return None
        loads = -forces @ self._gravity / np.linalg.norm(self._gravity)
        return np.asarray(loads > self._least)


class BaseEstimator:
    """Filter of a legged robot.

    Attributes:
        robot: the robot.
        feet: frames of the feet.
        foot_radius: radius of spherical feet [m].
        imu_frame: frame of the IMU.
        stamp: stamp of the newest sample of the IMU [ns]; 0 without one.
        waiting: why there is no estimate; '' if there is one.

    ``robot`` may be exchanged for one with the same joints, and ``foot_radius`` may be changed.
    """

    def __init__(
        self,
        robot: Robot,
        feet: Sequence[str],
        imu_frame: str,
        *,
        foot_radius: float = 0.0,
    ) -> None:
        """Create a filter that starts with the next samples.

        Args:
            robot: the robot, with a floating base.
            feet: frames of the feet, at their points of contact or, with a radius, their centres.
            imu_frame: frame of the IMU, fixed to the root link.
            foot_radius: radius of spherical feet, which roll on the ground [m].

        Raises:
            UnknownFrameError: a frame that the robot does not have.
            InvalidArgumentError: a robot without a floating base, an IMU on another link, or a
                value out of range.
        """
        self.feet = feet_of(robot, 'feet', feet)
        check_not_negative('foot_radius', foot_radius)
        frame_list(robot, 'imu_frame', [imu_frame])
        root = robot.neutral()
        placed, moved = (
            robot.forward_kinematics(robot.integrate(root, step), imu_frame)
            for step in (np.zeros(robot.nv), np.r_[np.zeros(6), np.ones(robot.nv - 6)])
        )
        if not np.allclose(placed, moved):
            expected = 'a frame that is fixed to the root link'
            raise InvalidArgumentError('imu_frame', f'{imu_frame!r} is on a joint', expected)
        self.robot, self.foot_radius = robot, float(foot_radius)
        self._R_BI, self._p_BI = placed[:3, :3], placed[:3, 3]
        self._q, self.imu_frame = root, imu_frame
        # Of the position of each foot in the frame of the IMU: H xi.
        n = len(self.feet)
        H = np.zeros((n, 3, 15 + 3 * n))
        H[..., POSITION] = -np.eye(3)
        H[..., 9:-6] = np.eye(3 * n).reshape(n, 3, 3 * n)
        self._H = H
        self.reset()

    def reset(self) -> None:
        """Forget everything; the filter starts again with the next samples."""
        self.waiting = 'no sample of the IMU yet'
        self.stamp = 0
        self._first: deque[tuple[int, Array, Array]] = deque()
        self._started = False
        self._corrected = self._slipped = 0
        self._slides = self._standing = np.zeros(len(self.feet), dtype=bool)
        self._turned: Array | None = None

    def add_imu(self, stamp: int, angular_velocity: ArrayLike, specific_force: ArrayLike) -> None:
        """Integrate a sample of the IMU, in its axes.

        Args:
            stamp: ns; a sample that is not newer than the last one is ignored, and after a longer
                gap than 0.1 s the filter starts again.
            angular_velocity: (3) rad/s.
            specific_force: (3) acceleration minus gravity: +9.81 upwards at rest [m/s^2].

        Raises:
            InvalidArgumentError: a wrong shape, NaN, or more than an IMU can measure.
        """
        w = finite_vector('angular_velocity', angular_velocity, 3)
        f = finite_vector('specific_force', specific_force, 3)
        for name, vector, most in (
            ('angular_velocity', w, LARGEST_RATE),
            ('specific_force', f, LARGEST_FORCE),
        ):
            if np.abs(vector).max() > most:
                expected = f'at most {most:g}, in rad/s or m/s^2'
                raise InvalidArgumentError(name, f'{np.abs(vector).max():g}', expected)
        elapsed = stamp - self.stamp
        if self.stamp and abs(elapsed) > MAX_GAP:
            self.reset()
            self.waiting = 'the IMU paused or its clock was set'
        elif self.stamp and elapsed <= 0:
            return
        self.stamp = stamp
        if self._started:
            self._integrate(w, f, 1e-9 * elapsed)
        else:
            self._first.append((stamp, w, f))
            while len(self._first) > 1 and stamp - self._first[1][0] >= START:
                self._first.popleft()

    def update(self, stamp: int, q: ArrayLike, in_contact: ArrayLike) -> BaseEstimate | None:
        """Correct the state by the feet that stand, and return it.

        Args:
            stamp: stamp of the joint state [ns].
            q: (nq) configuration, whose base is ignored.
            in_contact: (n) which feet stand on the ground.

        Returns:
            The estimate at the newest sample of the IMU; None, with ``waiting``, if there is none.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        joints = finite_vector('q', q, self.robot.nq)
        standing = np.asarray(in_contact, dtype=bool)
        if standing.shape != self._standing.shape:
            shapes = f'shape {standing.shape}', f'({len(self.feet)},), one for each foot'
            raise InvalidArgumentError('in_contact', *shapes)
        self._q[7:] = joints[7:]
        # Poses of the feet in the frame of the IMU.
        placed = self.robot.forward_kinematics(self._q, list(self.feet))
        places = (placed[:, :3, 3] - self._p_BI) @ self._R_BI
        turns = self._R_BI.T @ placed[:, :3, :3]
        if not self.stamp:
            return None
        if abs(stamp - self.stamp) > MAX_GAP:
            self.waiting = (
                f'joint states and IMU are {1e-9 * (stamp - self.stamp):+.2f} s apart; expected '
                'at most 0.1 s'
            )
            return None
        if not self._started:
            if self.stamp - self._first[0][0] < START or not standing.any():
                self.waiting = 'the robot has to stand on a foot for 0.1 s'
                return None
            force = np.mean([f for *_, f in self._first], axis=0)
            g = float(np.linalg.norm(self.robot.model.gravity.array()))
            if abs(np.linalg.norm(force) / g - 1.0) > LEVEL:
                size = f'{np.linalg.norm(force):.2f} m/s^2'
                self.waiting = f'the specific force is {size}; expected about {g:.2f} at rest'
                return None
            self._start(force / np.linalg.norm(force), places[standing])
        self.waiting = ''
        self._roll(turns)
        if self.stamp - self._corrected >= SPACING or (standing != self._standing).any():
            elapsed, self._corrected = self.stamp - self._corrected, self.stamp
            self._correct(places, standing, 1e-9 * elapsed)
            if self._slipped > 2 or not np.isfinite(self._P).all():
                self.reset()
                self.waiting = 'the feet contradict the IMU: the estimate starts anew at rest'
                return None
        return self.estimate()

    def _start(self, up: Array, places: Array) -> None:
        """Start at rest, level by the direction of the force, above the lowest foot that stands."""
        _, self._rate, self._force = self._first[-1]
        self._rate_variance = 0.0
        self._first.clear()
        # The x axis of the root link points forward, as level as it can be; else its z axis.
        forward = self._R_BI.T[:, 0] if abs(self._R_BI.T[:, 0] @ up) < 0.9 else self._R_BI.T[:, 2]
        x = forward - (forward @ up) * up
        x = x / np.linalg.norm(x)
        self._R = np.array([x, np.cross(up, x), up])
        p = self._R @ self._R_BI.T @ self._p_BI
        p[2] = self.foot_radius - (places @ self._R.T)[:, 2].min()
        # Velocity and position of the frame of the IMU, positions of the feet.
        self._X = np.array([np.zeros(3), p, *[p] * len(self.feet)])
        self._biases = np.zeros(6)
        deviations = [0.1, 0.1, 1e-4, *[0.3] * 3, *[1e-3] * 3]
        feet, biases = [1.0] * (3 * len(self.feet)), [0.02] * 3 + [0.1] * 3
        self._P = np.diag(np.square([*deviations, *feet, *biases]))
        self._started = True

    def _integrate(self, w: Array, f: Array, dt: float) -> None:
        """Predict by the mean rate and force since the last sample ([Hartley2020] section V)."""
        # A blow is sampled badly: between two readings the force may have been either.
        change = max(float(np.linalg.norm(f - self._force)) - BLOW, 0.0)
        self._rate, self._force, self._rate_variance = w, f, GYROSCOPE**2 / dt
        gravity = self.robot.model.gravity.array()
        (rate, force), R, size = np.split(np.r_[w, f] - self._biases, 2), self._R, len(self._P)
        # The error: xi' = A xi + Ad w.
        Ad = np.zeros((size, 6))
        Ad[ROTATION, :3] = Ad[VELOCITY, 3:] = R
        Ad[3:-6, :3] = (self._X @ SKEW @ R).swapaxes(0, 1).reshape(-1, 3)
        A = np.zeros((size, size))
        A[VELOCITY, ROTATION], A[POSITION, VELOCITY] = gravity @ SKEW, np.eye(3)
        A[:, -6:] = -Ad
        F = np.eye(size) + dt * A
        F[POSITION, ROTATION] += 0.5 * dt * dt * A[VELOCITY, ROTATION]
        Ad *= np.repeat([GYROSCOPE, ACCELEROMETER], 3)
        self._P = F @ self._P @ F.T + dt * (Ad @ Ad.T)
        self._P[VELOCITY, VELOCITY] += (dt * change) ** 2 * np.eye(3)
        walk = np.r_[[0.0] * 3, SLIP * self._standing, GYROSCOPE_DRIFT, ACCELEROMETER_DRIFT]
        self._P.flat[:: size + 1] += dt * np.repeat(walk * walk, 3)
        half = Rotation.from_rotvec(0.5 * dt * rate).as_matrix()
        acceleration = R @ half @ force + gravity
        self._X[1] += dt * self._X[0] + 0.5 * dt * dt * acceleration
        self._X[0] += dt * acceleration
        self._R = R @ half @ half

    def _roll(self, turns: Array) -> None:
        """Move the centres of spherical feet as they roll by their rotations in the IMU's frame."""
        turned, before = self._R @ turns, self._turned
        self._turned = turned
        if before is None or not self.foot_radius:
            return
        for i in np.flatnonzero(self._standing):
            phi = Rotation.from_matrix(turned[i] @ before[i].T).as_rotvec()
            self._X[2 + i] += self.foot_radius * np.cross(phi, UP)

    def _correct(self, places: Array, standing: Mask, elapsed: float) -> None:
        """Correct by the places of the feet (n, 3) in the frame of the IMU, after a time [s]."""
        R, X, H = self._R, self._X, self._H
        noise = FOOT_POSITION**2 * np.eye(3)
        known, slid, self._standing = standing & self._standing, self._slides, standing
        placed = places @ R.T + X[1]
        z = placed - X[2:]
        S = H @ self._P @ H.swapaxes(1, 2) + noise
        far = (z * np.linalg.solve(S, z[..., np.newaxis])[..., 0]).sum(axis=1) > OUTLIER
        fast = np.linalg.norm(z, axis=1) > SLIDING * elapsed
        self._slides = known & np.where(slid, fast, far)
        used = known & ~slid & ~far
        # Forward kinematics say where another foot stands.
        for i in np.flatnonzero(standing & ~used).tolist():
            rows = slice(9 + 3 * i, 12 + 3 * i)
            X[2 + i] = placed[i]
            self._P[rows] = self._P[POSITION]
            self._P[:, rows] = self._P[:, POSITION]
            self._P[rows, rows] = self._P[POSITION, POSITION] + noise
        if not known.any():
            return
        self._slipped = self._slipped + 1 if self._slides[known].all() else 0
        if not used.any():
            return
        H = H[used].reshape(-1, len(self._P))
        PH = self._P @ H.T
        K = np.linalg.solve(H @ PH + noise[0, 0] * np.eye(len(H)), PH.T).T
        self._P -= K @ PH.T
        self._P = 0.5 * (self._P + self._P.T)
        # Change the state by exp(xi), to second order in a small correction.
        xi = K @ z[used].ravel()
        rotation = Rotation.from_rotvec(xi[ROTATION]).as_matrix()
        self._R = rotation @ R
        self._X = X @ rotation.T + xi[3:-6].reshape(-1, 3)
        self._biases = self._biases + xi[-6:]

    def estimate(self) -> BaseEstimate | None:
        """Return pose and twist at the newest sample of the IMU; None before the start."""
        if not self._started:
            return None
        R = self._R @ self._R_BI.T
        p = self._X[1] - R @ self._p_BI
        w = self._R_BI @ (self._rate - self._biases[:3])
        linear = R.T @ self._X[0] - np.cross(w, self._p_BI)
        # Errors in axes of the world: of the position xi_p + xi_R x p, of the velocity xi_v.
        P = self._P
        J, T = np.zeros((2, 6, len(P)))
        J[:3, ROTATION], J[:3, POSITION], J[3:, ROTATION] = -(p @ SKEW), np.eye(3), np.eye(3)
        T[:3, VELOCITY], T[:3, RATE], T[3:, RATE] = R.T, -(self._p_BI @ SKEW), -np.eye(3)
        T[:, RATE] = T[:, RATE] @ self._R_BI
        N = T[:, RATE]  # of the reading itself
        return BaseEstimate(
            np.concatenate([p, Rotation.from_matrix(R).as_quat()]),
            np.concatenate([linear, w]),
            J @ P @ J.T,
            T @ P @ T.T + self._rate_variance * N @ N.T,
        )
