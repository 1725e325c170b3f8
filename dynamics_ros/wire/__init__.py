# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of messages to arrays and back, as objects and as bytes; names of topics.

Independent of the nodes. May import ``estimation`` and what is below it.
"""
