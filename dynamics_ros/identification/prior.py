# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Prior of the unknowns of an identification, from the description."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.estimation import EffortModel
from dynamics_ros.robot import Robot

from .bodies import pseudo_inertia
from .normal_equations import FRICTION, Layout

Array = NDArray[np.float64]

PRIOR_WEIGHT = 20.0
"""Weight of the divergence from the description. Residuals on other motion of three recorded arms
(geometric mean): 3.19 % with 10, 3.22 % with 20, 3.36 % with 30, above 4.7 % with 100."""

FRICTION_REACH, OFFSET_REACH, VISCOUS_SPEED = 2.0, 0.1, 0.1
"""Prior deviations of friction and of offsets, over the RMS effort; speed at which viscous friction
reaches the same deviation [rad/s]."""

LOAD_REACH = 0.3
"""Prior deviation of the load coefficient of friction; gears of robots have up to about 0.2."""

ROTOR_REACH = 0.1
"""Least prior deviation of a rotor inertia, over the largest inertia that any joint carries."""

HELD_FACTOR = 1e20
"""Factor on the divergence weight of bodies that are fixed to the description."""

IMMOBILE_REACH = 1e-6
"""Prior deviation of the friction of a joint that does not move, over the RMS effort."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Gaussian prior of friction, and quadratic expansion of the divergence of bodies and rotors.

    Attributes:
        mean: (n) unknowns according to the description.
        precision: (n, n) inverse covariance of friction; zero for bodies and rotors.
        divergence: (n, n) Hessian of the divergence of bodies, and of a quadratic prior of rotors.
        bodies: (bodies, 10) described inertial parameters, made physically consistent.
        joints: number of joints.
    """

    mean: Array
    precision: Array
    divergence: Array
    bodies: Array
    joints: int

    @computed_once
    def open_inertial(self) -> Array:
        """(p, p) covariance of bodies and rotors for the weight 1: the inverse divergence."""
        inertial = len(self.divergence) - len(FRICTION) * self.joints
        divergence = self.divergence[:inertial, :inertial]
        found = np.diag(1.0 / np.diag(divergence))
        blocks = range(0, self.bodies.size, 10)
        for own in (slice(first, first + 10) for first in blocks):
            found[own, own] = np.linalg.inv(divergence[own, own])
        return found

    @classmethod
    def of(
        cls,
        robot: Robot,
        layout: Layout,
        sizes: Array,
        moving: NDArray[np.bool_],
        held: bool = False,
        rotors: Array | None = None,
    ) -> Prior:
        """Prior of a description.

        Args:
            robot, layout: the described robot, and the layout of its unknowns.
            sizes: (nv) RMS efforts [Nm or N].
            moving: (nv) whether joints move.
            held: whether bodies are fixed to the description.
            rotors: (nv) estimates of large rotor inertias, which widen their prior [kg m^2 or kg];
                None: no estimates.
        """
        bodies, rng = pseudo_inertia.described(robot), np.random.default_rng(0)
        postures = np.array([robot.random_configuration(rng) for _ in range(20)])
        carried = robot.mass_matrix(postures).diagonal(axis1=1, axis2=2).mean(axis=0)
        mean, n = np.zeros(layout.count), layout.count
        mean[: layout.bodies] = (pseudo_inertia.given(robot) if held else bodies).ravel()
        divergence, precision = np.zeros((n, n)), np.zeros((n, n))
        for body, block in enumerate(pseudo_inertia.metric(bodies)):
            own = slice(10 * body, 10 * body + 10)
            divergence[own, own] = HELD_FACTOR * block if held else block
        of_rotors = np.arange(layout.bodies, layout.inertial)
        # The rotor of a small motor with a large gear ratio can exceed the inertia of the hand.
        reach = np.maximum(carried, ROTOR_REACH * carried.max()) + 1e-9
        if rotors is not None:
            reach = np.maximum(reach, rotors)
        divergence[of_rotors, of_rotors] = 1.0 / reach**2
        declared = EffortModel.from_robot(robot)
        for joint in range(layout.joints):
            friction = layout.friction(joint)
            dry = declared.coulomb[joint]
            mean[friction] = (declared.viscous[joint], 0.0, dry, dry, 0.0)
            size = max(sizes[joint], 1e-6)
            reach = size * (FRICTION_REACH if moving[joint] else IMMOBILE_REACH)
            of_load = LOAD_REACH if moving[joint] else IMMOBILE_REACH
            speed = VISCOUS_SPEED * declared.motion[joint]
            deviations = np.array(
                [
                    reach / speed,
                    OFFSET_REACH * size,
                    reach,
                    reach,
                    of_load,
                ]
            )
            precision[friction, friction] = np.diag(1.0 / deviations**2)
        return cls(mean, precision, divergence, bodies, layout.joints)
