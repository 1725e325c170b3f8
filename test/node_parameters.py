"""Which parameters a section of a parameter file is about."""

from dynamics_ros.nodes.parameters.contact import ContactParameters
from dynamics_ros.nodes.parameters.dynamics import DynamicsParameters
from dynamics_ros.nodes.parameters.kinematics import KinematicsParameters
from dynamics_ros.nodes.parameters.robot import RobotParameters
from dynamics_ros.nodes.parameters.servo import ServoParameters

SECTIONS = {
    '/**': RobotParameters,
    '/**/kinematics_node': KinematicsParameters,
    '/**/dynamics_node': DynamicsParameters,
    '/**/contact_node': ContactParameters,
    '/**/cartesian_servo_node': ServoParameters,
}
