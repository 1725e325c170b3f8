# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constrained motion: contacts, closed loops, impacts, and dynamics at an end effector.

Forces are those of the environment on the robot, with the opposite sign of [RD].
"""

from dynamics_ros.multibody.end_effector import operational_space

from .derivatives import (
    ConstrainedDerivatives,
    ConstrainedHybridDerivatives,
    ConstrainedInverseDerivatives,
    ImpactDerivatives,
    constrained_forward_dynamics_derivatives,
    constrained_hybrid_dynamics_derivatives,
    constrained_inverse_dynamics_derivatives,
    impact_derivatives,
)
from .dynamics import (
    consistent_acceleration,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    constraint_bias,
    constraint_jacobian,
    contact_forces,
    impact,
    split_forces,
    support_projector,
)
from .kinds import (
    ClosedLoop,
    ConfigurationConstraint,
    Constraint,
    Constraints,
    Contact,
    LinearConstraint,
)
from .loops import (
    Gap,
    PassiveJoints,
    Stabilized,
    closed_state,
    forward_dynamics_in_loops,
    gravity_in_loops,
    inverse_dynamics_in_loops,
    loops_of,
    motor_map,
    motors,
    widest_gap,
)

__all__ = [
    'ClosedLoop',
    'ConfigurationConstraint',
    'ConstrainedDerivatives',
    'ConstrainedHybridDerivatives',
    'ConstrainedInverseDerivatives',
    'Constraint',
    'Constraints',
    'Contact',
    'Gap',
    'ImpactDerivatives',
    'LinearConstraint',
    'PassiveJoints',
    'Stabilized',
    'closed_state',
    'consistent_acceleration',
    'constrained_forward_dynamics',
    'constrained_forward_dynamics_derivatives',
    'constrained_hybrid_dynamics',
    'constrained_hybrid_dynamics_derivatives',
    'constrained_inverse_dynamics',
    'constrained_inverse_dynamics_derivatives',
    'constraint_bias',
    'constraint_jacobian',
    'contact_forces',
    'forward_dynamics_in_loops',
    'gravity_in_loops',
    'impact',
    'impact_derivatives',
    'inverse_dynamics_in_loops',
    'loops_of',
    'motor_map',
    'motors',
    'operational_space',
    'split_forces',
    'support_projector',
    'widest_gap',
]
