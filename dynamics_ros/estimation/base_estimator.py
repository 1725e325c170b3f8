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

from .legged import FootContactEstimator
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
        model = robot.model
        if model.root_joint != 'floating':
            problem = f'its root joint is {model.root_joint}'
            raise InvalidArgumentError('robot', problem, "root_joint='floating'")
        self.feet = tuple(frame_list(robot, 'feet', feet))
        if not self.feet or len(set(self.feet)) < len(self.feet):
            raise InvalidArgumentError('feet', repr(self.feet), 'distinct frames, at least one')
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
        n = len(self.feet)
        self._feet_rows = [slice(9 + 3 * i, 12 + 3 * i) for i in range(n)]
        self._gyroscope, self._accelerometer = slice(9 + 3 * n, 12 + 3 * n), slice(12 + 3 * n, None)
        self.reset()

    @property
    def stamp(self) -> int:
        """Stamp of the newest sample of the IMU [ns]; 0 without one."""
        return self._stamp

    def reset(self) -> None:
        """Forget everything; the filter starts again with the next samples."""
        self.waiting = 'no sample of the IMU yet'
        self._stamp = 0
        self._first: deque[tuple[int, Array, Array]] = deque()
        self._started = False
        self._corrected = self._slipped = 0
        self._slides = np.zeros(len(self.feet), dtype=bool)
        self._standing = np.zeros(len(self.feet), dtype=bool)
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
        elapsed = stamp - self._stamp
        if self._stamp and abs(elapsed) > MAX_GAP:
            self.reset()
            self.waiting = 'the IMU paused or its clock was set'
        elif self._stamp and elapsed <= 0:
            return
        self._stamp = stamp
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
        if not self._stamp:
            return None
        if abs(stamp - self._stamp) > MAX_GAP:
            self.waiting = (
                f'joint states and IMU are {1e-9 * (stamp - self._stamp):+.2f} s apart; expected '
                'at most 0.1 s'
            )
            return None
        if not self._started:
            if self._stamp - self._first[0][0] < START or not standing.any():
                self.waiting = 'the robot has to stand on a foot for 0.1 s'
                return None
            force, g = np.mean([f for *_, f in self._first], axis=0), np.linalg.norm(self._gravity)
            if abs(np.linalg.norm(force) / g - 1.0) > LEVEL:
                size = f'{np.linalg.norm(force):.2f} m/s^2'
                self.waiting = f'the specific force is {size}; expected about {g:.2f} at rest'
                return None
            self._start(force / np.linalg.norm(force), places[standing])
        self.waiting = ''
        self._roll(turns)
        if self._stamp - self._corrected >= SPACING or (standing != self._standing).any():
            elapsed, self._corrected = self._stamp - self._corrected, self._stamp
            self._correct(places, standing, 1e-9 * elapsed)
            if self._slipped > 2 or not np.isfinite(self._P).all():
                self.reset()
                self.waiting = 'the feet contradict the IMU: the estimate starts anew at rest'
                return None
        return self.estimate()

    @property
    def _gravity(self) -> Array:
        return self.robot.model.gravity.array()

    # --- the filter -----------------------------------------------------------------------------

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
        self._v = np.zeros(3)
        height = self.foot_radius - (places @ self._R.T)[:, 2].min()
        self._p = self._R @ self._R_BI.T @ self._p_BI
        self._p[2] = height
        self._d = np.tile(self._p, (len(self.feet), 1))
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
        rate, force = w - self._biases[:3], f - self._biases[3:]
        R, v, p = self._R, self._v, self._p
        size = len(self._P)
        # The error: xi' = A xi + Ad w.
        A = np.zeros((size, size))
        A[VELOCITY, ROTATION] = _skew(self._gravity)
        A[POSITION, VELOCITY] = np.eye(3)
        Ad = np.zeros((size, 6))
        for rows, vector in zip(
            (VELOCITY, POSITION, *self._feet_rows), (v, p, *self._d), strict=True
        ):
            Ad[rows, :3] = _skew(vector) @ R
        Ad[ROTATION, :3] = Ad[VELOCITY, 3:] = R
        A[:, self._gyroscope], A[:, self._accelerometer] = -Ad[:, :3], -Ad[:, 3:]
        F = np.eye(size) + dt * A
        F[POSITION, ROTATION] += 0.5 * dt * dt * A[VELOCITY, ROTATION]
        self._P = F @ self._P @ F.T
        Ad[:, :3] *= GYROSCOPE
        Ad[:, 3:] *= ACCELEROMETER
        self._P += dt * (Ad @ Ad.T)
        self._P[VELOCITY, VELOCITY] += (dt * change) ** 2 * np.eye(3)
        walk = np.zeros(size)
        for rows, stands in zip(self._feet_rows, self._standing, strict=True):
            walk[rows] = SLIP if stands else 0.0
        walk[self._gyroscope] = GYROSCOPE_DRIFT
        walk[self._accelerometer] = ACCELEROMETER_DRIFT
        self._P.flat[:: size + 1] += dt * walk * walk
        half = Rotation.from_rotvec(0.5 * dt * rate).as_matrix()
        acceleration = R @ half @ force + self._gravity
        self._p = p + dt * v + 0.5 * dt * dt * acceleration
        self._v = v + dt * acceleration
        self._R = R @ half @ half

    def _roll(self, turns: Array) -> None:
        """Move the centres of spherical feet as they roll by their rotations in the IMU's frame."""
        turned, before = self._R @ turns, self._turned
        self._turned = turned
        if before is None or not self.foot_radius:
            return
        for i in np.flatnonzero(self._standing):
            phi = Rotation.from_matrix(turned[i] @ before[i].T).as_rotvec()
            self._d[i] += self.foot_radius * np.cross(phi, UP)

    def _correct(self, places: Array, standing: Mask, elapsed: float) -> None:
        """Correct by the places of the feet (n, 3) in the frame of the IMU, after a time [s]."""
        before, self._standing = self._standing, standing
        self._slides &= standing
        deviation = FOOT_POSITION**2
        for i in np.flatnonzero(standing & ~before).tolist():
            self._put_down(i, places[i], deviation)
        used = np.flatnonzero(standing & before).tolist()
        if not used:
            return
        z = (places[used] @ self._R.T + self._p) - self._d[used]
        rows = []
        for k, i in enumerate(used):
            H = np.zeros((3, len(self._P)))
            H[:, POSITION], H[:, self._feet_rows[i]] = -np.eye(3), np.eye(3)
            S = H @ self._P @ H.T + deviation * np.eye(3)
            if self._slides[i]:
                self._slides[i] = np.linalg.norm(z[k]) > SLIDING * elapsed
                self._put_down(i, places[i], deviation)
            elif z[k] @ np.linalg.solve(S, z[k]) > OUTLIER:
                self._slides[i] = True
                self._put_down(i, places[i], deviation)
            else:
                rows.append((H, z[k]))
        self._slipped = 0 if rows or not self._slides[used].all() else self._slipped + 1
        if not rows:
            return
        H, error = np.vstack([H for H, _ in rows]), np.concatenate([one for _, one in rows])
        PH = self._P @ H.T
        K = np.linalg.solve(H @ PH + deviation * np.eye(len(H)), PH.T).T
        self._P -= K @ PH.T
        self._P = 0.5 * (self._P + self._P.T)
        self._apply(K @ error)

    def _put_down(self, i: int, place: Array, variance: float) -> None:
        """Let foot i stand where forward kinematics say that it is."""
        rows = self._feet_rows[i]
        self._d[i] = self._R @ place + self._p
        self._P[rows] = self._P[POSITION]
        self._P[:, rows] = self._P[:, POSITION]
        self._P[rows, rows] = self._P[POSITION, POSITION] + variance * np.eye(3)

    def _apply(self, xi: Array) -> None:
        """Change the state by exp(xi), to second order in a small correction."""
        rotation = Rotation.from_rotvec(xi[ROTATION]).as_matrix()
        self._R = rotation @ self._R
        self._v = rotation @ self._v + xi[VELOCITY]
        self._p = rotation @ self._p + xi[POSITION]
        steps = np.array([xi[rows] for rows in self._feet_rows])
        self._d = self._d @ rotation.T + steps
        self._biases = self._biases + xi[-6:]

    def estimate(self) -> BaseEstimate | None:
        """Return pose and twist at the newest sample of the IMU; None before the start."""
        if not self._started:
            return None
        R_WI, p_WI = self._R, self._p
        R_IB = self._R_BI.T
        R = R_WI @ R_IB
        p = p_WI - R @ self._p_BI
        w = self._R_BI @ (self._rate - self._biases[:3])
        linear = R.T @ self._v - np.cross(w, self._p_BI)
        # Errors in axes of the world: of the position xi_p + xi_R x p, of the velocity xi_v.
        P = self._P
        J = np.zeros((6, len(P)))
        J[:3, ROTATION], J[:3, POSITION], J[3:, ROTATION] = -_skew(p), np.eye(3), np.eye(3)
        T = np.zeros((6, len(P)))
        T[:3, VELOCITY] = R.T
        T[:3, self._gyroscope] = -_skew(self._p_BI) @ self._R_BI
        T[3:, self._gyroscope] = -self._R_BI
        N = T[:, self._gyroscope]  # of the reading itself
        return BaseEstimate(
            np.concatenate([p, Rotation.from_matrix(R).as_quat()]),
            np.concatenate([linear, w]),
            J @ P @ J.T,
            T @ P @ T.T + self._rate_variance * N @ N.T,
        )


def _skew(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
