# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot, all nodes on it, and RViz if it is installed."""

from dynamics_ros.launching import demo as generate_launch_description

__all__ = ['generate_launch_description']
