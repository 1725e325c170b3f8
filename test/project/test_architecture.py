# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who imports whom: the rooms of docs/architecture.md, without circles, within a ledger of lines.

A room is a folder with its own files, or a single file beside the folders. Imports are all that a
file has: those for types and those inside functions too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'dynamics_ros'

LEDGER = {
    'algorithms': (7470, 6900),
    'bindings': (337, 300),
    'calibration': (1533, 1700),
    'collision': (881, 900),
    'commanding': (1011, 600),
    'constraints': (1970, 1200),
    'control': (2958, 2600),
    'demo': (1289, 1100),
    'doctor': (798, 500),
    'estimation': (7079, 5300),
    'export': (927, 1000),
    'fleet': (1272, 1200),
    'identification': (4647, 4700),
    'inspect': (348, 400),
    'inverse_kinematics': (3266, 2500),
    'kernels': (6369, 6000),
    'launching': (334, 200),
    'model': (3697, 3100),
    'multibody': (2469, 2500),
    'nodes': (8871, 6300),
    'page': (855, 700),
    'parameters': (1020, 900),
    'recordings': (1438, 1500),
    'simulation': (1460, 1600),
    'spatial': (2380, 2400),
    'viewer': (469, 600),
    'wire': (1946, 1600),
    'launch': (59, 150),
    'files beside the rooms': (1388, 650),
    'test': (45936, 45000),
}
"""Lines of each room with its C and page sources: the most that are allowed now, and the budget.

The first figure may only fall. A commit that raises one says why in its message; a room that has
become ``SLACK`` lines shorter than its figure lowers it.
"""

BUDGET = re.compile(r'^\| `?([\w ]+?)/?`? ([\d,]+) \|', re.MULTILINE)
"""Row of the document with a room and its budget."""

SLACK = 100

ROS = re.compile(r'rclpy|rosidl|rosbags|launch|tf2_ros|ament_|\w+_msgs\b')


def name_of(path: Path) -> str:
    """A file's module below the package, a folder's for its __init__; '' for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


FILES = {name_of(path): path for path in PACKAGE.rglob('*.py')}
ROOMS = {
    name: name if path.name == '__init__.py' else name.rpartition('.')[0] or name
    for name, path in FILES.items()
}
"""Of each file its room."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> Iterator[str]:
    """Every absolute name that a file imports."""
    folder = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else ()
            module = '.'.join([*base, *([node.module] if node.module else [])])
            # `from . import x` names a module where there is one.
            yield from (f'{module}.{alias.name}' for alias in node.names)


def of_ours(names: Iterable[str]) -> Iterator[str]:
    """The files of the package among imported names, without what is imported from them."""
    for name in names:
        package, _, rest = name.partition('.')
        if package == 'dynamics_ros':
            yield rest if rest in FILES else rest.rpartition('.')[0]


IMPORTS = {name: set(of_ours(imported(path))) - {name} for name, path in FILES.items()}

ROOM_IMPORTS: dict[str, set[str]] = {room: set() for room in ROOMS.values()}
for _name, _others in IMPORTS.items():
    ROOM_IMPORTS[ROOMS[_name]] |= {ROOMS[x] for x in _others} - {ROOMS[_name]}


def test_an_error_in_a_task_reaches_the_log():
    """A task that raises ends the process, so tasks are created by ``guarded_executor`` alone."""
    created: dict[str, set[str]] = {}
    for name, path in FILES.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and node.attr == 'create_task':
                created.setdefault(name, set()).add(ast.unparse(node.value))
    assert created == {
        'nodes.reporting': {'self._executor'},  # the guard itself
        'nodes.process': {'tasks', 'executor'},  # the probe of the events executor
        'nodes.guarded_node': {'guarded_executor(self.executor, self.faults)'},
        'nodes.lifecycle': {'guarded_executor(self.executor, self.faults)'},
        'nodes.workers': {'executor'},  # of the context, which ``run`` guards
    }


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """What reaches itself, in groups that reach each other."""
    reached = {name: set(others) for name, others in graph.items()}
    growing = True
    while growing:
        growing = False
        for name, others in reached.items():
            more = others.union(*(reached[x] for x in others))
            growing = growing or more != others
            reached[name] = more
    groups = {
        frozenset(x for x in others if name in reached[x])
        for name, others in reached.items()
        if name in others
    }
    return [set(group) for group in groups]


def table() -> dict[str, set[str]]:
    """Of each room of the document the rooms that it may import by name."""
    text = (ROOT / 'docs' / 'architecture.md').read_text().split('## Rooms')[1].split('##')[0]
    found = {}
    for line in text.splitlines():
        if line.startswith('| `'):
            _, rooms, _, may, _ = line.split('|')
            for room in re.findall('`([^`]+)`', rooms):
                found[as_module(room)] = {as_module(x) for x in re.findall('`([^`]+)`', may)}
    return found


def as_module(text: str) -> str:
    """`a/b/` and `c.py` as a.b and c."""
    return text.removesuffix('.py').strip('/').replace('/', '.')


TABLE = table()


@cache
def allowed(room: str) -> set[str]:
    """All that a room may import: what the table names, and what that may import."""
    return {room}.union(TABLE[room], *(allowed(x) for x in TABLE[room]))


def test_the_document_has_a_row_for_each_room_and_no_other():
    assert set(TABLE) == set(ROOM_IMPORTS) - {''}
    for room, names in TABLE.items():
        assert names <= set(TABLE), room


@pytest.mark.parametrize('room', sorted(TABLE))
def test_a_room_imports_only_what_the_document_allows(room):
    wrong = {
        f'{name} imports {other}'
        for name, others in IMPORTS.items()
        for other in others
        if ROOMS[name] == room and ROOMS[other] not in allowed(room)
    }
    assert wrong == set()


def test_a_circle_is_found():
    graph = {'a': {'b'}, 'b': {'c'}, 'c': {'a'}, 'd': {'a', 'e'}, 'e': set()}
    assert circles(graph) == [{'a', 'b', 'c'}]


@pytest.mark.parametrize('graph', [IMPORTS, ROOM_IMPORTS], ids=['files', 'rooms'])
def test_there_are_no_circles(graph):
    assert circles(graph) == []


def test_nothing_of_ros_is_below_the_nodes():
    rooms = list(TABLE)
    below = rooms[: rooms.index('nodes')]
    wrong = {
        f'{name} imports {other}'
        for name, path in FILES.items()
        for other in imported(path)
        if ROOMS[name] in below and ROOMS[name] not in ('wire', 'recordings') and ROS.match(other)
    }
    assert wrong == set()


def lines_of(folder: Path, pattern: str = '**/*') -> int:
    """Lines of the Python and C sources below a folder."""
    paths = (path for path in folder.glob(pattern) if path.suffix in ('.py', '.c', '.h'))
    return sum(len(path.read_text().splitlines()) for path in paths)


def test_the_document_has_the_budgets():
    text = (ROOT / 'docs' / 'architecture.md').read_text()
    told = {name: int(lines.replace(',', '')) for name, lines in BUDGET.findall(text)}
    assert told == {name: budget for name, (_, budget) in LEDGER.items()}


def test_the_ledger_has_a_row_for_each_room_and_no_other():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / '__init__.py').exists()}
    assert set(LEDGER) == rooms | {'launch', 'test', 'files beside the rooms'}


@pytest.mark.parametrize('room', LEDGER)
def test_a_room_has_no_more_lines_than_its_ledger(room):
    if room == 'files beside the rooms':
        lines = lines_of(PACKAGE, '*')
    else:
        lines = lines_of(ROOT / room if room in ('launch', 'test') else PACKAGE / room)
    most, budget = LEDGER[room]
    assert lines <= most, f'{lines} lines, {most} allowed, budget {budget}: remove some'
    lowest = max(most - SLACK, min(budget, most))
    assert lines >= lowest, f'{lines} lines: lower the ledger from {most} to it'


def test_every_room_says_what_lives_there():
    for name, path in FILES.items():
        if path.name == '__init__.py':
            assert ast.get_docstring(tree_of(path)), name


def test_a_file_beyond_700_lines_says_why_at_its_head():
    folders = ('dynamics_ros', 'benchmarks', 'scripts', 'test')
    files = [path for folder in folders for path in (ROOT / folder).rglob('*.[pc]*')]
    long = [x for x in files if x.suffix in ('.py', '.c') and len(x.read_text().splitlines()) > 700]
    unexplained = [x for x in long if '700 lines' not in ''.join(x.open().readlines()[:20])]
    assert unexplained == []


HEADER = re.compile(
    r'(#!.*\n)?'
    r'(#|//) Copyright 2026 dynamics_ros developers\n'
    r'\2 SPDX-License-Identifier: Apache-2\.0\n'
)


def test_each_source_file_and_script_begins_with_the_statement():
    folders = ('dynamics_ros', 'benchmarks', 'docs', 'examples', 'launch', 'scripts', 'test')
    found = [path for folder in folders for path in (ROOT / folder).rglob('*')]
    files = [x for x in found if x.suffix in ('.py', '.c', '.cpp') and x.stat().st_size]
    files += [path for path in (ROOT / 'scripts').iterdir() if path.is_file()]
    assert len(files) > 100
    assert [str(path) for path in files if not HEADER.match(path.read_text())] == []
