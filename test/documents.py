# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of code in Markdown, and whether a program has printed what a page says it prints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]

FENCE = re.compile(r'^```(\S*)[^\n]*\n(.*?)^```$', re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r'(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])')

SHARE = 0.15
"""Of a number, by which what is printed may differ from what the page says."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        line: where its text begins, counted from 1.
        language: what stands behind the fence.
        text: between the fences.
    """

    line: int
    language: str
    text: str


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in these languages, or all, in their order."""
    text = page.read_text()
    found = [
        Block(text[: match.start(2)].count('\n') + 1, match[1], match[2])
        for match in FENCE.finditer(text)
    ]
    return [block for block in found if not languages or block.language in languages]


def commands(page: Path) -> list[str]:
    """Each line of code that a shell would take, lines that go on put together."""
    code = [block.text for block in blocks(page, 'bash')]
    rest = re.sub(r'^```.*?^```$', '', page.read_text(), flags=re.DOTALL | re.MULTILINE)
    code += re.findall(r'^ {4,}\S.*(?:\n {4,}\S.*)*', rest, re.MULTILINE)
    joined = re.sub(r' *\\\n\s*', ' ', '\n'.join(code))
    return [line.strip() for line in joined.splitlines()]


def differs(shown: str, printed: str) -> str:
    """What of a page has not been printed; empty when all has.

    ``...`` stands for anything, on a line of its own for any lines. Numbers with a point may differ
    by ``SHARE`` of them and by two units of their last digit, spaces by their number.
    """
    left = [' '.join(line.split()) for line in printed.strip().splitlines()]
    anything = False
    for line in (' '.join(line.split()) for line in shown.strip().splitlines()):
        if line == '...':
            anything = True
            continue
        while left and anything and not same(line, left[0]):
            left.pop(0)
        if not left or not same(line, left[0]):
            return f'the page says {line!r}, printed is {left[0] if left else "nothing more"!r}'
        left.pop(0)
        anything = False
    return '' if anything or not left else f'the page does not say {left[0]!r}'


def same(shown: str, printed: str) -> bool:
    """Whether two lines are the same but for small differences of their numbers."""
    if '...' in shown:
        pattern = '.*'.join(map(re.escape, NUMBER.sub('0', shown).split('...')))
        return re.fullmatch(pattern, NUMBER.sub('0', printed)) is not None
    if NUMBER.sub('0', shown) != NUMBER.sub('0', printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(abs(float(a) - float(b)) <= tolerance(a) for a, b in pairs)


def tolerance(number: str) -> float:
    """How far off a number of a page may be; an integer is a count."""
    mantissa, _, exponent = number.partition('e')
    if '.' not in mantissa and not exponent:
        return 0.0
    last = 10.0 ** (int(exponent or 0) - len(mantissa.partition('.')[2]))
    return SHARE * abs(float(number)) + 2.0 * last
