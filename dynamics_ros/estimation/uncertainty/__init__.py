# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far external torques can be believed: noise of the samples, and what the model leaves over.

Noise follows from the observer (``noise``); what the model cannot explain was learned from free
motion (``unexplained``); thresholds follow from both (``thresholds``); and ``residual_watch``
compares what is stated with what is felt.
"""
