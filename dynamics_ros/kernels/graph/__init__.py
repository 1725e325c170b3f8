# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a function computes, as data: expressions, their graph in normal form, loops and traces.

Knows neither who prints nor who compiles it. May import ``errors``.
"""
