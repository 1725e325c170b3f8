# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the launch files, each declared once; ``--show-args`` prints them."""

from __future__ import annotations

from dataclasses import dataclass, replace

SWITCH = ('true', 'false')
"""Values of a boolean argument."""


@dataclass(frozen=True)
class Argument:
    """Launch argument with a text value.

    Attributes:
        name: name as in ``name:=value``.
        default: default value.
        description: effect, unit, and meaning of an empty value.
        choices: allowed values; empty: any.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


DESCRIPTION = (
    Argument(
        'description_file',
        '',
        'URDF file of the robot; a file whose name ends in .xacro is expanded. With neither this '
        'nor robot_description, the nodes wait for the topic of robot_state_publisher.',
    ),
    Argument('xacro_args', '', "Arguments of the xacro file: 'name:=value name:=value'."),
    Argument('robot_description', '', 'URDF of the robot as XML text, in place of a file.'),
)

NAMES = (
    Argument(
        'namespace', '', "Namespace of all nodes, topics and services, as 'left_arm'. Empty: none."
    ),
    Argument(
        'frame_prefix',
        '',
        "Prefix of every frame of the robot, as 'left_arm/'; the same as for "
        'robot_state_publisher. Empty: params_file, or none.',
    ),
    Argument('joint_states', 'joint_states', 'Topic of the joint states.'),
    Argument('description_topic', 'robot_description', 'Topic of the robot description.'),
)

PROCESS = (
    Argument(
        'params_file',
        '',
        'YAML file of parameters, or the name of one in config/ of this package: ur5e.yaml. '
        'dynamics_ros.yaml there lists all parameters. '
        'Arguments given here come before what the file says. Empty: the defaults.',
    ),
    Argument(
        'log_level', 'info', 'Lowest level that is logged.', ('debug', 'info', 'warn', 'error')
    ),
    Argument('respawn', 'false', 'Start a node that has died again after two seconds.', SWITCH),
)

ROBOT = (
    Argument(
        'root_joint',
        '',
        'Joint between the world and the root link; floating and planar need the topic odom. '
        'Empty: params_file, or fixed.',
        ('', 'fixed', 'floating', 'planar'),
    ),
    Argument('odom', 'odom', 'Topic of the odometry of a moving root link.'),
    Argument('use_sim_time', 'false', 'Use the time of the topic /clock.', SWITCH),
)

FRAMES = Argument(
    'frames',
    '',
    "Frames whose poses and twists are published, as 'tool0,elbow_link'. "
    'Empty: params_file, or the end of the longest chain.',
)

CONTACT_FRAMES = Argument(
    'contact_frames',
    '',
    "Frames where the environment may push, as 'tool0'; several push at the same time. "
    'Empty: params_file, or the end of the longest chain.',
)

PUBLISH_TF = Argument(
    'publish_tf',
    '',
    'Publish the links on /tf and /tf_static, for a robot without a robot_state_publisher. '
    'Empty: params_file, or false.',
    ('', *SWITCH),
)

WRENCH_EXPRESSED_IN = Argument(
    'wrench_expressed_in',
    '',
    'Frame in which contact wrenches are expressed. Empty: params_file, or each contact frame.',
)

COMPOSED = Argument(
    'composed',
    'true',
    'Run all nodes in one process with one model and one subscription; false: one process each.',
    SWITCH,
)

ROBOT_STATE_PUBLISHER = Argument(
    'robot_state_publisher',
    'false',
    'Also start robot_state_publisher, which publishes /tf and robot_description, for a robot '
    'without one. Needs a description, and the package robot_state_publisher.',
    SWITCH,
)

RVIZ = (
    Argument(
        'rviz',
        'false',
        'Open RViz with the model, frames, forces and contacts; auto: if it is installed.',
        (*SWITCH, 'auto'),
    ),
    Argument(
        'rviz_config',
        '',
        'RViz configuration, used unchanged. Empty: config/dynamics.rviz of this package, with '
        'topics and frames adapted to these arguments.',
    ),
    Argument(
        'fixed_frame',
        '',
        'Fixed frame of RViz. Empty: the root link; odom for a moving root link.',
    ),
)

AUTOSTART = Argument(
    'autostart',
    '',
    'Configure and activate the commands to the robot: cartesian_servo_node, '
    'impedance_controller_node, and gravity_commands of dynamics_node. false: left to a lifecycle '
    'manager. Empty: params_file, or true.',
    ('', *SWITCH),
)

SERVO = (
    Argument(
        'servo_frame',
        '',
        'Frame that is moved. Empty: params_file, or the end of the longest chain.',
    ),
    Argument(
        'command_type',
        '',
        'trajectory, for a joint_trajectory_controller; position or velocity, for a '
        'forward_command_controller. Empty: params_file, or trajectory.',
        ('', 'trajectory', 'position', 'velocity'),
    ),
    Argument(
        'command_joints',
        '',
        "Joints of the controller in its order, as 'shoulder,elbow'. "
        'Empty: params_file, or all joints that move the frame.',
    ),
    Argument(
        'command_topic',
        '',
        "Topic of the controller, as '/joint_trajectory_controller/joint_trajectory'. "
        'Empty: the topic of the node.',
    ),
    AUTOSTART,
)

IMPEDANCE = (
    Argument(
        'controlled_frame',
        '',
        'Controlled frame. Empty: params_file, or the end of the longest chain.',
    ),
    Argument(
        'mode',
        '',
        'impedance: follow targets; guiding: follow a guiding hand. Empty: params_file, or '
        'impedance.',
        ('', 'impedance', 'guiding'),
    ),
    Argument(
        'command_joints',
        '',
        "Joints of the effort controller in its order, as 'shoulder,elbow'. Empty: params_file.",
    ),
    Argument(
        'command_topic',
        '',
        "Topic of the controller, as '/forward_effort_controller/commands'. "
        'Empty: the topic of the node.',
    ),
    AUTOSTART,
)

SHARED = (*DESCRIPTION, *NAMES, *ROBOT, *PROCESS)
"""Common arguments of the launch files of the nodes."""

KINEMATICS = (FRAMES, PUBLISH_TF)
DYNAMICS = (AUTOSTART,)
CONTACT = (CONTACT_FRAMES, WRENCH_EXPRESSED_IN)
NODES = (*SHARED, *KINEMATICS, *DYNAMICS, *CONTACT, COMPOSED, ROBOT_STATE_PUBLISHER, *RVIZ)

MOTION = Argument('motion', 'true', 'Move the robot slowly; false: hold it still.', SWITCH)


def demo_arguments(default_robot: str) -> tuple[Argument, ...]:
    """Return the arguments of the launch file of the demo.

    Args:
        default_robot: description file of the default robot.
    """
    other = {
        'description_file': replace(
            DESCRIPTION[0],
            default=default_robot,
            description='URDF file of the simulated robot; a .xacro file is expanded.',
        ),
        'publish_tf': replace(PUBLISH_TF, default='true'),
        'rviz': replace(RVIZ[0], default='auto'),
    }
    # The simulator has a fixed base, uses system time, and publishes its description itself.
    without = {*ROBOT, ROBOT_STATE_PUBLISHER, DESCRIPTION[2]}
    return (
        *(other.get(item.name, item) for item in NODES if item not in without),
        MOTION,
    )


SIMULATED = Argument(
    'simulated',
    'true',
    'Simulated robots, as in demo.launch.py. false: nodes for robots whose own bring-up publishes '
    'robot_description and joint_states in the same namespaces. The other arguments hold for all '
    'robots.',
    SWITCH,
)


SIDE_BY_SIDE = (
    SIMULATED,
    replace(DESCRIPTION[0], description=f'{DESCRIPTION[0].description} Simulated: an arm.'),
    *DESCRIPTION[1:],
    *NAMES,
    FRAMES,
    CONTACT_FRAMES,
    WRENCH_EXPRESSED_IN,
    PROCESS[1],
    replace(
        RVIZ[0],
        default='',
        description='Open one RViz for all robots; auto: if it is installed. '
        'Empty: auto for simulated robots, else false.',
        choices=('', *RVIZ[0].choices),
    ),
    RVIZ[1],
    replace(
        RVIZ[2],
        description='Fixed frame of RViz. Empty: world, in which the simulated robots stand.',
    ),
)
"""Arguments of a launch file for several robots."""
