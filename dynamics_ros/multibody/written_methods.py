# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of a robot that do more than run one kernel.

They are configurations, hybrid dynamics, derivatives, and dynamics as a linear function of inertial
parameters with its triangular factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms import configuration
from dynamics_ros.algorithms.quantity import Key
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.symbols import is_symbolic, symbols
from dynamics_ros.model import Joint
from dynamics_ros.multibody.arguments import (
    boolean_mask,
    finite_together,
    real_array,
    real_vectors,
    refuse_overflow,
)
from dynamics_ros.multibody.kernel_methods import Array, Arrays, Wrenches, kernel_method
from dynamics_ros.multibody.linear_systems import apply, inverse_of_positive
from dynamics_ros.multibody.quantity_methods import QuantityMethods

LANES = 64
"""Number of triangles that are accumulated side by side, each from a share of the states."""

FACTORIZED_IN_KERNELS = 10_000
"""Largest sum of squared depths of joints, that of a chain of 30, for which a kernel factorizes the
mass matrix in derivatives of forward dynamics. From some 36 joints in a row on, NumPy is faster;
the kernel of 50 takes 15 s to compile.
"""


class HybridDerivatives(NamedTuple):
    """Derivatives (..., nv, nv each) of the results of ``hybrid_dynamics``.

    Derivatives by q are along velocities. Columns of values that are not inputs are zero: the
    acceleration of a free joint, the torque of a prescribed one.
    """

    a_dq: Array
    a_dv: Array
    a_da: Array
    a_dtau: Array
    tau_dq: Array
    tau_dv: Array
    tau_da: Array
    tau_dtau: Array


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

    @kernel_method
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Wrenches | None = None,
        *,
        out: Arrays | None = None,
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv, da/dtau (..., nv, nv each) of ``forward_dynamics`` ([Lie] 4).

        Args:
            q, v, tau: as for ``forward_dynamics``.
            external_wrenches: as for ``inverse_dynamics_derivatives``.

        Raises:
            SingularError: a joint moves nothing that has mass or inertia.
            InvalidArgumentError: numbers so large that the result overflows.
        """
        if self.model.squared_depths > FACTORIZED_IN_KERNELS and not is_symbolic([q, v, tau]):
            return self._solved_derivatives(q, v, tau, external_wrenches, out)
        if external_wrenches is None:
            dq, dv, dtau = self._run(('forward_dynamics_derivatives',), q, v, tau, out=out)
            return dq, dv, dtau
        name = 'forward_dynamics_derivatives'
        dq, dv, dtau = self._under_wrenches(name, external_wrenches, q, v, tau, out=out)
        return dq, dv, dtau

    @kernel_method
    def hybrid_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[bool] | NDArray[np.bool_],
        external_wrenches: Wrenches | None = None,
        *,
        out: Arrays | None = None,
    ) -> HybridDerivatives:
        """Derivatives of all accelerations and torques of ``hybrid_dynamics`` ([Lie] 4).

        Args:
            q, v, a, tau, prescribed: as for ``hybrid_dynamics``.
            external_wrenches: as for ``inverse_dynamics_derivatives``.

        Raises:
            SingularError: a free joint moves nothing that has mass or inertia.
            InvalidArgumentError: numbers so large that the result overflows.
        """
        key, given, known = self._given('hybrid_dynamics_derivatives', a, tau, prescribed)
        if external_wrenches is None:
            return HybridDerivatives(*self._run(key, q, v, given, known, out=out))
        push = self.wrench_torques(q, external_wrenches)
        found = HybridDerivatives(*self._run(key, q, v, given, known + push, out=out))
        turned = self.wrench_torques_derivative(q, external_wrenches)
        found.a_dq[...] += found.a_dtau @ turned
        found.tau_dq[...] += found.tau_dtau @ turned
        found.tau_dq[...] -= turned
        return found

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

    def _solved_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Wrenches | None,
        out: Arrays | None,
    ) -> tuple[Array, Array, Array]:
        """Derivatives of forward dynamics from those of inverse dynamics, solved by NumPy.

        A kernel of these solutions takes operations in proportion to the cube of the number of
        joints in a row: a million for 50. Nothing else is compiled than gravity and the derivatives
        of inverse dynamics: at a = 0 these contain M and, as C v is quadratic in v, C v = dv v / 2.
        """
        q, v, tau = finite_together(q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv))
        still = np.zeros(self.nv)
        _, dv, M = self.inverse_dynamics_derivatives(q, v, still, external_wrenches)
        inverse = inverse_of_positive(M)
        force = tau - self.gravity(q) - 0.5 * apply(dv, v)
        if external_wrenches is not None:
            force = force + self.wrench_torques(q, external_wrenches)
        a = apply(inverse, force)
        refuse_overflow(a, q=q, v=v, tau=tau)
        dq, dv, M = self.inverse_dynamics_derivatives(q, v, a, external_wrenches, out=out)
        for matrix, solved in ((dq, -(inverse @ dq)), (dv, -(inverse @ dv)), (M, inverse)):
            matrix[...] = solved
        refuse_overflow(dq, dv, M, q=q, v=v, tau=tau)
        return dq, dv, M

    # Dynamics as a linear function of inertial parameters.

    def inertial_parameters(self) -> Array:
        """pi (10 bodies) of the model, in the order of the columns of ``regressor``."""
        return np.array([inertia.parameters() for inertia in self.model.inertias]).ravel()

    def regressor_r_factor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        columns: Sequence[int] | NDArray[np.integer] | None = None,
    ) -> Array:
        """R (c, c) of the QR factorization of the regressor over all states, without storing it.

        With A the chosen columns of W Y of all states, one below another, A = Q R, so R^T R =
        A^T A without the rounding errors of this product. Least squares, ranks, determinants and
        singular values of A follow from R. R is upper triangular with a non-negative diagonal. The
        R factors of two recordings, one below the other, have the R factor of both:
        ``numpy.linalg.qr(stacked, mode='r')``.

        Args:
            q, v, a: configurations, velocities, accelerations.
            tau: (..., nv) torques: W tau is the last column of A. None: there is no such column.
            weights: (nv) or (..., nv) diagonal of W, such as inverse standard deviations of
                torques; None: ones.
            columns: indices of columns of Y, and beyond these of rotor inertias, one per entry of
                v; None: all columns of Y. A kernel is compiled for each choice; its number of
                operations grows with the square of the number of columns. Base parameters
                (``BaseParameters.of(robot).chosen``) are the largest choice with an invertible R.

        Raises:
            InvalidArgumentError: an argument is wrong, or numbers are so large that R overflows.
            TooLargeError: too many columns for one kernel.
        """
        states = finite_together(
            q=(q, self.nq),
            v=(v, self.nv),
            a=(a, self.nv),
            tau=(np.zeros(self.nv) if tau is None else tau, self.nv),
            weights=(np.ones(self.nv) if weights is None else weights, self.nv),
        )
        if columns is None:
            columns = range(10 * len(self.model.body_names))
        if len(columns) == 0 or len(set(columns)) < len(columns):
            problem = 'an index twice' if len(columns) else 'no index'
            raise InvalidArgumentError('columns', problem, 'one index or more, each once')
        kernel = self.kernel('regressor_factor_step', *map(str, columns))
        leading = np.broadcast_shapes(*(x.shape[:-1] for x in states))
        rows = [np.broadcast_to(x, (*leading, x.shape[-1])) for x in states]
        flat = [x.reshape(-1, x.shape[-1]) for x in rows]
        R = _accumulated(kernel, flat, len(columns) + 1)
        return R if tau is not None else R[:-1, :-1].copy()


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


def _accumulated(step: Callable[..., Any], states: Sequence[Array], columns: int) -> Array:
    """R (columns, columns) of rows of many states.

    Args:
        step: kernel of a batch of states and packed triangles, which returns the next triangles.
        states: (n, ...) arrays, one per input of the kernel except the triangle.
        columns: number of columns.
    """
    upper = np.triu_indices(columns)
    lanes = min(LANES, max(1, len(states[0])))
    packed, following = np.zeros((2, lanes, len(upper[0])))
    for first in range(0, len(states[0]), LANES):
        taken = [x[first : first + LANES] for x in states]
        count = len(taken[0])
        step(*taken, packed[:count], out=following[:count])
        following[count:] = packed[count:]
        packed, following = following, packed
    triangles = np.zeros((lanes, columns, columns))
    triangles[:, upper[0], upper[1]] = packed
    R = np.asarray(np.linalg.qr(triangles.reshape(-1, columns), mode='r'))
    return R * np.copysign(1.0, np.diag(R))[:, np.newaxis]


@lru_cache(maxsize=256)
def _key_of_mask(name: str, mask: bytes) -> Key:
    """Return the key of the hybrid dynamics kernel for a mask of prescribed joints."""
    return name, *(str(k) for k, prescribed in enumerate(mask) if prescribed)
