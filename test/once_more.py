# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which test files of a run, told by its JUnit report, may be run once more, alone: one a line.

Nodes in processes of their own may be kept waiting for seconds by what else a machine does, so a
test of them may fail once in some ten thousand runs. Crashes are never run again, and nothing is
where more than three files failed: that is not chance.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

MOST = 3
"""Files that may fail by chance in one run."""

CRASH = re.compile(r"worker '\w+' crashed|a node has died|Segmentation fault|SIGSEGV|SIGABRT")


def failures(report: Path) -> dict[str, list[str]]:
    """Test file to the texts of its failures and errors."""
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter('testcase'):
        texts = [
            f'{part.get("message")}\n{part.text}'
            for kind in ('failure', 'error')
            for part in case.findall(kind)
        ]
        if texts:
            found.setdefault(case.get('file', ''), []).extend(texts)
    return found


def main(report: Path) -> str | None:
    """Print the files; why none may be run once more, if so."""
    failed = failures(report)
    if any(CRASH.search(text) for texts in failed.values() for text in texts):
        return 'something crashed: not run once more'
    if len(failed) > MOST:
        return f'tests of {len(failed)} files failed: not run once more'
    if not failed or not all(failed):
        return 'a failure of no test file: not run once more'
    print(*sorted(failed), sep='\n')
    return None


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1])))
