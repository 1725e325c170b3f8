# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constrained motion: contacts, closed loops, impacts, and dynamics at an end effector.

Forces are those of the environment on the robot, with the opposite sign of [RD].
"""

from .closing import Stabilized, closed_state
from .derivatives import (
    ConstrainedDerivatives,
    ConstrainedHybridDerivatives,
    ImpactDerivatives,
    constrained_forward_dynamics_derivatives,
    constrained_hybrid_dynamics_derivatives,
    impact_derivatives,
)
from .forward_dynamics import (
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    contact_forces,
)
from .impact import impact, impact_energy_loss
from .internal_forces import ElasticElement, actuator_torques
from .inverse_dynamics import consistent_acceleration, constrained_inverse_dynamics
from .jacobian import (
    ConstraintRanks,
    constraint_bias,
    constraint_jacobian,
    constraint_ranks,
    split_forces,
    support_projector,
)
from .kinds import ClosedLoop, Constraint, Constraints, Contact
from .newton_euler import projected_newton_euler
from .of_functions import ConfigurationConstraint, LinearConstraint
from .operational_space import operational_space
from .soft_contact import contact_positions, soft_contact_forces

__all__ = [
    'ClosedLoop',
    'ConfigurationConstraint',
    'ConstrainedDerivatives',
    'ConstrainedHybridDerivatives',
    'Constraint',
    'ConstraintRanks',
    'Constraints',
    'Contact',
    'ElasticElement',
    'ImpactDerivatives',
    'LinearConstraint',
    'Stabilized',
    'actuator_torques',
    'closed_state',
    'consistent_acceleration',
    'constrained_forward_dynamics',
    'constrained_forward_dynamics_derivatives',
    'constrained_hybrid_dynamics',
    'constrained_hybrid_dynamics_derivatives',
    'constrained_inverse_dynamics',
    'constraint_bias',
    'constraint_jacobian',
    'constraint_ranks',
    'contact_forces',
    'contact_positions',
    'impact',
    'impact_derivatives',
    'impact_energy_loss',
    'operational_space',
    'projected_newton_euler',
    'soft_contact_forces',
    'split_forces',
    'support_projector',
]
