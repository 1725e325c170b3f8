# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program forked from a node server, and stands for it: output, signals, exit code.

Run as `python -IS run_forked.py ADDRESS PROGRAM ARGUMENTS`; imports little, as it is run often.
"""

import json
import os
import signal
import socket
import sys

LARGEST = 2**20
SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

address, *command = sys.argv[1:]
signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(address)
    request = json.dumps([command, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [request], [0, 1, 2])
    pid = json.loads(server.recv(LARGEST))[1]
    for number in SIGNALS:  # also those that a shell ignores in the background, as rclpy does
        signal.signal(number, lambda number, _: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    code = json.loads(server.recv(LARGEST))[2]
sys.exit(code if code >= 0 else 128 - code)
