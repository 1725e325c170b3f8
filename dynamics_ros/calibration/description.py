# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writer of a robot description with identified ``<inertial>`` and ``<dynamics>`` elements.

All other text is kept, including comments. Links on fixed joints, such as a gripper, keep their own
inertia, and the link that the joint moves gets the difference. If the difference is physically
impossible, that link gets the whole inertia and the others none.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification import Identified
from dynamics_ros.identification.bodies.pseudo_inertia import consistent
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.spatial import Inertia, Matrix3, Vector3

Array = NDArray[np.float64]


def calibrated_description(text: str, identified: Identified) -> str:
    """Returns the URDF text of the identified robot.

    Args:
        text: URDF of the described robot.
        identified: the identified parameters.
    """
    robot = identified.robot
    described = parse_urdf(text)
    tree = _tree(text)
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
    _write_dynamics(tree, identified)
    ElementTree.indent(tree, '  ')
    return ElementTree.tostring(tree, encoding='unicode') + '\n'


def _tree(text: str) -> ElementTree.Element:
    # parse_urdf has already checked the same text for entities and nesting depth.
    builder = ElementTree.TreeBuilder(insert_comments=True)
    return ElementTree.fromstring(text.lstrip('\ufeff'), ElementTree.XMLParser(target=builder))


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


def _write_dynamics(tree: ElementTree.Element, identified: Identified) -> None:
    robot, model = identified.robot, identified.effort_model
    for joint in tree.findall('joint'):
        index = robot.joint_v_indices.get(joint.get('name', ''))
        if index is None:
            continue
        _remove(joint, 'dynamics')
        values = {'damping': model.viscous[index], 'friction': model.coulomb[index]}
        ElementTree.SubElement(joint, 'dynamics', {k: _number(x) for k, x in values.items()})


def _number(value: float) -> str:
    return f'{float(value):.9g}'
