# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of contact_node, in addition to the settings of the estimators."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.parameters.robot import PUBLISH_RATE, output_rate
from dynamics_ros.settings import parameter


@dataclass(frozen=True)
class LocationParameters:
    """Location of contacts on the collision geometry of robot_description."""

    enabled: bool = parameter(True, 'Read the collision geometry and locate contacts on it')
    rate: float = parameter(
        20.0, 'Maximum rate of locations during a contact', unit='Hz', minimum=0.1
    )


@dataclass(frozen=True)
class ArrowParameters:
    """Markers of contacts for RViz."""

    rate: float = parameter(
        20.0,
        'Maximum rate of marker messages; 0: one for every joint state',
        unit='Hz',
        minimum=0.0,
    )
    force_scale: float = parameter(0.01, 'Length of an arrow per force', unit='m/N', minimum=1e-6)
    torque_scale: float = parameter(
        0.05, 'Length of an arrow per torque', unit='m/Nm', minimum=1e-6
    )
    diameter: float = parameter(0.02, 'Diameter of an arrow', unit='m', minimum=1e-4)


@dataclass(frozen=True)
class ContactRates:
    """Maximum rates of individual outputs of contact_node."""

    external_torques: float = output_rate('~/external_torques')
    contact_state: float = output_rate('~/contact_state')
    foot_contacts: float = output_rate('~/foot_contacts')
    wrench: float = output_rate('~/<frame>/wrench, each')
    estimate: float = output_rate('~/<frame>/estimate, each')


@dataclass(frozen=True)
class ContactParameters(ContactSettings):
    """Parameters of contact_node."""

    calibration_file: str = parameter(
        '',
        'File of calibrate_robot --parameters or of ~/calibrate. Its values are used for the '
        'parameters that are not given. Empty: none',
        read_only=True,
    )
    publish_rate: float = parameter(0.0, PUBLISH_RATE, unit='Hz', minimum=0.0)
    publish_rates: ContactRates = field(default_factory=ContactRates)
    location: LocationParameters = field(default_factory=LocationParameters)
    markers: ArrowParameters = field(default_factory=ArrowParameters)
