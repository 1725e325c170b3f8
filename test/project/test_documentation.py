# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the documents show is there and works; their Python runs as it stands."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

import pytest
import yaml
from documents import blocks

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.quantity import DEFINITIONS

ROOT = Path(__file__).parents[2]
README = (ROOT / 'README.md').read_text()
DOCUMENTS = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]


def test_every_picture_is_drawn_by_a_file_beside_it():
    shown = {
        (page.parent / target).resolve()
        for page in DOCUMENTS
        for target in re.findall(r'!\[[^\]]*\]\(([^)\s]+)\)', page.read_text())
    }
    assert len(shown) >= 2
    for picture in shown:
        assert picture.is_file() and picture.with_suffix('.py').is_file(), picture
    # A picture that no page shows is one that nobody looks at.
    assert shown == {path.resolve() for path in (ROOT / 'docs').rglob('*.png')}


def test_the_documents_stay_short():
    pages = [path.read_text() for path in DOCUMENTS if path.parent.name != 'api']
    words = sum(bool(re.search(r'\w', word)) for text in pages for word in text.split())
    assert words <= 36_000, 'remove what another page says'


def test_every_executable_is_in_the_readme():
    programs = re.findall(r"'(\w+)': '[\w.]+:\w+'", (ROOT / 'setup.py').read_text())
    assert len(programs) > 5
    nodes = README[README.index('## Nodes') :]
    for program in programs:
        assert f'`{program}' in nodes, program


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda path: path.name)
def test_every_document_that_is_named_exists(document):
    text = document.read_text()
    named = set(re.findall(r'\bdocs/[\w/]+\.(?:md|png)', text))
    named |= set(re.findall(r'(?<![\w/])(?:config|urdf|launch)/\w[\w.]*', text))
    for path in named:
        assert (ROOT / path).exists(), path


def test_every_parameter_of_the_readme_is_a_parameter_with_that_name():
    defaults = yaml.safe_load((ROOT / 'config' / 'dynamics_ros.yaml').read_text())
    known = {'all': {'robot_description'}}
    for pattern, content in defaults.items():
        node = pattern.rpartition('/')[2]
        names = known.setdefault('all' if node == '**' else node, set())
        names |= set(flattened(content['ros__parameters']))
    table = README[README.index('## Parameters') :]
    rows = re.findall(r'^\| (all|\w+_node) \| ([^|]+) \|', table, re.MULTILINE)
    assert len(rows) > 10
    for node, cell in rows:
        first = ''
        for name in re.findall(r'`([\w.]+)`', cell):
            full = first.rpartition('.')[0] + name if name.startswith('.') else name
            first = first or name
            assert full in known[node], f'{node} {full}'


def flattened(parameters, prefix=''):
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from flattened(value, f'{prefix}{name}.')
        else:
            yield prefix + name


def test_every_public_name_of_robot_is_documented():
    text = (ROOT / 'docs' / 'library.md').read_text()
    for name in dir(Robot(ROOT / 'urdf' / 'seven_joint_arm.urdf')):
        assert re.search(rf'\b{name}\b', text), name


@pytest.mark.parametrize('name', sorted(x for x, y in DEFINITIONS.items() if not y.internal))
def test_every_quantity_is_in_the_tables_as_it_is_called(name):
    text = (ROOT / 'docs' / 'library.md').read_text()
    parameters = list(inspect.signature(getattr(Robot, name)).parameters)[1:-1]  # self, out
    call = r'(=[^,)]*)?, '.join(map(re.escape, parameters))
    assert re.search(rf'^\| .*`{name}\({call}(=[^,)]*)?\)`', text, re.MULTILINE), parameters


@pytest.mark.parametrize(
    'source', sorted((ROOT / 'dynamics_ros').rglob('*.py')), ids=lambda path: path.stem
)
def test_every_citation_is_in_the_references(source):
    references = (ROOT / 'docs' / 'references.md').read_text()
    for key in re.findall(r'\[(?:SE3|RD|Kindr|RBM|Lie|[A-Z]\w+\d{4})\]', source.read_text()):
        assert key in references, key


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda path: path.name)
def test_no_document_carries_a_path_of_one_machine(document):
    assert not re.search(r'(?<![\w.])/(?:home|root|tmp|work)/', document.read_text())


WITH_PYTHON = [
    f'docs/{name}.md'
    for name in (
        *('collision', 'constraints', 'control', 'estimation'),
        *('export', 'kernels', 'library', 'spatial'),
    )
]
"""Pages whose Python runs, one block after the other."""


ELSEWHERE = {
    ('docs/kernels.md', 'py'): 'test/bindings',
    ('docs/recordings.md', 'py'): 'test/fleet/test_analyze_recordings.py',
    ('docs/recordings.md', 'sql'): 'test/fleet/test_analyze_recordings.py',
    ('docs/tools.md', 'text'): 'test/inspect, test/doctor',
    ('README.md', 'python'): 'test/project/test_wheel.py',
    ('README.md', 'bash'): 'test/project/test_documentation_commands.py',
    ('CONTRIBUTING.md', 'bash'): 'test/project/test_documentation_commands.py',
    ('docs/contributing.md', 'bash'): 'test/project/test_first_changes.py',
    ('docs/contributing.md', 'diff'): 'test/project/test_first_changes.py',
    ('docs/contributing.md', 'python'): 'test/project/test_first_changes.py',
    ('docs/notebooks/index.md', 'bash'): 'test/project/test_documentation_commands.py',
}
"""Page and language of blocks that other tests run or look up; those of tutorials are theirs."""


def test_all_code_of_documents_has_a_test():
    pages = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *(ROOT / 'docs').rglob('*.md')]
    found = {
        (str(page.relative_to(ROOT)), block.language)
        for page in pages
        if page.parent.name != 'tutorials'
        for block in blocks(page)
        if not block.language.startswith('{') and 'GroupAction' not in block.text
    }
    assert found == {*((page, 'python') for page in WITH_PYTHON), *ELSEWHERE}


@pytest.mark.parametrize('document', WITH_PYTHON)
def test_the_python_of_a_document_runs(document, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ('examples', 'urdf'):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shutil.copy(urdf_path('anymal'), 'anymal.urdf')
    names: dict[str, object] = {}
    for block in blocks(ROOT / document, 'python'):
        if 'GroupAction' in block.text:  # a launch file
            continue
        # Pads the block, so that an error has the line of the document.
        exec(compile('\n' * (block.line - 1) + block.text, document, 'exec'), names)
