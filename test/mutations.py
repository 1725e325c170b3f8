# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ways in which what comes from outside can be broken, each drawn by a seeded generator."""

from __future__ import annotations

import random
import re
import struct
import sys
from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any

VALUE = re.compile(r'"([^"]*)"')
ELEMENT = re.compile(r'<(\w+)[^<>]*/>|<(\w+)[^<>]*>[^<>]*</\2>')

NUMBERS = (
    *('0', '-0', '1', '-1', '1e-300', '-1e-12', '1e29', '1e30', '1e31', '1e308', '1e400', '-1e400'),
    *('nan', 'NaN', 'inf', '-inf', 'infinity', '0x10', '1_000', '1,5', '1.0abc', '1..0', '1e', '.'),
    *('', ' ', '١', '1 2', '1 2 3', '1 2 3 4', '--1', '+1', '1d0', '1f', '${pi}', '$(arg x)'),
    *('9' * 400, '0.' + '9' * 5000, '-' * 100),
)
NAMES = (
    *('', ' ', 'a', 'base_link', '..', '../..', '/etc/passwd', 'a/b', 'a b', 'a\u202eb', 'ä', '💥'),
    *('&#0;', '&#10;', '&lt;', '&x;', '%s%n', '{0}', '$(rm)', '__ns', '~', 'x' * 5000),
    *('revolute', 'continuous', 'floating', 'planar', 'prismatic', 'fixed', 'ball', 'REVOLUTE'),
)
DOCUMENT_TYPES = (
    '<!DOCTYPE robot [<!ENTITY x "y">]>',
    '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE robot SYSTEM "http://localhost/x.dtd">',
    '<?xml version="1.1"?>',
    '<?xml version="1.0" encoding="utf-7"?>',
    '<!-- ',
    '<![CDATA[',
    '<?php ',
)


Chance = random.Random


def mutated_text(text: str, chance: Chance) -> str:
    """A description with one to four of the mutations below."""
    return _mutated(text, TEXT_MUTATIONS, chance)


def mutated_bytes(data: bytes, chance: Chance) -> bytes:
    """Bytes with one to four of the mutations below."""
    return _mutated(data, BYTE_MUTATIONS, chance)


def _mutated(
    content: Any, mutations: Sequence[Callable[[Any, Chance], Any]], chance: Chance
) -> Any:
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        content = chance.choice(mutations)(content, chance)
    return content


def _place(text: str | bytes, chance: Chance) -> int:
    return chance.randrange(len(text) + 1)


def _replaced(pattern: re.Pattern[str], text: str, chance: Chance, by: Callable[..., str]) -> str:
    """The text with one match of a pattern replaced by what a function makes of it."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    one = chance.choice(found)
    return text[: one.start()] + by(one) + text[one.end() :]


def _other_value(text: str, chance: Chance) -> str:
    kind = NUMBERS if chance.random() < 0.6 else NAMES
    return _replaced(VALUE, text, chance, lambda _: f'"{chance.choice(kind)}"')


def _swapped_values(text: str, chance: Chance) -> str:
    values = VALUE.findall(text)
    return _replaced(VALUE, text, chance, lambda _: f'"{chance.choice(values)}"')


def _repeated_element(text: str, chance: Chance) -> str:
    """Text with an element left out, twice, thrice or 51 times."""
    return _replaced(ELEMENT, text, chance, lambda one: one[0] * chance.choice((0, 2, 3, 51)))


def _without_piece(text: str, chance: Chance) -> str:
    start = _place(text, chance)
    return text[:start] + text[start + chance.choice((chance.randrange(1, 200), len(text))) :]


def _with_piece(text: str, chance: Chance) -> str:
    start, depth = _place(text, chance), chance.choice((3, 300, 20_000))
    letter = chr(chance.choice((0, 9, 34, 38, 60, 62, 0xFFFE, 0xD7FF)))
    return text[:start] + chance.choice((letter, '<a>' * depth + '</a>' * depth)) + text[start:]


def _other_beginning(text: str, chance: Chance) -> str:
    return chance.choice(DOCUMENT_TYPES) + text


TEXT_MUTATIONS = (
    *([_other_value] * 4 + [_swapped_values, _repeated_element, _without_piece, _with_piece] * 2),
    _other_beginning,
)


def _other_bit(data: bytes, chance: Chance) -> bytes:
    if not data:
        return data
    place = chance.randrange(len(data))
    return data[:place] + bytes((data[place] ^ (1 << chance.randrange(8)),)) + data[place + 1 :]


def _other_number(data: bytes, chance: Chance) -> bytes:
    """Another count or length, or a number that is no number or beyond all bounds."""
    special = chance.choice(SPECIAL)
    if len(data) < 4 + len(special):
        return data
    place = 4 * chance.randrange((len(data) - len(special)) // 4 + 1)
    return data[:place] + special + data[place + len(special) :]


SPECIAL = tuple(
    number.to_bytes(4, 'little')
    for number in (0, 1, 7, 8, 0x7F, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
) + tuple(struct.pack('<d', x) for x in (nan, inf, -inf, sys.float_info.max, 5e-324, -0.0))


def _shorter(data: bytes, chance: Chance) -> bytes:
    return data[: _place(data, chance)]


def _longer(data: bytes, chance: Chance) -> bytes:
    return data + chance.randbytes(chance.randrange(1, 64))


def _noise(data: bytes, chance: Chance) -> bytes:
    start, length = _place(data, chance), chance.randrange(1, 16)
    return data[:start] + chance.randbytes(length) + data[start + length :]


def _moved(data: bytes, chance: Chance) -> bytes:
    start = _place(data, chance)
    return data[:start] + bytes(chance.randrange(1, 8)) + data[start:]


BYTE_MUTATIONS = (_other_bit, _other_number, _other_number, _shorter, _longer, _noise, _moved)
