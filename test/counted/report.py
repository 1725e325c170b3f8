# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How many statements of each room the processes of a test run have run, from what they wrote.

report.py FOLDER [LEAST]    also writes FOLDER/lines, for `coverage html --data-file FOLDER/lines`;
fails where a share of all statements smaller than LEAST [%] was run
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from coverage import Coverage, CoverageData

PACKAGE = Path(__file__).resolve().parents[2] / 'dynamics_ros'


def main(folder: Path, least: float = 0.0) -> str | None:
    """Print a line for each room; what is wrong, if so."""
    written = sorted(folder.glob('*.json'))
    if not written:
        return f'no process has written into {folder}'
    run: dict[str, set[int]] = {str(path): set() for path in PACKAGE.rglob('*.py')}
    for file in written:
        for path, lines in json.loads(file.read_text()).items():
            if path in run:
                run[path].update(lines)
    data = CoverageData(str(folder / 'lines'))
    data.erase()
    data.add_lines(run)
    data.touch_files(run)
    data.write()
    coverage = Coverage(data_file=data.data_filename())
    coverage.load()
    statements: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for path in run:
        room = Path(path).relative_to(PACKAGE).parts[0]
        _, every, _, not_run, _ = coverage.analysis2(path)
        for name in (room, 'all'):
            statements[name] += len(every)
            missed[name] += len(not_run)
    print(f'statements of dynamics_ros that were run, by {len(written)} processes:')
    share = 0.0
    for name in [*sorted(room for room in statements if room != 'all'), 'all']:
        run_ones = statements[name] - missed[name]
        share = 100.0 * run_ones / max(statements[name], 1)
        print(f'  {name:<20} {share:5.1f} %  {run_ones:6} of {statements[name]}')
    if share < least:
        return f'{share:.1f} % of all statements were run; expected at least {least:g} %'
    return None


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1]), *(float(least) for least in sys.argv[2:])))
