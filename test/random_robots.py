# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Random robots that nobody tuned for: URDF trees of every kind of joint, and states of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dynamics_ros import Robot

MOVING = ('revolute', 'continuous', 'prismatic')
KINDS = (*MOVING, 'fixed', 'mimic')

SEEDS = st.integers(0, 2**32 - 1)


def random_urdf(seed: int, joints: int = 5, kinds: Sequence[str] = KINDS) -> str:
    """URDF text of a random tree.

    Masses are 0.2 to 5 kg, bodies are ellipsoids of 4 to 30 cm with their own axes and a centre of
    mass off the link frame; joints have any placement and any axis. A mimic joint follows a moving
    joint before it, forwards or backwards; fixed joints sometimes carry a link without mass.

    Args:
        seed: decides everything.
        joints: how many, the first of them moving.
        kinds: which kinds there may be, of ``KINDS``.
    """
    rng = np.random.default_rng(seed)
    parts = [_link('link_0', rng)]
    leaders: list[tuple[str, str]] = []
    for i in range(1, joints + 1):
        own = [kind for kind in kinds if kind in MOVING] if i == 1 else kinds
        kind = str(rng.choice(own))
        parent = f'link_{rng.integers(max(0, i - 3), i)}'
        name = f'joint_{i}'
        mimic = ''
        if kind == 'mimic':
            leader, kind = leaders[rng.integers(len(leaders))]
            multiplier = rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 2.0)
            mimic = (
                f'<mimic joint="{leader}" multiplier="{multiplier}" '
                f'offset="{rng.uniform(-0.5, 0.5)}"/>'
            )
        elif kind in MOVING:
            leaders.append((name, kind))
        weightless = kind == 'fixed' and rng.random() < 0.5
        parts.append(f'<link name="link_{i}"/>' if weightless else _link(f'link_{i}', rng))
        limits = '' if kind in ('fixed', 'continuous') else _limit(kind, rng)
        parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="link_{i}"/>{_origin(rng, 0.4)}'
            f'<axis xyz="{_numbers(_direction(rng))}"/>{limits}{mimic}</joint>'
        )
    return f'<robot name="random_{seed}">{"".join(parts)}</robot>'


@functools.lru_cache(maxsize=256)
def random_robot(
    seed: int,
    joints: int = 5,
    root_joint: str = 'fixed',
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    kinds: Sequence[str] = KINDS,
) -> Robot:
    """A robot of ``random_urdf`` that runs as plain Python; the same one for the same arguments."""
    text = random_urdf(seed, joints, kinds)
    return Robot.from_urdf(text, root_joint, gravity, backend='python')


def robots(
    roots: Sequence[str] = ('fixed', 'floating', 'planar'),
    joints: tuple[int, int] = (1, 5),
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    kinds: Sequence[str] = KINDS,
) -> st.SearchStrategy[Robot]:
    """Random robots, the smallest first when an example shrinks."""
    return st.builds(
        random_robot,
        SEEDS,
        st.integers(*joints),
        st.sampled_from(list(roots)),
        st.just(gravity),
        st.just(tuple(kinds)),
    )


@dataclass(frozen=True)
class State:
    """A random state of a robot."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


def random_state(robot: Robot, seed: int) -> State:
    """Configuration within limits; velocities, accelerations and torques of order one."""
    rng = np.random.default_rng(seed)
    v, a, tau = rng.normal(size=(3, robot.nv))
    return State(robot.random_configuration(rng), v, a, tau)


def _link(name: str, rng: np.random.Generator) -> str:
    mass = float(np.exp(rng.uniform(np.log(0.2), np.log(5.0))))
    squared = rng.uniform(0.02, 0.15, 3) ** 2
    xx, yy, zz = mass / 5.0 * (squared.sum() - squared)
    return (
        f'<link name="{name}"><inertial>{_origin(rng, 0.15)}<mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _origin(rng: np.random.Generator, reach: float) -> str:
    xyz, rpy = rng.uniform(-reach, reach, 3), rng.uniform(-np.pi, np.pi, 3)
    return f'<origin xyz="{_numbers(xyz)}" rpy="{_numbers(rpy)}"/>'


def _limit(kind: str, rng: np.random.Generator) -> str:
    reach = 0.5 if kind == 'prismatic' else 2.5
    lower, upper = -reach * rng.uniform(0.2, 1.0), reach * rng.uniform(0.2, 1.0)
    return f'<limit lower="{lower}" upper="{upper}" velocity="3" effort="100"/>'


def _direction(rng: np.random.Generator) -> np.ndarray:
    """An axis: half of them along x, y or z, as in most robots."""
    if rng.random() < 0.5:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def _numbers(values: np.ndarray) -> str:
    return ' '.join(repr(float(value)) for value in values)
