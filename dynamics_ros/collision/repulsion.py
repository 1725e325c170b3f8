# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint torques that push links of an arm apart from each other and from obstacles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.control.sampled import SHARE, SHARE_OF_SPRING
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, check_positive

from .scene import Collisions, Distances, Pair

Array = NDArray[np.float64]

BESIDE = 0.25
"""Share of the springs and dampers that sampled torques allow: the control law has its own."""

MOST_ENERGY = 2.0
"""Largest energy that all springs together may store [J]."""

ONSET = 0.2
"""Fraction of the distance over which the damper of a pair sets in."""

TINY = 1e-9
"""Lower bound of mobilities [1/kg]."""


def check_spring(stiffness: float, distance: float) -> None:
    """Check the spring of a pair.

    Args:
        stiffness: [N/m].
        distance: from which it pushes [m].

    Raises:
        InvalidArgumentError: a value is negative or the distance zero, or the spring could store
            more than ``MOST_ENERGY``.
    """
    check_not_negative('stiffness', stiffness)
    check_positive('distance', distance)
    energy = 0.5 * stiffness * distance**2
    if energy > MOST_ENERGY:
        found = f'{stiffness:g} N/m over {distance:g} m stores {energy:.3g} J'
        raise InvalidArgumentError('repulsion.stiffness', found, f'up to {MOST_ENERGY:g} J')


class Repulsion:
    """Springs and dampers between links, and between links and obstacles ([Khatib1986]).

    A pair that is closer than ``distance`` has a spring along the line between its closest points,
    with critical damping for the inertia that the pair moves. They push, and never pull. Together
    they are bounded by what torques that are held between two samples allow, so that light links
    are pushed less. A pair of links counts once, at its closest shapes.

    A pair that is already closer when it is first seen, such as neighbouring links at the start or
    a new obstacle, is pushed from its distance at that time on: nothing starts with a jump. The
    larger distance returns as the pair separates.

    Attributes:
        collisions: links and obstacles; may be set between two calls.
        stiffness: of each spring [N/m].
        distance: below which pairs are pushed [m].
    """

    def __init__(self, collisions: Collisions, stiffness: float, distance: float = 0.05) -> None:
        """Check the values, as ``check_spring``."""
        check_spring(stiffness, distance)
        self.collisions, self.stiffness, self.distance = collisions, stiffness, distance
        self.forget()

    def forget(self) -> None:
        """Begin anew, with the distances of the next call as those of pairs first seen."""
        self._seen: Collisions | None = None
        self._known: frozenset[Pair] = frozenset()
        self._free: dict[Pair, float] = {}

    def wait(self) -> None:
        """Wait until the kernels are compiled."""
        robot = self.collisions.robot
        self.torques(robot.neutral(), np.zeros(robot.nv), 1.0)
        self.forget()
        for kernel in robot.kernels.values():
            kernel.wait()

    def torques(self, q: ArrayLike, v: ArrayLike, hold: float) -> Array:
        """Return the torques of all pairs.

        Args:
            q, v: (nq), (nv) state.
            hold: time for which the torques are held [s].

        Returns:
            Torques (nv) [Nm, N if prismatic]; zero without a close pair.

        Raises:
            InvalidArgumentError: q has the wrong size or is not finite.
        """
        robot = self.collisions.robot
        found, J = self.collisions.distance_jacobian(q, self.distance)
        closest = self._closest(found)
        free = self._free_distances(found, closest)
        if not closest:
            return np.zeros(robot.nv)
        J, near = J[list(closest.values())], found.distance[list(closest.values())]
        compressed = np.clip(free - near, 0.0, self.distance)
        acting = np.minimum(1.0, compressed / (ONSET * self.distance))
        mobility = np.einsum('kj,jk->k', J, np.linalg.solve(robot.mass_matrix(q), J.T))
        mobility = np.maximum(mobility, TINY)
        stable = BESIDE * SHARE_OF_SPRING / (hold**2 * max(float(acting @ mobility), TINY))
        lawful = 2.0 * MOST_ENERGY / max(float(compressed @ compressed), TINY)
        k = min(self.stiffness, stable, lawful)
        c = 2.0 * np.sqrt(k / mobility) * acting
        c *= min(1.0, BESIDE * SHARE / (hold * max(float(c @ mobility), TINY)))
        return np.asarray(np.maximum(k * compressed - c * (J @ np.asarray(v)), 0.0) @ J)

    @staticmethod
    def _closest(found: Distances) -> dict[Pair, int]:
        """Row of the closest shapes of each pair."""
        rows: dict[Pair, int] = {}
        for row in np.argsort(found.distance).tolist():
            rows.setdefault(found.pairs[row], row)
        return rows

    def _free_distances(self, found: Distances, closest: dict[Pair, int]) -> Array:
        """Distance from which each close pair is pushed [m], in the order of ``closest``."""
        now = {pair: float(found.distance[row]) for pair, row in closest.items()}
        new = {
            pair: d if pair not in self._known else self._free.get(pair, self.distance)
            for pair, d in now.items()
        }
        self._free = {pair: max(d, now[pair]) for pair, d in new.items()}
        if self._seen is not self.collisions:
            self._seen, self._known = self.collisions, frozenset(self.collisions.pairs)
        return np.array(list(self._free.values()))
