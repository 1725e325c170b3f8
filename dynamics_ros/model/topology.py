# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tree structure of links: mimic joints resolved to their leaders, joints in tree order.

No function recurses, so that chains of ten thousand links are possible.
"""

from __future__ import annotations

import dataclasses
from typing import NoReturn

from dynamics_ros.errors import ModelError

from .description import JointDescription, LinkDescription, Mimic
from .hardened_xml import DOCUMENT, MAXIMUM_NUMBER, listed, quoted
from .joints import ONE_COORDINATE


def resolve_mimics(joints: dict[str, JointDescription]) -> dict[str, JointDescription]:
    """Replace each mimic of a mimic joint by a mimic of the independent leader.

    Args:
        joints: by name; a mimic names its direct leader.

    Raises:
        ModelError: a leader is unknown, does not have one coordinate, or follows its follower.
    """
    resolved: dict[str, Mimic] = {}
    for joint in joints.values():
        chain: dict[str, Mimic] = {}
        while joint.mimic is not None and joint.name not in resolved:
            if joint.name in chain:
                reason = f'follows itself: {listed([*chain, joint.name])}'
                raise ModelError(_mimic_label(joint.name), reason)
            chain[joint.name] = joint.mimic
            joint = _leader(joint.name, joint.mimic, joints)
        for name, mimic in reversed(chain.items()):
            resolved[name] = _composed(name, mimic, resolved.get(mimic.joint))
    return {
        name: dataclasses.replace(joint, mimic=resolved.get(name)) for name, joint in joints.items()
    }


def _leader(name: str, mimic: Mimic, joints: dict[str, JointDescription]) -> JointDescription:
    leader = joints.get(mimic.joint)
    if leader is None:
        raise ModelError(_mimic_label(name), f'there is no joint {quoted(mimic.joint)}')
    if leader.type not in ONE_COORDINATE:
        raise ModelError(
            _mimic_label(name),
            f'a {leader.type} joint, {quoted(leader.name)}, has no single coordinate to follow',
        )
    return leader


def _composed(name: str, own: Mimic, leaders: Mimic | None) -> Mimic:
    """q = a (b q_leader + c) + d = a b q_leader + (a c + d)."""
    if leaders is None:
        return own
    multiplier = own.multiplier * leaders.multiplier
    offset = own.multiplier * leaders.offset + own.offset
    if max(abs(multiplier), abs(offset)) > MAXIMUM_NUMBER:
        raise ModelError(_mimic_label(name), 'multiplier or offset along the chain is too large')
    return Mimic(leaders.joint, multiplier, offset)


def _mimic_label(joint: str) -> str:
    return f'joint {quoted(joint)} mimic'


def tree_order(
    links: dict[str, LinkDescription], joints: dict[str, JointDescription]
) -> tuple[str, list[JointDescription]]:
    """Return the root link, and the joints depth first, children of a link in the given order.

    Raises:
        ModelError: a link has two parent joints, there are two roots, or a cycle.
    """
    parent_joints: dict[str, JointDescription] = {}
    child_joints: dict[str, list[JointDescription]] = {name: [] for name in links}
    for joint in joints.values():
        other = parent_joints.setdefault(joint.child, joint)
        if other is not joint:
            raise ModelError(
                f'link {quoted(joint.child)}',
                f'has two parent joints, {quoted(other.name)} and {quoted(joint.name)}',
            )
        child_joints[joint.parent].append(joint)
    roots = [name for name in links if name not in parent_joints]
    if len(roots) > 1:
        raise ModelError(
            DOCUMENT, f'has {len(roots)} root links, {listed(roots)}; a robot is one tree'
        )
    ordered: list[JointDescription] = []
    pending = [joint for root in roots for joint in reversed(child_joints[root])]
    while pending:
        joint = pending.pop()
        ordered.append(joint)
        pending.extend(reversed(child_joints[joint.child]))
    if len(ordered) < len(joints):
        reached = {joint.child for joint in ordered}
        start = next(joint for joint in joints.values() if joint.child not in reached)
        _refuse_cycle(start, parent_joints)
    return roots[0], ordered


def _refuse_cycle(start: JointDescription, parent_joints: dict[str, JointDescription]) -> NoReturn:
    """Raise an error that names the cycle above a joint without a root."""
    above: dict[str, JointDescription] = {}
    joint = start
    while joint.name not in above:
        above[joint.name] = joint
        joint = parent_joints[joint.parent]
    names = list(above)
    cycle = names[names.index(joint.name) :]
    raise ModelError(
        f'joint {quoted(joint.name)}', f'closes a cycle of joints, {listed(cycle)}; expected a tree'
    )
