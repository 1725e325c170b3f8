# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of parameter files of the command line that have no section for any node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import yaml

from dynamics_ros.errors import meant

FILE_OPTION = '--params-file'

SECTION = 'ros__parameters'


def ineffective_files(arguments: Sequence[str], nodes: Sequence[str]) -> Iterator[str]:
    """Return a sentence for each parameter file without a section for a node of this process.

    Args:
        arguments: arguments of the command line, which ROS has accepted.
        nodes: fully qualified names of the nodes.
    """
    for option, file in pairwise(arguments):
        if option != FILE_OPTION:
            continue
        try:
            with open(file, encoding='utf-8') as stream:
                sections = list(_sections(yaml.safe_load(stream), ''))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue  # ROS has read it, and reports what it cannot read
        patterns = [_pattern(section) for section in sections]
        if sections and not any(pattern.fullmatch(name) for pattern in patterns for name in nodes):
            first = sections[0]
            yield (
                f'{FILE_OPTION} {file} has no effect: it has the sections {", ".join(sections)}, '
                f'none of which is for {", ".join(nodes)}{meant(first, nodes)}'
            )


def _sections(content: Any, path: str) -> Iterator[str]:
    """Return the names of nodes with parameters, of nested namespaces too."""
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        if key == SECTION:
            yield path
        else:
            yield from _sections(value, f'{path}/{str(key).strip("/")}')


def _pattern(section: str) -> re.Pattern[str]:
    """Return the pattern of a section: * is one name, ** any number of names."""
    tokens = {'**': '(/[^/]+)*', '*': '/[^/]+'}
    return re.compile(''.join(tokens.get(x, '/' + re.escape(x)) for x in section.split('/')[1:]))
