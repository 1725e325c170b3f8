# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes: they convert, call the library and publish, and contain no mathematics.

One file here contains all uses of private API of rclpy.
"""
