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
from dynamics_ros.model.description import (
    Contents,
    Inertial,
    JointDescription,
    Limits,
    LinkDescription,
    Matrix3,
    Origin,
    RobotDescription,
    Triple,
)
from dynamics_ros.model.doubts import LOG, Doubts
from dynamics_ros.model.hardened_xml import MAXIMUM_NUMBER, quoted, quoted_path

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
    is_text = isinstance(source, str) and source.lstrip('\ufeff \t\r\n')[:1] == '<'
    element = 'SDF' if is_text else f'file {quoted_path(source)}'
    try:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
    except ImportError:
        reason = 'is read by the package drake, which is not installed (pip install drake)'
        raise ModelError(element, reason) from None
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    try:
        if is_text:
            text = str(source)
            parser.AddModelsFromString(text, 'sdf')
        else:
            text = read_file(source).decode(errors='replace')
            parser.AddModels(Path(source))
        plant.Finalize()
    except OSError as error:
        raise ModelError(element, f'cannot be read: {error.strerror}') from None
    except (ValueError, RuntimeError) as error:
        raise ModelError(element, f'drake refuses it: {error}') from error
    return plant, text


class _Reader:
    """Reader that walks the joints of a finalized plant, from the world outward."""

    def __init__(self, plant: Any, has_mimics: bool) -> None:
        self.plant = plant
        self.has_mimics = has_mimics
        self.links: list[LinkDescription] = []
        self.joints: dict[str, JointDescription] = {}
        self.taken: set[str] = set()
        self.names: dict[int, str] = {}
        self.frames_of_joints: set[int] = set()
        self.actuators: dict[int, Any] = {}
        for index in plant.GetJointActuatorIndices():
            actuator = plant.get_joint_actuator(index)
            self.actuators[int(actuator.joint().index())] = actuator
        self.outward: dict[int, list[Any]] = defaultdict(list)
        for index in plant.GetJointIndices():
            joint = plant.get_joint(index)
            self.outward[int(joint.parent_body().index())].append(joint)
            frames = joint.frame_on_parent(), joint.frame_on_child()
            self.frames_of_joints |= {int(x.index()) for x in frames}

    def read(self) -> Contents:
        plant = self.plant
        world = plant.world_body()
        models = [plant.GetModelInstanceName(x) for x in self.instances()]
        name = models[0] if models else 'sdf'
        base = self.floating_base()
        root = world if base is None else base
        if base is None:
            self.names[int(world.index())] = self.free_name('world')
            self.links.append(LinkDescription('world'))
        else:
            self.add_link(base)
        waiting = [root]
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
        doubts = Doubts()
        if self.has_mimics:
            doubts.add(WITHOUT_MIMICS, name)
        sentences = doubts.sentences(name)
        for sentence in sentences:
            LOG.warning('%s', sentence)
        description = RobotDescription(
            name=name,
            root=self.links[0].name,
            links=tuple(self.links),
            joints=tuple(self.joints.values()),
            doubts=sentences,
        )
        return Contents(description, root_joint='fixed' if base is None else 'floating')

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

    def free_name(self, name: str) -> str:
        """Return a unique name."""
        while name in self.taken:
            name = f'{name}_'
        self.taken.add(name)
        return name

    def add_link(self, body: Any) -> str:
        name = self.names[int(body.index())] = self.free_name(body.name())
        M = body.default_spatial_inertia()
        mass, center = float(M.get_mass()), np.zeros(3)
        inertia = np.zeros((3, 3))
        if mass:
            center = np.array(M.get_com())
            inertia = M.Shift(center).CalcRotationalInertia().CopyToFullMatrix3()
        check(name, mass, center, inertia)
        inertial = Inertial(mass, _triple(center), _matrix3(inertia))
        self.links.append(LinkDescription(name, inertial))
        return name

    def add_joint(self, joint: Any) -> None:
        """Add a joint and the link that it moves.

        If the joint's frame on the child is not that of the link, a link without mass lies between.
        """
        name = joint.name()
        while name in self.joints:
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
        origin = _origin(name, X_PF)
        if kind == 'fixed':
            child = self.add_link(joint.child_body())
            X = _origin(name, X_PF.multiply(X_MC))
            self.joints[name] = JointDescription(name, kind, parent, child, X)
            return
        axis, limits, damping, armature = (0.0, 0.0, 1.0), Limits(), 0.0, 0.0
        if kind in ('revolute', 'prismatic'):
            along = joint.revolute_axis() if kind == 'revolute' else joint.translation_axis()
            axis, damping = _triple(along), float(joint.default_damping())
            limits, armature = self.limits(joint), self.armature(joint)
            check(name, *(x for x in (limits.lower, limits.upper, damping) if math.isfinite(x)))
            if kind == 'revolute' and math.isinf(limits.lower) and math.isinf(limits.upper):
                kind = 'continuous'
        at_link = X_MC.IsNearlyIdentity(0.0)
        moved = self.add_link(joint.child_body()) if at_link else self.free_name(name)
        self.joints[name] = JointDescription(
            name, kind, parent, moved, origin, axis, limits, None, damping, 0.0, armature
        )
        if not at_link:
            self.links.append(LinkDescription(moved))
            self.fix(moved, self.add_link(joint.child_body()), X_MC)

    def limits(self, joint: Any) -> Limits:
        """Return the limits of a joint of one coordinate, the smaller velocity of both senses."""
        velocity = min(-float(joint.velocity_lower_limit()), float(joint.velocity_upper_limit()))
        actuator = self.actuators.get(int(joint.index()))
        return Limits(
            float(joint.position_lower_limit()),
            float(joint.position_upper_limit()),
            velocity,
            math.inf if actuator is None else float(actuator.effort_limit()),
        )

    def armature(self, joint: Any) -> float:
        actuator = self.actuators.get(int(joint.index()))
        if actuator is None:
            return 0.0
        return float(actuator.default_rotor_inertia()) * float(actuator.default_gear_ratio()) ** 2

    def add_frames(self) -> None:
        """Add the named frames of the file as links without mass."""
        for instance in self.instances():
            for index in self.plant.GetFrameIndices(instance):
                frame = self.plant.get_frame(index)
                hidden = frame.name().startswith('__') or frame.is_body_frame()
                if not hidden and int(index) not in self.frames_of_joints:
                    link = self.free_name(frame.name())
                    self.links.append(LinkDescription(link))
                    parent = self.names[int(frame.body().index())]
                    self.fix(parent, link, frame.GetFixedPoseInBodyFrame())

    def fix(self, parent: str, link: str, X: Any) -> None:
        """Add a fixed joint."""
        name = f'{link}_fixed'
        while name in self.joints:
            name = f'{name}_'
        self.joints[name] = JointDescription(name, 'fixed', parent, link, _origin(name, X))


def check(name: str, *values: Any) -> None:
    """Refuse numbers with which dynamics would overflow, as the URDF reader does.

    Raises:
        ModelError: a number is too large, or is not one.
    """
    for value in values:
        if not np.all(np.abs(value) <= MAXIMUM_NUMBER):
            raise ModelError(quoted(name), f'has {value}, which is too large')


def _origin(name: str, X: Any) -> Origin:
    translation, rotation = X.translation(), X.rotation().matrix()
    check(name, translation, rotation)
    return Origin(_triple(translation), _matrix3(rotation))


def _triple(values: Any) -> Triple:
    x, y, z = map(float, values)
    return x, y, z


def _matrix3(matrix: Any) -> Matrix3:
    first, second, third = map(_triple, matrix)
    return first, second, third
