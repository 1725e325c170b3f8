# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Many recordings of many robots: each analyzed separately, results as tables and a report.

``analyze_recordings`` runs one task per recording on the cores of a machine or of a cluster
(``engine``). A task reads a recording once, message by message, and keeps only figures
(``analysis``). Independent of the nodes.
"""
