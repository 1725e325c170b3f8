# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Many recordings of many robots: each analyzed on its own, results as tables and a report.

``analyze_recordings`` runs one task a recording on the cores of a machine or of a cluster
(``engine``). A task reads a recording once, message by message, and keeps no more of it than
figures (``analysis``). Knows no node.
"""
