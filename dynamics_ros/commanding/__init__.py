# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of nodes that command a robot, without ROS: commanded joints, behaviour of an arm.

Converts parameters to settings of ``control`` and of the servo, checked against a robot; tracks the
timing of joint states and the state of an arm. ``nodes/`` imports this room and connects it to the
middleware.
"""
