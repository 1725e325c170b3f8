# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: joint positions that bring a frame to a pose, within the joint limits."""

from .problem import Options
from .result import InverseKinematicsResult, Solutions
from .solve import solve, solve_all

__all__ = ['InverseKinematicsResult', 'Options', 'Solutions', 'solve', 'solve_all']
