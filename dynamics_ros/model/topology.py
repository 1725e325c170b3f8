# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tree structure of links: mimic joints resolved to their leaders, joints in tree order.

No function recurses, so that chains of ten thousand links are possible.
"""

from __future__ import annotations

import dataclasses

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
    resolved: dict[str, Mimic | None] = {}
    for joint in joints.values():
        chain: dict[str, Mimic] = {}
        while joint.mimic is not None and joint.name not in resolved:
            name, mimic, label = joint.name, joint.mimic, f'joint {quoted(joint.name)} mimic'
            if name in chain:
                raise ModelError(label, f'follows itself: {listed([*chain, name])}')
            if mimic.joint not in joints:
                raise ModelError(label, f'there is no joint {quoted(mimic.joint)}')
            chain[name], joint = mimic, joints[mimic.joint]
            if joint.type not in ONE_COORDINATE:
                what = f'a {joint.type} joint, {quoted(joint.name)},'
                raise ModelError(label, f'{what} has no single coordinate to follow')
        for name, own in reversed(chain.items()):
            # q = a (b q_leader + c) + d = a b q_leader + (a c + d).
            above = resolved.get(own.joint) or Mimic(own.joint)
            multiplier = own.multiplier * above.multiplier
            offset = own.multiplier * above.offset + own.offset
            if max(abs(multiplier), abs(offset)) > MAXIMUM_NUMBER:
                reason = 'multiplier or offset along the chain is too large'
                raise ModelError(f'joint {quoted(name)} mimic', reason)
            resolved[name] = Mimic(above.joint, multiplier, offset)
    return {
        name: dataclasses.replace(joint, mimic=resolved.get(name)) for name, joint in joints.items()
    }


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
        joint = next(joint for joint in joints.values() if joint.child not in reached)
        above: dict[str, JointDescription] = {}
        while joint.name not in above:
            above[joint.name] = joint
            joint = parent_joints[joint.parent]
        cycle = listed([*above][[*above].index(joint.name) :])
        reason = f'closes a cycle of joints, {cycle}; expected a tree'
        raise ModelError(f'joint {quoted(joint.name)}', reason)
    return roots[0], ordered
