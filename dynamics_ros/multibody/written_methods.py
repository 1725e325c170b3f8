# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of a robot that do more than run one kernel.

They are configurations, hybrid dynamics, and torques of external wrenches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms import configuration
from dynamics_ros.algorithms.quantity import Key
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.symbols import is_symbolic, symbols
from dynamics_ros.model import Joint
from dynamics_ros.multibody.arguments import (
    boolean_mask,
    real_array,
    real_vectors,
)
from dynamics_ros.multibody.kernel_methods import Array, Arrays, Wrenches, kernel_method
from dynamics_ros.multibody.quantity_methods import QuantityMethods


class WrittenMethods(QuantityMethods):
    """Methods that do more than run one kernel, beside those of all quantities."""

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

    @kernel_method
    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[bool] | NDArray[np.bool_],
        external_wrenches: Wrenches | None = None,
        *,
        out: Arrays | None = None,
    ) -> tuple[Array, Array]:
        """All accelerations and torques (..., nv each) from one of the two per joint ([Lie] 2.3).

        Args:
            q, v: configuration and velocity.
            a: accelerations, read where prescribed.
            tau: torques, read where not prescribed.
            prescribed: (nv) booleans; one kernel is compiled for each mask that is used.
            external_wrenches: as for ``inverse_dynamics``.

        Raises:
            SingularError: a free joint moves nothing that has mass or inertia.
            InvalidArgumentError: numbers so large that the result overflows.
        """
        key, given, known = self._given('hybrid_dynamics', a, tau, prescribed)
        if external_wrenches is None:
            accelerations, torques = self._run(key, q, v, given, known, out=out)
            return accelerations, torques
        # The result is the torque that remains after the wrenches' equivalent joint torques.
        push = self.wrench_torques(q, external_wrenches)
        accelerations, torques = self._run(key, q, v, given, known + push, out=out)
        torques -= push
        return accelerations, torques

    # Torques of external wrenches.

    def wrench_torques(self, q: ArrayLike, external_wrenches: Wrenches) -> Array:
        """J^T w (..., nv): joint torques equivalent to external wrenches ([RD] eq. 3.49 to 3.51).

        Args:
            q: (..., nq).
            external_wrenches: as for ``inverse_dynamics``.
        """
        still = np.zeros(self.nv)
        pushed = self.inverse_dynamics(q, still, still, external_wrenches)
        return np.asarray(self.gravity(q) - pushed)

    def wrench_torques_derivative(self, q: ArrayLike, external_wrenches: Wrenches) -> Array:
        """d(J^T w)/dq (..., nv, nv) along velocities of ``wrench_torques``.

        Args:
            q, external_wrenches: as for ``wrench_torques``; wrenches are constant in their frames.
        """
        still = np.zeros(self.nv)
        pushed, _, _ = self.inverse_dynamics_derivatives(q, still, still, external_wrenches)
        return np.asarray(self.inverse_dynamics_derivatives(q, still, still)[0] - pushed)

    def _given(
        self,
        name: str,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[bool] | NDArray[np.bool_],
    ) -> tuple[Key, Any, Any]:
        """Return the kernel of hybrid dynamics for a mask, and its entries of a and tau."""
        mask = boolean_mask('prescribed', prescribed, self.nv)
        key = _key_of_mask(name, mask.tobytes())
        if is_symbolic([a, tau]):
            given, known = np.asarray(a), np.asarray(tau)
        else:
            # Entries that are not read may be anything, even NaN.
            given = np.where(mask, real_vectors('a', a, self.nv), 0.0)
            known = np.where(mask, 0.0, real_vectors('tau', tau, self.nv))
        return key, given, known

    # Dynamics as a linear function of inertial parameters.

    def inertial_parameters(self) -> Array:
        """pi (10 bodies) of the model, in the order of the columns of ``regressor``."""
        return np.array([inertia.parameters() for inertia in self.model.inertias]).ravel()


def random_configuration(
    joints: Sequence[Joint], nq: int, rng: np.random.Generator | int | None = None
) -> NDArray[np.float64]:
    """Return a configuration (nq), uniform within the limits of all joints of a model.

    Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

    Args:
        joints: joints of the model.
        nq: size of its configurations.
        rng: a NumPy generator, or a seed.

    Raises:
        InvalidArgumentError: ``rng`` is neither a generator nor a seed.
    """
    # NumPy also accepts arrays as seeds, but fails for a matrix.
    if not (rng is None or isinstance(rng, (np.random.Generator, Integral))):
        raise InvalidArgumentError('rng', f'a {type(rng).__name__}', 'a NumPy generator or a seed')
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidArgumentError('rng', repr(rng), 'a NumPy generator or a seed') from None
    q = np.zeros(nq)
    for joint in joints:
        if joint.leader is None:
            limits = joint.limits
            q[list(joint.q_indices)] = joint.kind.random(generator, limits.lower, limits.upper)
    return q


def _over_time(v: ArrayLike, dt: ArrayLike) -> Array:
    """Return the motion v dt (..., nv) of a velocity."""
    if is_symbolic([v, dt]) and not np.ndim(dt):
        moved: Array = symbols(v) * dt
        return moved
    time = real_array('dt', dt, 'a number, or one for each state')
    if not np.isfinite(time).all():
        raise InvalidArgumentError('dt', 'NaN or infinite', 'a finite time in seconds')
    return real_array('v', v, 'shape (..., nv)') * time[..., None]


@lru_cache(maxsize=256)
def _key_of_mask(name: str, mask: bytes) -> Key:
    """Return the key of the hybrid dynamics kernel for a mask of prescribed joints."""
    return name, *(str(k) for k, prescribed in enumerate(mask) if prescribed)
