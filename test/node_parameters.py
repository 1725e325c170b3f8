"""Which parameters a section of a parameter file is about."""

from dynamics_ros.nodes.parameters.groups import (
    ContactParameters,
    DynamicsParameters,
    KinematicsParameters,
    RobotParameters,
)
from dynamics_ros.nodes.parameters.servo import ServoParameters

SECTIONS = {
    '/**': RobotParameters,
    '/**/kinematics_node': KinematicsParameters,
    '/**/dynamics_node': DynamicsParameters,
    '/**/contact_node': ContactParameters,
    '/**/cartesian_servo_node': ServoParameters,
}
