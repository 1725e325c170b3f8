# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What links look like: shapes with colours, and what stands in for those that cannot be read."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from dynamics_ros.model.visual_geometry import GREY, read_visual_geometry

BOX = '<geometry><box size="2 4 6"/></geometry>'
MISSING = '<geometry><mesh filename="package://nowhere/arm.stl"/></geometry>'


def robot(*elements: str, materials: str = '') -> str:
    return f'<robot name="r">{materials}<link name="a">{"".join(elements)}</link></robot>'


def visual(geometry: str = BOX, material: str = '', origin: str = '') -> str:
    return f'<visual>{origin}{geometry}{material}</visual>'


def test_a_shape_is_in_the_frame_of_its_link() -> None:
    origin = '<origin xyz="10 0 0" rpy="0 0 1.5707963267948966"/>'
    ((shape,), problems) = read_visual_geometry(robot(visual(origin=origin)))
    assert shape.link == 'a'
    assert problems == ()
    corners = shape.triangles.reshape(-1, 3)
    # Turned by a right angle, its 4 m lie along x.
    assert_allclose(corners.min(axis=0), [8.0, -1.0, -3.0], atol=1e-12)
    assert_allclose(corners.max(axis=0), [12.0, 1.0, 3.0], atol=1e-12)


def test_a_colour_is_its_own_or_that_of_the_material_it_names() -> None:
    palette = '<material name="sea"><color rgba="0 0.2 0.9 1"/></material>'
    shapes, _ = read_visual_geometry(
        robot(
            visual(material='<material name="own"><color rgba="1 0.5 0 1"/></material>'),
            visual(material='<material name="sea"/>'),
            visual(material='<material name="unknown"/>'),
            visual(),
            materials=palette,
        )
    )
    assert [shape.color for shape in shapes] == [(1.0, 0.5, 0.0), (0.0, 0.2, 0.9), GREY, GREY]


def test_a_link_whose_looks_cannot_be_read_has_its_collision_shapes() -> None:
    shapes, problems = read_visual_geometry(robot(visual(MISSING), f'<collision>{BOX}</collision>'))
    assert [shape.link for shape in shapes] == ['a']
    assert np.ptp(shapes[0].triangles.reshape(-1, 3), axis=0).tolist() == [2.0, 4.0, 6.0]
    assert len(problems) == 1
    assert 'package://nowhere/arm.stl' in problems[0]
