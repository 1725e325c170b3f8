# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""analyze_recordings: evaluates bags of one or many robots; writes tables and a report."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynamics_ros.command_line import INTERRUPTED
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.files import write_files
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.recordings.bag import METADATA, require_rosbags
from dynamics_ros.recordings.command import interrupted_by_signals
from dynamics_ros.recordings.settings import read_settings

from .analysis import OK, Task
from .bags import Bag, find_bags
from .engine import analyze_all, workers
from .findings import findings
from .report import report
from .tables import EVENTS, read_rows, require_pyarrow

NAME = 'analyze_recordings'


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0 if all bags were analyzed, 1 if one failed."""
    logging.basicConfig(format='%(levelname)s: %(message)s')
    options = _parser().parse_args(arguments)
    try:
        with interrupted_by_signals():
            return _run(options)
    except (DynamicsRosError, OSError) as error:
        print(f'{NAME}: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f'\n{NAME}: interrupted; finished bags are in {options.output}', file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    require_rosbags()
    require_pyarrow()
    _check_output(options.output)
    if not options.jobs:
        raise InvalidArgumentError('--jobs', '0', 'a number of processes, or -1 for one per core')
    bags = find_bags(options.inputs, options.name, options.output)
    task = Task(
        output=options.output.resolve(),
        description=read_description_file(options.robot) if options.robot else '',
        settings=read_settings(options.parameters),
        topic=options.topic,
        free_motion=options.free_motion,
        signals=options.signals,
        bags=options.bags or '',
    )
    task.output.mkdir(parents=True, exist_ok=True)
    with workers(options.jobs, options.backend, options.scheduler):
        found = list(_with_progress(analyze_all(task, bags), len(bags)))
    # The order in which bags are finished is arbitrary.
    summaries = sorted(found, key=lambda row: (row['robot'], row['bag']))
    bad = [row for row in summaries if row['status'] != OK]
    for row in bad:
        print(f'{NAME}: {row["path"]}: {row["reason"]}', file=sys.stderr)
    for one in findings(summaries):
        print(one)
    print(_summary_text(summaries, task.output))
    write_files({task.output / 'report.html': report(summaries, _events(task.output, bags, bad))})
    return 1 if bad else 0


def _check_output(path: Path) -> None:
    """Checks that results can be written to a folder.

    Raises:
        InvalidArgumentError: it is a file, or the folder of a recording.
    """
    if path.exists() and not path.is_dir():
        raise InvalidArgumentError('--output', f'{path} is not a folder', 'a folder')
    if (path / METADATA).exists():
        problem = f'{path} is a recording: it has a {METADATA}'
        raise InvalidArgumentError('--output', problem, 'another folder')


def _events(output: Path, bags: Sequence[Bag], bad: Sequence[dict[str, Any]]) -> list[Any]:
    failed = {(row['robot'], row['bag']) for row in bad}
    return read_rows(output, EVENTS, [b for b in bags if (b.robot, b.name) not in failed])


def _with_progress(summaries: Any, total: int) -> Any:
    """Yields the summaries, with a progress bar on a terminal if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return summaries
    return tqdm(summaries, total=total, unit='bag', disable=None)


def _summary_text(summaries: Sequence[dict[str, Any]], output: Path) -> str:
    done = [row for row in summaries if row['status'] == OK]
    contacts = sum(row['contacts'] for row in done)
    false = sum(row['false_contacts'] for row in done)
    return (
        f'{len(done)} of {len(summaries)} bags, {sum(row["messages"] for row in done)} joint '
        f'states, {contacts} contacts of which {false} are false: {output}'
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=NAME, description=__doc__)
    parser.add_argument(
        'inputs',
        nargs='+',
        metavar='BAG',
        help='rosbag2 folder, .mcap, .db3, ROS 1 .bag, a folder of these, or a pattern',
    )
    parser.add_argument('--output', type=Path, required=True, help='folder for the results')
    parser.add_argument(
        '--robot',
        metavar='FILE',
        help='URDF or xacro file (default: the recorded robot_description)',
    )
    parser.add_argument(
        '--name', default='', help='name of the robot (default: that of the folder of a bag)'
    )
    parser.add_argument(
        '--parameters',
        type=Path,
        metavar='YAML',
        help='parameter file of contact_node, as for --params-file (default: its defaults)',
    )
    parser.add_argument(
        '--topic', help='topic of the joint states (default: the one with most messages)'
    )
    parser.add_argument(
        '--free-motion',
        action='store_true',
        help='the robots were not touched, so all contacts count as false',
    )
    parser.add_argument(
        '--signals', action='store_true', help='also write tables with one row per sample'
    )
    parser.add_argument(
        '--bags',
        choices=('mcap', 'sqlite3'),
        help='also write bags of inputs and estimates, in this storage format',
    )
    parser.add_argument(
        '--jobs',
        type=int,
        default=-1,
        help='number of processes on this machine (default: one per core)',
    )
    parser.add_argument(
        '--backend',
        choices=('loky', 'dask'),
        default='loky',
        help='loky: processes on this machine; dask: a cluster (default: %(default)s)',
    )
    parser.add_argument(
        '--scheduler',
        default='',
        metavar='ADDRESS',
        help='address of the dask scheduler, such as tcp://10.0.0.1:8786',
    )
    return parser


if __name__ == '__main__':
    sys.exit(main())
