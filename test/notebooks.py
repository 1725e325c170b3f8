# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs the cells of a notebook in this process, as Jupyter would one after the other.

Jupyter itself, its kernels and their connections are not needed: a cell shows what it prints, the
value of its last expression, and the figures that it has drawn.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / 'docs' / 'notebooks').glob('*.ipynb'))
RESOLUTION = 100
"""Dots per inch of the figures."""


def read(path: Path) -> dict[str, Any]:
    """A notebook, format 4."""
    return json.loads(path.read_text())


def write(path: Path, notebook: dict[str, Any]) -> None:
    """As Jupyter writes it, so that a notebook that is saved there differs by what was changed."""
    path.write_text(json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + '\n')


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are run."""
    return [cell for cell in notebook['cells'] if cell['cell_type'] == 'code']


def run(path: Path) -> list[list[dict[str, Any]]]:
    """Outputs of the code cells, in the folder of the notebook.

    An error of a cell is raised with the name of the notebook and the number of the cell.
    """
    names: dict[str, Any] = {'__name__': '__main__'}
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        return [
            list(outputs(''.join(cell['source']), f'{path.name}, code cell {number}', names))
            for number, cell in enumerate(code_cells(read(path)), 1)
        ]
    finally:
        plt.close('all')
        os.chdir(before)


def outputs(source: str, name: str, names: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What one cell shows."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, 'exec'), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, 'eval'), names)
    if printed.getvalue():
        yield {'name': 'stdout', 'output_type': 'stream', 'text': lines(printed.getvalue())}
    for figure in plt.get_fignums():
        yield {'data': drawn(plt.figure(figure)), 'metadata': {}, 'output_type': 'display_data'}
    plt.close('all')
    if value is not None:
        yield {
            'data': {'text/plain': lines(repr(value))},
            'execution_count': None,
            'metadata': {},
            'output_type': 'execute_result',
        }


def drawn(figure: Any) -> dict[str, Any]:
    """A figure as data of an output."""
    image = io.BytesIO()
    # Without the version of matplotlib, which is no part of the picture.
    figure.savefig(image, format='png', dpi=RESOLUTION, metadata={'Software': None})
    return {
        'image/png': base64.b64encode(image.getvalue()).decode() + '\n',
        'text/plain': lines(repr(figure)),
    }


def lines(text: str) -> list[str]:
    """A text as notebooks keep it."""
    return text.splitlines(keepends=True)
