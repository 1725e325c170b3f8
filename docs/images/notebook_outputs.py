# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of the documentation and keeps in them what their cells show.

Run by scripts/images; needs matplotlib.
"""

from __future__ import annotations

from notebooks import NOTEBOOKS, code_cells, read, run, write

for path in NOTEBOOKS:
    notebook = read(path)
    for number, (cell, outputs) in enumerate(zip(code_cells(notebook), run(path), strict=True), 1):
        cell.update(execution_count=number, outputs=outputs)
        for output in outputs:
            if 'execution_count' in output:
                output['execution_count'] = number
    write(path, notebook)
