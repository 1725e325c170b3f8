# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The notebooks of the documentation run as they are written, and show what is kept in them."""

from __future__ import annotations

import json

import pytest
from documents import differs

pytest.importorskip('matplotlib')

from notebooks import NOTEBOOKS, ROOT, code_cells, read, run


def text(output):
    return ''.join(output.get('text') or output['data']['text/plain'])


def test_there_are_notebooks_and_their_page_names_them():
    page = (ROOT / 'docs' / 'notebooks' / 'index.md').read_text()
    assert len(NOTEBOOKS) >= 2
    for path in NOTEBOOKS:
        assert f']({path.name})' in page and f'\n{path.stem}\n' in page


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_kept_in_it(path):
    notebook = read(path)
    for number, (cell, shown) in enumerate(zip(code_cells(notebook), run(path), strict=True), 1):
        assert cell['execution_count'] == number
        kept = cell['outputs']
        assert [one['output_type'] for one in shown] == [one['output_type'] for one in kept]
        for one, other in zip(shown, kept, strict=True):
            assert differs(text(other), text(one)) == '', f'cell {number}: scripts/images'


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_jupyter_reads_and_writes_it_as_it_is(path):
    """What nbformat 4.5 asks for, and nothing of the machine that ran it."""
    notebook = read(path)
    assert (notebook['nbformat'], notebook['nbformat_minor']) == (4, 5)
    assert notebook['metadata']['license'] == 'Apache-2.0'
    identifiers = [cell['id'] for cell in notebook['cells']]
    assert len({*identifiers}) == len(identifiers)
    assert (
        path.read_text()
        == json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + '\n'
    )
