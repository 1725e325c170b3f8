# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of contact_node for an identified robot, and as a ``calibration_file``."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError, printable
from dynamics_ros.files import read_file
from dynamics_ros.identification import Identified
from dynamics_ros.identification.uncertainty import FALSE_ALARMS, Learned, ObserverChoice
from dynamics_ros.ros_yaml import yaml_text

HEADER = '# What calibration found; '
"""First line of parameter files that may be overwritten."""

EXPLANATION = """\
for contact_node, with the description that it is of:
#   ros2 run dynamics_ros contact_node --ros-args -p calibration_file:=THIS
# Joints in the order {joints}.
"""

UNKNOWN = """\
# Friction is unknown, and covered by unexplained.*, for joints that did not move: {joints}.
"""

NOT_RECORDED = """\
# Joints that were not recorded are not used (effort.noise is inf): {joints}.
"""

UNUSED = {
    **{'scale': 1.0, 'noise': math.inf, 'velocity_noise': 1e-3, 'model_error': 1e-4, 'tail': 1.0},
    **{'lowest': -1e6, 'highest': 1e6},
}
"""Values of a joint that was not recorded, where they are not 0."""

FIRST = '/**/'
"""Beginning of the parameters after the comments."""


def node_parameters(identified: Identified, learned: Learned, joints: Sequence[str] = ()) -> str:
    """Returns the YAML text of the parameters.

    Args:
        identified: the robot.
        learned: deviations of its model, from ``identification.uncertainty.learn``.
        joints: all joints of the node in its order, which may be more than were recorded.
    """
    names = identified.robot.joint_names
    joints = joints or names
    groups = parameter_values(identified, learned)
    if joints != names:
        groups = {
            group: {
                name: _completed(name, value, names, joints)
                if isinstance(value, list) and group != 'observer'
                else value
                for name, value in values.items()
            }
            for group, values in groups.items()
        }
    head, first, rest = parameters_text(groups, joints).partition(FIRST)
    still = [name for name, moved in zip(names, identified.moved, strict=True) if not moved]
    for comment, of in (
        (UNKNOWN, still),
        (NOT_RECORDED, [name for name in joints if name not in names]),
    ):
        head += comment.format(joints=', '.join(of)) if of else ''
    return f'{head}{first}{rest}'


def _completed(
    parameter: str, values: Sequence[float], names: Sequence[str], joints: Sequence[str]
) -> list[float]:
    """Returns values of all joints from those of the recorded ones."""
    of = dict(zip(names, values, strict=True))
    return [of.get(joint, UNUSED.get(parameter, 0.0)) for joint in joints]


def parameter_values(identified: Identified, learned: Learned) -> dict[str, dict[str, Any]]:
    """Returns the values of the parameters of contact_node in groups."""
    model, digits = identified.effort_model, _rounded
    unexplained = learned.unexplained
    coulomb = digits(model.coulomb)
    # Independent rounding could make the sum of both negative.
    stribeck = np.maximum(digits(model.stribeck), -np.array(coulomb)).tolist()
    observer = {'kind': learned.observer.kind, 'gain': [float(f'{learned.observer.gain:.3g}')]}
    # The observer of the user is kept unless the noise requires another one.
    chosen = {'observer': observer} if learned.observer != ObserverChoice() else {}
    return chosen | {
        'effort': {
            'scale': digits(model.scale),
            'offset': digits(model.offset),
            'rotor_inertia': digits(model.rotor_inertia),
            'noise': digits(identified.noise.effort),
            'velocity_noise': digits(identified.noise.velocity),
            'velocity_differenced': digits(identified.noise.differenced),
            'velocity_cutoff': digits(identified.noise.cutoff),
            'model_error': digits(np.maximum(unexplained.constant, 1e-4)),
        },
        'friction': {
            'viscous': digits(model.viscous),
            'coulomb': coulomb,
            'velocity': float(model.friction_velocity),
            'stribeck': stribeck,
            'stribeck_velocity': float(model.stribeck_velocity),
            'load': digits(model.load_friction),
        },
        'unexplained': {
            name: digits(getattr(unexplained, name))
            for name in ('speed', 'load', 'reversal', 'standing', 'fastest', 'beyond', 'tail')
        }
        | {'lowest': digits(identified.postures[0]), 'highest': digits(identified.postures[1])},
        'thresholds': {'false_alarms_per_hour': FALSE_ALARMS},
    }


def by_name(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Converts groups of parameters to a flat mapping with dotted names."""
    return {f'{group}.{name}': x for group, values in groups.items() for name, x in values.items()}


def in_groups(by_name: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Converts a flat mapping with dotted names to groups of parameters."""
    groups: dict[str, dict[str, Any]] = {}
    for whole, value in by_name.items():
        group, _, name = whole.partition('.')
        groups.setdefault(group, {})[name] = value
    return groups


def with_joints_as_before(
    found: Mapping[str, Any], before: Mapping[str, Sequence[float]], moved: NDArray[np.bool_]
) -> dict[str, Any]:
    """Restores previous parameter values of joints that did not move or are not used.

    Args:
        found: new values by parameter name.
        before: previous values (nv) by parameter name, as far as they are known.
        moved: (nv) mask of joints that moved.
    """
    merged = dict(found)
    for name in found.keys() & before.keys():
        old = np.asarray(before[name], dtype=np.float64)
        stays = ~moved | np.isinf(old)
        merged[name] = np.where(stays, old, found[name]).tolist()
    return merged


def check_path(path: Path) -> None:
    """Checks that a file may be written: a new one, or one written by a calibration.

    Raises:
        InvalidArgumentError: it may not.
    """
    problem, allowed = '', 'an absolute path in .yaml'
    try:
        if not path.is_absolute() or path.suffix != '.yaml':
            problem = 'is not such a path'
        elif not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            problem, allowed = (
                'is in a folder that cannot be written',
                'a file in a writable folder',
            )
        elif path.is_symlink() or (path.exists() and not _is_of_calibration(path)):
            problem, allowed = 'exists and was not written by a calibration', 'another name'
    except OSError as error:  # a name that no file can have
        problem, allowed = f'is not a valid file name: {error.strerror}', 'another name'
    if problem:
        raise InvalidArgumentError('path', f'{printable(str(path))} {problem}', allowed)


def _is_of_calibration(path: Path) -> bool:
    try:
        return read_file(path).startswith(HEADER.encode())
    except OSError:
        return False


def parameters_text(
    groups: Mapping[str, Mapping[str, Any]],
    joint_names: Sequence[str],
    node: str = 'contact_node',
) -> str:
    """Returns groups of parameters as YAML text."""
    content = {f'/**/{node}': {'ros__parameters': groups}}
    header = HEADER + EXPLANATION.format(joints=', '.join(joint_names))
    return header + yaml_text(content, default_flow_style=None)


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f'{value:.6g}') for value in values]
