# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimator of external wrenches at frames; equations in ``algorithms/contact/wrench.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.wrench import NOISE_ROWS
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.kernels.program import Step
from dynamics_ros.multibody.arguments import check_positive, per_entry

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

LENGTH_SCALE, WRENCH_PRIOR = 0.3, 100.0
"""Lever arm that gives torques the same weight as forces [m]; standard deviation of a force in an
unobservable direction [N]."""

SINGULAR_THRESHOLD = 0.02
"""Default singular value below which a direction is damped [Nm per N]."""

USUAL_LENGTH = 1.0
"""Length of the links from the root to the contact frame, below which length scale and threshold
are proportionally smaller, as lever arms are [m]."""

LEAST_SHARE = 0.01
"""Least share of both, for a frame on the axes of all its joints."""


@dataclass(eq=False, slots=True)
class WrenchEstimate:
    """Wrench of the environment on the robot at one contact frame.

    Attributes:
        frame: contact frame.
        expressed_in: frame whose axes are used.
        wrench: (6) force [N], torque [Nm] about the reference point.
        reference_point: (3) coordinates in the frame ``expressed_in`` [m].
        covariance: (6, 6); an unobservable direction has the prior variance.
        flags: (7) 1 where fx fy fz tx ty tz are observable, then 1 if degraded.
        singular_values: of all contacts together, descending [Nm per N].
    """

    frame: str
    expressed_in: str
    wrench: Array
    reference_point: Array
    covariance: Array
    flags: Array
    singular_values: Array

    @property
    def observable(self) -> NDArray[np.bool_]:
        """(6) mask of observable fx fy fz tx ty tz; torques of a pure force are not observable."""
        return self.flags[:6] > 0.5

    @property
    def degraded(self) -> bool:
        """Whether a component of the wrench about the frame's origin is not observable."""
        return bool(self.flags[6] > 0.5)


class JointNoise:
    """Noise of the external torques of the joints that move a contact frame.

    Attributes:
        all_joints: kernel rows (NOISE_ROWS, nv) and number of joints used, if no joint is ignored.
    """

    def __init__(
        self,
        robot: Robot,
        frames: Sequence[str],
        effort_noise: ArrayLike,
        momentum_gain: ArrayLike,
        velocity_noise: ArrayLike,
    ) -> None:
        """Creates the noise rows.

        Args:
            robot: the robot.
            frames: contact frames.
            effort_noise, momentum_gain, velocity_noise: see ``WrenchEstimator``.

        Raises:
            InvalidArgumentError: a frame that no joint moves, or a value out of range.
        """
        self._support = moving(robot, frames)
        self._velocity_noise = per_entry('velocity_noise', velocity_noise, robot.nv, least=0.0)
        self.change(effort_noise, momentum_gain)

    def change(self, effort_noise: ArrayLike, momentum_gain: ArrayLike) -> None:
        """Changes the noise; arguments as of ``WrenchEstimator.change_noise``."""
        nv = len(self._support)
        noise = per_entry('effort_noise', effort_noise, nv, least=0.0, infinite=True)
        if not np.all(noise > 0.0):
            raise InvalidArgumentError('effort_noise', f'{noise.tolist()}', 'positive numbers')
        used = self._support & np.isfinite(noise)
        rows = np.zeros((NOISE_ROWS, nv))
        if used.any():
            # A geometric mean, which neither the most accurate nor the noisiest joint decides.
            rows[0, used] = np.exp(np.log(noise[used]).mean()) / noise[used]
        rows[1, used] = noise[used]
        rows[2, used] = per_entry('momentum_gain', momentum_gain, nv, least=0.0)[used]
        rows[3] = self._velocity_noise
        self.all_joints = rows, int(used.sum())

    def of(
        self, ignored: NDArray[np.bool_] | None, excess: Array | None = None
    ) -> tuple[Array, int]:
        """Returns kernel rows (NOISE_ROWS, nv) and the number of joints used.

        Args:
            ignored: (nv) mask of joints to exclude at this state.
            excess: (nv) deviation beyond the stated one, added to the covariance at this state.
        """
        rows, count = self.all_joints
        if ignored is None and excess is None:
            return rows, count
        rows = rows.copy()
        if excess is not None:
            rows[1] = np.where(rows[1] > 0.0, np.hypot(rows[1], excess), 0.0)
        if ignored is not None:
            rows[:3, ignored] = 0.0
            count = int(np.count_nonzero(rows[0]))
        return rows, count


class WrenchEstimator:
    """Estimates the wrenches at one or several contact frames from external joint torques.

    Several frames are simultaneous contacts that share the torques: their wrenches are separated as
    far as the joints can distinguish them.

    Attributes:
        frames: contact frames.
        axes: frame of the axes of each wrench.
        joint_count: number of joints used after ``prepare_step``, the length of
            ``singular_values``.
    """

    def __init__(
        self,
        robot: Robot,
        frames: str | Sequence[str],
        *,
        effort_noise: ArrayLike = 0.1,
        momentum_gain: ArrayLike = 0.0,
        velocity_noise: ArrayLike = 0.0,
        expressed_in: str | Sequence[str] | None = None,
        reference_points: ArrayLike | None = None,
        force_only: bool = False,
        singular_threshold: float | None = None,
    ) -> None:
        """Creates an estimator.

        Args:
            robot: the robot.
            frames: contact frames without repetition.
            effort_noise: standard deviation of an external torque, number or (nv), inf for an
                unused joint [Nm or N].
            momentum_gain: gain from momentum noise to the observer's estimate, its
                ``noise_gains(...).momentum``, number or (nv) [1/s].
            velocity_noise: standard deviation of the velocities that the observer receives, number
                or (nv) [rad/s or m/s].
            expressed_in: axes of the results, one frame or one per contact; None is the root frame.
            reference_points: reference points of the torques, (3) or (m, 3) in the contact frames
                [m]; None is the origin of each frame.
            force_only: the contacts are points at the frames' origins and transmit no torque.
            singular_threshold: singular value below which a direction is damped [Nm per N]; None:
                that of ``wrench_settings``.

        Raises:
            UnknownFrameError: a frame that the robot does not have.
            InvalidArgumentError: a frame that no joint moves, or a value out of range.
        """
        self._robot = robot
        self.frames = frame_list(robot, 'frames', frames)
        count = len(self.frames)
        if not count or len(set(self.frames)) < count:
            raise InvalidArgumentError('frames', repr(self.frames), 'distinct frames, at least one')
        axes = robot.root_frame if expressed_in is None else expressed_in
        self.axes = [axes] * count if isinstance(axes, str) else list(axes)
        if len(self.axes) != count:
            raise InvalidArgumentError('expressed_in', f'{len(self.axes)} frames', f'{count}')
        frame_list(robot, 'expressed_in', [a for a in self.axes if a != robot.root_frame])
        self._points = _points(reference_points, count)
        self._noise = JointNoise(robot, self.frames, effort_noise, momentum_gain, velocity_noise)
        self._rows = 3 if force_only else 6
        self._settings = wrench_settings(robot, self.frames)
        if singular_threshold is not None:
            check_positive('singular_threshold', singular_threshold)
            self._settings[1] = singular_threshold
        # In kernels '' is the root frame: the root of a fixed robot need not be a frame.
        names = [('' if a == robot.root_frame else a) for a in self.axes]
        self._options = [x for pair in zip(self.frames, names, strict=True) for x in pair]
        self._kernel: Kernel | None = None
        self._rows_of_noise, self.joint_count = np.zeros((NOISE_ROWS, robot.nv)), 0
        self._results: tuple[Array, ...] = ()

    def compile(self, *, wait: bool = False) -> None:
        """Compiles the kernel, which otherwise happens at the first estimate.

        Args:
            wait: return only once the kernel is ``ready``.
        """
        self._kernel = self._robot.kernel('contact_wrenches', str(self._rows), *self._options)
        if wait:
            self._kernel.wait()

    def change_noise(self, effort_noise: ArrayLike, momentum_gain: ArrayLike) -> None:
        """Changes the stated noise; arguments as at construction."""
        self._noise.change(effort_noise, momentum_gain)

    @property
    def ready(self) -> bool:
        """Whether compilation of the kernel has finished; until then estimates are slower."""
        return self._kernel is not None and self._kernel.ready

    def estimate(
        self,
        q: ArrayLike,
        external_torque: ArrayLike,
        ignored: NDArray[np.bool_] | None = None,
        excess: Array | None = None,
    ) -> tuple[WrenchEstimate, ...]:
        """Returns the wrenches in the order of the frames.

        Args:
            q: (nq) configuration.
            external_torque: (nv) tared torques of an observer [Nm or N].
            ignored: (nv) mask of joints to exclude at this state.
            excess: (nv) deviation of the torques beyond the stated one, added to the covariance at
                this state; the weights of the joints do not change.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        noise, joint_count = self._noise.of(ignored, excess)
        if self._kernel is None:
            self.compile()
        assert self._kernel is not None
        results = self._kernel.call(q, external_torque, self._points, noise, self._settings)
        return self._estimates(results, joint_count)

    def step(self, q: Array, external_torque: Array) -> Step:
        """Returns the estimation as a step of a program; ``latest`` returns its results.

        Args:
            q, external_torque: (nq), (nv) arrays that the step reads in each run.
        """
        assert self._kernel is not None, 'it is ready'
        self._results = tuple(np.zeros(x.shape) for x in self._kernel.trace.outputs)
        inputs = q, external_torque, self._points, self._rows_of_noise, self._settings
        return Step(self._kernel, inputs, self._results)

    def prepare_step(self, ignored: NDArray[np.bool_] | None, excess: Array | None) -> None:
        """Sets ignored joints and excess for ``step``; arguments as of ``estimate``."""
        self._rows_of_noise[:], self.joint_count = self._noise.of(ignored, excess)

    @property
    def latest(self) -> tuple[WrenchEstimate, ...]:
        """Results of the last run of ``step``, in arrays that the next run overwrites."""
        return self._estimates(self._results, self.joint_count)

    def _estimates(self, results: Sequence[Array], joint_count: int) -> tuple[WrenchEstimate, ...]:
        *each, singular = results
        values = repeat(singular[:joint_count])
        return tuple(map(WrenchEstimate, self.frames, self.axes, *each, values))


def wrench_settings(robot: Robot, frames: Sequence[str]) -> Array:
    """Returns kernel settings (3): length scale [m], least singular value [Nm per N], prior [N]."""
    model, lengths = robot.model, []
    for frame in map(model.frame, frames):
        joints = [model.joints[body] for body in model.ancestors(frame.body)]
        joints = joints[model.root_joint != 'fixed' :]
        offsets = (frame.placement, *(joint.placement for joint in joints))
        links = np.array([X.translation.array() for X in offsets])
        lengths.append(float(np.linalg.norm(links, axis=1).sum() + sum(map(model.stroke, joints))))
    share = min(max(max(lengths) / USUAL_LENGTH, LEAST_SHARE), 1.0)
    return np.array([share * LENGTH_SCALE, share * SINGULAR_THRESHOLD, WRENCH_PRIOR])


def frame_list(robot: Robot, argument: str, frames: str | Sequence[str]) -> list[str]:
    """Returns frame names as a list.

    Raises:
        UnknownFrameError: the robot has no frame of that name.
    """
    names = [frames] if isinstance(frames, str) else list(frames)
    for name in names:
        if name not in robot.frame_names:
            raise UnknownFrameError(argument, name, robot.frame_names)
    return names


def _points(reference_points: ArrayLike | None, count: int) -> Array:
    points = np.zeros(3) if reference_points is None else np.asarray(reference_points, dtype=float)
    if points.shape not in ((3,), (count, 3)):
        expected = f'shape (3,) or ({count}, 3)'
        raise InvalidArgumentError('reference_points', f'shape {points.shape}', expected)
    if not np.isfinite(points).all():
        raise InvalidArgumentError('reference_points', f'{points.tolist()}', 'finite numbers [m]')
    return np.broadcast_to(points, (count, 3)).copy()


def moving(robot: Robot, frames: Sequence[str]) -> NDArray[np.bool_]:
    """(nv) mask of the velocities that move at least one of the frames.

    Raises:
        InvalidArgumentError: a frame that no joint moves.
    """
    model = robot.model
    support = np.zeros(robot.nv, dtype=bool)
    for frame in frames:
        joints = [model.joints[body] for body in model.ancestors(model.frame(frame).body)]
        if not joints:
            raise InvalidArgumentError('frames', f'no joint moves {frame!r}', 'frames that move')
        for joint in joints:
            support[list(joint.v_indices)] = True
    return support
