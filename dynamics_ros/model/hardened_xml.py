# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Safe XML parser for untrusted sources: bounded, without DTD, not recursive.

Elements are read through their methods, which raise a ModelError that names the element.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NoReturn
from xml.parsers import expat

from dynamics_ros.errors import ModelError

DOCUMENT = 'robot description'

MAXIMUM_SIZE = 50_000_000
"""Size limit: characters of text, or bytes of a file; real robots stay far below."""

MAXIMUM_ELEMENTS = 1_000_000
MAXIMUM_DEPTH = 256
MAXIMUM_ATTRIBUTE = 4096
"""Length limit of an attribute; a number or a name is far shorter."""

MAXIMUM_NUMBER = 1e30
"""Bound on a number: products of a few of them must stay finite."""

# ASCII digits and a point in every locale. Linear in time: no digit can match in two ways.
_NUMBER = re.compile(r'[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')
_BLANKS = ' \t\r\n'

_BLANKED = bytes(byte if byte == ord('\n') else ord(' ') for byte in range(256))
"""Translation of all bytes but the ends of lines to blanks."""

# Sections that may contain any text, even the beginning of another section. One that does not end
# takes the rest, so that a search is linear in time.
_SECTION = re.compile(
    rb'(<!--.*?-->)|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|(?:<!--|<!\[CDATA\[|<\?).*', re.DOTALL
)


class Element:
    """Element of the document; text between elements is dropped, URDF has none."""

    __slots__ = ('_attributes', '_children', '_parent', 'line', 'tag')

    def __init__(
        self, tag: str, attributes: dict[str, str], parent: Element | None, line: int
    ) -> None:
        self.tag = tag
        self.line = line
        self._attributes = attributes
        self._children: list[Element] = []
        self._parent = parent
        if parent is not None:
            parent._children.append(self)

    @property
    def label(self) -> str:
        """Name of the element in errors, e.g. ``joint 'elbow' axis``."""
        name = self._attributes.get('name')
        own = self.tag if name is None else f'{self.tag} {quoted(name)}'
        # Direct children of the document's root are named without it.
        if self._parent is None or self._parent._parent is None:
            return own
        return f'{self._parent.label} {own}'

    def refuse(self, reason: str) -> NoReturn:
        """Raise the ModelError of this element."""
        raise ModelError(self.label, reason)

    def children(self, tag: str) -> list[Element]:
        """Return the direct children with a tag, in document order."""
        return [child for child in self._children if child.tag == tag]

    def child(self, tag: str) -> Element | None:
        """Return the only child with a tag, or None; two children are an error."""
        found = self.children(tag)
        if len(found) > 1:
            self.refuse(f'has {len(found)} <{tag}> elements, at most one is allowed')
        return found[0] if found else None

    def first_child(self, tag: str) -> Element | None:
        """Return the first child with a tag, or None; for callers that count the elements."""
        return next(iter(self.children(tag)), None)

    def required_child(self, tag: str) -> Element:
        """Return the only child with a tag; a missing child is an error."""
        found = self.child(tag)
        if found is None:
            self.refuse(f'has no <{tag}> element')
        return found

    def has(self, attribute: str) -> bool:
        """Return whether the attribute is given."""
        return attribute in self._attributes

    def text(self, attribute: str) -> str:
        """Return an attribute as text; a missing attribute is an error."""
        value = self._attributes.get(attribute)
        if value is None:
            self.refuse(f'has no attribute {attribute} (line {self.line})')
        if len(value) > MAXIMUM_ATTRIBUTE:
            self.refuse(
                f'attribute {attribute} has {len(value)} characters, '
                f'at most {MAXIMUM_ATTRIBUTE} are allowed'
            )
        if '${' in value or '$(' in value:
            self.refuse(f'{attribute}={quoted(value)} is a xacro expression; run xacro first')
        return value

    def name(self, attribute: str = 'name') -> str:
        """Return a name: not empty, of visible characters and plain spaces only."""
        value = self.text(attribute)
        if not value.strip():
            self.refuse(f'attribute {attribute} is empty (line {self.line})')
        if not value.isprintable():
            self.refuse(f'{attribute}={quoted(value)} has characters that cannot be printed')
        return value

    def numbers(
        self, attribute: str, count: int, bound: float = MAXIMUM_NUMBER
    ) -> tuple[float, ...]:
        """Return exactly ``count`` finite numbers, separated by whitespace."""
        text = self.text(attribute)
        words = [word for word in re.split(f'[{_BLANKS}]+', text.strip(_BLANKS)) if word]
        if len(words) != count:
            expected = 'one number' if count == 1 else f'{count} numbers'
            self.refuse(f'{attribute}={quoted(text)} has {len(words)} values, expected {expected}')
        return tuple(self._number(attribute, word, bound) for word in words)

    def number(
        self,
        attribute: str,
        default: float | None = None,
        bound: float = MAXIMUM_NUMBER,
    ) -> float:
        """Return one finite number, or ``default`` if the attribute is missing."""
        if default is not None and not self.has(attribute):
            return default
        (value,) = self.numbers(attribute, 1, bound)
        return value

    def _number(self, attribute: str, word: str, bound: float) -> float:
        if word.lower().lstrip('+-') in ('nan', 'inf', 'infinity'):
            self.refuse(f'{attribute} has {quoted(word)}, which is not finite')
        if _NUMBER.fullmatch(word) is None:
            hint = '; a decimal point is written "."' if ',' in word else ''
            self.refuse(f'{attribute} has {quoted(word)}, which is not a decimal number{hint}')
        value = float(word)
        if not math.isfinite(value) or abs(value) > bound:
            self.refuse(f'{attribute} has {quoted(word)}, which is too large')
        return value + 0.0  # -0.0 becomes 0.0, which constant folding removes


def quoted(text: str) -> str:
    """Quote text of the document for a message, escaped and truncated."""
    return repr(text if len(text) <= 80 else text[:77] + '...')


def quoted_path(path: object) -> str:
    """Quote a path for a message; of a very long one its end, with the name of the file."""
    text = str(path)
    return repr(text if len(text) <= 255 else '...' + text[-250:])


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first few of many names, for a message."""
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(quoted(name) for name in names[:most]) + more


def is_text(source: object) -> bool:
    """Whether a source is XML text, whose first character that is not blank is '<', or no path."""
    return isinstance(source, str) and source.lstrip('\ufeff' + _BLANKS)[:1] in ('<', '')


def read_xml(source: str | bytes) -> Element:
    """Return the root element of a document; bytes are decoded as the XML declaration says.

    Raises:
        ModelError: empty, too large, not well-formed, or with a document type declaration.
    """
    if len(source) > MAXIMUM_SIZE:
        raise ModelError(DOCUMENT, f'larger than {MAXIMUM_SIZE // 1_000_000} MB')
    encoding = None
    if isinstance(source, str):
        encoding = 'utf-8'  # it is decoded, whatever encoding its declaration names
        try:
            source = source.removeprefix('\ufeff').encode()
        except UnicodeEncodeError as error:
            reason = f'a lone surrogate at character {error.start + 1}'
            raise ModelError(DOCUMENT, reason) from error
    # Launch files leave blank lines before the XML declaration, where XML allows none.
    document = source.lstrip(_BLANKS.encode())
    if not document:
        raise ModelError(DOCUMENT, 'empty')
    builder = _Builder(encoding, source[: len(source) - len(document)].count(b'\n'))
    try:
        builder.parser.Parse(_SECTION.sub(_without_comment, document), True)
    except expat.ExpatError as error:
        raise ModelError(
            DOCUMENT,
            f'malformed XML at line {builder.blank_lines + error.lineno}, column '
            f'{error.offset + 1}: {expat.ErrorString(error.code)}',
        ) from error
    except (LookupError, ValueError) as error:
        raise ModelError(DOCUMENT, f'its encoding cannot be read: {error}') from error
    # A document without a root element is not well-formed, so there is one.
    assert builder.root is not None
    return builder.root


def _without_comment(section: re.Match[bytes]) -> bytes:
    """Return blanks for a comment: it may contain --, which tinyxml2 accepts and expat refuses."""
    return section[0].translate(_BLANKED) if section[1] else section[0]


class _Builder:
    """Builder of elements from the events of expat, which does not recurse."""

    def __init__(self, encoding: str | None, blank_lines: int) -> None:
        self.blank_lines = blank_lines
        self.root: Element | None = None
        self._open: list[Element] = []
        self._count = 0
        self.parser = expat.ParserCreate(encoding)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda _: self._open.pop()
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._line()
        self._count += 1
        if self._count > MAXIMUM_ELEMENTS:
            raise ModelError(DOCUMENT, f'more than {MAXIMUM_ELEMENTS} elements')
        if len(self._open) == MAXIMUM_DEPTH:
            reason = f'elements nested deeper than {MAXIMUM_DEPTH} at line {line}'
            raise ModelError(DOCUMENT, reason)
        if tag.startswith('xacro:'):
            reason = 'the description is a xacro file; run xacro first'
            raise ModelError(f'{quoted(tag)} at line {line}', reason)
        element = Element(tag, attributes, self._open[-1] if self._open else None, line)
        self.root = self.root or element
        self._open.append(element)

    def _line(self) -> int:
        return self.blank_lines + self.parser.CurrentLineNumber

    def _doctype(self, *_: object) -> None:
        reason = 'entities and external files are not read'
        raise ModelError(DOCUMENT, f'document type declaration at line {self._line()}: {reason}')
