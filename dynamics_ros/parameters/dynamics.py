# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of dynamics_node."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.contact_settings import (
    EffortSettings,
    LoadedFrictionSettings,
)
from dynamics_ros.settings import parameter

from .robot import HEAVIEST_PAYLOAD
from .shared import AUTOSTART, PUBLISH_RATE, output_rate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PayloadParameters:
    """What the robot carries at start; the service set_payload changes them."""

    frame: str = parameter('', 'Frame of the model that the payload is fixed to')
    mass: float = parameter(
        0.0,
        'Mass; 0: no payload; at most largest_payload',
        unit='kg',
        minimum=0.0,
        maximum=HEAVIEST_PAYLOAD,
    )
    center_of_mass: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        'Centre of mass in that frame',
        unit='m',
        sizes=(3,),
        minimum=-10.0,
        maximum=10.0,
    )
    inertia: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        'Inertia about the centre of mass, axes of that frame: ixx ixy ixz iyy iyz izz',
        unit='kg m^2',
        sizes=(6,),
        minimum=-1e6,
        maximum=1e6,
    )

    def or_none(self) -> PayloadParameters:
        """The payload; the default where it has no mass, whatever else is set."""
        return self if self.mass else NO_PAYLOAD

    def inertia_matrix(self) -> list[list[float]]:
        """Inertia about the centre of mass."""
        ixx, ixy, ixz, iyy, iyz, izz = self.inertia
        return [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]

    @classmethod
    def of(cls, frame: str, mass: float, center: Array, inertia: Array) -> PayloadParameters:
        """That of arrays: centre (3), inertia about it (3, 3)."""
        upper = (inertia[i][j] for i in range(3) for j in range(i, 3))
        values = tuple(float(value) for value in upper)
        return cls(frame, float(mass), tuple(float(c) for c in center), values)


NO_PAYLOAD = PayloadParameters()


@dataclass(frozen=True)
class IdentificationParameters:
    """The action identify_payload: how long it watches, and what the efforts that it sees mean."""

    duration: float = parameter(
        10.0, 'Time to watch where a goal asks for none', unit='s', minimum=0.1, maximum=600.0
    )
    effort: EffortSettings = field(default_factory=EffortSettings)
    friction: LoadedFrictionSettings = field(default_factory=LoadedFrictionSettings)


@dataclass(frozen=True)
class FeedForwardParameters:
    """Efforts along trajectories: ~/compute_trajectory_efforts and ~/joint_trajectory."""

    robot_carries_itself: bool = parameter(
        False, 'The robot adds the torques that carry its weight, so that efforts leave them out'
    )
    friction_compensation: float = parameter(
        1.0, 'Share of the friction that efforts overcome', minimum=0.0, maximum=1.0
    )
    refuse_beyond_limits: bool = parameter(
        True,
        'Pass no trajectory of ~/joint_trajectory on that is beyond a limit of position, velocity '
        'or effort on its way',
    )
    friction: LoadedFrictionSettings = field(default_factory=LoadedFrictionSettings)


@dataclass(frozen=True)
class DynamicsRates:
    """Rates of single outputs of dynamics_node."""

    gravity_torques: float = output_rate('~/gravity_torques')
    gravity_commands: float = output_rate('~/gravity_commands')


@dataclass(frozen=True)
class DynamicsParameters:
    """Parameters of dynamics_node."""

    publish_rate: float = parameter(0.0, PUBLISH_RATE, unit='Hz', minimum=0.0)
    publish_rates: DynamicsRates = field(default_factory=DynamicsRates)
    command_joints: tuple[str, ...] = parameter(
        (),
        'Joints of ~/gravity_commands, in the order that the effort controller expects. '
        'Empty: the topic is not published',
    )
    autostart: bool = parameter(False, AUTOSTART, read_only=True)
    commands_at_end: str = parameter(
        'hold',
        'What ends ~/gravity_commands. hold: nothing, and the controller holds the last torques; '
        'zero: torques of zero, which drop an arm that has no brakes',
        choices=('hold', 'zero'),
    )
    payload: PayloadParameters = field(default_factory=PayloadParameters)
    feed_forward: FeedForwardParameters = field(default_factory=FeedForwardParameters)
    identification: IdentificationParameters = field(default_factory=IdentificationParameters)
