# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot: identifies masses, friction, rotors and effort scales from recordings."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.command_line import INTERRUPTED, Block, finite, show
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.files import write_files
from dynamics_ros.identification import (
    Evaluation,
    Identified,
    JointSamples,
    KnownLoad,
    identify,
    identify_drive_gains,
    identify_with_payload,
)
from dynamics_ros.identification.uncertainty import Learned, learn

from .description import calibrated_description
from .node_parameters import node_parameters
from .options import add_robot_options, pair, positions, share
from .outputs import check_outputs
from .plan import plan
from .report import report
from .runs import DriveGainsResult, PayloadResult
from .subject import Subject, read_subject

NAME = 'calibrate_robot'


def main(
    arguments: list[str] | None = None,
    more: Mapping[str, Callable[[list[str]], None]] | None = None,
) -> int:
    """Runs the command; returns 0 if it succeeded.

    Args:
        arguments: command line arguments; None for those of the process.
        more: additional subcommands by name.
    """
    logging.basicConfig(format='%(levelname)s: %(message)s')
    given = sys.argv[1:] if arguments is None else arguments
    tasks = {'plan': _plan} | dict(more or {})
    try:
        if given and given[0] in tasks:
            tasks[given[0]](given[1:])
        else:
            calibrate(given)
    except (DynamicsRosError, OSError) as error:
        print(f'{NAME}: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f'\n{NAME}: interrupted', file=sys.stderr)
        return INTERRUPTED
    return 0


def calibrate(arguments: list[str]) -> None:
    """Identifies the robot of recordings and writes the requested files.

    Raises:
        DynamicsRosError, OSError: a file or option is not valid, or the robot cannot be identified.
    """
    options = parser().parse_args(arguments)
    started = time.perf_counter()
    paths = [*options.recordings, *options.test]
    check_outputs(output_files(options), [Path(options.robot), *paths])
    subject = read_subject(
        options.robot,
        paths,
        topic=options.topic,
        joints=dict(options.joints),
        locked=positions(options.lock),
        gravity=options.gravity,
        in_degrees=options.units == 'degrees',
    )
    count = len(options.recordings)
    train, test = list(subject.recordings[:count]), list(subject.recordings[count:])
    if options.split is not None:
        test += [samples.between(options.split, 1.0) for samples in train]
        train = [samples.between(0.0, options.split) for samples in train]
    identified, compared, free = _identified(subject, train, options)
    tested = Evaluation.joined([identified.evaluate(s) for s in test]) if test else None
    learned = learn(identified, free) if free else None
    sentences = [*subject.assumed, *identified.findings, *(learned.findings if learned else ())]
    contents: dict[Path, str | bytes] = {}
    if options.output is not None:
        contents[options.output] = calibrated_description(subject.text, identified)
    if options.parameters is not None and learned is not None:
        contents[options.parameters] = node_parameters(identified, learned, subject.joints)
    if options.report is not None:
        contents[options.report] = report(identified, tested, sentences)
    write_files(contents)
    result = as_json(subject, identified, learned, tested)
    if compared is not None:
        result.update(compared.as_json())
    result['seconds'] = round(time.perf_counter() - started, 3)
    show(result_blocks(sentences, identified, tested))
    if compared is not None:
        print(compared.as_text())
    if options.json:
        print(json.dumps(result))


def output_files(options: argparse.Namespace) -> dict[str, Path | None]:
    """Files that an identification writes, by the name of the option."""
    return {f'--{name}': getattr(options, name) for name in ('output', 'parameters', 'report')}


def _identified(
    subject: Subject,
    train: list[JointSamples],
    options: argparse.Namespace,
) -> tuple[Identified, PayloadResult | DriveGainsResult | None, list[JointSamples]]:
    """Returns the robot, the result of a run with a load if any, and samples without load."""
    if options.load is not None:
        empty, loaded = _runs(train, '--load')
        identified, payload = identify_with_payload(subject.robot, empty, loaded, options.load)
        converted = bool((np.abs(identified.effort_model.scale) != 1.0).any())
        result = PayloadResult(payload, converted)
        return identified, result, loaded if payload.swapped else empty
    if options.drive_gains is not None:
        empty, loaded = _runs(train, '--drive-gains')
        load = _known_load(options.drive_gains)
        identified, gains = identify_drive_gains(subject.robot, empty, loaded, load)
        return identified, DriveGainsResult(gains, identified.robot.joint_names), empty
    return identify(subject.robot, train), None, train


def _plan(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog=f'{NAME} plan',
        description='Plans an exciting trajectory for an identification, within the limits.',
    )
    add_robot_options(parser)
    parser.add_argument(
        '--output',
        type=Path,
        required=True,
        metavar='TRAJECTORY',
        help='name of the .yaml or .csv file; both are written',
    )
    parser.add_argument(
        '--report', type=Path, metavar='HTML', help='file for a page with plots of the motion'
    )
    parser.add_argument(
        '--duration', type=float, default=20.0, help='duration [s], 1 to 600 (default: %(default)s)'
    )
    parser.add_argument(
        '--floor',
        type=finite,
        metavar='HEIGHT',
        help='least height of links in the root frame [m] (default: not checked)',
    )
    parser.add_argument(
        '--seed',
        type=int,
        default=0,
        help='seed of the random starts, 0 or more (default: %(default)s)',
    )
    parser.add_argument(
        '--iterations',
        type=int,
        default=400,
        help='number of iterations of the optimization (default: %(default)s)',
    )
    options = parser.parse_args(arguments)
    print(plan(options, dict(positions(options.lock))))


def as_json(
    subject: Subject, identified: Identified, learned: Learned | None, tested: Evaluation | None
) -> dict[str, Any]:
    """Returns the object that ``--json`` prints, without the elapsed time."""
    filtering = identified.maker.filtering
    model = identified.effort_model
    return {
        'joints': list(identified.robot.joint_names),
        'train': _errors(identified.train),
        'test': None if tested is None else _errors(tested),
        'parameters': [
            {
                'name': p.name,
                'kind': p.kind,
                'unit': p.unit,
                'value': float(p.value),
                'standard_deviation': float(p.deviation),
                'identifiable': p.identifiable,
            }
            for p in identified.parameters
        ],
        'effort': {
            name: getattr(model, name).tolist()
            for name in (
                *('scale', 'offset', 'rotor_inertia', 'viscous', 'coulomb', 'stribeck'),
                'load_friction',
            )
        }
        | {
            'friction_velocity': model.friction_velocity,
            'stribeck_velocity': model.stribeck_velocity,
            'noise': identified.noise.effort.tolist(),
            'velocity_noise': identified.noise.velocity.tolist(),
            'velocity_differenced': identified.noise.differenced.tolist(),
            'velocity_cutoff': identified.noise.cutoff.tolist(),
            'model_error': identified.model_error.tolist(),
        },
        'unexplained': None
        if learned is None
        else {name: value.tolist() for name, value in vars(learned.unexplained).items()},
        'consistent': identified.consistent,
        'cutoff_hz': filtering.narrow,
        'findings': [
            *(*subject.assumed, *identified.findings),
            *(learned.findings if learned else ()),
        ],
        'not_identifiable': list(identified.missing),
    }


def result_blocks(
    sentences: list[str], identified: Identified, tested: Evaluation | None
) -> Iterator[Block]:
    """Yield the result as text, with a table of the joints."""
    yield from sentences
    model = identified.effort_model
    tests = ('on the test', '') if tested else ()
    rows = [('joint', 'left over', '', *tests, 'viscous', 'Coulomb', 'offset')]
    for j, joint in enumerate(identified.robot.model.actuated):
        unit = 'N ' if joint.kind.slides[0] else 'Nm'
        errors = [
            cell
            for one in (identified.train, tested)
            if one is not None
            for cell in (f'{one.rms[j]:6.3f} {unit}', f'{one.percent[j]:5.1f} %')
        ]
        friction = [f'{x:7.3f}' for x in (model.viscous[j], model.coulomb[j])]
        friction = friction if identified.moved[j] else ['unknown'] * 2
        rows.append((joint.name, *errors, *friction, f'{model.offset[j]:6.3f}'))
    yield rows
    total = f'all joints: {identified.train.percent_all:.2f} % of the efforts are left over'
    if identified.train.standing.any():
        total += f' ({identified.train.percent_moving:.2f} % while they move)'
    if tested is not None:
        total += f', {tested.percent_all:.2f} % on recordings that were not used'
        if tested.standing.any():
            total += f' ({tested.percent_moving:.2f} %)'
    yield total
    base = [p for p in identified.parameters if p.kind == 'base']
    known = f'{sum(p.identifiable for p in base)} of {len(base)}'
    yield f'{known} combinations of masses and inertias are determined by the motion'


def _errors(evaluation: Evaluation) -> dict[str, Any]:
    return {
        'rms_nm': evaluation.rms.tolist(),
        'percent': evaluation.percent.tolist(),
        'percent_all': evaluation.percent_all,
    }


def _runs(train: list[JointSamples], option: str) -> tuple[list[JointSamples], list[JointSamples]]:
    """Returns the recordings without load, and the one with load, which is the last."""
    if len(train) < 2:
        raise InvalidArgumentError(
            option, 'one recording', 'recordings without the payload, and then one with it'
        )
    return train[:-1], train[-1:]


def _known_load(words: list[str]) -> KnownLoad:
    try:
        mass, x, y, z = (float(word) for word in words[1:])
    except ValueError as error:
        raise InvalidArgumentError('--drive-gains', str(error), 'FRAME MASS X Y Z') from error
    return KnownLoad(words[0], mass, (x, y, z))


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the options of an identification."""
    parser = argparse.ArgumentParser(
        prog=NAME,
        description=__doc__,
        epilog=f'{NAME} plan --help: plan a trajectory; {NAME} run --help: run it on a robot',
    )
    parser.add_argument(
        'recordings',
        type=Path,
        nargs='+',
        metavar='RECORDING',
        help='rosbag2 folder, .mcap, .db3, ROS 1 .bag, .csv or .parquet',
    )
    add_robot_options(parser)
    parser.add_argument(
        '--test',
        type=Path,
        nargs='+',
        default=[],
        metavar='RECORDING',
        help='recordings on which the result is tested',
    )
    parser.add_argument(
        '--split',
        type=share,
        metavar='SHARE',
        help='first share of each recording for the identification; the rest is the test',
    )
    parser.add_argument(
        '--output', type=Path, metavar='URDF', help='file for the identified description'
    )
    parser.add_argument(
        '--parameters', type=Path, metavar='YAML', help='file for parameters of contact_node'
    )
    parser.add_argument('--report', type=Path, metavar='HTML', help='file for a report with plots')
    runs = parser.add_mutually_exclusive_group()
    runs.add_argument(
        '--load',
        metavar='FRAME',
        help='identify a payload at this frame: only the last recording is with the payload',
    )
    runs.add_argument(
        '--drive-gains',
        nargs=5,
        metavar=('FRAME', 'MASS', 'X', 'Y', 'Z'),
        help='identify Nm per unit of effort: only the last recording is with this known load, '
        'by frame, mass [kg] and centre of mass in the frame [m]',
    )
    parser.add_argument(
        '--json', action='store_true', help='print one JSON object as the last line'
    )
    parser.add_argument(
        '--units',
        choices=('rad', 'degrees'),
        default='rad',
        help='unit of recorded angles and angular velocities; efforts are not converted '
        '(default: %(default)s)',
    )
    parser.add_argument('--topic', help='topic of the joint states (default: the only one)')
    parser.add_argument(
        '--joints',
        type=pair,
        nargs='+',
        default=[],
        metavar='RECORDED=NAME',
        help='joint names of the robot for recorded names (default: matched automatically)',
    )
    return parser
