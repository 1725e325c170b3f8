# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of a calibration: description and parameters of contact_node, and checks of their paths.

The description gets identified ``<inertial>`` and ``<dynamics>`` elements. All other text is kept,
including comments. Links on fixed joints, such as a gripper, keep their own inertia, and the link
that the joint moves gets the difference. If the difference is physically impossible, that link gets
the whole inertia and the others none.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError, printable
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.files import read_file
from dynamics_ros.identification import Identified
from dynamics_ros.identification.bodies.pseudo_inertia import consistent
from dynamics_ros.identification.uncertainty import FALSE_ALARMS, Learned
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.ros_yaml import yaml_text
from dynamics_ros.spatial import Inertia, Matrix3, Vector3

Array = NDArray[np.float64]

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
    **{'effort.scale': 1.0, 'effort.noise': math.inf, 'effort.velocity_noise': 1e-3},
    **{'effort.model_error': 1e-4, 'unexplained.tail': 1.0},
}
"""Values of a joint that was not recorded, where they are not 0."""


def check_outputs(outputs: Mapping[str, Path | None], inputs: Sequence[Path] = ()) -> None:
    """Check that files can be written and that none of them replaces an input or another output.

    Args:
        outputs: path by the name of its option; None for a file that is not wanted.
        inputs: files that are read.

    Raises:
        InvalidArgumentError: a file cannot or must not be written.
    """
    read = {path.resolve() for path in inputs}
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        whole = path.resolve()
        # A file is replaced by a new one in its folder; a device, such as /dev/stdout, is not.
        replaced = [whole, whole.parent] if whole.is_file() else [whole]
        written = replaced if whole.exists() else [whole.parent]
        if whole.is_dir():
            problem, allowed = 'is a folder', 'a file'
        elif not whole.parent.is_dir():
            problem, allowed = 'is in a folder that does not exist', 'a file in an existing folder'
        elif not all(os.access(one, os.W_OK) for one in written):
            problem, allowed = 'cannot be written', 'a file that can be written'
        elif whole in read:
            problem, allowed = 'is an input of the same command', 'the name of another file'
        elif whole in taken:
            problem, allowed = f'is that of {taken[whole]} too', 'a file of its own'
        else:
            taken[whole] = option
            continue
        raise InvalidArgumentError(option, f'{path} {problem}', allowed)


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


def calibrated_description(text: str, identified: Identified) -> str:
    """Returns the URDF text of the identified robot.

    Args:
        text: URDF of the described robot.
        identified: the identified parameters.
    """
    robot = identified.robot
    described = parse_urdf(text)
    # parse_urdf has checked the same text for entities and nesting depth.
    builder = ElementTree.TreeBuilder(insert_comments=True)
    parser = ElementTree.XMLParser(target=builder)
    tree = ElementTree.fromstring(text.lstrip('\ufeff'), parser)
    links = {element.get('name', ''): element for element in tree.iter('link')}
    own = {link.name: link.inertial for link in described.links}
    for body, parameters in enumerate(identified.bodies):
        moved = robot.model.body_names[body]
        carried = [f for f in robot.model.frames if f.body == body and f.name != moved]
        rest = parameters.copy()
        for frame in carried:
            given = own[frame.name]
            inertia = Inertia(given.mass, Vector3(*given.center_of_mass), Matrix3(given.inertia))
            rest -= np.array([float(x) for x in frame.placement.act(inertia).parameters()])
        if rest[0] > 0.0 and consistent(rest[np.newaxis]):
            parameters = rest
        else:
            for frame in carried:
                _remove(links[frame.name], 'inertial')
        _write_inertial(links[moved], parameters)
    model = identified.effort_model
    for joint in tree.findall('joint'):
        index = robot.joint_v_indices.get(joint.get('name', ''))
        if index is not None:
            _remove(joint, 'dynamics')
            values = {'damping': model.viscous[index], 'friction': model.coulomb[index]}
            ElementTree.SubElement(joint, 'dynamics', {k: _number(x) for k, x in values.items()})
    ElementTree.indent(tree, '  ')
    return ElementTree.tostring(tree, encoding='unicode') + '\n'


def _remove(element: ElementTree.Element, tag: str) -> None:
    for child in element.findall(tag):
        element.remove(child)


def _write_inertial(link: ElementTree.Element, parameters: Array) -> None:
    _remove(link, 'inertial')
    body = Inertia.from_array(parameters)
    inertial = ElementTree.Element('inertial')
    center = ' '.join(_number(x) for x in body.center)
    ElementTree.SubElement(inertial, 'origin', xyz=center, rpy='0 0 0')
    ElementTree.SubElement(inertial, 'mass', value=_number(body.mass))
    about = body.rotational
    entries = {'ixx': about[0, 0], 'ixy': about[0, 1], 'ixz': about[0, 2]}
    entries |= {'iyy': about[1, 1], 'iyz': about[1, 2], 'izz': about[2, 2]}
    ElementTree.SubElement(inertial, 'inertia', {k: _number(x) for k, x in entries.items()})
    link.insert(0, inertial)


def _number(value: float) -> str:
    return f'{float(value):.9g}'


def node_parameters(identified: Identified, learned: Learned, joints: Sequence[str] = ()) -> str:
    """Returns the YAML text of the parameters of contact_node.

    Args:
        identified: the robot.
        learned: deviations of its model, from ``identification.uncertainty.learn``.
        joints: all joints of the node in its order, which may be more than were recorded.
    """
    names = identified.robot.joint_names
    joints = joints or names
    values = parameter_values(identified, learned)
    for name, value in values.items():
        if isinstance(value, list) and name != 'observer.gain':
            of = dict(zip(names, value, strict=True))
            values[name] = [of.get(joint, UNUSED.get(name, 0.0)) for joint in joints]
    still = [name for name, moved in zip(names, identified.moved, strict=True) if not moved]
    absent = [name for name in joints if name not in names]
    comments = [
        comment.format(joints=', '.join(of))
        for comment, of in ((UNKNOWN, still), (NOT_RECORDED, absent))
        if of
    ]
    return parameters_text(values, joints, comments=comments)


def parameter_values(identified: Identified, learned: Learned) -> dict[str, Any]:
    """Returns the values of the parameters of contact_node by name."""
    model, noise, unexplained = identified.effort_model, identified.noise, learned.unexplained
    coulomb = np.array(_rounded(model.coulomb))
    arrays = {
        'effort.scale': model.scale,
        'effort.offset': model.offset,
        'effort.rotor_inertia': model.rotor_inertia,
        'effort.noise': noise.effort,
        'effort.velocity_noise': noise.velocity,
        'effort.model_error': np.maximum(unexplained.constant, 1e-4),
        'friction.viscous': model.viscous,
        'friction.coulomb': coulomb,
        # Independent rounding could make the sum of both negative.
        'friction.stribeck': np.maximum(_rounded(model.stribeck), -coulomb),
        'friction.load': model.load_friction,
    }
    for name in ('speed', 'load', 'reversal', 'standing', 'tail'):
        arrays[f'unexplained.{name}'] = getattr(unexplained, name)
    values: dict[str, Any] = {name: _rounded(value) for name, value in arrays.items()}
    values['friction.velocity'] = float(model.friction_velocity)
    values['thresholds.false_alarms_per_hour'] = FALSE_ALARMS
    # The observer of the user is kept unless the noise requires another one.
    if learned.gain != GAIN:
        values['observer.gain'] = [float(f'{learned.gain:.3g}')]
    return values


def _rounded(values: Array) -> list[float]:
    return [float(f'{value:.6g}') for value in values]


def parameters_text(
    values: Mapping[str, Any],
    joint_names: Sequence[str],
    node: str = 'contact_node',
    comments: Sequence[str] = (),
) -> str:
    """Returns values by dotted names as YAML text for ``--params-file``."""
    groups: dict[str, dict[str, Any]] = {}
    for whole, value in values.items():
        group, _, name = whole.partition('.')
        groups.setdefault(group, {})[name] = value
    content = {f'/**/{node}': {'ros__parameters': groups}}
    header = HEADER + EXPLANATION.format(joints=', '.join(joint_names))
    return header + ''.join(comments) + yaml_text(content, default_flow_style=None)
