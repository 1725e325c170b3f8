"""External wrenches at frames from external joint torques: tau_ext = J^T w ([Haddadin2017]).

The rows of J^T are divided by the noise of their joints (relative to the smallest), torques are
counted per ``length_scale`` so that force and torque have one unit, and the singular value
decomposition U S V^T of the result shows which directions of w the joints feel, in Nm per N.

Plain damping would pull every force towards zero, also a well-felt one. Here a direction is damped
only when its singular value s is below a threshold e ([Nakamura1986], [Chiaverini1994]):

    w = V diag(phi / s) U^T tau,    phi = s^2 / (s^2 + l^2),    l^2 = 0 for s >= e, else e^2 - s^2,

so phi is 1 for every direction that is felt well, without bias, and falls smoothly to 0 for one
that is not felt at all. What is missing, 1 - phi, is stated in the observable mask and enters the
covariance as what a wrench could be there: V diag((phi noise / s)^2 + ((1 - phi) prior)^2) V^T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_positive, finite_vector, per_entry
from ..errors import InvalidArgumentError, UnknownFrameError

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]

UNSEEN = 0.05
"""Part of a unit force or torque that may be missed where it still counts as observable."""

DAMPED = 1e-3
"""Part of a unit force or torque that may be missed where an estimate is not called degraded."""


@dataclass(frozen=True, eq=False)
class WrenchEstimate:
    """The wrench of the environment on the robot at one contact frame.

    Attributes:
        frame: the contact frame.
        expressed_in: the frame whose axes are used.
        wrench: (6) force [N], torque [Nm] about the reference point.
        reference_point: (3) coordinates in the frame ``expressed_in`` [m].
        covariance: (6, 6); a direction that is not felt carries the prior.
        singular_values: of all contacts together, descending [Nm per N].
        observable: (6) bool; fx fy fz tx ty tz. Of a pure force the torque follows, it is not felt.
        degraded: whether a direction is damped or not felt.
    """

    frame: str
    expressed_in: str
    wrench: Array
    reference_point: Array
    covariance: Array
    singular_values: Array
    observable: NDArray[np.bool_]
    degraded: bool


class WrenchEstimator:
    """Wrenches at one or several contact frames; equations at the top of this file.

    Several frames are contacts at the same time and share the torques: each takes its part only as
    far as the joints can tell them apart.
    """

    def __init__(
        self,
        robot: Robot,
        frames: str | Sequence[str],
        *,
        effort_noise: ArrayLike = 0.1,
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
        self._noise = per_entry('effort_noise', effort_noise, robot.nv, least=0.0, infinite=True)
        if not np.all(self._noise > 0.0):
            raise InvalidArgumentError(
                'effort_noise', f'{self._noise.tolist()}', 'positive numbers'
            )
        self._rows = 3 if force_only else 6
        self._length = length_scale
        self._threshold = singular_threshold
        self._prior = wrench_prior
        self._support = np.flatnonzero(_support(robot, self._frames) & np.isfinite(self._noise))
        # Wrench coordinates of one unit: torque = length scale times its coordinate.
        self._units = np.array([1.0, 1.0, 1.0, length_scale, length_scale, length_scale])

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
        torque = finite_vector('external_torque', external_torque, self._robot.nv)
        used = self._support if ignored is None else self._support[~ignored[self._support]]
        contacts = [self._contact(q, i) for i in range(len(self._frames))]
        least_noise = float(self._noise[used].min(initial=np.inf))
        weights = least_noise / self._noise[used]
        columns = [contact.columns[used] for contact in contacts]
        matrix = columns[0] if len(columns) == 1 else np.hstack(columns)
        U, s, Vt = np.linalg.svd(matrix * weights[:, np.newaxis])
        phi, inverse = self._filtered(s, len(Vt))
        V, felt = Vt.T, len(s)
        wrenches = V[:, :felt] @ (inverse * (U[:, :felt].T @ (weights * torque[used])))
        missing = 1.0 - phi
        variance = (missing * self._prior) ** 2
        variance[:felt] += (inverse * least_noise) ** 2
        missed = (V * missing) @ Vt if missing.any() else None
        solution = _Solution(wrenches, (V * variance) @ Vt, missed, s)
        return tuple(self._estimate_at(i, contact, solution) for i, contact in enumerate(contacts))

    def _contact(self, q: ArrayLike, index: int) -> _Contact:
        robot, frame, axes = self._robot, self._frames[index], self._axes[index]
        X_RC = robot.forward_kinematics(q, frame)
        J = robot.jacobian(q, frame)
        lever = X_RC[:3, :3] @ self._points[index]
        point = X_RC[:3, 3] + lever
        columns = J.T * self._units
        if axes != robot.root_frame:
            X_RE = robot.forward_kinematics(q, axes)
            R_RE = X_RE[:3, :3]
            lever, point = lever @ R_RE, (point - X_RE[:3, 3]) @ R_RE
            columns = np.hstack([columns[:, :3] @ R_RE, columns[:, 3:] @ R_RE])
        return _Contact(columns[:, : self._rows], lever, point)

    def _filtered(self, s: Array, size: int) -> tuple[Array, Array]:
        """phi of every direction (size) and phi / s of those that have a singular value."""
        damping = np.maximum(self._threshold**2 - s**2, 0.0)
        inverse = s / (s**2 + damping)
        phi = np.zeros(size)
        # s s / (s s) is not always 1.
        phi[: len(s)] = np.where(damping > 0.0, s * inverse, 1.0)
        return phi, inverse

    def _estimate_at(self, index: int, contact: _Contact, solution: _Solution) -> WrenchEstimate:
        """One contact's part of the solution, moved to its reference point."""
        rows = self._rows
        own = slice(index * rows, (index + 1) * rows)
        # Moving the reference point by d leaves the force and turns the torque into tau - d x f.
        move = np.eye(6)
        move[3:, :3] = _skew(contact.lever / -self._length)
        scaled = self._units[:, np.newaxis] * move[:, :rows]
        observable = np.arange(6) < rows
        degraded = False
        if solution.missed is not None:
            missed = solution.missed[own]
            degraded = bool(np.any(_row_lengths(missed) > DAMPED))
            shifted = move[:rows, :rows] @ missed
            back = 2.0 * np.eye(rows) - move[:rows, :rows]
            shifted[:, own] = shifted[:, own] @ back
            observable[:rows] = _row_lengths(shifted) < UNSEEN
        return WrenchEstimate(
            frame=self._frames[index],
            expressed_in=self._axes[index],
            wrench=scaled @ solution.wrenches[own],
            reference_point=contact.reference_point,
            covariance=scaled @ solution.covariance[own, own] @ scaled.T,
            singular_values=solution.singular_values,
            observable=observable,
            degraded=degraded,
        )


@dataclass(frozen=True, eq=False)
class _Contact:
    """A contact at one configuration, in the axes E of its result.

    Attributes:
        columns: (nv, 3 or 6) the torques of a unit force or of a unit torque coordinate.
        lever: (3) from the frame's origin to the reference point.
        reference_point: (3) in the frame ``expressed_in``.
    """

    columns: Array
    lever: Array
    reference_point: Array


@dataclass(frozen=True, eq=False)
class _Solution:
    """All contacts together in coordinates of one unit, at the origins of their frames.

    ``missed`` is the part of a wrench that is not recovered: V diag(1 - phi) V^T, None for none.
    """

    wrenches: Array
    covariance: Array
    missed: Array | None
    singular_values: Array


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


def _support(robot: Robot, frames: Sequence[str]) -> NDArray[np.bool_]:
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


def _skew(v: Array) -> Array:
    x, y, z = v.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _row_lengths(matrix: Array) -> Array:
    lengths: Array = np.sqrt(np.einsum('ij,ij->i', matrix, matrix))
    return lengths
