# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stands in for moveit_msgs where it is not installed, so that its services can be offered.

They have the types of other services: whoever needs answers needs the real package.
"""
