# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot: identifies masses, friction, rotors and effort scales from recordings."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.command_line import INTERRUPTED, show
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
from dynamics_ros.identification.uncertainty import learn

from .outputs import calibrated_description, check_outputs, node_parameters
from .plan import plan
from .recorded import Subject, add_robot_options, pair, read_subject, share
from .results import (
    as_json,
    gains_json,
    gains_text,
    payload_json,
    payload_text,
    report,
    result_blocks,
)

NAME = 'calibrate_robot'


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0 if it succeeded."""
    logging.basicConfig(format='%(levelname)s: %(message)s')
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given[:1] == ['plan']:
            plan(given[1:])
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
    options = _parser().parse_args(arguments)
    started = time.perf_counter()
    paths = [*options.recordings, *options.test]
    outputs = ('output', 'parameters', 'report')
    files = {f'--{name}': getattr(options, name) for name in outputs}
    check_outputs(files, [Path(options.robot), *paths])
    subject = read_subject(
        options.robot,
        paths,
        topic=options.topic,
        joints=dict(options.joints),
        locked=dict(options.lock),
        gravity=options.gravity,
        in_degrees=options.units == 'degrees',
    )
    count = len(options.recordings)
    train, test = list(subject.recordings[:count]), list(subject.recordings[count:])
    if options.split is not None:
        test += [samples.between(options.split, 1.0) for samples in train]
        train = [samples.between(0.0, options.split) for samples in train]
    identified, free, text, more = _identified(subject, train, options)
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
    show(result_blocks(sentences, identified, tested))
    if text:
        print(text)
    if options.json:
        result = as_json(sentences, identified, learned, tested) | more
        print(json.dumps(result | {'seconds': round(time.perf_counter() - started, 3)}))


def _identified(
    subject: Subject, train: list[JointSamples], options: argparse.Namespace
) -> tuple[Identified, list[JointSamples], str, dict[str, Any]]:
    """Returns the robot, the samples without load, and the result for a load as text and JSON."""
    robot = subject.robot
    if options.load is None and options.drive_gains is None:
        return identify(robot, train), train, '', {}
    if len(train) < 2:
        option = '--load' if options.drive_gains is None else '--drive-gains'
        expected = 'recordings without the payload, and then one with it'
        raise InvalidArgumentError(option, 'one recording', expected)
    empty, loaded = train[:-1], train[-1:]
    if options.drive_gains is None:
        identified, payload = identify_with_payload(robot, empty, loaded, options.load)
        converted = bool((np.abs(identified.effort_model.scale) != 1.0).any())
        texts = payload_text(payload, converted), payload_json(payload, converted)
        return identified, empty, *texts
    frame, *words = options.drive_gains
    try:
        mass, x, y, z = (float(word) for word in words)
    except ValueError as error:
        raise InvalidArgumentError('--drive-gains', str(error), 'FRAME MASS X Y Z') from error
    identified, gains = identify_drive_gains(
        robot, empty, loaded, KnownLoad(frame, mass, (x, y, z))
    )
    names = robot.joint_names
    return identified, empty, gains_text(gains, names), gains_json(gains, names)


def _parser() -> argparse.ArgumentParser:
    """Returns the parser of the options of an identification."""
    parser = argparse.ArgumentParser(
        prog=NAME,
        description=__doc__,
        epilog=f'{NAME} plan --help: plan a trajectory',
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
