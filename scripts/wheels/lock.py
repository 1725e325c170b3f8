# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writes the lock files of scripts/setup from what pip resolves.

For every Python from 3.10 to 3.13, in a fresh virtual environment of it:

    pip install --dry-run --ignore-installed --report 3.<minor>.json -r FILE.in ...

with requirements.in and test-requirements.in, or with jazzy.in alone; and then, with packaging
installed, `python3 lock.py requirements.in test-requirements.in -- 3.*.json`. Each NAME.in gets its
NAME.lock: what it asks for and all that this needs, but for what is in the files before it. Add
`-c NAME.lock ...` to the first command to keep the pins that can be kept.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HEADER = """\
# {name}.in with all that it needs, for CPython 3.10 to 3.13 on Linux x86-64; for scripts/setup.
# Written by lock.py: change {name}.in.

"""

Versions = dict[str, dict[str, list[str]]]


def main(inputs: list[str], reports: list[str]) -> None:
    """Write a lock file for each input from the pip reports on all of them."""
    found: dict[str, Versions] = {name: defaultdict(lambda: defaultdict(list)) for name in inputs}
    pythons = []
    for path in reports:
        report = json.loads(Path(path).read_text())
        python = report['environment']['python_version']
        pythons.append(python)
        items = {canonicalize_name(one['metadata']['name']): one for one in report['install']}
        written: set[str] = set()
        for name in inputs:
            needed = closure(requirements(Path(name)), items, report['environment'])
            for package in needed - written:
                found[name][package][items[package]['metadata']['version']].append(python)
            written |= needed
    for name, packages in found.items():
        stem = Path(name).stem
        lines = [
            f'{package}=={version}{marker(where, pythons)}\n'
            for package, versions in sorted(packages.items())
            for version, where in versions.items()
        ]
        Path(name).with_suffix('.lock').write_text(HEADER.format(name=stem) + ''.join(lines))


def closure(
    wanted: Iterable[Requirement], items: dict[str, Any], environment: dict[str, str]
) -> set[str]:
    """Return the names of what requirements need, of what pip would install."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = list(wanted)
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if name not in items or (name, extras) in seen:
            continue
        seen.add((name, extras))
        for text in items[name]['metadata'].get('requires_dist', ()):
            further = Requirement(text)
            if further.marker is None or any(
                further.marker.evaluate({**environment, 'extra': extra}) for extra in {'', *extras}
            ):
                waiting.append(further)
    return {name for name, _ in seen}


def requirements(path: Path) -> list[Requirement]:
    """Return the requirements of a file, without comments."""
    lines = (line.partition('#')[0].strip() for line in path.read_text().splitlines())
    return [Requirement(line) for line in lines if line]


def marker(where: list[str], pythons: list[str]) -> str:
    """Return the environment marker for the Pythons that a pin is for."""
    if len(where) == len(pythons):
        return ''
    return ' ; ' + ' or '.join(f"python_version == '{python}'" for python in where)


if __name__ == '__main__':
    split = sys.argv.index('--')
    main(sys.argv[1:split], sys.argv[split + 1 :])
