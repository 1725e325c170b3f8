# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes: they convert, call the library and publish, and hold no mathematics.

What is private of rclpy lies here, in one file.
"""
