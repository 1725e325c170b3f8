# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pairs of links that may touch: adjacent ones, those of an SRDF, and those always in contact.

Without an SRDF, random configurations within the limits find pairs that are in contact in nearly
all of them, as MoveIt's setup assistant does. A pair that is close in one posture alone stays.
"""

from __future__ import annotations

import os

from dynamics_ros.errors import ModelError
from dynamics_ros.model.collision_geometry import read_document
from dynamics_ros.model.model import Model

Pair = tuple[str, str]

SAME_BODY = 'fixed to each other'
ADJACENT = 'adjacent'
DISABLED = 'disabled by the SRDF'
ALWAYS = 'always in contact'
"""Reasons why a pair is not checked."""


def pair_of(first: str, second: str) -> Pair:
    """Return two names in alphabetical order."""
    return (first, second) if first < second else (second, first)


def adjacent_pairs(model: Model, links: set[str]) -> set[Pair]:
    """Return pairs of links that are joined by a joint, or through links without a shape.

    Args:
        model: the robot.
        links: links with a shape.
    """
    pairs = set()
    for name in links:
        parent = model.frame(name).parent
        while parent and parent not in links:
            parent = model.frame(parent).parent
        if parent:
            pairs.add(pair_of(name, parent))
    return pairs


def disabled_pairs(
    source: str | os.PathLike[str], links: set[str]
) -> tuple[set[Pair], tuple[str, ...]]:
    """Read the pairs that an SRDF disables.

    Args:
        source: SRDF text, or the path of a file.
        links: links with a shape.

    Returns:
        The pairs, and names of links that are not among ``links``.

    Raises:
        ModelError: the SRDF is not XML, or an element lacks a link.
    """
    document, _ = read_document(source)
    if document.tag != 'robot':
        raise ModelError('SRDF', f'its root element is {document.tag!r}; expected <robot>')
    pairs, named = set(), set()
    for element in document.children('disable_default_collisions'):
        link = element.text('link')
        named.add(link)
        pairs |= {pair_of(link, other) for other in links if other != link}
    for tag, change in (('enable_collisions', pairs.discard), ('disable_collisions', pairs.add)):
        for element in document.children(tag):
            pair = pair_of(element.text('link1'), element.text('link2'))
            named |= set(pair)
            change(pair)
    return pairs, tuple(sorted(named - links))
