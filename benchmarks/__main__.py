# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measure speed, inverse kinematics, estimation, control and accuracy, and compare with peers."""

from __future__ import annotations

import argparse
import logging
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.records import (
    Record,
    markdown,
    print_header,
    print_record,
    print_summary,
    write_json,
)

SUITES = {
    'dynamics': 'time of kinematics and dynamics calls; start-up, memory, growth with joints',
    'ik': 'inverse kinematics: success, time, all branches, unreachable targets, tracking',
    'estimation': 'contact forces compared with the truth of a simulator; cost of a step',
    'control': 'control laws: cost in C and Python; stiffness, energy, collisions in MuJoCo',
    'ros': 'the nodes on the middleware: cost, round trips, rates, services, start',
    'identification': 'masses and friction from recordings, real and simulated; planned motions',
    'recordings': 'recordings of a simulated fleet: speed, memory, workers, worn robots',
    'accuracy': 'error of every quantity on every robot of example-robot-data',
}
MODULES = {'ik': 'inverse_kinematics'}
PEERS = (
    *('pin', 'mujoco'),
    *('optik-py', 'roboticstoolbox-python', 'pytracik', 'ssik', 'eaik'),
    *('figaroh', 'casadi'),
)
PARTS = (
    *('rate', 'workers', 'memory', 'worn'),
    *('calls', 'batch', 'python', 'startup', 'contact', 'functions', 'exported', 'jax'),
    *('numeric', 'analytic', 'unreachable', 'collisions'),
    'ablation',
    *('cost', 'plant', 'reactions', 'admittance', 'faults', 'node'),
    *('pushed', 'rates', 'services', 'changes', 'leaving', 'soak', 'start'),
    *('recordings', 'stops', 'payload', 'excitation', 'coverage', 'estimates'),
    *('planned', 'drift', 'untold'),
)
RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'data' / 'recordings'

SuiteFunction = Callable[[argparse.Namespace], Iterator[Record]]


def main(arguments: list[str] | None = None) -> int:
    """Run suites, and return 1 if a result is wrong; a missed goal of speed is not an error."""
    parser = _parser()
    options = parser.parse_args(arguments)
    unknown = set(options.suites) - set(SUITES)
    if unknown:
        parser.error(f'no suite {", ".join(sorted(unknown))}; there are {", ".join(SUITES)}')
    records: list[Record] = []
    for name in options.suites or SUITES:
        print(f'\n{name}: {SUITES[name]} ({platform.machine()}, Python {sys.version.split()[0]})')
        suite: SuiteFunction = import_module(f'benchmarks.{MODULES.get(name, name)}').run
        found = []
        for record in suite(options):
            found.append(record)
            if name == 'accuracy':
                continue  # thousands of figures: the suite prints its own summary
            if len(found) == 1:
                print_header()
            print_record(record)
        print_summary(found)
        records += found
    if options.json:
        write_json(options.json, records)
    if options.markdown:
        options.markdown.write_text(markdown(records))
    wrong = [x for x in records if x.suite == 'accuracy' and x.verdict == 'FAIL']
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    suites = '\n'.join(f'  {name:14} {what}' for name, what in SUITES.items())
    parser = argparse.ArgumentParser(
        prog='scripts/bench',
        description=__doc__,
        epilog=f'suites:\n{suites}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('suites', nargs='*', metavar='suite', help='suites to run (default: all)')
    parser.add_argument('--json', type=Path, metavar='FILE', help='file for the records as JSON')
    parser.add_argument(
        '--markdown', type=Path, metavar='FILE', help='file for the ratios as Markdown tables'
    )
    parser.add_argument('--robot', default='', help='only robots whose name contains this text')
    parser.add_argument('--quick', action='store_true', help='quick check instead of a measurement')
    parser.add_argument(
        '--peers',
        type=_peers,
        default=PEERS,
        metavar='NAMES',
        help='comma-separated peer libraries, or "none"; missing ones are installed '
        f'(default: {",".join(PEERS)})',
    )
    parser.add_argument(
        '--part',
        action='append',
        choices=PARTS,
        metavar='NAME',
        help=f'only this part of a suite; repeatable: {", ".join(PARTS)}',
    )
    group = parser.add_argument_group('ik')
    group.add_argument(
        '--targets',
        type=int,
        default=1000,
        help='targets of each robot; 10000 is the full protocol (default: %(default)s)',
    )
    group = parser.add_argument_group('ros')
    group.add_argument(
        '--soak',
        type=float,
        default=2.0,
        metavar='MINUTES',
        help='duration of the soak tests at 1 kHz, of nodes and of control [min] (default: '
        '%(default)s)',
    )
    group = parser.add_argument_group('identification')
    group.add_argument(
        '--recordings',
        type=Path,
        default=RECORDINGS,
        metavar='FOLDER',
        help='folder with recordings of real arms (default: %(default)s)',
    )
    group = parser.add_argument_group('accuracy')
    group.add_argument(
        '--backend',
        default='python',
        choices=('python', 'llvm'),
        help='backend of the kernels (default: %(default)s)',
    )
    group.add_argument(
        '--states', type=int, default=2, help='random states of each robot (default: %(default)s)'
    )
    return parser


def _peers(text: str) -> tuple[str, ...]:
    names = tuple(text.split(',')) if text != 'none' else ()
    unknown = set(names) - set(PEERS)
    if unknown:
        raise argparse.ArgumentTypeError(f'unknown: {", ".join(sorted(unknown))}')
    return names


if __name__ == '__main__':
    # Warnings about robots are for their users, not for a table.
    logging.getLogger('dynamics_ros').setLevel(logging.ERROR)
    sys.exit(main())
