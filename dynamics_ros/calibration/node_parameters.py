"""Parameters of contact_node for an identified robot, as YAML for ``--params-file``."""

from __future__ import annotations

import numpy as np
import yaml
from numpy.typing import NDArray

from dynamics_ros.identification import Identified

HEADER = """\
# What calibrate_robot found; for contact_node, with the description that it wrote beside:
#   ros2 run dynamics_ros contact_node --ros-args --params-file THIS
# Joints in the order {joints}.
"""


def node_parameters(identified: Identified) -> str:
    """The YAML text."""
    model, digits = identified.effort_model, _rounded
    coulomb = digits(model.coulomb)
    # Rounded apart, their sum could become negative.
    stribeck = np.maximum(digits(model.stribeck), -np.array(coulomb)).tolist()
    parameters = {
        'effort': {
            'scale': digits(model.scale),
            'offset': digits(model.offset),
            'rotor_inertia': digits(model.rotor_inertia),
            'noise': digits(identified.effort_noise),
            'velocity_noise': digits(identified.velocity_noise),
            'model_error': digits(np.maximum(identified.model_error, 1e-4)),
        },
        'friction': {
            'viscous': digits(model.viscous),
            'coulomb': coulomb,
            'velocity': float(model.friction_velocity),
            'stribeck': stribeck,
            'stribeck_velocity': float(model.stribeck_velocity),
        },
    }
    content = {'/**/contact_node': {'ros__parameters': parameters}}
    header = HEADER.format(joints=', '.join(identified.robot.joint_names))
    return header + yaml.safe_dump(content, sort_keys=False, default_flow_style=None)


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f'{value:.6g}') for value in values]
