# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
# Written by `python -m dynamics_ros.multibody.quantity_methods`, then formatted.

from numpy.typing import ArrayLike

from dynamics_ros.algorithms.quantity import DEFAULT_REFERENCE, Definition, Reference

from .kernel_methods import Array, Arrays, Frames, KernelMethods, Wrenches

def signature(definition: Definition) -> str: ...
def documentation(definition: Definition) -> str: ...
def stub() -> str: ...

class QuantityMethods(KernelMethods):
    """A method for each quantity that is not written otherwise."""

    def all_frames(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def body_accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def centroidal_map(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def centroidal_momentum(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def com_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def configuration_rate(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def coriolis(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None) -> Array: ...
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Wrenches | None = None,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Wrenches | None = None,
        *,
        out: Arrays | None = None,
    ) -> tuple[Array, Array, Array]: ...
    def forward_kinematics(
        self, q: ArrayLike, frame: Frames | None = None, *, out: Array | None = None
    ) -> Array: ...
    def frame_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: Frames | None = None,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def frame_velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: Frames | None = None,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def gravity(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def interpolate(
        self, q0: ArrayLike, q1: ArrayLike, t: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Wrenches | None = None,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Wrenches | None = None,
        *,
        out: Arrays | None = None,
    ) -> tuple[Array, Array, Array]: ...
    def jacobian(
        self,
        q: ArrayLike,
        frame: Frames | None = None,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: Frames | None = None,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def jacobian_hessian(
        self,
        q: ArrayLike,
        frame: Frames | None = None,
        reference: Reference = DEFAULT_REFERENCE,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Wrenches | None = None,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def mass_matrix_inverse(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def momentum_observer_terms(
        self, q: ArrayLike, v: ArrayLike, *, out: Arrays | None = None
    ) -> tuple[Array, Array]: ...
    def nonlinear_effects(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def potential_energy(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def rate_map(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def rate_map_inverse(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def velocity_of_rate(
        self, q: ArrayLike, rate: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
