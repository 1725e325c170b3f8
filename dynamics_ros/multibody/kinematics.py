# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of a robot: configurations, and poses and motion of its frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms import configuration
from dynamics_ros.algorithms.jacobian import Reference

from .definitions import Key
from .definitions.definition import DEFAULT_REFERENCE
from .kernel_methods import Array, KernelMethods, kernel_method
from .random_configuration import random_configuration

Frames = str | Sequence[str]
"""The name of a frame, or a list of names."""


class Kinematics(KernelMethods):
    """Configurations, and poses, twists, accelerations and Jacobians of frames."""

    # Configurations.

    def neutral(self) -> Array:
        """The configuration (nq) in which every joint transform is the identity."""
        return np.array(configuration.neutral(self.model))

    def random_configuration(self, rng: np.random.Generator | int | None = None) -> Array:
        """A configuration (nq), uniform within the limits.

        Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

        Args:
            rng: a NumPy generator, or a seed.
        """
        return random_configuration(self.model.joints, self.nq, rng)

    @kernel_method
    def integrate(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """The configuration (..., nq) after one second at the constant velocity v ([SE3] 7)."""
        return self._run(('integrate',), q, v, out=out)

    @kernel_method
    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None) -> Array:
        """The velocity (..., nv) that takes q0 to q1 in one second; inverse of ``integrate``."""
        return self._run(('difference',), q0, q1, out=out)

    @kernel_method
    def interpolate(
        self, q0: ArrayLike, q1: ArrayLike, t: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """The configuration (..., nq) at t between q0 (t = 0) and q1 (t = 1)."""
        return self._run(('interpolate',), q0, q1, t, out=out)

    @kernel_method
    def configuration_rate(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """q-dot (..., nq) = F(q) v, the time derivative of the coordinates ([Kindr]).

        It differs from v for a moving base: v has its twist in its own axes, q its position in the
        world and a quaternion.
        """
        return self._run(('configuration_rate',), q, v, out=out)

    @kernel_method
    def velocity_of_rate(self, q: ArrayLike, rate: ArrayLike, *, out: Array | None = None) -> Array:
        """v (..., nv) = E(q) q-dot, the inverse of ``configuration_rate`` ([RD] eq. 2.262).

        Args:
            q: configuration.
            rate: (..., nq) time derivative of q; a component that would change the length of a
                quaternion is dropped.
        """
        return self._run(('velocity_of_rate',), q, rate, out=out)

    @kernel_method
    def rate_map(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """F (..., nq, nv) with q-dot = F v ([Kindr])."""
        return self._run(('rate_map',), q, out=out)

    @kernel_method
    def rate_map_inverse(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """E (..., nv, nq) with v = E q-dot, so that E F is the identity ([RD] eq. 2.262)."""
        return self._run(('rate_map_inverse',), q, out=out)

    # Frames.

    @kernel_method
    def forward_kinematics(self, q: ArrayLike, frame: Frames, *, out: Array | None = None) -> Array:
        """Pose (..., 4, 4) of a frame in the root frame ([RD] eq. 2.138).

        Args:
            q: configuration.
            frame: its name, or a list of m names for a result (..., m, 4, 4) from one kernel. The
                same
                holds for all quantities of a frame.
        """
        return self._run(_key('forward_kinematics', frame), q, out=out)

    @kernel_method
    def all_frames(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Poses (..., n, 4, 4) of all frames in the root frame, in the order of frame_names."""
        return self._run(('all_frames',), q, out=out)

    @kernel_method
    def frame_velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: Frames,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array:
        """Twist (..., 6) of a frame with respect to the root frame: linear, then angular.

        Args:
            q, v: configuration and velocity.
            frame: name of the frame, or a list of names.
            reference: 'world' (spatial), 'local' (body), or 'local_world_aligned' (velocity of the
                frame's origin and angular velocity, in root axes).
        """
        return self._run(_key('frame_velocity', frame, reference), q, v, out=out)

    @kernel_method
    def frame_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: Frames,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array:
        """Time derivative (..., 6) of the twist of ``frame_velocity``: J a + J-dot v.

        In 'local_world_aligned' the linear part is the acceleration of the frame's origin.
        """
        return self._run(_key('frame_acceleration', frame, reference), q, v, a, out=out)

    @kernel_method
    def body_accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Spatial accelerations (..., bodies, 6), each in the frame of its body ([Lie] table 2).

        One row per body of ``body_names``, linear then angular: the time derivative of the twist's
        components in the moving frame. Gravity is not included.
        """
        return self._run(('body_accelerations',), q, v, a, out=out)

    @kernel_method
    def jacobian(
        self,
        q: ArrayLike,
        frame: Frames,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array:
        """Geometric Jacobian (..., 6, nv), rows linear then angular ([RD] eq. 2.164)."""
        return self._run(_key('jacobian', frame, reference), q, out=out)

    @kernel_method
    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: Frames,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array:
        """Time derivative (..., 6, nv) of ``jacobian`` along the velocity v."""
        return self._run(_key('jacobian_derivative', frame, reference), q, v, out=out)

    @kernel_method
    def jacobian_hessian(
        self,
        q: ArrayLike,
        frame: Frames,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array:
        """dJ/dq (..., 6, nv, nv): entry [:, j, k] is the rate of column j along velocity k."""
        return self._run(_key('jacobian_hessian', frame, reference), q, out=out)


def _key(name: str, frame: Frames, *reference: str) -> Key:
    """Return the key of a quantity of a frame, or of several frames."""
    if isinstance(frame, (list, tuple)):
        return ('of_frames', name, *(reference or ('',)), *frame)
    return (name, frame, *reference)  # type: ignore[arg-type]
