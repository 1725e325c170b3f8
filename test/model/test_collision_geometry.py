# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of a description: sizes, places, files, colours, and what is refused."""

from __future__ import annotations

import os
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from dynamics_ros.errors import ModelError
from dynamics_ros.files import write_files
from dynamics_ros.model.collision_geometry import (
    GREY,
    SEGMENTS,
    read_collision_geometry,
    read_visual_geometry,
)
from dynamics_ros.model.mesh_file import read_mesh, resolve_mesh

TETRAHEDRON = np.array(
    [
        [[0, 0, 0], [0, 1, 0], [1, 0, 0]],
        [[0, 0, 0], [1, 0, 0], [0, 0, 1]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ],
    dtype=float,
)
"""Corners counterclockwise from outside; volume 1/6."""

# Of a regular polygon with that many corners, as part of the circle around it.
POLYGON = SEGMENTS / (2.0 * np.pi) * np.sin(2.0 * np.pi / SEGMENTS)


def robot(shape, origin=''):
    return (
        f'<robot name="r"><link name="a"><collision>{origin}<geometry>{shape}</geometry>'
        '</collision></link></robot>'
    )


def binary_stl(triangles, header=b''):
    facets = b''.join(
        struct.pack('<12fH', 0, 0, 0, *triangle.reshape(-1), 0) for triangle in triangles
    )
    return header.ljust(80, b'\0') + struct.pack('<I', len(triangles)) + facets


def text_stl(triangles):
    lines = ['solid thing']
    for triangle in triangles:
        corners = ''.join(f'vertex {x:g} {y:g} {z:g}\n' for x, y, z in triangle)
        lines.append(f'facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet')
    return '\n'.join([*lines, 'endsolid']).encode()


def volume(triangles):
    """Positive when corners run counterclockwise as seen from outside."""
    return float(np.linalg.det(triangles).sum() / 6.0)


@pytest.mark.parametrize(
    ('shape', 'expected', 'extent'),
    [
        ('<box size="1 2 3"/>', 6.0, (1, 2, 3)),
        ('<cylinder radius="0.5" length="2"/>', POLYGON * np.pi / 2.0, (1, 1, 2)),
        # Of a sphere, the circles of latitude are polygons and the meridians too.
        ('<sphere radius="1"/>', pytest.approx(4.0 / 3.0 * np.pi, rel=0.02), (2, 2, 2)),
        (
            '<capsule radius="1" length="3"/>',
            pytest.approx((4.0 / 3.0 + 3.0) * np.pi, rel=0.02),
            (2, 2, 5),
        ),
    ],
)
def test_primitives_are_closed_of_the_right_size_and_face_outward(shape, expected, extent):
    triangles = read_collision_geometry(robot(shape)).triangles['a']
    assert volume(triangles) == pytest.approx(expected)
    np.testing.assert_allclose(np.ptp(triangles.reshape(-1, 3), axis=0), extent, atol=1e-12)
    # Closed: every edge is run along once in each direction.
    edges = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 6).round(9)
    there = {tuple(edge + 0.0) for edge in edges}
    assert there == {edge[3:] + edge[:3] for edge in there}


def test_a_shape_stands_where_its_origin_puts_it_and_shapes_of_a_link_are_joined():
    text = robot(
        '<box size="2 0.2 0.2"/>', '<origin xyz="0 0 5" rpy="0 0 1.5707963267948966"/>'
    ).replace(
        '</link>',
        '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
        '<link name="bare"/>',
    )
    geometry = read_collision_geometry(text)
    corners = geometry.triangles['a'].reshape(-1, 3)
    np.testing.assert_allclose(corners.max(axis=0), [0.1, 1.0, 5.1], atol=1e-12)
    np.testing.assert_allclose(corners.min(axis=0), [-0.1, -1.0, -0.1], atol=1e-12)
    assert 'bare' not in geometry.triangles
    assert geometry.problems == ()


@pytest.mark.parametrize(
    'content',
    [
        binary_stl(TETRAHEDRON),
        # Some programs write this word at the beginning of binary files.
        binary_stl(TETRAHEDRON, b'solid binary'),
        text_stl(TETRAHEDRON),
    ],
    ids=['binary', 'binary that begins like text', 'text'],
)
def test_stl_files_are_read_relative_to_the_description_and_scaled(tmp_path, content):
    (tmp_path / 'mesh.STL').write_bytes(content)
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(robot('<mesh filename="mesh.STL" scale="2 2 2"/>'))
    geometry = read_collision_geometry(urdf)
    assert geometry.problems == ()
    np.testing.assert_array_equal(geometry.triangles['a'], 2.0 * TETRAHEDRON)


@pytest.fixture
def nowhere(monkeypatch):
    """No package is in the environment."""
    for name in ('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'ROS_PACKAGE_PATH'):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize('variable', ['AMENT_PREFIX_PATH', 'ROS_PACKAGE_PATH'])
def test_packages_are_found_where_ros_1_and_ros_2_put_them(
    tmp_path, nowhere, monkeypatch, variable
):
    share = tmp_path / ('share' if variable == 'AMENT_PREFIX_PATH' else '')
    mesh = share / 'some_robot' / 'meshes' / 'a.stl'
    write_files({mesh: binary_stl(TETRAHEDRON)})
    monkeypatch.setenv(variable, f'/nowhere:{tmp_path}')
    assert resolve_mesh('package://some_robot/meshes/a.stl') == mesh


def test_a_collada_file_names_the_package_that_reads_it(tmp_path, monkeypatch):
    trimesh = pytest.importorskip('trimesh')

    def load(*_, **__):
        raise ValueError('missing `pip install pycollada`')

    monkeypatch.setattr(trimesh, 'load', load)
    path = tmp_path / f'{"long" * 20}.dae'
    path.write_text('<COLLADA/>')
    with pytest.raises(ModelError, match=r"long\.dae': reading \.dae needs .* pycollada"):
        read_mesh(path)


@pytest.mark.parametrize(
    ('shape', 'reason'),
    [
        ('<box size="1 0 1"/>', 'size 0 is not positive'),
        ('<cone/>', 'has none of box, cylinder, sphere, capsule, mesh'),
        ('<mesh filename="package://no_such_package/a.stl"/>', 'not found'),
        ('<mesh filename="/no/such/file.stl"/>', 'not found'),
    ],
)
def test_a_shape_that_cannot_be_read_is_told_and_the_others_stay(shape, reason):
    text = robot(shape).replace(
        '</link>', '<collision><geometry><box size="1 1 1"/></geometry></collision></link>'
    )
    geometry = read_collision_geometry(text)
    assert len(geometry.triangles['a']) == 12
    assert geometry.unread == ('a',)
    (problem,) = geometry.problems
    assert reason in problem


@pytest.mark.parametrize(
    ('name', 'content', 'reason'),
    [
        ('a.stl', b'', 'neither'),
        ('a.stl', binary_stl(TETRAHEDRON)[:-1], 'neither'),
        ('a.stl', b'solid\nfacet\nvertex 1 2\nendfacet', 'not three corners'),
        ('a.stl', b'solid nothing\nendsolid', 'no triangle'),
        ('a.stl', binary_stl(np.full((1, 3, 3), np.nan)), 'not finite'),
        ('a.dae', b'<COLLADA/>', 'trimesh cannot read it|needs the Python package'),
    ],
)
def test_a_broken_mesh_is_refused_with_its_reason(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=reason):
        read_mesh(tmp_path / name)


class TestFilesOfMeshes:
    @pytest.fixture
    def package(self, tmp_path, nowhere):
        """Folder of a package, which is not built; its repository has another name."""
        folder = tmp_path / 'Some_Robot_ROS2'
        write_files(
            {
                folder / 'package.xml': '<package><name> some_robot </name></package>',
                folder / 'meshes' / 'a b.stl': binary_stl(TETRAHEDRON),
                tmp_path / 'outside.stl': binary_stl(TETRAHEDRON),
                tmp_path / 'other' / 'a.stl': binary_stl(TETRAHEDRON),
            }
        )
        return folder

    @pytest.mark.parametrize(
        'uri',
        [
            'package://some_robot/meshes/a b.stl',
            'package://some_robot/meshes/a%20b.stl',
            'package://some_robot//meshes/a b.stl',
            'package://some_robot/urdf/../meshes//./a b.stl',
            'file://{}/meshes/a%20b.stl',
            'file://localhost{}/meshes/a b.stl',
            '{}/meshes/a b.stl',
            '~/meshes/a b.stl',
            '../meshes/a b.stl',
        ],
    )
    def test_are_found_by_every_address(self, package, monkeypatch, uri):
        monkeypatch.setenv('HOME', str(package))
        (package / 'urdf').mkdir()
        found = resolve_mesh(uri.format(package), package / 'urdf')
        assert found.samefile(package / 'meshes' / 'a b.stl')
        element = f'<collision><geometry><mesh filename="{uri.format(package)}"/></geometry>'
        file = package / 'urdf' / 'robot.urdf'
        file.write_text(f'<robot name="r"><link name="a">{element}</collision></link></robot>')
        assert read_collision_geometry('~/urdf/robot.urdf').problems == ()

    @pytest.mark.parametrize(
        'rest',
        [
            '/outside.stl',
            '//etc/hostname',
            '/..',
            '/../outside.stl',
            '/../other/a.stl',
            '/meshes/../../outside.stl',
            '/%2e%2e/outside.stl',
            '/..%2foutside.stl',
            '/a%00.stl',
            f'/{"a" * 300}.stl',
            '',
        ],
    )
    @pytest.mark.parametrize('name', ['some_robot', '..', '.', '%2e%2e', '../other', '', 'a' * 300])
    def test_outside_of_a_package_are_refused(self, package, rest, name):
        with pytest.raises(ModelError, match=r'not found|leads out of the package'):
            resolve_mesh(f'package://{name}{rest}', package / 'urdf')

    def test_in_archives_are_not_read(self, package):
        for suffix in ('zip', '3mf', 'zae', 'tar.gz', 'stl.gz', ''):
            path = package / f'a.{suffix}'
            path.write_bytes(b'PK')
            with pytest.raises(ModelError, match=r'none of the formats \.stl, .*convert it'):
                read_mesh(path)

    def test_that_are_pipes_or_large_are_not_read(self, package):
        path = package / 'a.stl'
        os.mkfifo(path)
        with pytest.raises(ModelError, match='cannot be read: not a regular file'):
            read_mesh(path)
        with pytest.raises(ModelError, match='cannot be read: not a regular file'):
            read_collision_geometry(path)
        large = package / 'large.stl'
        large.touch()
        os.truncate(large, 65_000_000)
        with pytest.raises(ModelError, match='cannot be read: larger than 64 MB'):
            read_mesh(large)

    @pytest.mark.parametrize(
        ('asset', 'metres'),
        [
            ('', 1.0),
            ('<asset><up_axis>Z_UP</up_axis></asset>', 1.0),
            ('<asset><unit name="meter"/></asset>', 1.0),
            ('<asset><unit name="inch" meter="0.0254"/></asset>', 0.0254),
            ('<asset><unit meter="1e-3" name="mm"/></asset>', 1e-3),
        ],
    )
    def test_of_collada_are_in_their_unit(self, package, monkeypatch, asset, metres):
        trimesh = pytest.importorskip('trimesh')
        mesh = SimpleNamespace(triangles=TETRAHEDRON)
        monkeypatch.setattr(trimesh, 'load', lambda *_, **__: mesh)
        path = package / 'a.dae'
        path.write_text(f'<?xml version="1.0"?><COLLADA xmlns="x">{asset}<scene/></COLLADA>')
        np.testing.assert_allclose(read_mesh(path), metres * TETRAHEDRON)
        path.write_text('<COLLADA><asset><unit meter="0"/></asset></COLLADA>')
        with pytest.raises(ModelError, match='unit of 0 m is not positive'):
            read_mesh(path)


BOX = '<geometry><box size="2 4 6"/></geometry>'
MISSING = '<geometry><mesh filename="package://nowhere/arm.stl"/></geometry>'


def looks(*elements: str, materials: str = '') -> str:
    return f'<robot name="r">{materials}<link name="a">{"".join(elements)}</link></robot>'


def visual(geometry: str = BOX, material: str = '') -> str:
    return f'<visual>{geometry}{material}</visual>'


def test_a_colour_is_its_own_or_that_of_the_material_it_names() -> None:
    palette = '<material name="sea"><color rgba="0 0.2 0.9 1"/></material>'
    shapes, _ = read_visual_geometry(
        looks(
            visual(material='<material name="own"><color rgba="1 0.5 0 1"/></material>'),
            visual(material='<material name="sea"/>'),
            visual(material='<material name="unknown"/>'),
            visual(),
            materials=palette,
        )
    )
    assert [shape.color for shape in shapes] == [(1.0, 0.5, 0.0), (0.0, 0.2, 0.9), GREY, GREY]


def test_a_link_whose_looks_cannot_be_read_has_its_collision_shapes() -> None:
    shapes, problems = read_visual_geometry(looks(visual(MISSING), f'<collision>{BOX}</collision>'))
    assert [shape.link for shape in shapes] == ['a']
    assert np.ptp(shapes[0].triangles.reshape(-1, 3), axis=0).tolist() == [2.0, 4.0, 6.0]
    assert len(problems) == 1
    assert 'package://nowhere/arm.stl' in problems[0]


@pytest.mark.parametrize('beside', ['', 'other_robot/urdf', 'some_robot/urdf'])
def test_packages_are_found_above_a_description_that_nobody_has_built(tmp_path, nowhere, beside):
    mesh = tmp_path / 'src' / 'some_robot' / 'meshes' / 'a.stl'
    write_files({mesh: binary_stl(TETRAHEDRON)})
    folder = tmp_path / 'src' / beside
    folder.mkdir(parents=True, exist_ok=True)
    assert resolve_mesh('package://some_robot/meshes/a.stl', folder) == mesh
    text = robot('<mesh filename="package://some_robot/meshes/a.stl"/>')
    (folder / 'a.urdf').write_text(text)
    assert not read_collision_geometry(folder / 'a.urdf').problems
    assert not read_collision_geometry(text, folder).problems
    with pytest.raises(ModelError, match=r"'some_robot' at '.*src/some_robot'"):
        resolve_mesh('package://some_robot/meshes/b.stl', folder)
