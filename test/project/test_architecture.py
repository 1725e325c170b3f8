"""Who imports whom: the rooms of docs/architecture.md, and nothing of ROS below the nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'dynamics_ros'

PHYSICS = {'algorithms', 'errors', 'kernels', 'model', 'multibody', 'spatial'}
ABOVE_ROBOT = PHYSICS | {'robot'}

MAY_IMPORT = {
    'errors': set(),
    'spatial': {'errors'},
    'model': {'errors', 'spatial'},
    'algorithms': {'errors', 'model', 'spatial'},
    'kernels': {'errors'},
    'multibody': PHYSICS,
    'constraints': PHYSICS,
    'control': PHYSICS | {'constraints'},
    'inverse_kinematics': PHYSICS | {'constraints', 'control'},
    'robot': PHYSICS | {'constraints', 'inverse_kinematics'},
    'estimation': ABOVE_ROBOT,
    'export': ABOVE_ROBOT,
}
"""Rooms below the nodes, and which others of ours each may import."""


def imports(path: Path) -> Iterator[str]:
    """What a file imports as it runs, absolute, without what only type checkers read."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == 'TYPE_CHECKING'
        for statement in branch.body
        for node in ast.walk(statement)
    }
    folder = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else ()
            module = '.'.join([*base, *([node.module] if node.module else [])])
            # `from . import x` names a module where there is one.
            yield from (f'{module}.{alias.name}' for alias in node.names)


def files(room: str) -> list[Path]:
    """The files of a folder with those below it, or the one file."""
    return sorted((PACKAGE / room).rglob('*.py')) or [PACKAGE / f'{room}.py']


@pytest.mark.parametrize('room', MAY_IMPORT)
def test_a_room_imports_only_what_is_below_it(room):
    wrong = set()
    for path in files(room):
        for name in imports(path):
            package, _, rest = name.partition('.')
            other = rest.partition('.')[0]
            if package == 'dynamics_ros' and other not in MAY_IMPORT[room] | {room}:
                wrong.add(f'{path.relative_to(ROOT)} imports {name}')
    assert wrong == set()


def test_nothing_of_ros_is_below_the_nodes():
    ros = ('rclpy', 'tf2_ros', 'ament_index_python', 'launch', 'rosidl', 'rosbags')
    wrong = {
        f'{path.relative_to(ROOT)} imports {name}'
        for room in MAY_IMPORT
        for path in files(room)
        for name in imports(path)
        if name.partition('.')[0].startswith(ros) or name.partition('.')[0].endswith('_msgs')
    }
    assert wrong == set()


def test_the_document_has_a_row_for_each_room_and_no_other():
    text = (ROOT / 'docs' / 'architecture.md').read_text()
    table = text.split('## Rooms')[1].split('##')[0]
    rows = [line.split('|')[1] for line in table.splitlines() if line.startswith('| `')]
    named = {name for row in rows for name in row.replace('`', '').replace(',', ' ').split()}
    folders = {f'{path.parent.relative_to(PACKAGE)}/' for path in PACKAGE.rglob('*/__init__.py')}
    single = {path.name for path in PACKAGE.glob('*.py')} - {'__init__.py'}
    assert named == (folders - {'./'}) | single
