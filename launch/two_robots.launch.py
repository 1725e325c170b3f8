"""Two robots, each with its namespace and its frames; an example to copy. docs/launch.md."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution

SIMULATED = DeclareLaunchArgument(
    'simulated',
    default_value='true',
    description='Two simulated robots, as in demo.launch.py. false: nodes for two robots whose own '
    'bring-up publishes robot_description and joint_states in the same namespaces. The other '
    'arguments hold for both robots.',
    choices=['true', 'false'],
)


def generate_launch_description():
    """Give a robot here what holds for it alone: robot('left', params_file='left.yaml')."""
    return LaunchDescription([SIMULATED, robot('left'), robot('right')])


def robot(name, **arguments):
    """One robot in namespace NAME whose frames are called NAME/..."""
    names = {
        'namespace': PathJoinSubstitution([LaunchConfiguration('namespace', default=''), name]),
        'frame_prefix': [LaunchConfiguration('frame_prefix', default=''), f'{name}/'],
    }
    simulated = LaunchConfiguration('simulated')
    # Without the group, what is given to one robot would hold for the next one too.
    return GroupAction(
        [
            include('demo.launch.py', names | arguments, IfCondition(simulated)),
            include('dynamics.launch.py', names | arguments, UnlessCondition(simulated)),
        ]
    )


def include(file, arguments, condition):
    """A launch file of this folder."""
    path = str(Path(__file__).with_name(file))
    return IncludeLaunchDescription(path, launch_arguments=arguments.items(), condition=condition)
