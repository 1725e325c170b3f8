# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Model-based control: kinematic, in joint space, at an end effector, and of the whole body."""

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
from .joint_space import inverse_dynamics_control, joint_impedance, oscillator_gains
from .joint_stop import JointCommand, JointStop
from .kinematic import support_consistent_velocity, tracking_twist, trajectory_velocity
from .standing_robot import StandingMotion, StandingRobot, StandingSettings
from .task_space import (
    motion_torques,
    operational_space_torques,
    selection_matrices,
    tracking_acceleration,
)
from .tasks import (
    Task,
    damped_pseudo_inverse,
    null_space_projector,
    solve_equal,
    solve_prioritized,
    solve_task,
    weighted_pseudo_inverse,
)
from .virtual_model import virtual_model_torques
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
    'StandingMotion',
    'StandingRobot',
    'StandingSettings',
    'Task',
    'WholeBodyMotion',
    'WholeBodyProblem',
    'constrained_least_squares',
    'damped_pseudo_inverse',
    'damping_of_ratio',
    'inverse_dynamics_control',
    'joint_impedance',
    'joint_ranges',
    'motion_torques',
    'null_space_projector',
    'operational_space_torques',
    'oscillator_gains',
    'pose_error',
    'required_damping',
    'selection_matrices',
    'solve_equal',
    'solve_hierarchy',
    'solve_prioritized',
    'solve_task',
    'stiffness_matrix',
    'support_consistent_velocity',
    'tracking_acceleration',
    'tracking_twist',
    'trajectory_velocity',
    'virtual_model_torques',
    'weighted_pseudo_inverse',
    'wrench_at',
]
