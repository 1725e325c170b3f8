# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a robot: torques, accelerations, matrices, derivatives, energies and momenta."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.quantity import Key
from dynamics_ros.kernels.graph.symbols import is_symbolic

from .arguments import boolean_mask, finite_together, real_vectors, refuse_overflow
from .external_wrenches import Wrenches
from .kernel_methods import Array, Arrays, kernel_method
from .linear_systems import apply, inverse_of_positive
from .regressor import Regressors

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


class Dynamics(Regressors):
    """Equations of motion of a robot, and quantities derived from them."""

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

    # Energies and mass distribution.

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


@lru_cache(maxsize=256)
def _key_of_mask(name: str, mask: bytes) -> Key:
    """Return the key of the hybrid dynamics kernel for a mask of prescribed joints."""
    return name, *(str(k) for k, prescribed in enumerate(mask) if prescribed)
