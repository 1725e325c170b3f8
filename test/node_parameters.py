# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which parameters a section of a parameter file is about."""

from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.dynamics import DynamicsParameters
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.parameters.servo import ServoParameters

SECTIONS = {
    '/**': RobotParameters,
    '/**/kinematics_node': KinematicsParameters,
    '/**/dynamics_node': DynamicsParameters,
    '/**/contact_node': ContactParameters,
    '/**/cartesian_servo_node': ServoParameters,
    '/**/impedance_controller_node': ImpedanceParameters,
}
