# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Texts of small robots in URDF, and what the reader makes of them."""

import pytest

from dynamics_ros.errors import ModelError
from dynamics_ros.model.urdf import parse_urdf


def robot(*elements, links='ab'):
    """URDF of a robot with links named by letters."""
    declared = ''.join(f'<link name="{name}"/>' for name in links)
    return f'<robot name="r">{declared}{"".join(elements)}</robot>'


def joint(content='', *, type='revolute', name='j', parent='a', child='b'):
    return (
        f'<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>'
        f'{content}</joint>'
    )


def only_joint(content='', type='revolute'):
    (found,) = parse_urdf(robot(joint(content, type=type))).joints
    return found


def link(content):
    return f'<robot name="r"><link name="a">{content}</link></robot>'


def inertial(mass='1', moments=(1, 1, 1), products=(0, 0, 0), origin=''):
    keys = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
    values = ' '.join(f'{k}="{v}"' for k, v in zip(keys, (*moments, *products), strict=True))
    return link(f'<inertial>{origin}<mass value="{mass}"/><inertia {values}/></inertial>')


def only_inertial(**arguments):
    return parse_urdf(inertial(**arguments)).links[0].inertial


def refusal(text):
    with pytest.raises(ModelError) as caught:
        parse_urdf(text)
    return caught.value


def massive_link(name: str, mass: float = 1) -> str:
    """URDF of a link whose mass lies off its origin."""
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="0.1 0 0"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
    )


def pendulum(name: str, rod: str = 'rod', mass: float = 1) -> str:
    """URDF of one link on a joint 'swing' below a link 'base'."""
    return (
        f'<robot name="{name}"><link name="base"/>{massive_link(rod, mass)}'
        f'<joint name="swing" type="continuous"><parent link="base"/><child link="{rod}"/>'
        '<axis xyz="0 1 0"/></joint></robot>'
    )
