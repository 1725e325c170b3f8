# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Independent reference: poses, gravity, inverse dynamics of a URDF by Lagrange's equations.

The simulated robot and the nodes both use the kernels of this package, so a comparison of both does
not detect a common error. This computation shares no code with them, not even the URDF reader:
poses are products of exponentials, the mass matrix is derived from the kinetic energies of the
links, and the equations of motion are Lagrange's, with derivatives by complex steps (exact to
machine precision). It is plain NumPy, ten thousand times slower, and used only for checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError, UnknownFrameError, UnknownJointError

Array = NDArray[np.float64]

_STEP = 1e-30  # complex step; its square is negligible, and there is no cancellation
_MOVING = ('revolute', 'continuous', 'prismatic')


@dataclass(frozen=True)
class _Link:
    """A link with its parent joint; ``parent`` is the index of the parent link, -1 for the root."""

    name: str
    parent: int
    origin: Array  # (4, 4) pose of the joint in the parent link
    axis: Array  # (3) in the joint frame
    prismatic: bool
    column: int  # index of its coordinate, -1 for a fixed joint
    multiplier: float
    offset: float
    mass: float
    center_of_mass: Array  # (3) in the link
    inertia: Array  # (3, 3) about the centre of mass, in link axes


class LagrangianReference:
    """Equations of motion of a fixed-base URDF, derived from its energies.

    Args:
        urdf: text of a description that ``Robot`` accepts.
        joint_names: names of all moving joints that are not mimic joints, in the order of q, v and
            a.
        gravity: acceleration of gravity in the root frame [m/s^2].
    """

    def __init__(
        self,
        urdf: str,
        joint_names: Sequence[str],
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
    ) -> None:
        self.joint_names = tuple(joint_names)
        self.gravity_vector = np.array(gravity, dtype=float)
        self._links = _read_links(urdf, self.joint_names)
        self._index = {link.name: number for number, link in enumerate(self._links)}
        self._path = [self._path_of(number) for number in range(len(self._links))]

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, parents before children."""
        return tuple(link.name for link in self._links)

    def pose(self, q: Array, link: str) -> Array:
        """Pose (4, 4) of a link in the root link at q (n)."""
        pose = np.eye(4)
        for number in self._path[self._number(link)]:
            pose = pose @ self._step(self._links[number], np.asarray(q, dtype=float))
        return pose

    def gravity_torques(self, q: Array) -> Array:
        """Torques dU/dq (n) that hold the robot against gravity [Nm, N if prismatic]."""
        return _gradient(self._potential, np.asarray(q, dtype=float))

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Joint torques tau (n) of Lagrange's equations, d/dt dL/dv - dL/dq = tau."""
        q, v, a = (np.asarray(value, dtype=float) for value in (q, v, a))
        dM = _gradient(self._mass_matrix, q)  # [i, j, k] = d M_ij / d q_k
        momentum_drift = np.einsum('ijk,k,j->i', dM, v, v)
        kinetic_slope = 0.5 * np.einsum('ijk,i,j->k', dM, v, v)
        M = np.real(self._mass_matrix(q))
        return M @ a + momentum_drift - kinetic_slope + self.gravity_torques(q)

    def jacobian(self, q: Array, link: str) -> Array:
        """Jacobian (6, n) at the origin of a link, linear rows first, in axes of the root link."""
        number, poses = self._number(link), self._poses(np.asarray(q, dtype=float))
        return np.real(self._jacobian(number, poses, poses[number][:3, 3]))

    def _number(self, link: str) -> int:
        if link not in self._index:
            raise UnknownFrameError('link', link, self._index)
        return self._index[link]

    def _path_of(self, number: int) -> list[int]:
        path: list[int] = []
        while number >= 0:
            path.insert(0, number)
            number = self._links[number].parent
        return path

    @staticmethod
    def _step(link: _Link, q: NDArray[Any]) -> NDArray[Any]:
        """Pose (4, 4) of a link in its parent: origin times the exponential of a joint twist."""
        if link.column < 0:
            return link.origin
        angle = link.multiplier * q[link.column] + link.offset
        motion = np.eye(4, dtype=np.asarray(angle).dtype)
        if link.prismatic:
            motion[:3, 3] = link.axis * angle
        else:
            W = _cross_matrix(link.axis)
            motion[:3, :3] += np.sin(angle) * W + (1.0 - np.cos(angle)) * (W @ W)
        return link.origin @ motion

    def _poses(self, q: NDArray[Any]) -> list[NDArray[Any]]:
        poses: list[NDArray[Any]] = []
        for link in self._links:
            step = self._step(link, q)
            poses.append(step if link.parent < 0 else poses[link.parent] @ step)
        return poses

    def _jacobian(
        self, number: int, poses: list[NDArray[Any]], point: NDArray[Any]
    ) -> NDArray[Any]:
        """Jacobian (6, n) of a point fixed to the link."""
        J = np.zeros((6, len(self.joint_names)), dtype=point.dtype)
        for ancestor in self._path[number]:
            link = self._links[ancestor]
            if link.column < 0:
                continue
            axis = link.multiplier * (poses[ancestor][:3, :3] @ link.axis)
            if link.prismatic:
                J[:3, link.column] += axis
            else:
                J[:3, link.column] += np.cross(axis, point - poses[ancestor][:3, 3])
                J[3:, link.column] += axis
        return J

    def _potential(self, q: NDArray[Any]) -> Any:
        """Potential energy U(q) = -sum m g . c [J]."""
        energy: Any = 0.0
        for link, pose in zip(self._links, self._poses(q), strict=True):
            center = pose[:3, :3] @ link.center_of_mass + pose[:3, 3]
            energy = energy - link.mass * (self.gravity_vector @ center)
        return energy

    def _mass_matrix(self, q: NDArray[Any]) -> NDArray[Any]:
        """M = sum over links of m Jc^T Jc + Jw^T R I R^T Jw, [RD] eq. 3.31."""
        poses = self._poses(q)
        M = np.zeros((len(self.joint_names),) * 2, dtype=q.dtype)
        for number, link in enumerate(self._links):
            if link.mass == 0.0 and not link.inertia.any():
                continue
            R = poses[number][:3, :3]
            J = self._jacobian(number, poses, R @ link.center_of_mass + poses[number][:3, 3])
            M += link.mass * (J[:3].T @ J[:3]) + J[3:].T @ R @ link.inertia @ R.T @ J[3:]
        return M


def _gradient(function: Callable[[NDArray[Any]], Any], q: Array) -> Array:
    """Derivative df/dq by complex steps; the last axis of the result is that of q."""
    slopes = []
    for k in range(len(q)):
        shifted = q.astype(complex)
        shifted[k] += 1j * _STEP
        slopes.append(np.imag(function(shifted)) / _STEP)
    return np.stack(slopes, axis=-1) if slopes else np.zeros(0)


def _cross_matrix(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def _numbers(element: ElementTree.Element | None, attribute: str, default: str) -> Array:
    text = default if element is None else element.get(attribute, default)
    return np.array([float(word) for word in text.split()])


def _number(element: ElementTree.Element | None, attribute: str, default: float) -> float:
    return default if element is None else float(element.get(attribute, default))


def _pose_of(element: ElementTree.Element | None) -> Array:
    """Pose (4, 4) of an <origin>: fixed-axis roll, pitch, yaw, R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pose = np.eye(4)
    pose[:3, 3] = _numbers(element, 'xyz', '0 0 0')
    roll, pitch, yaw = _numbers(element, 'rpy', '0 0 0')
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    Rx = np.array([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
    Ry = np.array([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
    Rz = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
    pose[:3, :3] = Rz @ Ry @ Rx
    return pose


def _read_inertial(link: ElementTree.Element) -> tuple[float, Array, Array]:
    inertial = link.find('inertial')
    if inertial is None:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    tensor = inertial.find('inertia')
    xx, xy, xz, yy, yz, zz = (
        _number(tensor, name, 0.0) for name in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    )
    frame = _pose_of(inertial.find('origin'))
    R = frame[:3, :3]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return _number(inertial.find('mass'), 'value', 0.0), frame[:3, 3], R @ I @ R.T


def _coordinate(
    joint: ElementTree.Element, joints: dict[str, ElementTree.Element], names: Sequence[str]
) -> tuple[int, float, float]:
    """Column, multiplier and offset of a joint, combined along the chain of joints it mimics."""
    multiplier, offset = 1.0, 0.0
    mimic = joint.find('mimic')
    while mimic is not None:
        offset += multiplier * _number(mimic, 'offset', 0.0)
        multiplier *= _number(mimic, 'multiplier', 1.0)
        joint = joints[mimic.get('joint', '')]
        mimic = joint.find('mimic')
    name = joint.get('name', '')
    if name not in names:
        raise UnknownJointError('joint_names', name, names)
    return list(names).index(name), multiplier, offset


def _read_links(urdf: str, names: Sequence[str]) -> list[_Link]:
    document = ElementTree.fromstring(urdf.strip())
    elements = {link.get('name', ''): link for link in document.findall('link')}
    joints = {joint.get('name', ''): joint for joint in document.findall('joint')}
    below: dict[str, list[ElementTree.Element]] = {}
    children = set()
    for joint in joints.values():
        parent, child = (str(joint.find(end).get('link')) for end in ('parent', 'child'))  # type: ignore[union-attr]
        below.setdefault(parent, []).append(joint)
        children.add(child)
    (root,) = set(elements) - children

    identity = np.eye(4)
    links = [
        _Link(root, -1, identity, np.zeros(3), False, -1, 1.0, 0.0, *_read_inertial(elements[root]))
    ]
    number = 0
    while number < len(links):
        for joint in below.get(links[number].name, ()):
            kind = joint.get('type', '')
            column, multiplier, offset = -1, 1.0, 0.0
            if kind in _MOVING:
                column, multiplier, offset = _coordinate(joint, joints, names)
            elif kind != 'fixed':
                raise ModelError(
                    f'joint {joint.get("name")!r}', f'the reference does not support {kind} joints'
                )
            axis = _numbers(joint.find('axis'), 'xyz', '1 0 0')
            child = str(joint.find('child').get('link'))  # type: ignore[union-attr]
            links.append(
                _Link(
                    child,
                    number,
                    _pose_of(joint.find('origin')),
                    axis / max(float(np.linalg.norm(axis)), 1e-300),
                    kind == 'prismatic',
                    column,
                    multiplier,
                    offset,
                    *_read_inertial(elements[child]),
                )
            )
        number += 1
    return links
