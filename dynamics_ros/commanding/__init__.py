# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What nodes that command a robot know without ROS: which joints are commanded, how an arm behaves.

Parameters become settings of ``control`` and of the servo here, checked against a robot; the pace
of joint states and what is done about a collision are kept. ``nodes/commanding`` imports it, and
gives it a life on the middleware.
"""
