# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of dynamics_node."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.contact_settings import (
    EffortSettings,
    LoadedFrictionSettings,
)
from dynamics_ros.parameters.robot import MAX_PAYLOAD, PUBLISH_RATE, CommandingParameters, fixed
from dynamics_ros.settings import parameter

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PayloadParameters:
    """Payload of the robot at start; ~/set_payload and ~/identify_payload set another one."""

    frame: str = fixed('', 'Frame of the model to which the payload is fixed')
    mass: float = fixed(0.0, 'Mass, up to largest_payload; 0: no payload', 'kg', (0.0, MAX_PAYLOAD))
    center_of_mass: tuple[float, ...] = fixed(
        (0.0, 0.0, 0.0), 'Centre of mass in that frame', 'm', (-10.0, 10.0), sizes=(3,)
    )
    inertia: tuple[float, ...] = fixed(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        'Inertia about the centre of mass, axes of that frame: ixx ixy ixz iyy iyz izz',
        'kg m^2',
        (-1e6, 1e6),
        sizes=(6,),
    )

    def weightless(self) -> PayloadParameters:
        """Return the payload without its mass."""
        return replace(self, mass=0.0, inertia=NO_PAYLOAD.inertia)

    def moments(self) -> Array:
        """Return mass and first moment (4) [kg, kg m], which determine the gravity torques."""
        return self.mass * np.array([1.0, *self.center_of_mass])

    def towards(self, other: PayloadParameters, share: float) -> PayloadParameters:
        """Return the payload at a share of the way to another one at the same frame."""
        center, inertia = (
            tuple(x + share * (y - x) for x, y in zip(mine, theirs, strict=True))
            for mine, theirs in (
                (self.center_of_mass, other.center_of_mass),
                (self.inertia, other.inertia),
            )
        )
        return PayloadParameters(
            self.frame, self.mass + share * (other.mass - self.mass), center, inertia
        )

    def inertia_matrix(self) -> list[list[float]]:
        """Return the inertia about the centre of mass (3, 3) [kg m^2]."""
        ixx, ixy, ixz, iyy, iyz, izz = self.inertia
        return [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]

    @classmethod
    def of(cls, frame: str, mass: float, center: Array, inertia: Array) -> PayloadParameters:
        """Return the parameters of a payload.

        Args:
            frame: frame to which the payload is fixed.
            mass: mass [kg].
            center: centre of mass in that frame (3) [m].
            inertia: inertia about the centre of mass, in axes of that frame (3, 3) [kg m^2].
        """
        upper = (inertia[i][j] for i in range(3) for j in range(i, 3))
        values = tuple(float(value) for value in upper)
        return cls(frame, float(mass), tuple(float(c) for c in center), values)


NO_PAYLOAD = PayloadParameters()


@dataclass(frozen=True)
class DynamicsParameters(CommandingParameters):
    """Parameters of dynamics_node."""

    publish_rate: float = parameter(0.0, PUBLISH_RATE, 'Hz', minimum=0.0)
    command_joints: tuple[str, ...] = fixed(
        (),
        'Joints of ~/gravity_commands, in the order of the effort controller. '
        'Empty: the topic is not published',
    )
    commands_at_end: str = parameter(
        'hold',
        'Final command of ~/gravity_commands. hold: none, and the controller keeps the last '
        'torques; zero: zero torques, which let an arm without brakes fall',
        choices=('hold', 'zero'),
    )
    payload: PayloadParameters = field(default_factory=PayloadParameters)
    robot_carries_itself: bool = parameter(
        False,
        'The robot compensates its own weight, so ~/compute_trajectory_efforts does not include '
        'gravity torques',
    )
    effort: EffortSettings = field(default_factory=EffortSettings)
    friction: LoadedFrictionSettings = field(default_factory=LoadedFrictionSettings)
