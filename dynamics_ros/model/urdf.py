# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of URDF text or files to a RobotDescription, with errors that name the element.

It reads links with their inertials, and joints. It ignores transmissions, materials, visuals,
collisions, sensors and simulator tags; mesh files are never opened.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

import numpy as np

from dynamics_ros.errors import ModelError
from dynamics_ros.spatial.rotation import quaternion_normalized, quaternion_to_matrix
from dynamics_ros.spatial.vector import Matrix3 as SpatialMatrix3

from .description import (
    IDENTITY,
    ZERO,
    Inertial,
    JointDescription,
    Limits,
    LinkDescription,
    Matrix3,
    Mimic,
    Origin,
    RobotDescription,
    Triple,
)
from .description_file import description_text
from .doubts import (
    IMPOSSIBLE_INERTIA,
    MINUS_ONE,
    NO_RANGE,
    ONE_BOUND,
    REPEATED,
    Doubts,
)
from .hardened_xml import DOCUMENT, Element, quoted, read_xml
from .joints import JOINT_KINDS, ONE_COORDINATE
from .topology import resolve_mimics, tree_order

MAXIMUM_LINKS = 10_000


FIRST_COUNTS = ('origin', 'axis', 'limit', 'dynamics')
"""Joint elements of which the first counts, as in urdfdom and everything built on it. Two of any
other element would leave connections or masses ambiguous.
"""

UNLIMITED = 1e16
"""Value that simulators and exporters write for a missing limit."""

ANGLE_ROUNDING = 1e-14
"""Half a unit of the 15th digit of an angle up to 2 pi, the precision that exporters print."""

INERTIA_ROUNDING = 1e-6
"""Inertia rounding error [kg m^2]: many exporters print six decimals."""


def read_urdf(source: str | os.PathLike[str]) -> RobotDescription:
    """Read a robot description from URDF text or from a file.

    Args:
        source: XML text (its first character that is not blank is '<'), or the path of a file.

    Raises:
        ModelError: the description, or the file, cannot be used; names the element and the reason.
    """
    return _describe(read_xml(description_text(source)))


def parse_urdf(text: str) -> RobotDescription:
    """Read a robot description from URDF text.

    Joints come in tree order, depth first, the children of a link in the order of the text; link
    i + 1 is the child of joint i. A mimic joint that follows a mimic joint names the last leader,
    with the composed multiplier and offset.

    Limits are infinite if the text has none, and for values that exporters write for an unknown
    limit: an effort or velocity of 0, a range from 0 to 0, or a bound of 1e16 and beyond; an effort
    or velocity of -1 is unlimited in SDF. A fixed joint has no limits, axis or friction, whatever
    its element says.

    Usable but probably unintended contents are logged as a warning and kept in ``doubts``.

    Raises:
        ModelError: the description cannot be used; names the element and the reason.
    """
    return _describe(read_xml(text))


def _describe(robot: Element) -> RobotDescription:
    if robot.tag != 'robot':
        other = {'sdf': 'SDF', 'mujoco': 'MJCF', 'world': 'SDF'}.get(robot.tag)
        cure = f': convert {other} to URDF' if other else ''
        cure += ', or read it by Robot(source)' if other else ''
        raise ModelError(DOCUMENT, f'its root element is <{robot.tag}>, expected <robot>{cure}')
    name = robot.name() if robot.text('name').strip() else ''
    doubts = Doubts()
    links = _links(robot, doubts)
    elements = _named(robot, 'joint').items()
    joints = resolve_mimics({name: _joint(one, links, doubts) for name, one in elements})
    root, ordered = tree_order(links, joints)
    return RobotDescription(
        name=name,
        root=root,
        links=(links[root], *(links[joint.child] for joint in ordered)),
        joints=tuple(ordered),
        doubts=doubts.logged(name),
    )


# Links


def _named(robot: Element, tag: str) -> dict[str, Element]:
    """Links or joints by name, in the order of the text."""
    elements: dict[str, Element] = {}
    for element in robot.children(tag):
        name = element.name()
        if name in elements:
            element.refuse(f'a second {tag} of this name (line {element.line})')
        if len(elements) == MAXIMUM_LINKS:
            robot.refuse(f'has more than {MAXIMUM_LINKS} {tag}s')
        elements[name] = element
    return elements


def _links(robot: Element, doubts: Doubts) -> dict[str, LinkDescription]:
    links = {}
    for name, element in _named(robot, 'link').items():
        geometry = element.children('visual') or element.children('collision')
        links[name] = LinkDescription(name, _inertial(element, doubts), bool(geometry))
    if not links:
        robot.refuse('has no link')
    return links


def _inertial(link: Element, doubts: Doubts) -> Inertial:
    element = link.child('inertial')
    if element is None:
        return Inertial()
    mass_element = element.required_child('mass')
    mass = mass_element.number('value')
    if mass < 0.0:
        mass_element.refuse(f'{mass:g} kg is negative')
    _note_repeated(element, ('origin',), link.name(), doubts)
    origin = read_origin(element)
    inertia = _inertia(element.required_child('inertia'), link.name(), doubts)
    return Inertial(mass, origin.translation, _rotated(inertia, origin.rotation))


def _inertia(element: Element, link: str, doubts: Doubts) -> Matrix3:
    """Return the inertia in the axes of the inertial's origin, checked to be physical."""
    xx, yy, zz = (element.number(key) for key in ('ixx', 'iyy', 'izz'))
    xy, xz, yz = (element.number(key) for key in ('ixy', 'ixz', 'iyz'))
    inertia = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    smallest, middle, largest = np.linalg.eigvalsh(inertia).tolist()
    if smallest < -INERTIA_ROUNDING * (1.0 + abs(largest)):
        element.refuse(f'has a negative principal moment, {smallest:.6g} kg m^2')
    # A milligram at a millimetre, 1e-12 kg m^2, is negligible.
    if smallest + middle < largest - INERTIA_ROUNDING * largest - 1e-12:
        doubts.add(IMPOSSIBLE_INERTIA, link)
    return inertia


def _rotated(inertia: Matrix3, rotation: Matrix3) -> Matrix3:
    """Return the inertia in rotated axes: R I R^T, exactly symmetric."""
    if rotation == IDENTITY:
        return inertia
    r = SpatialMatrix3(rotation)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = r @ SpatialMatrix3(inertia) @ r.T
    return _rows((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


# Joints


def _joint(element: Element, links: dict[str, LinkDescription], doubts: Doubts) -> JointDescription:
    kind = element.text('type')
    if kind != 'fixed' and kind not in JOINT_KINDS:
        types = ', '.join(('fixed', *JOINT_KINDS))
        element.refuse(f'unknown type {quoted(kind)}, expected one of {types}')
    _note_repeated(element, FIRST_COUNTS, element.name(), doubts)
    damping, friction = (0.0, 0.0) if kind == 'fixed' else _dynamics(element)
    return JointDescription(
        name=element.name(),
        type=kind,
        parent=_end(element, 'parent', links),
        child=_end(element, 'child', links),
        origin=read_origin(element),
        axis=_axis(element, kind),
        limits=_limits(element, kind, doubts),
        mimic=_mimic(element, kind),
        damping=damping,
        friction=friction,
    )


def _note_repeated(element: Element, tags: Iterable[str], name: str, doubts: Doubts) -> None:
    for tag in tags:
        if len(element.children(tag)) > 1:
            doubts.add(REPEATED.format(tag=tag), name)


def _end(joint: Element, tag: str, links: dict[str, LinkDescription]) -> str:
    element = joint.required_child(tag)
    name = element.name('link')
    if name not in links:
        element.refuse(f'there is no link {quoted(name)}')
    return name


def _axis(joint: Element, kind: str) -> Triple:
    element = joint.first_child('axis')
    # The axis of a joint that uses none is ignored; exporters write zeros there.
    if element is None or kind not in JOINT_KINDS or not JOINT_KINDS[kind].has_axis:
        return (1.0, 0.0, 0.0)
    numbers = element.numbers('xyz', 3)
    largest = max(abs(number) for number in numbers)
    if largest == 0.0:
        element.refuse('is zero, it has no direction')
    # Divided by the largest first, so that no square overflows or vanishes.
    x, y, z = (number / largest for number in numbers)
    length = math.hypot(x, y, z)
    return (_snapped(x / length), _snapped(y / length), _snapped(z / length))


def _limits(joint: Element, kind: str, doubts: Doubts) -> Limits:
    element = joint.first_child('limit')
    if element is None:
        low = high = 0.0
    else:
        # Missing attributes are 0, as in the specification.
        low, high = (element.number(key, 0.0, math.inf) for key in ('lower', 'upper'))
    if kind == 'fixed':
        return Limits()
    lower, upper = -math.inf, math.inf
    if JOINT_KINDS[kind].has_range:
        if element is not None:
            absent = [key for key in ('lower', 'upper') if not element.has(key)]
            if low > high:
                cure = f' (absent {absent[0]} is 0; write both)' if absent else ''
                element.refuse(f'lower {low:g} is above upper {high:g}{cure}')
            if len(absent) == 1:
                doubts.add(ONE_BOUND, joint.name())
        if (low, high) == (0.0, 0.0):
            doubts.add(NO_RANGE, joint.name())
        else:
            lower = low if low > -UNLIMITED else -math.inf
            upper = high if high < UNLIMITED else math.inf
    if element is None:
        return Limits(lower, upper)
    velocity, effort = (
        _largest(element, key, joint.name(), doubts) for key in ('velocity', 'effort')
    )
    return Limits(lower, upper, velocity, effort)


def _largest(limit: Element, attribute: str, joint: str, doubts: Doubts) -> float:
    """Return a bound on a magnitude; 0 means unknown, because such a joint would be fixed."""
    value = limit.number(attribute, 0.0, math.inf)
    if value == -1.0:
        doubts.add(MINUS_ONE, joint)
        return math.inf
    if value < 0.0:
        limit.refuse(f'{attribute} {value:g} is negative')
    return value if 0.0 < value < UNLIMITED else math.inf


def _dynamics(joint: Element) -> tuple[float, float]:
    element = joint.first_child('dynamics')
    if element is None:
        return 0.0, 0.0
    damping, friction = (element.number(key, 0.0) for key in ('damping', 'friction'))
    for key, value in (('damping', damping), ('friction', friction)):
        if value < 0.0:
            element.refuse(f'{key} {value:g} is negative')
    return damping, friction


def _mimic(joint: Element, kind: str) -> Mimic | None:
    element = joint.child('mimic')
    # Joints that were changed to fixed keep their mimic tags, which have no effect.
    if element is None or kind == 'fixed':
        return None
    if kind not in ONE_COORDINATE:
        element.refuse(f'a {kind} joint has no single coordinate that could follow another')
    return Mimic(
        element.name('joint'), element.number('multiplier', 1.0), element.number('offset', 0.0)
    )


# Poses


def read_origin(parent: Element) -> Origin:
    """Return the pose of the element's ``origin``; the identity if it has none."""
    element = parent.first_child('origin')
    if element is None:
        return Origin()
    x, y, z = element.numbers('xyz', 3) if element.has('xyz') else ZERO
    if element.has('quat_xyzw'):
        if element.has('rpy'):
            element.refuse('has both rpy and quat_xyzw')
        return Origin((x, y, z), _quaternion_rotation(element))
    roll, pitch, yaw = element.numbers('rpy', 3) if element.has('rpy') else ZERO
    return Origin((x, y, z), rotation_of_rpy(roll, pitch, yaw))


def rotation_of_rpy(roll: float, pitch: float, yaw: float) -> Matrix3:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll) of fixed-axis angles [rad], URDF convention."""
    # A right angle must give an exact 0 and 1: the traced algorithms fold those away, while a
    # cosine of 6e-17 would stay in every product that uses it.
    sr, cr = _snapped(math.sin(roll)), _snapped(math.cos(roll))
    sp, cp = _snapped(math.sin(pitch)), _snapped(math.cos(pitch))
    sy, cy = _snapped(math.sin(yaw)), _snapped(math.cos(yaw))
    return _rows(
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def _quaternion_rotation(origin: Element) -> Matrix3:
    """Return the rotation of a quaternion, which URDF 1.1 allows instead of rpy."""
    x, y, z, w = origin.numbers('quat_xyzw', 4)
    if math.hypot(x, y, z, w) < 1e-6:
        origin.refuse('quat_xyzw is zero, it has no direction')
    rows = quaternion_to_matrix(quaternion_normalized((x, y, z, w)))
    return _rows(*([_snapped(entry) for entry in row] for row in rows))


def _snapped(x: float) -> float:
    """Return a sine, cosine or direction cosine without rounding noise at 0 and 1."""
    if abs(x) < ANGLE_ROUNDING:
        return 0.0
    return math.copysign(1.0, x) if abs(abs(x) - 1.0) < 1e-15 else x


def _rows(*rows: Iterable[float]) -> Matrix3:
    """Return a matrix without -0.0, which would not fold away."""
    (a, b, c), (d, e, f), (g, h, i) = ([entry + 0.0 for entry in row] for row in rows)
    return ((a, b, c), (d, e, f), (g, h, i))
