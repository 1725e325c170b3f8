# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Friction beyond the model, and least squares whose deviations count it."""

from .friction import UnmodelledFriction, groups
from .random_effects import MixedEquations, estimated

__all__ = ['MixedEquations', 'UnmodelledFriction', 'estimated', 'groups']
