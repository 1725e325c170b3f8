# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Web page of one robot, without ROS: its scene, sliders, frames and torques.

The page needs only ``RigidBodySystem``, so ``Robot.show`` can open it. The viewer adds the outputs
of the nodes.
"""

from .robot_page import RobotPage

show = RobotPage
"""Shows a robot; its arguments are those of `RobotPage`."""

__all__ = ['RobotPage', 'show']
