# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which feet stand, and on what forces.

Two sources. A momentum observer with a floating base gives the external torques of base and joints,
and all feet share them, J_1^T f_1 + ... + J_n^T f_n = tau_ext: no assumption about contact, but as
late as the observer. Constraints ([RD] eq. 3.62) give the forces at once from the joint torques, of
feet that are known to rest.

Whether a foot is in contact is weighed by two independent signs. Its normal force f_n against a
threshold f_0, and its speed s along the normal, which is small in contact and not in swing:

    log P / (1 - P) = log Phi(z) / Phi(-z) + log N(s; 0, s_c) / N(s; 0, s_s),
    z = (f_n - f_0) / sigma,

with f_0 no less than two deviations of the force, and sigma that deviation together with a third of
f_0. A foot is in contact when P has risen above ``ON``, until it falls below ``OFF``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, check_positive, finite_vector

from .wrench import LENGTH_SCALE, SINGULAR_THRESHOLD, WRENCH_PRIOR, FeltNoise, frame_list

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ON, OFF = 0.7, 0.3
"""Probabilities where a contact begins and ends."""

SHARE = 0.03
"""Default threshold of a foot's force, of an even share of the weight."""

CONTACT_SPEED, SWING_SPEED = 0.2, 0.6
"""m/s: how fast a foot moves along the normal, as a standard deviation, in contact (which begins
and ends with the speed of a swing, the ground being soft) and in swing."""

OF_SPEED = float(np.log(SWING_SPEED / CONTACT_SPEED))
SPEED_WEIGHT = 0.5 * (CONTACT_SPEED**-2 - SWING_SPEED**-2)
"""log N(s; 0, s_c) / N(s; 0, s_s) = OF_SPEED - SPEED_WEIGHT s^2."""


@dataclass(frozen=True, eq=False)
class FootContacts:
    """What the feet of a robot are on.

    Attributes:
        feet: their frames.
        forces: (n, 3) of the ground on each foot, in the root frame, by the observer [N].
        deviations: (n) standard deviation of each normal force, of the noise of the samples [N].
        constraint_forces: (n, 3) the same forces at once, as of feet that rest on the ground; zero
            for those that are not in contact, and where no torques were told [N].
        probabilities: (n) how likely each is in contact.
        in_contact: (n) the same with hysteresis.
        friction_violations: (n) tangential force beyond what friction carries, 0 within the cone or
            without contact [N].
        degraded: whether some direction of a force is not told by the joints.
    """

    feet: tuple[str, ...]
    forces: Array
    deviations: Array
    constraint_forces: Array
    probabilities: Array
    in_contact: Mask
    friction_violations: Array
    degraded: bool


class FootContactEstimator:
    """Contact and force of the feet of a robot, sample by sample; equations above."""

    def __init__(
        self,
        robot: Robot,
        feet: Sequence[str],
        *,
        effort_noise: ArrayLike = 0.1,
        momentum_gain: ArrayLike = 0.0,
        velocity_noise: ArrayLike = 0.0,
        friction: float = 0.6,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        force_threshold: float | None = None,
    ) -> None:
        """Make an estimator of feet in the air.

        Args:
            robot: the robot, with a floating base.
            feet: their frames, each a point that may touch the ground.
            effort_noise: standard deviation of an external torque, number or (nv) [Nm or N].
            momentum_gain, velocity_noise: noise of velocities through an observer, as of
                ``WrenchEstimator``.
            friction: coefficient mu of the friction cone.
            normal: (3) of the ground in the root frame, upward.
            force_threshold: normal force that is a contact [N]; None is a few percent of an even
                share of the weight.

        Raises:
            UnknownFrameError: a frame that the robot does not have.
            InvalidArgumentError: a robot whose base does not move, or a value out of range.
        """
        if robot.model.root_joint != 'floating':
            raise InvalidArgumentError(
                'robot', f'its root joint is {robot.model.root_joint}', "root_joint='floating'"
            )
        check_not_negative('friction', friction)
        direction = finite_vector('normal', normal, 3)
        length = float(np.linalg.norm(direction))
        check_positive('normal', length)
        self._robot = robot
        self.feet = tuple(frame_list(robot, 'frames', feet))
        if not self.feet or len(set(self.feet)) < len(self.feet):
            raise InvalidArgumentError('frames', repr(self.feet), 'distinct frames, at least one')
        self._noise = FeltNoise(robot, self.feet, effort_noise, momentum_gain, velocity_noise)
        self._settings = np.array([LENGTH_SCALE, SINGULAR_THRESHOLD, WRENCH_PRIOR])
        self._friction = friction
        self._normal = direction / length
        self._no_torques = np.zeros(robot.nv)
        if force_threshold is None:
            weight = robot.total_mass * float(np.linalg.norm(robot.model.gravity.array()))
            force_threshold = SHARE * weight / len(self.feet)
        check_positive('force_threshold', force_threshold)
        self._threshold = force_threshold
        self.reset()

    def compile(self, *, wait: bool = False) -> None:
        """Have the kernels made, which otherwise takes place in the first call.

        Args:
            wait: until they are ``ready``.
        """
        # Takes as long as the rest of the package: for those who have feet.
        import scipy.special  # noqa: F401

        kernels = self._felt, self._rest
        if wait:
            for kernel in kernels:
                kernel.wait()

    @property
    def ready(self) -> bool:
        """Whether the kernels are machine code, if they can be; before, an update takes longer."""
        return self._felt.ready and self._rest.ready

    @computed_once
    def _felt(self) -> Kernel:
        return self._robot.kernel('felt_feet', *self.feet)

    @computed_once
    def _rest(self) -> Kernel:
        return self._robot.kernel('resting_feet', *self.feet)

    def change_noise(self, effort_noise: ArrayLike, momentum_gain: ArrayLike) -> None:
        """Go on with other noise, given as at the start."""
        self._noise.change(effort_noise, momentum_gain)

    def reset(self) -> None:
        """Forget which feet are in contact."""
        self._in_contact = np.zeros(len(self.feet), dtype=bool)

    def update(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external_torque: ArrayLike,
        ignored: Mask | None = None,
        tau: ArrayLike | None = None,
    ) -> FootContacts:
        """Take a sample in.

        Args:
            q, v: configuration (nq) and velocity (nv), base included.
            external_torque: (nv) as of an observer, the six entries of the base included [N, Nm].
            ignored: (nv) joints that are not to be believed now.
            tau: (nv) as of ``constraint_forces``; None leaves those zero.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        noise, _ = self._noise.of(ignored)
        forces, deviations, speeds, degraded = self._felt.call(
            q, v, external_torque, noise, self._settings, self._normal
        )
        probabilities = self._probabilities(forces @ self._normal, deviations, speeds)
        self._in_contact = probabilities > np.where(self._in_contact, OFF, ON)
        known = self._no_torques if tau is None else tau
        held, violations = self._resting(q, v, known, self._in_contact, forces)
        return FootContacts(
            feet=self.feet,
            forces=forces,
            deviations=deviations,
            constraint_forces=np.zeros_like(held) if tau is None else held,
            probabilities=probabilities,
            in_contact=self._in_contact,
            friction_violations=violations,
            degraded=degraded > 0.5,
        )

    def constraint_forces(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, in_contact: Mask
    ) -> Array:
        """Forces (n, 3) of feet that rest on the ground, at once from torques ([RD] eq. 3.62).

        Args:
            q, v: configuration (nq) and velocity (nv).
            tau: (nv) torques of the joints on the rigid bodies, zero for the base [Nm].
            in_contact: (n) the feet that rest; the force of the others is zero. Where feet repeat
                each other, as several on one rigid body, the forces are those of least norm.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        forces, _ = self._resting(q, v, tau, in_contact, np.zeros((len(self.feet), 3)))
        return forces

    def _resting(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, in_contact: Mask, forces: Array
    ) -> tuple[Array, Array]:
        """Constraint forces (n, 3), and what friction does not carry (n) of other forces (n, 3)."""
        found: tuple[Array, Array] = self._rest.call(
            *(q, v, tau, forces, np.asarray(in_contact, dtype=np.float64)),
            *(self._normal, self._friction),
        )
        return found

    def _probabilities(self, pressing: Array, deviations: Array, speeds: Array) -> Array:
        """(n) how likely feet are in contact, by normal forces, their deviations, and speeds."""
        from scipy.special import expit, log_ndtr  # see compile

        threshold = np.maximum(self._threshold, 2.0 * deviations)
        z = (pressing - threshold) / np.hypot(deviations, threshold / 3.0)
        odds = log_ndtr(z) - log_ndtr(-z) + OF_SPEED - SPEED_WEIGHT * (speeds * speeds)
        probabilities: Array = expit(odds)
        return probabilities
