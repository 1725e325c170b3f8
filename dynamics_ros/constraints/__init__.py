# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constrained motion: contacts, closed loops, impacts, and dynamics at an end effector.

Forces are those of the environment on the robot, with the opposite sign of [RD].
"""

from .closing import Stabilized, closed_state
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
    contact_forces,
    impact,
    impact_energy_loss,
)
from .internal_forces import (
    ElasticElement,
    actuator_torques,
    contact_positions,
    soft_contact_forces,
)
from .jacobian import (
    ConstraintRanks,
    constraint_bias,
    constraint_jacobian,
    constraint_ranks,
    split_forces,
    support_projector,
)
from .kinds import ClosedLoop, Constraint, Constraints, Contact
from .loops import (
    Gap,
    forward_dynamics_in_loops,
    gravity_in_loops,
    inverse_dynamics_in_loops,
    loops_of,
    widest_gap,
)
from .of_functions import ConfigurationConstraint, LinearConstraint
from .operational_space import operational_space, projected_newton_euler

__all__ = [
    'ClosedLoop',
    'ConfigurationConstraint',
    'ConstrainedDerivatives',
    'ConstrainedHybridDerivatives',
    'ConstrainedInverseDerivatives',
    'Constraint',
    'ConstraintRanks',
    'Constraints',
    'Contact',
    'ElasticElement',
    'Gap',
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
    'constrained_inverse_dynamics_derivatives',
    'constraint_bias',
    'constraint_jacobian',
    'constraint_ranks',
    'contact_forces',
    'contact_positions',
    'forward_dynamics_in_loops',
    'gravity_in_loops',
    'impact',
    'impact_derivatives',
    'impact_energy_loss',
    'inverse_dynamics_in_loops',
    'loops_of',
    'operational_space',
    'projected_newton_euler',
    'soft_contact_forces',
    'split_forces',
    'support_projector',
    'widest_gap',
]
