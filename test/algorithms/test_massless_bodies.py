# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Moving bodies whose mass a description seems to have forgotten are named; others may lack one."""

from __future__ import annotations

import logging

import pytest

from dynamics_ros import Robot

MASS = (
    '<inertial><mass value="{}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    '</inertial>'
)
SHAPE = '<{}><geometry><sphere radius="0.1"/></geometry></{}>'
VISUAL, COLLISION = SHAPE.format('visual', 'visual'), SHAPE.format('collision', 'collision')


def chain(*links, fixed=(), root=VISUAL):
    """A chain base, b0, b1, ... on turning joints, but for fixed ones.

    Args:
        links: the contents of each.
        fixed: numbers of those behind a fixed joint.
        root: contents of the base.
    """
    parts, parent = [f'<link name="base">{root}</link>'], 'base'
    for number, content in enumerate(links):
        kind = 'fixed' if number in fixed else 'continuous'
        parts.append(f'<link name="b{number}">{content}</link>')
        parts.append(
            f'<joint name="j{number}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="b{number}"/><axis xyz="0 1 0"/></joint>'
        )
        parent = f'b{number}'
    return f'<robot name="chain">{"".join(parts)}</robot>'


HEAVY = MASS.format(1)


@pytest.mark.parametrize(
    ('description', 'named'),
    [
        (chain(HEAVY, HEAVY), ()),
        (chain(VISUAL, VISUAL), ('b0', 'b1')),
        (chain('', ''), ('b0', 'b1')),
        (chain(HEAVY, VISUAL), ('b1',)),
        (chain(HEAVY, ''), ('b1',)),
        (chain(VISUAL, HEAVY), ('b0',)),
        (chain(COLLISION, HEAVY), ('b0',)),
        (chain(MASS.format(0) + VISUAL, HEAVY), ('b0',)),
        (chain('', '', HEAVY), ()),
        (chain(HEAVY, VISUAL, fixed=[1]), ()),
        (chain(VISUAL, HEAVY, fixed=[1]), ()),
        (chain('', VISUAL, HEAVY, fixed=[1]), ('b0',)),
        (chain(VISUAL, HEAVY, fixed=[0]), ()),
    ],
    ids=[
        'all have a mass', 'none has', 'not even shapes', 'the last has none',
        'the last has neither mass nor shape', 'one in between', 'one with a collision shape',
        'a mass of zero', 'a universal joint', 'a massless frame on a body',
        'a mass on a massless frame', 'a shape on a massless frame', 'a link of the root',
    ],
)  # fmt: skip
def test_bodies_without_the_mass_that_they_seem_to_have(description, named, caplog):
    with caplog.at_level(logging.WARNING, 'dynamics_ros'):
        robot = Robot.from_urdf(description)
    assert robot.massless_bodies == named
    told = [record.getMessage() for record in caplog.records if 'no mass' in record.getMessage()]
    assert len(told) == bool(named)
    assert all(repr(name) in told[0] for name in named)


def test_the_base_counts_when_it_moves():
    description = chain(HEAVY)
    assert Robot.from_urdf(description).massless_bodies == ()
    assert Robot.from_urdf(description, 'floating').massless_bodies == ('base',)
    dummy = chain(HEAVY, root='')
    assert Robot.from_urdf(dummy, 'floating').massless_bodies == ()


def test_a_payload_is_a_mass_as_well():
    robot = Robot.from_urdf(chain(VISUAL))
    assert robot.massless_bodies == ('b0',)
    assert robot.with_payload('b0', 1.0).massless_bodies == ()
