# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""analyze_recordings: evaluates bags of one or many robots; writes tables and a report."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynamics_ros.command_line import INTERRUPTED, with_progress
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.files import write_files
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.recordings.bag import METADATA, require_rosbags
from dynamics_ros.recordings.command import interrupted_by_signals
from dynamics_ros.recordings.settings import read_settings

from .analysis import OK, Task, analyze_all
from .report import findings, report
from .results import find_bags, require_pyarrow

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
    output = options.output
    if output.exists() and not output.is_dir():
        raise InvalidArgumentError('--output', f'{output} is not a folder', 'a folder')
    if (output / METADATA).exists():
        problem = f'{output} is a recording: it has a {METADATA}'
        raise InvalidArgumentError('--output', problem, 'another folder')
    if not options.jobs:
        raise InvalidArgumentError('--jobs', '0', 'a number of processes, or -1 for one per core')
    bags = find_bags(options.inputs, options.name, output)
    task = Task(
        output=output.resolve(),
        description=read_description_file(options.robot) if options.robot else '',
        settings=read_settings(options.parameters),
        topic=options.topic,
        free_motion=options.free_motion,
    )
    task.output.mkdir(parents=True, exist_ok=True)
    with cluster(options.scheduler) as executor:
        analyzed = analyze_all(task, bags, options.jobs, executor)
        rows = list(with_progress(analyzed, len(bags), 'bags'))
    # The order in which bags are finished is arbitrary.
    summaries = sorted(rows, key=lambda row: (row['robot'], row['bag']))
    bad = [row for row in summaries if row['status'] != OK]
    for row in bad:
        print(f'{NAME}: {row["path"]}: {row["reason"]}', file=sys.stderr)
    for one in findings(summaries):
        print(one)
    print(_summary_text(summaries, task.output))
    write_files({task.output / 'report.html': report(summaries)})
    return 1 if bad else 0


@contextmanager
def cluster(scheduler: str) -> Iterator[Any]:
    """Context with the executor of a dask cluster; None without a scheduler.

    Raises:
        DynamicsRosError: the package distributed is missing, or the scheduler does not answer.
    """
    if not scheduler:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise DynamicsRosError(f"pip install 'dask[distributed]': {error}") from error
    try:
        client = Client(scheduler, timeout='20s')
    except (OSError, ValueError) as error:
        raise DynamicsRosError(f'no dask scheduler at {scheduler}: {error}') from error
    with client:
        yield client.get_executor()


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
        '--jobs',
        type=int,
        default=-1,
        help='number of processes on this machine (default: one per core)',
    )
    parser.add_argument(
        '--scheduler',
        default='',
        metavar='ADDRESS',
        help='dask scheduler of a cluster to use instead, such as tcp://10.0.0.1:8786',
    )
    return parser


if __name__ == '__main__':
    sys.exit(main())
