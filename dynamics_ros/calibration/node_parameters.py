"""Parameters of contact_node for an identified robot, as YAML for ``--params-file``."""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from dynamics_ros.identification import Identified
from dynamics_ros.identification.uncertainty import Learned

HEADER = """\
# What calibrate_robot found; for contact_node, with the description that it wrote beside:
#   ros2 run dynamics_ros contact_node --ros-args --params-file THIS
# Joints in the order {joints}.
"""


FALSE_ALARMS = 1.0
"""An hour, in free motion."""


def node_parameters(identified: Identified, learned: Learned) -> str:
    """The YAML text.

    Args:
        identified: the robot.
        learned: what it leaves unexplained, from ``identification.uncertainty.learn``.
    """
    content = {'/**/contact_node': {'ros__parameters': parameter_values(identified, learned)}}
    header = HEADER.format(joints=', '.join(identified.robot.joint_names))
    return header + yaml.safe_dump(content, sort_keys=False, default_flow_style=None)


def parameter_values(identified: Identified, learned: Learned) -> dict[str, dict[str, Any]]:
    """Values of the parameters of contact_node, in groups."""
    model, digits = identified.effort_model, _rounded
    unexplained = learned.unexplained
    coulomb = digits(model.coulomb)
    # Rounded apart, their sum could become negative.
    stribeck = np.maximum(digits(model.stribeck), -np.array(coulomb)).tolist()
    return {
        'effort': {
            'scale': digits(model.scale),
            'offset': digits(model.offset),
            'rotor_inertia': digits(model.rotor_inertia),
            'noise': digits(identified.effort_noise),
            'velocity_noise': digits(identified.velocity_noise),
            'model_error': digits(np.maximum(unexplained.constant, 1e-4)),
        },
        'friction': {
            'viscous': digits(model.viscous),
            'coulomb': coulomb,
            'velocity': float(model.friction_velocity),
            'stribeck': stribeck,
            'stribeck_velocity': float(model.stribeck_velocity),
        },
        'unexplained': {
            name: digits(getattr(unexplained, name))
            for name in ('speed', 'load', 'reversal', 'standing', 'tail')
        },
        'thresholds': {'false_alarms_per_hour': FALSE_ALARMS},
    }


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f'{value:.6g}') for value in values]
