"""Writes requirements.lock from what pip resolves requirements.in to, or jazzy.lock from jazzy.in.

For every Python from 3.10 to 3.13, in a fresh virtual environment of it:

    pip install --dry-run --ignore-installed --report 3.<minor>.json -r requirements.in

and then `python3 lock.py requirements 3.*.json > requirements.lock`. Add `-c requirements.lock` to
the first command to keep the pins that can be kept.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

HEADER = """\
# Every package, for CPython 3.10 to 3.13 on Linux x86-64; installed by scripts/setup.
# Written by lock.py from {name}.in: change that one.
"""


def main(name: str, reports: list[str]) -> None:
    """Print the lock file of the given pip reports on NAME.in."""
    pythons = []
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in reports:
        report = json.loads(Path(path).read_text())
        python = report['environment']['python_version']
        pythons.append(python)
        for item in report['install']:
            package = item['metadata']['name'].replace('_', '-').lower()
            found[package][item['metadata']['version']].append(python)
    print(HEADER.format(name=name))
    for package, versions in sorted(found.items()):
        for version, where in versions.items():
            print(f'{package}=={version}{marker(where, pythons)}')


def marker(where: list[str], pythons: list[str]) -> str:
    """Return the environment marker for the Pythons that a pin is for."""
    if len(where) == len(pythons):
        return ''
    return ' ; ' + ' or '.join(f"python_version == '{python}'" for python in where)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
