# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""URDF texts that all peers can read and interpret in the same way."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from math import cos, pi, sin
from pathlib import Path

Element = ElementTree.Element

SHAPES = ('visual', 'collision')

PLACEHOLDER = 1e-5
"""Mass [kg] below which a link is a frame with a placeholder inertia, which MuJoCo
reject."""


def bare(path: Path, locked: Sequence[str] = ()) -> str:
    """The robot without shapes, materials and extensions, with some joints fixed.

    Args:
        path: URDF file.
        locked: joints to fix at zero.
    """
    root = _parsed(path)
    for joint in root.findall('joint'):
        if joint.get('name') in locked:
            joint.set('type', 'fixed')
            for element in list(joint):
                if element.tag in ('axis', 'limit', 'mimic', 'dynamics', 'safety_controller'):
                    joint.remove(element)
    return ElementTree.tostring(root, encoding='unicode')


def serial_chain(path: Path, base: str, tip: str) -> str:
    """The links and joints from one link to another, with unchanged names and limits."""
    root = _parsed(path)
    by_child = {_end(joint, 'child'): joint for joint in root.findall('joint')}
    joints: list[Element] = []
    link = tip
    while link != base:
        joint = by_child[link]
        joints.insert(0, joint)
        link = _end(joint, 'parent')
    links = {base, *(_end(joint, 'child') for joint in joints)}
    chain = ElementTree.Element('robot', name=root.get('name', 'chain'))
    chain.extend(link for link in root.findall('link') if link.get('name') in links)
    for joint in joints:
        # Soft limits are for controllers, and only some solvers use them.
        for element in [*joint.findall('mimic'), *joint.findall('safety_controller')]:
            joint.remove(element)
        chain.append(joint)
    return ElementTree.tostring(chain, encoding='unicode')


def generic_chain(joints: int) -> str:
    """A serial arm with equal link lengths but generic axes, offsets and inertias."""
    root = ElementTree.Element('robot', name=f'chain_{joints}')
    ElementTree.SubElement(root, 'link', name='link_0')
    for k in range(1, joints + 1):
        link = ElementTree.SubElement(root, 'link', name=f'link_{k}')
        inertial = ElementTree.SubElement(link, 'inertial')
        ElementTree.SubElement(inertial, 'origin', xyz=f'{0.01 * sin(k)} {0.02 * cos(k)} 0.05')
        ElementTree.SubElement(inertial, 'mass', value=str(1.0 + 0.3 * sin(3.0 * k)))
        ElementTree.SubElement(
            inertial,
            'inertia',
            ixx='0.02', iyy='0.025', izz=str(0.03 + 0.002 * sin(k)),
            ixy=str(0.001 * cos(k)), ixz='0.0005', iyz=str(0.0007 * sin(2.0 * k)),
        )  # fmt: skip
        joint = ElementTree.SubElement(root, 'joint', name=f'joint_{k}', type='revolute')
        ElementTree.SubElement(joint, 'parent', link=f'link_{k - 1}')
        ElementTree.SubElement(joint, 'child', link=f'link_{k}')
        ElementTree.SubElement(
            joint, 'origin', xyz=f'{0.02 * cos(k)} 0.01 0.1', rpy=f'{sin(k)} {cos(2.0 * k)} 0.3'
        )
        ElementTree.SubElement(joint, 'axis', xyz='0 0 1')
        ElementTree.SubElement(
            joint, 'limit', lower=str(-pi), upper=str(pi), effort='100', velocity='3'
        )
    return ElementTree.tostring(root, encoding='unicode')


def without_friction(text: str) -> str:
    """The robot without friction and damping of its joints."""
    root = ElementTree.fromstring(text)
    for joint in root.findall('joint'):
        for element in joint.findall('dynamics'):
            joint.remove(element)
    return ElementTree.tostring(root, encoding='unicode')


def for_mujoco(text: str) -> str:
    """The robot for MuJoCo, with every link as a body."""
    root = ElementTree.fromstring(text)
    extension = ElementTree.SubElement(root, 'mujoco')
    ElementTree.SubElement(extension, 'compiler', fusestatic='false', discardvisual='true')
    return ElementTree.tostring(root, encoding='unicode')


def _parsed(path: Path) -> Element:
    root = ElementTree.parse(path).getroot()
    for element in list(root):
        if element.tag not in ('link', 'joint'):
            root.remove(element)
    for link in root.findall('link'):
        for element in list(link):
            if element.tag in SHAPES:
                link.remove(element)
            elif element.tag == 'inertial':
                _make_physical(element)
    for joint in root.findall('joint'):
        for element in joint.findall('mimic'):
            if joint.get('type') == 'fixed':
                joint.remove(element)
    return root


def _make_physical(inertial: Element) -> None:
    """Set products of inertia of a placeholder inertia to zero."""
    mass, inertia = inertial.find('mass'), inertial.find('inertia')
    if mass is None or inertia is None or float(mass.get('value', '0')) > PLACEHOLDER:
        return
    for product in ('ixy', 'ixz', 'iyz'):
        inertia.set(product, '0')


def _end(joint: Element, tag: str) -> str:
    element = joint.find(tag)
    assert element is not None
    return element.get('link', '')
