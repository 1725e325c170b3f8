# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: joint positions that bring a frame to a pose, within the joint limits."""

from .batch import EitherResult, InverseKinematicsResults, solve_each
from .result import InverseKinematicsResult
from .solutions import Solutions
from .solve import solve, solve_all

__all__ = [
    'EitherResult',
    'InverseKinematicsResult',
    'InverseKinematicsResults',
    'Solutions',
    'solve',
    'solve_all',
    'solve_each',
]
