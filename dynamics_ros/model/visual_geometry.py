# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Visual shapes of links: coloured triangles in link frames."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError

from .collision_geometry import read_document, read_shape
from .hardened_xml import Element

Array = NDArray[np.float64]
Color = tuple[float, float, float]

GREY = (0.7, 0.7, 0.7)
"""Default colour."""


@dataclass(frozen=True, eq=False)
class Visual:
    """Visual shape of a link.

    Attributes:
        link: name of the link.
        triangles: (n, 3, 3) corners in the link frame [m].
        color: red, green and blue, 0 to 1.
    """

    link: str
    triangles: Array
    color: Color


def read_visual_geometry(
    source: str | os.PathLike[str], folder: Path | None = None
) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
    """Read the visual shapes of links; a link with unreadable visuals gets its collision shapes.

    Args:
        source: URDF XML text, or the path of a file, to which relative mesh paths refer.
        folder: folder to which they refer in text, such as that of a xacro file.

    Returns:
        The shapes, and the unreadable ones, each with the reason.

    Raises:
        ModelError: the description is not XML, or the file cannot be read.
    """
    document, base = read_document(source, folder)
    palette = {
        material.name(): _own_color(material, GREY) for material in document.children('material')
    }
    found: list[Visual] = []
    problems: list[str] = []
    for link in document.children('link'):
        for tag in ('visual', 'collision'):
            before = len(found)
            for element in link.children(tag):
                try:
                    triangles = read_shape(element, base).triangles
                    found.append(Visual(link.name(), triangles, _color(element, palette)))
                except ModelError as error:
                    problems.append(str(error))
            if len(found) > before:
                break
    return tuple(found), tuple(problems)


def _color(element: Element, palette: dict[str, Color]) -> Color:
    """Return the colour of an element's material, given inline or by name."""
    material = element.child('material')
    if material is None:
        return GREY
    return _own_color(material, palette.get(material.name(), GREY))


def _own_color(material: Element, otherwise: Color) -> Color:
    color = material.child('color')
    if color is None:
        return otherwise
    red, green, blue, _ = color.numbers('rgba', 4)
    return red, green, blue
