# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots of the field, read as their makers wrote them."""

import importlib.metadata
from pathlib import Path

import pinocchio
import pytest

from dynamics_ros.errors import ModelError
from dynamics_ros.model.urdf import read_urdf

COLLECTION = sorted(
    Path(file.locate())
    for file in importlib.metadata.files('example-robot-data') or ()
    if file.suffix == '.urdf'
)

# Robots of the collection that cannot be read, and the true reason.
REFUSED = {
    'ur3.urdf': ('robot', 'has no attribute name'),  # an empty xacro expansion
    'romeo_laas_small.urdf': ("link 'body' inertial inertia", 'negative principal moment'),
    'alex_psyonic_hands.urdf': ("joint 'Left_index_q2' mimic", "there is no joint 'index_q1'"),
}


class TestCollection:
    @pytest.mark.parametrize('path', COLLECTION, ids=lambda path: path.name)
    @pytest.mark.few(20)
    def test_loads_as_in_pinocchio_or_is_refused_for_a_true_reason(self, path):
        if path.name in REFUSED:
            element, reason = REFUSED[path.name]
            with pytest.raises(ModelError, match=reason) as caught:
                read_urdf(path)
            assert caught.value.element == element
            return
        description = read_urdf(path)
        # A free root, so that pinocchio counts the mass of the root link too.
        peer = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
        bodies = [f.name for f in peer.frames if f.type == pinocchio.FrameType.BODY]
        assert sorted(found.name for found in description.links) == sorted(bodies)
        moving = [found.name for found in description.joints if found.type != 'fixed']
        assert sorted(moving) == sorted(list(peer.names)[2:])
        # Sums of at most two hundred masses in another order.
        total = sum(found.inertial.mass for found in description.links)
        assert total == pytest.approx(pinocchio.computeTotalMass(peer), rel=1e-12)
