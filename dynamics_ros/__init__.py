"""Kinematics and dynamics of robots from their description, for ROS 2 and for Python alone."""

from .export import export_kernels
from .robot import Robot

__all__ = ['Robot', 'export_kernels']
