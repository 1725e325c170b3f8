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


NAMES = ('constraints', 'control', 'estimation', 'export', 'kernels', 'library', 'spatial')
DOCUMENTS = [f'docs/{name}.md' for name in NAMES]


def runnable(path: Path) -> list[Block]:
    """Each block of Python that is no launch file."""
    return [block for block in blocks(path, 'python') if 'GroupAction' not in block.text]


def test_all_documents_with_python_are_run():
    with_python = {
        str(path.relative_to(ROOT)) for path in (ROOT / 'docs').glob('*.md') if runnable(path)
    }
    assert with_python == {*DOCUMENTS}


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
