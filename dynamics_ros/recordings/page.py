# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Self-contained, printable HTML pages."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

LOG = logging.getLogger('dynamics_ros.recordings')

STYLE = """
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 66em; color: #222; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; font-size: 13px } td, th { padding: 2px 10px; text-align: right }
td:first-child, th:first-child { text-align: left } tr:nth-child(even) { background: #f3f3f3 }
.text { text-align: left } td.short { white-space: nowrap }
.bad { color: #b00020 } .unknown { color: #999 }
img { max-width: 100%; height: auto }
@media print { body { font-size: 11px; margin: 0; max-width: none } table { font-size: 9px }
tr, img { break-inside: avoid } h2 { break-after: avoid } }
"""

TAG, NUMBER = re.compile('<[^>]*>'), re.compile(r'[-+]?[\d.]+(e[-+]?\d+)?|nan|inf')

SHORT = 40
"""Cells with fewer characters are not wrapped."""


def page(title: str, parts: Sequence[str]) -> str:
    """Returns a page with a title and parts of its body in HTML."""
    body = '\n'.join(parts)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n{body}\n</body></html>\n'
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns an HTML table; columns of text are aligned left, and short cells do not wrap."""
    plain = [[TAG.sub('', cell) for cell in row] for row in rows]
    texts = [any(cell and not NUMBER.fullmatch(cell) for cell in column) for column in zip(*plain)]
    texts += [False] * (len(header) - len(texts))
    lines = [''.join(_cell('th', cell, text) for cell, text in zip(header, texts))]
    lines += [''.join(_cell('td', cell, text) for cell, text in zip(row, texts)) for row in rows]
    return '<table>' + ''.join(f'<tr>{line}</tr>' for line in lines) + '</table>'


def _cell(tag: str, cell: str, text: bool) -> str:
    kinds = [*(['text'] if text else []), *(['short'] if len(cell) < SHORT else [])]
    return f'<{tag} class="{" ".join(kinds)}">{cell}</{tag}>' if kinds else f'<{tag}>{cell}</{tag}>'


def figure(width: float, height: float) -> Any:
    """Returns an empty figure [inch]; None, with a warning, if matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        _warn()
        return None
    made = Figure(figsize=(width, height), layout='constrained')
    FigureCanvasAgg(made)
    return made


@cache
def _warn() -> None:
    """Warns once per run."""
    LOG.warning('no pictures: matplotlib is not installed (pip install matplotlib)')
