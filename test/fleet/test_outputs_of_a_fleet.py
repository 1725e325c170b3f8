# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What analyze_recordings writes, and the programs of the documentation that read it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('pyarrow')

from benchmarks.recordings_fleet import DAY, FleetRobot, Recorded, record
from dynamics_ros.fleet.command import main

pytestmark = pytest.mark.ros

MARCH, JUNE = 1_772_400_000 * 10**9, 1_780_300_000 * 10**9
"""ns: stamps in March and June 2026."""


def test_results_are_not_written_into_a_file_or_a_recording(tmp_path, capsys):
    file, recording = tmp_path / 'file', tmp_path / 'arm' / 'day'
    file.write_text('')
    record(FleetRobot.of(), Recorded(recording, 'mcap', 1.0, 50.0))
    for output, words in ((file, 'is not a folder'), (recording, 'is a recording')):
        before = sorted(tmp_path.rglob('*'))
        assert main([str(tmp_path / 'arm'), '--output', str(output)]) != 0
        printed = capsys.readouterr().err
        assert words in printed, printed
        assert 'Traceback' not in printed
        assert sorted(tmp_path.rglob('*')) == before
    assert main([str(tmp_path / 'arm'), '--output', str(tmp_path / 'out'), '--jobs', '0']) != 0
    assert '-1 for one per core' in capsys.readouterr().err


@pytest.mark.slow
def test_the_query_of_the_documentation_names_the_robot_whose_friction_rose(tmp_path):
    pytest.importorskip('duckdb')
    for name, factor in (('sound', 1.0), ('worn', 1.3)):
        for begin, factors in ((MARCH, {}), (JUNE, {1: factor})):
            for k in range(2):
                path = tmp_path / 'fleet' / name / f'{begin}-{k}'
                day = begin + k * DAY
                record(FleetRobot.of(factors), Recorded(path, 'mcap', 8.0, 100.0, day, seed=k))
    main([str(tmp_path / 'fleet'), '--output', str(tmp_path / 'results'), '--jobs', '1'])
    text = (Path(__file__).parents[2] / 'docs' / 'recordings.md').read_text()
    (query,) = re.findall(r'```sql\n(.*?)```', text, re.DOTALL)
    rows = answer(f'import duckdb\nprint(duckdb.sql({query!r}).fetchall())', tmp_path)
    ((robot, joint, march, today),) = ast.literal_eval(rows)
    assert (robot, joint) == ('worn', 'shoulder_pitch')
    assert today > 1.2 * march > 0.0


def test_another_executor_is_called_as_the_documentation_says(tmp_path):
    for name in ('one', 'two'):
        recorded = Recorded(tmp_path / 'fleet' / name / 'day', 'mcap', 4.0, 100.0, MARCH)
        record(FleetRobot.of(), recorded)
    text = (Path(__file__).parents[2] / 'docs' / 'recordings.md').read_text()
    (program,) = (x for x in re.findall(r'```py\n(.*?)```', text, re.DOTALL) if 'MPI' in x)
    pool = 'import sys, types, concurrent.futures as futures\nsys.modules.update(mpi4py=None)\n'
    module = 'types.SimpleNamespace(MPIPoolExecutor=futures.ThreadPoolExecutor)'
    stand_in = f"{pool}sys.modules['mpi4py.futures'] = {module}\n"
    printed = answer(f'{stand_in}{program}\nprint([one["robot"] for one in summaries])', tmp_path)
    assert sorted(ast.literal_eval(printed.splitlines()[-1])) == ['one', 'two']
    assert (tmp_path / 'results' / 'summary').is_dir()


def answer(program, folder):
    """What a program prints that runs in a folder, in a process of its own."""
    run = subprocess.run(
        [sys.executable, '-c', program], cwd=folder, capture_output=True, text=True, check=True
    )
    return run.stdout
