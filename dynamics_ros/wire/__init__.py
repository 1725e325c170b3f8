# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages to arrays and back, as objects and as bytes; names of topics. Knows no node.

May import ``estimation`` and what is below it.
"""
