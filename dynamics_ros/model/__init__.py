# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot models: description, joints, frames, the frozen Model, and the URDF reader."""

from .build import build_model
from .description import RobotDescription
from .model import ROOT, Frame, Joint, Model

__all__ = ['ROOT', 'Frame', 'Joint', 'Model', 'RobotDescription', 'build_model']
