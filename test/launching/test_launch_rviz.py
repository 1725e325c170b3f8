# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Launch files open RViz on the topics of the robots, and do without it where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, WrenchStamped
from launch_steps import ARM, MESSAGES, RVIZ_CONFIG, TWO, demo, settings, start
from ros_harness import description
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.rviz import adapted
from dynamics_ros.launching.settings import Settings
from dynamics_ros.model.urdf import read_urdf

TYPES_OF_DISPLAYS = {
    'rviz_default_plugins/RobotModel': String,
    'rviz_default_plugins/MarkerArray': MarkerArray,
    'rviz_default_plugins/Pose': PoseStamped,
    'rviz_default_plugins/Wrench': WrenchStamped,
}


def shown(config) -> dict[str, str]:
    """Topic to class of the display that is enabled for it."""
    return {
        display[key]['Value']: display['Class']
        for display in config['Visualization Manager']['Displays']
        for key in ('Topic', 'Description Topic')
        if key in display and display['Enabled']
    }


# --- packages that may be missing ---------------------------------------------------------------


@pytest.mark.parametrize(
    ('argument', 'package'),
    [('rviz', 'rviz2'), ('robot_state_publisher', 'robot_state_publisher')],
)
def test_a_missing_package_that_is_asked_for_is_named(without_rviz, argument, package):
    with pytest.raises(DynamicsRosError, match=f'package {package} is not installed'):
        start(settings(**{argument: 'true', 'description_file': ARM}))


def test_the_demo_does_without_rviz_where_there_is_none_and_says_so(without_rviz):
    *_, notice = demo()
    assert 'rviz2 is not installed' in notice.text


def test_the_demo_opens_rviz_where_it_is_installed(with_rviz):
    *_, rviz = demo()
    assert (rviz.package, rviz.executable) == ('rviz2', 'rviz2')
    option, path = rviz.arguments
    assert option == '-d'
    assert shown(yaml.safe_load(Path(path).read_text())) == shown(RVIZ_CONFIG)


def test_a_configuration_of_the_user_is_opened_as_it_is(with_rviz):
    *_, rviz = start(settings(rviz='true', rviz_config='mine.rviz', fixed_frame='map'))
    assert list(rviz.arguments) == ['-d', 'mine.rviz', '-f', 'map']


def test_robot_state_publisher_gets_the_description_and_must_be_alone_on_tf(with_rviz):
    wish = {'robot_state_publisher': 'true', 'description_file': ARM}
    publisher, _ = start(settings(**wish, frame_prefix='left/'))
    own = publisher.parameters['robot_state_publisher']
    assert own == {'robot_description': description(), 'frame_prefix': 'left/'}
    with pytest.raises(InvalidArgumentError, match='publish_tf'):
        start(settings(**wish, publish_tf='true'))


# --- RViz ---------------------------------------------------------------------------------------


def test_rviz_shows_topics_of_the_interface_in_displays_of_their_type():
    assert {
        topic: TYPES_OF_DISPLAYS[display] for topic, display in shown(RVIZ_CONFIG).items()
    } == MESSAGES


def test_rviz_draws_in_the_root_link_of_the_arm():
    frame = RVIZ_CONFIG['Visualization Manager']['Global Options']['Fixed Frame']
    assert frame == read_urdf(ARM).root


def test_rviz_follows_namespace_frames_and_prefix():
    config = adapted(
        RVIZ_CONFIG,
        settings(
            description_file=ARM,
            namespace='left',
            frame_prefix='l/',
            frames='tool0,flange_link',
            wrench_expressed_in='tool0',
        ),
    )
    assert set(shown(config)) == {
        '/left/robot_description',
        '/left/kinematics_node/markers',
        '/left/contact_node/markers',
        '/left/kinematics_node/tool0/pose',
        '/left/kinematics_node/flange_link/pose',
        '/left/contact_node/tool0/wrench',
    }
    manager = config['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'l/base_link'
    (model,) = [item for item in manager['Displays'] if 'TF Prefix' in item]
    assert model['TF Prefix'] == 'l'


def test_rviz_shows_a_wrench_only_where_it_would_draw_it_right():
    at_the_tool = settings(description_file=ARM, wrench_expressed_in='tool0')
    in_the_root = settings(description_file=ARM, wrench_expressed_in='base_link')
    topic = '/contact_node/tool0/wrench'
    assert topic in shown(adapted(RVIZ_CONFIG, at_the_tool))
    assert topic in shown(adapted(RVIZ_CONFIG, settings(description_file=ARM)))
    assert topic not in shown(adapted(RVIZ_CONFIG, in_the_root))


def test_rviz_draws_a_robot_that_moves_in_the_frame_of_its_odometry():
    config = adapted(RVIZ_CONFIG, settings(description_file=ARM, root_joint='floating'))
    assert config['Visualization Manager']['Global Options']['Fixed Frame'] == 'odom'


# --- two robots ---------------------------------------------------------------------------------


PLACES = {'left': (0.0, 0.5, 0.0), 'right': (0.0, -0.5, 0.0)}


def together(**values: str) -> list[processes.Step]:
    """What two robots share."""
    given = {item.name: item.default for item in arguments.SIDE_BY_SIDE} | values
    return list(processes.side_by_side(Settings(given), PLACES))


def test_two_simulated_robots_stand_in_one_tree_and_one_window(with_rviz):
    left, right, rviz = together()
    for step, name, y in ((left, 'left', '0.5'), (right, 'right', '-0.5')):
        assert (step.package, step.executable) == ('tf2_ros', 'static_transform_publisher')
        assert step.namespace == name  # two nodes of one name
        place = ['--x', '0.0', '--y', y, '--z', '0.0']
        assert step.arguments == [
            *place, '--frame-id', 'world', '--child-frame-id', f'{name}/base_link'
        ]  # fmt: skip
    config = yaml.safe_load(Path(rviz.arguments[1]).read_text())
    assert config['Visualization Manager']['Global Options']['Fixed Frame'] == 'world'
    assert shown(config) == {
        f'/{name}{topic}': kind for name in TWO for topic, kind in shown(RVIZ_CONFIG).items()
    }
    names = [display['Name'] for display in config['Visualization Manager']['Displays']]
    assert len(set(names)) == len(names)
    assert names.count('Grid') == names.count('Links') == 1
    models = [d for d in config['Visualization Manager']['Displays'] if 'TF Prefix' in d]
    assert [model['TF Prefix'] for model in models] == [*TWO]


def test_two_robots_in_a_cell_have_its_namespace_and_prefix(with_rviz):
    left, _, rviz = together(namespace='/cell', frame_prefix='cell/')
    assert left.namespace == '/cell/left'
    assert left.arguments[-3:] == ['cell/world', '--child-frame-id', 'cell/left/base_link']
    config = yaml.safe_load(Path(rviz.arguments[1]).read_text())
    assert '/cell/right/kinematics_node/markers' in shown(config)


def test_where_real_robots_stand_is_not_said_for_them(with_rviz):
    assert together(simulated='false') == []
    (rviz,) = together(simulated='false', rviz='true', fixed_frame='cell')
    assert list(rviz.arguments[2:]) == ['-f', 'cell']


def test_two_robots_do_without_tf2_and_rviz_and_say_so(without_rviz):
    left, right, rviz = together()
    assert left.text == 'nothing says where left stands: the package tf2_ros is not installed'
    assert 'right' in right.text and 'rviz2 is not installed' in rviz.text
