# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of contact_node, in addition to the settings of the estimators."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.parameters.robot import PUBLISH_RATE, fixed
from dynamics_ros.settings import parameter


@dataclass(frozen=True)
class ArrowParameters:
    """Markers of contacts for RViz."""

    force_scale: float = parameter(
        0.01, 'Length of an arrow per force; per torque five times as much', 'm/N', minimum=1e-6
    )


@dataclass(frozen=True)
class WristSensorParameters:
    """Force-torque sensor; ~/identify_wrist_sensor finds all from mass to bias_deviation."""

    topic: str = fixed('', 'Topic of its readings, geometry_msgs/WrenchStamped. Empty: no sensor')
    frame: str = parameter(
        '',
        'Frame of the model at whose origin and in whose axes it reads. Empty: frame_id',
        is_frame=True,
    )
    mass: float = parameter(0.0, 'Mass of what hangs on the sensor', 'kg', (0.0, 1e4))
    center_of_mass: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), 'Its centre of mass in the frame', 'm', sizes=(3,)
    )
    bias: tuple[float, ...] = parameter(
        (0.0,) * 6, 'Force and torque that are subtracted', 'N, Nm', sizes=(6,)
    )
    reversed: bool = parameter(
        False, 'The driver states the wrench of the robot on the environment'
    )
    noise: tuple[float, ...] = parameter(
        (0.0,) * 6,
        'Standard deviation of a reading at rest; 0: unknown',
        'N, Nm',
        (0.0, 1e4),
        sizes=(6,),
    )
    bias_deviation: tuple[float, ...] = parameter(
        (0.0,) * 6, 'Standard deviation of bias', 'N, Nm', (0.0, 1e4), sizes=(6,)
    )
    gain: float = parameter(50.0, 'Bandwidth of ~/measured_wrench', '1/s', (0.1, 1e4))
    contact_force: float = parameter(
        5.0,
        'Measured force that is a contact; of torques one tenth of it, in Nm',
        'N',
        minimum=1e-3,
        may_be_infinite=True,
    )


@dataclass(frozen=True)
class BaseParameters:
    """Base of a legged robot from an IMU and feet.frames, published on odom."""

    imu_topic: str = fixed(
        '', 'Topic of the IMU (sensor_msgs/Imu), on the root link. Empty: another node gives odom'
    )
    foot_radius: float = parameter(0.0, 'Radius of spherical feet, which roll', 'm', (0.0, 1.0))


@dataclass(frozen=True)
class ContactParameters(ContactSettings):
    """Parameters of contact_node."""

    calibration_file: str = fixed(
        '',
        'File of calibrate_robot --parameters or of ~/calibrate. Its values are used for the '
        'parameters that are not given. Empty: none',
    )
    publish_rate: float = parameter(0.0, PUBLISH_RATE, 'Hz', minimum=0.0)
    markers: ArrowParameters = field(default_factory=ArrowParameters)
    wrist_sensor: WristSensorParameters = field(default_factory=WristSensorParameters)
    base: BaseParameters = field(default_factory=BaseParameters)
