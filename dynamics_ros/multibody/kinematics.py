# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of a robot: configurations, and poses and motion of its frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms import configuration
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.symbols import is_symbolic, symbols

from .arguments import real_array
from .kernel_methods import Array, kernel_method
from .quantity_methods import QuantityMethods
from .random_configuration import random_configuration


class Kinematics(QuantityMethods):
    """Configurations, and poses, twists, accelerations and Jacobians of frames."""

    # Configurations.

    def neutral(self) -> Array:
        """The configuration (nq) in which every joint transform is the identity.

        It may violate limits; ``nominal`` does not.
        """
        return np.array(configuration.neutral(self.model))

    def nominal(self) -> Array:
        """A configuration (nq) within the limits: neutral, or the middle of a range without 0."""
        return np.array(configuration.nominal(self.model))

    def random_configuration(self, rng: np.random.Generator | int | None = None) -> Array:
        """A configuration (nq), uniform within the limits.

        Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

        Args:
            rng: a NumPy generator, or a seed.
        """
        return random_configuration(self.model.joints, self.nq, rng)

    @kernel_method
    def integrate(
        self, q: ArrayLike, v: ArrayLike, dt: ArrayLike = 1.0, *, out: Array | None = None
    ) -> Array:
        """The configuration (..., nq) after a time at the constant velocity v ([SE3] 7).

        Args:
            q, v: configuration and velocity.
            dt: (...) time [s].
        """
        if type(dt) is not float or dt != 1.0:
            v = _over_time(v, dt)
        return self._run(('integrate',), q, v, out=out)


def _over_time(v: ArrayLike, dt: ArrayLike) -> Array:
    """Return the motion v dt (..., nv) of a velocity."""
    if is_symbolic([v, dt]) and not np.ndim(dt):
        moved: Array = symbols(v) * dt
        return moved
    time = real_array('dt', dt, 'a number, or one for each state')
    if not np.isfinite(time).all():
        raise InvalidArgumentError('dt', 'NaN or infinite', 'a finite time in seconds')
    return real_array('v', v, 'shape (..., nv)') * time[..., None]
