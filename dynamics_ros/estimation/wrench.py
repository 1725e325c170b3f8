"""External wrenches at frames; the equations are in ``algorithms/contact/wrench.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.wrench import (
    NOISE_ROWS,
    ContactSystem,
    contact_wrenches,
    gram_matrix,
)
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.multibody.arguments import check_positive, per_entry

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MAX_COMPILED = 2
"""Wrenches, or pairs of forces, whose solution is compiled; of more it would take long."""


@dataclass(eq=False, slots=True)
class WrenchEstimate:
    """The wrench of the environment on the robot at one contact frame.

    Attributes:
        frame: the contact frame.
        expressed_in: the frame whose axes are used.
        wrench: (6) force [N], torque [Nm] about the reference point.
        reference_point: (3) coordinates in the frame ``expressed_in`` [m].
        covariance: (6, 6); a direction that is not felt carries the prior.
        flags: (7) 1 where fx fy fz tx ty tz are observable, then 1 when degraded.
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
        """(6) fx fy fz tx ty tz; of a pure force the torque follows, it is not felt."""
        return self.flags[:6] > 0.5

    @property
    def degraded(self) -> bool:
        """Whether a direction is damped or not felt."""
        return bool(self.flags[6] > 0.5)


class WrenchEstimator:
    """Wrenches at one or several contact frames.

    Several frames are contacts at the same time and share the torques: each takes its part only as
    far as the joints can tell them apart.
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
        length_scale: float = 0.3,
        singular_threshold: float = 0.02,
        wrench_prior: float = 100.0,
    ) -> None:
        """Make an estimator.

        Args:
            robot: the robot.
            frames: contact frames, each once.
            effort_noise: standard deviation of an external torque, number or (nv), inf for a joint
                that is not used [Nm or N].
            momentum_gain: number or (nv): what an observer makes of noise of a momentum, its
                ``noise_gains(...).momentum`` [1/s].
            velocity_noise: standard deviation of the velocities that it is fed with, number or
                (nv) [rad/s or m/s].
            expressed_in: axes of the result, one frame or one per contact; None is the root frame.
            reference_points: what torques are about, (3) or (m, 3) in the contact frames; None is
                the origin of each [m].
            force_only: the contacts are points at the frames' origins and carry no torque.
            length_scale: so many m make a torque as weighty as a force.
            singular_threshold: damping begins below this [Nm per N].
            wrench_prior: standard deviation of a force that no joint feels [N].

        Raises:
            UnknownFrameError: a frame that the robot does not have.
            InvalidArgumentError: a frame that no joint moves, or a value out of range.
        """
        for name, value in (
            ('length_scale', length_scale),
            ('singular_threshold', singular_threshold),
            ('wrench_prior', wrench_prior),
        ):
            check_positive(name, value)
        self._robot = robot
        self._frames = _frame_list(robot, 'frames', frames)
        count = len(self._frames)
        if not count or len(set(self._frames)) < count:
            raise InvalidArgumentError(
                'frames', repr(self._frames), 'distinct frames, at least one'
            )
        axes = robot.root_frame if expressed_in is None else expressed_in
        self._axes = [axes] * count if isinstance(axes, str) else list(axes)
        if len(self._axes) != count:
            raise InvalidArgumentError('expressed_in', f'{len(self._axes)} frames', f'{count}')
        _frame_list(robot, 'expressed_in', [a for a in self._axes if a != robot.root_frame])
        self._points = _points(reference_points, count)
        self._point = self._points[0]
        self._support = moving(robot, self._frames)
        self._velocity_noise = per_entry('velocity_noise', velocity_noise, robot.nv, least=0.0)
        self._rows = 3 if force_only else 6
        self._settings = np.array([length_scale, singular_threshold, wrench_prior])
        # The root frame has no name in a kernel: for a fixed robot it may be no frame.
        names = [('' if a == robot.root_frame else a) for a in self._axes]
        self._options = [x for pair in zip(self._frames, names, strict=True) for x in pair]
        self._kernel: Kernel | None = None
        self._solution: Kernel | None = None
        self.change_noise(effort_noise, momentum_gain)

    def compile(self, *, wait: bool = False) -> None:
        """Have the kernel made, which is done at the first estimate else.

        Args:
            wait: until it is ``ready``.
        """
        name = 'contact_wrench' if len(self._frames) == 1 else 'contact_system'
        self._kernel = self._robot.kernel(name, str(self._rows), *self._options)
        if 1 < len(self._frames) * self._rows // 6 <= MAX_COMPILED:
            # Until it is compiled, and for more contacts, the same formulas run on arrays.
            self._solution = self._robot.kernel('contact_wrenches', str(self._rows), *self._options)
        if wait:
            for kernel in filter(None, (self._kernel, self._solution)):
                kernel.wait()

    def change_noise(
        self, effort_noise: ArrayLike, momentum_gain: ArrayLike, excess: ArrayLike = 0.0
    ) -> None:
        """Go on with other noise, given as at the start.

        Args:
            effort_noise, momentum_gain: as at the start.
            excess: number or (nv), deviation beyond ``effort_noise`` that the covariance counts;
                joints keep the weight that they have without it.
        """
        self._excess = per_entry('excess', excess, self._robot.nv, least=0.0)
        noise = per_entry('effort_noise', effort_noise, self._robot.nv, least=0.0, infinite=True)
        if not np.all(noise > 0.0):
            raise InvalidArgumentError('effort_noise', f'{noise.tolist()}', 'positive numbers')
        self._momentum_gain = per_entry('momentum_gain', momentum_gain, self._robot.nv, least=0.0)
        self._noise = noise
        self._everything = self._joints(None)

    @property
    def ready(self) -> bool:
        """Whether the kernel is machine code, if it can be; before, an estimate takes longer."""
        return self._kernel is not None and self._kernel.ready

    @property
    def frames(self) -> tuple[str, ...]:
        """The contact frames."""
        return tuple(self._frames)

    @property
    def axes(self) -> tuple[str, ...]:
        """The frame that the wrench of each is expressed in."""
        return tuple(self._axes)

    def estimate(
        self, q: ArrayLike, external_torque: ArrayLike, ignored: NDArray[np.bool_] | None = None
    ) -> tuple[WrenchEstimate, ...]:
        """Wrenches in the order of the frames.

        Args:
            q: (nq) configuration.
            external_torque: (nv), tared, as of an observer [Nm or N].
            ignored: (nv) joints that are not to be believed now.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        if ignored is None or not ignored.any():
            noise, felt = self._everything
        else:
            noise, felt = self._joints(ignored)
        if self._kernel is None:
            self.compile()
        assert self._kernel is not None
        if len(self._frames) == 1:
            one = WrenchEstimate(
                self._frames[0],
                self._axes[0],
                *self._kernel.call(q, external_torque, self._point, noise, self._settings),
            )
            if felt < self._rows:
                one.singular_values = one.singular_values[:felt]
            return (one,)
        *system, arms, points = self._kernel.call(
            q, external_torque, self._points, noise, self._settings[0]
        )
        together = ContactSystem(*system)
        # NumPy's eigenvectors: a trace of them would take seconds to compile.
        eigen = np.linalg.eigh(gram_matrix(together))
        if self._solution is not None and self._solution.machine_code is not None:
            wrenches, covariances, flags, singular = self._solution.call(
                *system, *eigen, arms, self._settings
            )
        else:
            wrenches, covariances, flags, singular = contact_wrenches(
                together, eigen, arms, self._settings
            )
        results = zip(wrenches, points, covariances, flags, strict=True)
        values = singular[:felt]
        return tuple(
            WrenchEstimate(
                *(frame, axes, np.array(wrench), point, covariance, np.array(marks), values)
            )
            for frame, axes, (wrench, point, covariance, marks) in zip(
                self._frames, self._axes, results, strict=True
            )
        )

    def _joints(self, ignored: NDArray[np.bool_] | None) -> tuple[Array, int]:
        """What the kernels want to know of the noise, and how many joints there are to feel."""
        used = self._support & np.isfinite(self._noise)
        if ignored is not None:
            used &= ~ignored
        rows = np.zeros((NOISE_ROWS, len(used)))
        if used.any():
            rows[0, used] = self._noise[used].min() / self._noise[used]
        rows[1, used] = np.hypot(self._noise[used], self._excess[used])
        rows[2, used] = self._momentum_gain[used]
        rows[3] = self._velocity_noise
        return rows, int(used.sum())


def _frame_list(robot: Robot, argument: str, frames: str | Sequence[str]) -> list[str]:
    names = [frames] if isinstance(frames, str) else list(frames)
    for name in names:
        if name not in robot.frame_names:
            raise UnknownFrameError(argument, name, robot.frame_names)
    return names


def _points(reference_points: ArrayLike | None, count: int) -> Array:
    points = np.zeros(3) if reference_points is None else np.asarray(reference_points, dtype=float)
    if points.shape not in ((3,), (count, 3)):
        raise InvalidArgumentError(
            'reference_points', f'shape {points.shape}', f'shape (3,) or ({count}, 3)'
        )
    if not np.isfinite(points).all():
        raise InvalidArgumentError('reference_points', f'{points.tolist()}', 'finite numbers [m]')
    return np.broadcast_to(points, (count, 3)).copy()


def moving(robot: Robot, frames: Sequence[str]) -> NDArray[np.bool_]:
    """(nv) the velocities that move one of the frames."""
    model = robot.model
    support = np.zeros(robot.nv, dtype=bool)
    for frame in frames:
        joints = [model.joints[body] for body in model.ancestors(model.frame(frame).body)]
        if not joints:
            raise InvalidArgumentError('frames', f'no joint moves {frame!r}', 'frames that move')
        for joint in joints:
            support[list(joint.v_indices)] = True
    return support
