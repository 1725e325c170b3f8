# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Analysis of many recordings of many robots, with results as tables and a report.

``analyze_recordings`` runs one task per recording on the cores of a machine or of a cluster. A task
reads a recording once, message by message, and stores statistics only. Independent of the nodes.
"""
