# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Model-based control: compliant arms, end effectors, planned efforts, and the whole body."""

from dynamics_ros.multibody.end_effector import pose_error
from dynamics_ros.multibody.linear_systems import constrained_least_squares

from .admittance import Admittance, MeasuredWrench, required_damping, wrench_at
from .compliance.compliant_arm import CompliantArm
from .compliance.gains import ImpedanceGains, joint_ranges, stiffness_matrix
from .compliance.impedance import (
    ImpedanceController,
    ImpedanceState,
    ImpedanceStep,
    ImpedanceTarget,
    damping_of_ratio,
)
from .compliance.motion_check import MotionCheck
from .compliance.reactions import STRATEGIES, Reaction, ReactionSettings
from .compliance.setpoint import Setpoint, SetpointLimits
from .compliance.settings import ArmSettings, Compliance, Guiding
from .feed_forward import FeedForward, JointMotion, LimitViolation
from .hierarchy import HierarchySolution, Level, solve_hierarchy
from .joint_stop import JointCommand, JointStop
from .task_space import motion_torques, operational_space_torques, selection_matrices
from .whole_body import WholeBodyMotion, WholeBodyProblem

__all__ = [
    'STRATEGIES',
    'Admittance',
    'ArmSettings',
    'Compliance',
    'CompliantArm',
    'FeedForward',
    'Guiding',
    'HierarchySolution',
    'ImpedanceController',
    'ImpedanceGains',
    'ImpedanceState',
    'ImpedanceStep',
    'ImpedanceTarget',
    'JointCommand',
    'JointMotion',
    'JointStop',
    'Level',
    'LimitViolation',
    'MeasuredWrench',
    'MotionCheck',
    'Reaction',
    'ReactionSettings',
    'Setpoint',
    'SetpointLimits',
    'WholeBodyMotion',
    'WholeBodyProblem',
    'constrained_least_squares',
    'damping_of_ratio',
    'joint_ranges',
    'motion_torques',
    'operational_space_torques',
    'pose_error',
    'required_damping',
    'selection_matrices',
    'solve_hierarchy',
    'stiffness_matrix',
    'wrench_at',
]
