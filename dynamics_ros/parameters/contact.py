# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of contact_node, in addition to the settings of the estimators."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.parameters.robot import PUBLISH_RATE
from dynamics_ros.settings import parameter


@dataclass(frozen=True)
class LocationParameters:
    """Location of contacts on the collision geometry of robot_description."""

    enabled: bool = parameter(True, 'Read the collision geometry and locate contacts on it')


@dataclass(frozen=True)
class ArrowParameters:
    """Markers of contacts for RViz."""

    rate: float = parameter(
        20.0,
        'Maximum rate of marker messages; 0: one for every joint state',
        unit='Hz',
        minimum=0.0,
    )
    force_scale: float = parameter(
        0.01,
        'Length of an arrow per force; per torque five times as much',
        unit='m/N',
        minimum=1e-6,
    )


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
    location: LocationParameters = field(default_factory=LocationParameters)
    markers: ArrowParameters = field(default_factory=ArrowParameters)
