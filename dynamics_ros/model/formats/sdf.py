# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of SDF text or files to a RobotDescription, with the library drake as parser.

It reads links, joints, inertias, limits, damping and named frames, as links without mass. Drake
resolves poses, nested and included models. A link has its own frame, as in the file.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.errors import ModelError
from dynamics_ros.files import read_file
from dynamics_ros.model.description import Contents, Limits, LinkDescription
from dynamics_ros.model.hardened_xml import is_text, quoted

from .tree import Tree, library, triple

TYPES = {
    'revolute': 'revolute',
    'prismatic': 'prismatic',
    'weld': 'fixed',
    'ball_rpy': 'spherical',
    'quaternion_floating': 'floating',
}
"""Joint types of a description by those of Drake."""

MIMIC = re.compile(r'<(drake:)?mimic\b')

WITHOUT_MIMICS = 'SDF has mimic elements, which are ignored: the joints move independently in {}'


def read_sdf(source: str | os.PathLike[str]) -> Contents:
    """Read a robot.

    Args:
        source: SDF text, or a path to a file.

    Raises:
        ModelError: drake is not installed, refuses the source, or it has a joint of another type.
    """
    plant, text = _parsed(source)
    return _Reader(plant, has_mimics=MIMIC.search(text) is not None).read()


def _parsed(source: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return the finalized MultibodyPlant of a source, and its text, without included files."""
    with library('drake', 'SDF', source):
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        plant = MultibodyPlant(0.0)
        parser = Parser(plant)
        if is_text(source):
            text = str(source)
            parser.AddModelsFromString(text, 'sdf')
        else:
            text = read_file(source).decode(errors='replace')
            parser.AddModels(Path(source))
        plant.Finalize()
    return plant, text


class _Reader:
    """Reader that walks the joints of a finalized plant, from the world outward."""

    def __init__(self, plant: Any, has_mimics: bool) -> None:
        self.plant = plant
        models = [plant.GetModelInstanceName(x) for x in self.instances()]
        self.tree = Tree(models[0] if models else 'sdf')
        if has_mimics:
            self.tree.doubts.add(WITHOUT_MIMICS, self.tree.name)
        self.names: dict[int, str] = {}
        self.frames_of_joints: set[int] = set()
        actuators = map(plant.get_joint_actuator, plant.GetJointActuatorIndices())
        self.actuators = {int(one.joint().index()): one for one in actuators}
        self.outward: dict[int, list[Any]] = defaultdict(list)
        for index in plant.GetJointIndices():
            joint = plant.get_joint(index)
            self.outward[int(joint.parent_body().index())].append(joint)
            frames = joint.frame_on_parent(), joint.frame_on_child()
            self.frames_of_joints |= {int(x.index()) for x in frames}

    def read(self) -> Contents:
        plant = self.plant
        world, base = plant.world_body(), self.floating_base()
        if base is None:
            self.names[int(world.index())] = self.tree.free_name('world')
            self.tree.links.append(LinkDescription('world'))
        else:
            self.add_link(base)
        waiting = [world if base is None else base]
        while waiting:
            parent = waiting.pop(0)
            for joint in self.outward[int(parent.index())]:
                self.add_joint(joint)
                waiting.append(joint.child_body())
        missing = plant.num_bodies() - len(self.names) - (base is not None)
        if missing:
            reason = f'{missing} links have a joint whose child is nearer to the root'
            raise ModelError('SDF', reason)
        self.add_frames()
        return self.tree.contents('fixed' if base is None else 'floating')

    def instances(self) -> list[Any]:
        """Return the models of the file, without Drake's own two: the world and a default."""
        from pydrake.multibody.tree import ModelInstanceIndex

        return [ModelInstanceIndex(i) for i in range(2, self.plant.num_model_instances())]

    def floating_base(self) -> Any:
        """Return the only body on the world if it floats, else None."""
        joints = self.outward[int(self.plant.world_body().index())]
        if len(joints) == 1 and joints[0].type_name() == 'quaternion_floating':
            return joints[0].child_body()
        return None

    def add_link(self, body: Any) -> str:
        name = self.names[int(body.index())] = self.tree.free_name(body.name())
        M = body.default_spatial_inertia()
        mass, center, inertia = float(M.get_mass()), np.zeros(3), np.zeros((3, 3))
        if mass:
            center = np.array(M.get_com())
            inertia = M.Shift(center).CalcRotationalInertia().CopyToFullMatrix3()
        self.tree.add_link(name, mass, center, inertia)
        return name

    def add_joint(self, joint: Any) -> None:
        """Add a joint and the link that it moves.

        If the joint's frame on the child is not that of the link, a link without mass lies between.
        """
        tree, name = self.tree, joint.name()
        while name in tree.joints:
            name = f'{name}_'
        kind = TYPES.get(joint.type_name())
        if kind is None:
            expected = f'one of {", ".join(map(repr, TYPES))}'
            raise ModelError(f'joint {quoted(name)}', f'type {joint.type_name()!r}; {expected}')
        if int(joint.child_body().index()) in self.names:
            raise ModelError(f'joint {quoted(name)}', 'closes a loop; a robot is a tree')
        parent = self.names[int(joint.parent_body().index())]
        X_PF = joint.frame_on_parent().GetFixedPoseInBodyFrame()
        X_MC = joint.frame_on_child().GetFixedPoseInBodyFrame().inverse()
        if kind == 'fixed':
            child = self.add_link(joint.child_body())
            tree.add_joint(name, kind, parent, child, _pose(X_PF.multiply(X_MC)))
            return
        more: dict[str, Any] = {'axis': (0.0, 0.0, 1.0)}
        if kind in ('revolute', 'prismatic'):
            along = joint.revolute_axis() if kind == 'revolute' else joint.translation_axis()
            more = {'axis': triple(along), 'damping': float(joint.default_damping())}
            more |= self.limits_and_armature(joint)
        at_link = X_MC.IsNearlyIdentity(0.0)
        moved = self.add_link(joint.child_body()) if at_link else tree.free_name(name)
        tree.add_joint(name, kind, parent, moved, _pose(X_PF), **more)
        if not at_link:
            tree.links.append(LinkDescription(moved))
            tree.fix(moved, self.add_link(joint.child_body()), _pose(X_MC))

    def limits_and_armature(self, joint: Any) -> dict[str, Any]:
        """Return those of a joint of one coordinate, the smaller velocity limit of both senses."""
        velocity = min(-float(joint.velocity_lower_limit()), float(joint.velocity_upper_limit()))
        effort, armature = math.inf, 0.0
        if (actuator := self.actuators.get(int(joint.index()))) is not None:
            effort, ratio = float(actuator.effort_limit()), float(actuator.default_gear_ratio())
            armature = float(actuator.default_rotor_inertia()) * ratio**2
        ends = float(joint.position_lower_limit()), float(joint.position_upper_limit())
        return {'limits': Limits(*ends, velocity, effort), 'armature': armature}

    def add_frames(self) -> None:
        """Add the named frames of the file as links without mass."""
        for instance in self.instances():
            for index in self.plant.GetFrameIndices(instance):
                frame = self.plant.get_frame(index)
                hidden = frame.name().startswith('__') or frame.is_body_frame()
                if not hidden and int(index) not in self.frames_of_joints:
                    link = self.tree.free_name(frame.name())
                    self.tree.links.append(LinkDescription(link))
                    parent = self.names[int(frame.body().index())]
                    self.tree.fix(parent, link, _pose(frame.GetFixedPoseInBodyFrame()))


def _pose(X: Any) -> tuple[Any, Any]:
    return X.rotation().matrix(), X.translation()
