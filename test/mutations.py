# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ways in which what comes from outside can be broken, each drawn by a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
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


def mutated_text(text: str, chance: random.Random) -> str:
    """A description with one to four of the mutations below."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        text = chance.choice(TEXT_MUTATIONS)(text, chance)
    return text


def mutated_bytes(data: bytes, chance: random.Random) -> bytes:
    """Bytes with one to four of the mutations below."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = chance.choice(BYTE_MUTATIONS)(data, chance)
    return data


def _place(text: str | bytes, chance: random.Random) -> int:
    return chance.randrange(len(text) + 1)


def _replaced(pattern: re.Pattern[str], text: str, chance: random.Random, by: Any) -> str:
    """The text with one match of a pattern replaced by what a function makes of it."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    one = chance.choice(found)
    return text[: one.start()] + by(one, chance) + text[one.end() :]


def _other_value(text: str, chance: random.Random) -> str:
    kind = NUMBERS if chance.random() < 0.6 else NAMES
    return _replaced(VALUE, text, chance, lambda _, c: f'"{c.choice(kind)}"')


def _swapped_values(text: str, chance: random.Random) -> str:
    values = VALUE.findall(text)
    return _replaced(VALUE, text, chance, lambda _, c: f'"{c.choice(values)}"')


def _without_element(text: str, chance: random.Random) -> str:
    return _replaced(ELEMENT, text, chance, lambda *_: '')


def _repeated_element(text: str, chance: random.Random) -> str:
    return _replaced(ELEMENT, text, chance, lambda one, c: one[0] * c.choice((2, 3, 51)))


def _cut(text: str, chance: random.Random) -> str:
    return text[: _place(text, chance)]


def _without_piece(text: str, chance: random.Random) -> str:
    start = _place(text, chance)
    return text[:start] + text[start + chance.randrange(1, 200) :]


def _other_letter(text: str, chance: random.Random) -> str:
    start = _place(text, chance)
    other = chr(chance.choice((0, 9, 34, 38, 60, 62, 0xFFFE, 0xD7FF)))
    return text[:start] + other + text[start + 1 :]


def _other_beginning(text: str, chance: random.Random) -> str:
    return chance.choice(DOCUMENT_TYPES) + text


def _deeper(text: str, chance: random.Random) -> str:
    start, depth = _place(text, chance), chance.choice((3, 300, 20_000))
    return text[:start] + '<a>' * depth + '</a>' * depth + text[start:]


TEXT_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    *([_other_value] * 4 + [_swapped_values] * 2),
    *(_without_element, _repeated_element, _cut, _without_piece),
    *(_other_letter, _other_beginning, _deeper),
)


def _other_bit(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    place = chance.randrange(len(data))
    return data[:place] + bytes((data[place] ^ (1 << chance.randrange(8)),)) + data[place + 1 :]


def _other_length(data: bytes, chance: random.Random) -> bytes:
    """Another number where a count or a length may stand."""
    if len(data) < 8:
        return data
    place = 4 * chance.randrange(len(data) // 4)
    number = chance.choice((0, 1, 7, 8, 0x7F, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF))
    return data[:place] + number.to_bytes(4, 'little') + data[place + 4 :]


def _shorter(data: bytes, chance: random.Random) -> bytes:
    return data[: _place(data, chance)]


def _longer(data: bytes, chance: random.Random) -> bytes:
    return data + chance.randbytes(chance.randrange(1, 64))


def _noise(data: bytes, chance: random.Random) -> bytes:
    start, length = _place(data, chance), chance.randrange(1, 16)
    return data[:start] + chance.randbytes(length) + data[start + length :]


def _moved(data: bytes, chance: random.Random) -> bytes:
    start = _place(data, chance)
    return data[:start] + bytes(chance.randrange(1, 8)) + data[start:]


def _other_double(data: bytes, chance: random.Random) -> bytes:
    """A number that is no number, or one beyond all bounds, in the place of eight bytes."""
    if len(data) < 16:
        return data
    place = 4 + 4 * chance.randrange((len(data) - 12) // 4)
    special = (
        '000000000000f87f',  # NaN
        '000000000000f07f',  # inf
        '000000000000f0ff',  # -inf
        'ffffffffffffef7f',  # the largest number
        '0100000000000000',  # the smallest one
        '0000000000000080',  # -0
    )
    return data[:place] + bytes.fromhex(chance.choice(special)) + data[place + 8 :]


BYTE_MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _other_bit,
    _other_length,
    _shorter,
    _longer,
    _noise,
    _moved,
    _other_double,
)
