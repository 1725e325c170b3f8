# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Python of each document runs as it stands, one block after the other, in the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from documents import Block, blocks

from benchmarks.robots import urdf_path

ROOT = Path(__file__).parents[2]


NAMES = (
    'collision',
    'constraints',
    'control',
    'estimation',
    'export',
    'kernels',
    'library',
    'spatial',
)
DOCUMENTS = [f'docs/{name}.md' for name in NAMES]


def runnable(path: Path) -> list[Block]:
    """Each block of Python that is no launch file."""
    return [block for block in blocks(path, 'python') if 'GroupAction' not in block.text]


ELSEWHERE = {
    ('docs/kernels.md', 'py'): 'test/bindings',
    ('docs/recordings.md', 'py'): 'test/fleet/test_outputs_of_a_fleet.py',
    ('docs/recordings.md', 'sql'): 'test/fleet/test_outputs_of_a_fleet.py',
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
    assert found == {*((page, 'python') for page in DOCUMENTS), *ELSEWHERE}


@pytest.mark.parametrize('document', DOCUMENTS)
def test_the_python_of_a_document_runs(document, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ('examples', 'urdf'):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shutil.copy(urdf_path('anymal'), 'anymal.urdf')
    names: dict[str, object] = {}
    for block in runnable(ROOT / document):
        # Pads the block, so that an error has the line of the document.
        exec(compile('\n' * (block.line - 1) + block.text, document, 'exec'), names)
