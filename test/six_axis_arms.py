# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Random arms of six turning joints whose axes lie as wanted, described in frames of any kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

Line = tuple[np.ndarray, np.ndarray]
"""Unit direction of an axis, and a point on it."""

CASES = ('parallel', 'meeting_12', 'meeting_23', 'parallel_23')


def random_axes(rng: np.random.Generator, case: str) -> list[Line]:
    """Six lines through a space of about a metre, for a case of ``Geometry``."""
    axes = [_line(rng) for _ in range(6)]
    if case == 'parallel':
        for k in (2, 3):
            axes[k] = (rng.choice([-1.0, 1.0]) * axes[1][0], axes[k][1])
        axes[5] = (axes[5][0], axes[4][1] + rng.normal() * axes[5][0])
        return axes
    centre = rng.uniform(-0.5, 0.5, 3)
    axes[3:] = [(direction, centre) for direction, _ in axes[3:]]
    a, b = (int(digit) - 1 for digit in case[-2:])
    if case.startswith('parallel'):
        axes[b] = (rng.choice([-1.0, 1.0]) * axes[a][0], axes[b][1])
    else:
        # The same point of both, then any other one of the second.
        axes[b] = (axes[b][0], axes[a][1] + rng.normal() * axes[b][0])
    return axes


def urdf_of_axes(axes: Sequence[Line], rng: np.random.Generator, limit: float | None = None) -> str:
    """URDF text of an arm with these axes at zero, base ``link_0``, frames anywhere along them.

    Args:
        axes: lines in the base.
        rng: decides the joint frames, which fixed joints are between them, and the tool's pose.
        limit: of every joint to either side [rad]; None for continuous joints.
    """
    kind = 'continuous' if limit is None else 'revolute'
    bound = '' if limit is None else f'lower="{-limit!r}" upper="{limit!r}" '
    parts, parent, pose = ['<link name="link_0"/>'], 'link_0', np.eye(4)
    for k, (direction, point) in enumerate(axes, start=1):
        if rng.random() < 0.3:
            fixed = pose @ _random_pose(rng)
            parts.append(_joint(f'fixed_{k}', 'fixed', parent, f'plate_{k}', pose, fixed))
            parent, pose = f'plate_{k}', fixed
        frame = _random_pose(rng)
        frame[:3, 3] = point + rng.normal() * direction
        x, y, z = (frame[:3, :3].T @ direction).tolist()
        rest = f'<axis xyz="{x!r} {y!r} {z!r}"/><limit {bound}effort="1" velocity="1"/>'
        parts.append(_joint(f'joint_{k}', kind, parent, f'link_{k}', pose, frame, rest))
        parent, pose = f'link_{k}', frame
    parts.append(_joint('mount', 'fixed', parent, 'tool', pose, pose @ _random_pose(rng)))
    return f'<robot name="six_axes">{"".join(parts)}</robot>'


def _line(rng: np.random.Generator) -> Line:
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction), rng.uniform(-0.5, 0.5, 3)


def _random_pose(rng: np.random.Generator) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    pose[:3, 3] = rng.uniform(-0.3, 0.3, 3)
    return pose


def _joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    pose: np.ndarray,
    there: np.ndarray,
    rest: str = '',
) -> str:
    relative = np.linalg.inv(pose) @ there
    x, y, z = relative[:3, 3].tolist()
    roll, pitch, yaw = Rotation.from_matrix(relative[:3, :3]).as_euler('xyz').tolist()
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x!r} {y!r} {z!r}" rpy="{roll!r} {pitch!r} {yaw!r}"/>{rest}</joint>'
        f'<link name="{child}"/>'
    )
