# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of command line tools: output and options."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

from .settings import MAX_GRAVITY
from .tools import INTERRUPTED as INTERRUPTED

Item = TypeVar('Item')

Block: TypeAlias = str | Sequence[Sequence[str]]
"""A line of text, or a table whose first row is its head."""


def plain(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield blocks as lines of text, with aligned columns of tables."""
    for block in blocks:
        if isinstance(block, str):
            yield block
            continue
        widths = [max(map(len, column)) for column in zip(*block, strict=True)]
        for row in block:
            yield '  '.join(map(str.ljust, row, widths)).rstrip()


def show(blocks: Iterable[Block]) -> None:
    """Print blocks as they come: with ``rich``, folded at the width of a terminal, else plain."""
    try:
        from rich.console import Console
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        rich = False
    else:
        rich = sys.stdout.isatty()
    if not rich:
        for line in plain(blocks):
            print(line, flush=True)
        return
    console = Console(highlight=False)
    for block in blocks:
        if isinstance(block, str):
            text = block.lstrip(' ')
            indent = len(block) - len(text)
            console.print(Padding(Text(text or ' '), (0, 0, 0, indent), expand=False))
            continue
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style='dim')
        first, *columns = zip(*block, strict=True)
        table.add_column(Text(first[0]), width=max(map(len, first)), overflow='fold')
        for column in columns:
            table.add_column(Text(column[0]), overflow='fold')
        for row in block[1:]:
            table.add_row(*map(Text, row))
        console.print(table)


def with_progress(items: Iterable[Item], total: int, unit: str) -> Iterator[Item]:
    """Yield the items, with a progress bar if stderr is a terminal and ``rich`` is installed.

    Args:
        items: the items.
        total: their number.
        unit: what they are, such as 'bags'.
    """
    if sys.stderr.isatty():
        with suppress(ImportError):
            from rich.console import Console
            from rich.progress import track

            items = track(items, unit, total, console=Console(stderr=True))
    yield from items


def finite(text: str) -> float:
    """A number of an option.

    Raises:
        ArgumentTypeError: it is none, or not finite.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f'{text!r} is no finite number')
    return number


def acceleration(text: str) -> float:
    """A component of gravity of an option [m/s^2].

    Raises:
        ArgumentTypeError: it is no finite number, or too large.
    """
    number = finite(text)
    if abs(number) > MAX_GRAVITY:
        raise argparse.ArgumentTypeError(f'{text} is more than {MAX_GRAVITY:g} m/s^2')
    return number
