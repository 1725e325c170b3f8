# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimator of foot contacts and ground reaction forces of legged robots.

There are two sources. A momentum observer with a floating base gives the external torques of base
and joints, which all feet share: J_1^T f_1 + ... + J_n^T f_n = tau_ext. This needs no assumption
about contact but has the delay of the observer. Constraints ([RD] eq. 3.62) give the forces of feet
that are known to rest without delay, from the joint torques.

Equations of the contact probability are in ``algorithms.contact.feet``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.program import Step
from dynamics_ros.multibody.arguments import check_not_negative

from .wrench import JointNoise, frame_list, wrench_settings

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

THRESHOLD_SHARE = 0.03
"""Normal force that indicates contact of a foot, as a share of the weight divided by the number of
feet."""

IN_CONTACT = 4
"""Index of an output of the kernel."""


@dataclass(frozen=True, eq=False)
class FootContacts:
    """Contact states and ground reaction forces of the feet of a robot.

    Attributes:
        feet: frames of the feet.
        forces: (n, 3) forces of the ground on each foot from the observer, in the root frame [N].
        deviations: (n) standard deviation of each normal force due to sample noise [N].
        constraint_forces: (n, 3) the same forces without delay, assuming that feet in contact rest
            on the ground; zero for feet without contact, and if no torques were given [N].
        probabilities: (n) contact probabilities.
        in_contact: (n) contact states, with hysteresis.
        friction_violations: (n) tangential force beyond the friction cone, 0 within it or without
            contact [N].
        degraded: whether a direction of a force is damped or unobservable.
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
    """Estimates foot contacts and forces per sample."""

    def __init__(
        self,
        robot: Robot,
        feet: Sequence[str],
        *,
        effort_noise: ArrayLike = 0.1,
        momentum_gain: ArrayLike = 0.0,
        velocity_noise: ArrayLike = 0.0,
        friction: float = 0.6,
    ) -> None:
        """Creates an estimator with all feet in the air.

        Args:
            robot: the robot, with a floating base.
            feet: frames of the feet, each a point that may touch the ground.
            effort_noise: standard deviation of an external torque, number or (nv) [Nm or N].
            momentum_gain, velocity_noise: noise of velocities after the observer, see
                ``WrenchEstimator``.
            friction: coefficient mu of the friction cone about the z axis of the root frame.

        Raises:
            UnknownFrameError: a frame that the robot does not have.
            InvalidArgumentError: a robot without a floating base, or a value out of range.
        """
        check_not_negative('friction', friction)
        self._robot = robot
        self.feet = feet_of(robot, 'frames', feet)
        self._noise = JointNoise(robot, self.feet, effort_noise, momentum_gain, velocity_noise)
        self._rows_of_noise = np.zeros_like(self._noise.all_joints[0])
        self._no_torques = np.zeros(robot.nv)
        weight = robot.total_mass * float(np.linalg.norm(robot.model.gravity.array()))
        force_threshold = THRESHOLD_SHARE * weight / len(self.feet)
        numbers = np.array(force_threshold), np.array(friction)
        settings = wrench_settings(robot, self.feet)
        self._constants = settings, np.array([0.0, 0.0, 1.0]), *numbers
        self.reset()

    def compile(self, *, wait: bool = False) -> None:
        """Compiles the kernels, which otherwise happens at the first call.

        Args:
            wait: return only once the kernels are ``ready``.
        """
        kernel = self._contact_kernel
        if wait:
            kernel.wait()

    @property
    def ready(self) -> bool:
        """Whether compilation of the kernels has finished; until then updates are slower."""
        return self._contact_kernel.ready

    @computed_once
    def _contact_kernel(self) -> Kernel:
        return self._robot.kernel('foot_contacts', *self.feet)

    def change_noise(self, effort_noise: ArrayLike, momentum_gain: ArrayLike) -> None:
        """Changes the stated noise; arguments as at construction."""
        self._noise.change(effort_noise, momentum_gain)

    def reset(self) -> None:
        """Clears the contact states."""
        self._in_contact = np.zeros(len(self.feet))
        self._results: tuple[Array, ...] = ()

    def update(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external_torque: ArrayLike,
        ignored: Mask | None = None,
        tau: ArrayLike | None = None,
    ) -> FootContacts:
        """Processes a sample.

        Args:
            q, v: configuration (nq) and velocity (nv), base included.
            external_torque: (nv) output of an observer, with the six entries of the base [N, Nm].
            ignored: (nv) mask of joints to exclude at this state.
            tau: (nv) torques of the joints on the rigid bodies, zero for the base [Nm]; None sets
                the constraint forces to zero.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        noise, _ = self._noise.of(ignored)
        torques = self._no_torques if tau is None else tau
        found = self._contact_kernel.call(
            *(q, v, external_torque, torques, self._in_contact, noise, *self._constants)
        )
        forces, deviations, held, probabilities, in_contact, violations, degraded = found
        self._in_contact[:] = in_contact
        return FootContacts(
            feet=self.feet,
            forces=forces,
            deviations=deviations,
            constraint_forces=np.zeros_like(held) if tau is None else held,
            probabilities=probabilities,
            in_contact=in_contact > 0.5,
            friction_violations=violations,
            degraded=bool(degraded > 0.5),
        )

    def step(self, q: Array, v: Array, external_torque: Array, tau: Array) -> Step:
        """Returns the estimation as a step of a program; ``latest`` returns its results.

        Args:
            q, v, external_torque, tau: arguments as of ``update``, arrays that the step reads in
                each run.
        """
        self._results = tuple(np.zeros(x.shape) for x in self._contact_kernel.trace.outputs)
        self._results[IN_CONTACT][:] = self._in_contact
        inputs = q, v, external_torque, tau, self._in_contact, self._rows_of_noise
        return Step(self._contact_kernel, (*inputs, *self._constants), self._results)

    def prepare_step(self, ignored: Mask | None) -> None:
        """Continues from the contacts of the last run of ``step``; argument as of ``update``."""
        self._in_contact[:] = self._results[IN_CONTACT]
        self._rows_of_noise[:], _ = self._noise.of(ignored)

    @property
    def results(self) -> tuple[Array, ...]:
        """Arrays that ``step`` writes, in the order of ``FootContacts``; flags are 0 or 1."""
        return self._results


def feet_of(robot: Robot, argument: str, feet: Sequence[str]) -> tuple[str, ...]:
    """Returns the frames of feet.

    Raises:
        UnknownFrameError: a frame that the robot does not have.
        InvalidArgumentError: a robot without a floating base, or no distinct frames.
    """
    root, frames = robot.model.root_joint, tuple(frame_list(robot, argument, feet))
    if root != 'floating':
        raise InvalidArgumentError('robot', f'its root joint is {root}', "root_joint='floating'")
    if not frames or len(set(frames)) < len(frames):
        raise InvalidArgumentError(argument, repr(frames), 'distinct frames, at least one')
    return frames
