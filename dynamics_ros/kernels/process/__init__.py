# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Process management for compiled code: forks, the compiler queue, files on disk.

Imports nothing of this package.
"""
