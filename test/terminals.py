# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Shells that run commands of the documents, in a folder and a ROS domain of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import node_server
from patience import PATIENCE
from ros_harness import executable

HERE = Path(__file__).parent
ROOT = HERE.parent

ROS2 = """\
#!/bin/sh
case "$1 $2 $3" in
  "run dynamics_ros "*_node | "run dynamics_ros dynamics_ros" | *robot_simulator)
    program=$3; shift 3; exec {run} "{executables}/$program" "$@" ;;
  "run dynamics_ros "*) program=$3; shift 3; exec "{executables}/$program" "$@" ;;
  "launch "*) echo "no ros2 launch here" >&2; exit 2 ;;
  *) exec {run} "{root}/scripts/graph.py" "$@" ;;
esac
"""

PYTHON = """\
#!/bin/sh
case "$1" in
  *.py) exec {run} "$@" ;;
  *) exec {python} "$@" ;;
esac
"""


class Terminals:
    """Shells in a folder, some of which go on running something."""

    def __init__(self, folder: Path, domain: int) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        run = sys.executable
        if node_server.forkable():
            run += f' -IS {HERE}/run_forked.py {node_server.server_for(dict(os.environ)).address}'
        places = {'root': ROOT, 'executables': Path(executable('contact_node')).parent}
        tools = folder / 'bin'
        tools.mkdir()
        for name, text in (('ros2', ROS2), ('python3', PYTHON)):
            command = tools / name
            command.write_text(text.format(run=run, python=sys.executable, **places))
            command.chmod(0o755)
        self._environment = {
            **os.environ,
            'PATH': os.pathsep.join(
                [str(tools), str(Path(sys.executable).parent), os.environ['PATH']]
            ),
            'PYTHONUNBUFFERED': '1',
            'ROS_DOMAIN_ID': str(domain),
        }

    def run(self, commands: str) -> str:
        """Run commands to their end; what they print."""
        done = subprocess.run(
            ['bash', '-euo', 'pipefail', '-c', commands],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr + self.logs()
        return done.stdout

    def start(self, number: str, commands: str) -> None:
        """Run commands in a terminal until they are replaced or all ends."""
        self.end(number)
        with (self._folder / f'terminal{number}.log').open('ab') as log:
            self._running[number] = subprocess.Popen(
                ['bash', '-euo', 'pipefail', '-c', commands],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def end(self, number: str) -> None:
        """Ctrl-C, in a terminal."""
        process = self._running.pop(number, None)
        if process is None:
            return
        assert process.poll() is None, f'terminal {number} has ended by itself' + self.logs()
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Ctrl-C everywhere, the last one first."""
        for number in reversed([*self._running]):
            self.end(number)

    def logs(self) -> str:
        """What all terminals show."""
        return '\n'.join(
            f'--- {path.stem}\n{path.read_text()}' for path in self._folder.glob('terminal*.log')
        )
