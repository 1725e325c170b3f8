# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base parameters: combinations of inertial parameters that determine torques ([Gautier1990]).

Torques are linear in ten parameters of each body and one rotor inertia of each joint. Some of these
have no effect (the mass of the first body of an arm on a floor), others only in sums. A pivoted QR
factorization of the regressor at random states selects independent columns; each other column is a
combination of them:

    Y phi = Y[:, chosen] (K phi),   K = [1 where chosen, combination elsewhere].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.algorithms.regressor import PARAMETERS
from dynamics_ros.computed_once import computed_once
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

STATES = 160
"""Number of random states of the regressor."""

TOLERANCE = 1e-4
"""Relative tolerance of linear dependence.

Descriptions that write pi / 2 as 1.5708 turn axes by 4e-6, which identifies nothing by itself.
"""

NAMES = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
UNITS = ('kg', *3 * ('kg m',), *6 * ('kg m^2',))


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Base parameters of a robot.

    Attributes:
        names: (p) names of all parameters, 10 per body in the order of the regressor, then rotors.
        units: (p) their units.
        chosen: (b) indices of the parameters after which the base parameters are named.
        combination: (b, p) matrix K.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    chosen: NDArray[np.int64]
    combination: Array

    @classmethod
    def of(cls, robot: Robot) -> BaseParameters:
        """Base parameters of a robot with rotors."""
        rng = np.random.default_rng(0)
        q = np.array([robot.random_configuration(rng) for _ in range(STATES)])
        v, a = rng.normal(size=(2, STATES, robot.nv))
        Y = with_rotors(robot.regressor(q, v, a), a).reshape(STATES * robot.nv, -1)
        sizes = np.linalg.norm(Y, axis=0)
        seen = np.flatnonzero(sizes > TOLERANCE * sizes.max())
        scaled = Y[:, seen] / sizes[seen]
        # The pivoted factorization orders columns such that the first ones are independent.
        _, R, order = scipy.linalg.qr(scaled, mode='economic', pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int((diagonal > TOLERANCE * diagonal[0]).sum())
        independent, others = order[:rank], order[rank:]
        dependence = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
        K = np.zeros((rank, Y.shape[1]))
        K[np.arange(rank), seen[independent]] = 1.0
        K[:, seen[others]] = (
            dependence * sizes[seen[others]] / sizes[seen[independent]][:, np.newaxis]
        )
        K[np.abs(K) < 1e-9] = 0.0
        ascending = np.argsort(seen[independent])
        bodies = [f'{p} {body}' for body in robot.body_names for p in NAMES]
        rotors = [f'rotor {name}' for name in robot.joint_names]
        units = [*UNITS * len(robot.body_names), *['kg m^2'] * robot.nv]
        return cls((*bodies, *rotors), tuple(units), seen[independent][ascending], K[ascending])

    def __len__(self) -> int:
        return len(self.chosen)

    def columns(self, Y: Array, a: Array) -> Array:
        """Regressor (..., nv, b) of the base parameters.

        Args:
            Y: (..., nv, 10 bodies) regressor of the bodies.
            a: (..., nv) accelerations, for the rotors.
        """
        of_bodies = int(np.searchsorted(self.chosen, Y.shape[-1]))
        joints = self.chosen[of_bodies:] - Y.shape[-1]
        found = np.zeros((*Y.shape[:-1], len(self)))
        found[..., :of_bodies] = Y[..., self.chosen[:of_bodies]]
        found[..., joints, of_bodies + np.arange(len(joints))] = a[..., joints]
        return found

    @computed_once
    def expressions(self) -> tuple[str, ...]:
        """(b) each combination as text, such as ``m link_3 + 1.0 m link_4``."""
        return tuple(
            ' '.join(
                [self.names[own]]
                + [
                    f'{"-" if k < 0.0 else "+"} {abs(k):.4g} {self.names[i]}'
                    for i, k in enumerate(row)
                    if k and i != own
                ]
            )
            for own, row in zip(self.chosen, self.combination, strict=True)
        )


def with_rotors(Y: Array, a: Array) -> Array:
    """Regressor (..., nv, 10 bodies) with an additional column for each rotor inertia."""
    nv = a.shape[-1]
    return np.concatenate([Y, a[..., np.newaxis] * np.eye(nv)], axis=-1)


assert len(NAMES) == len(PARAMETERS)
