"""Installs the package where ament and `ros2 run` look for it."""

from pathlib import Path

from setuptools import find_packages, setup

NAME = 'dynamics_ros'


def data_files():
    """Return what belongs into share/: the ament index, package.xml and our data folders."""
    yield 'share/ament_index/resource_index/packages', [f'resource/{NAME}']
    yield f'share/{NAME}', ['package.xml']
    for folder in ('launch', 'config', 'urdf'):
        files = sorted(str(path) for path in Path(folder).glob('*') if path.is_file())
        if files:
            yield f'share/{NAME}/{folder}', files


setup(
    name=NAME,
    version='0.1.0',
    description='Kinematics and dynamics from a robot_description, as ROS 2 nodes and a library',
    maintainer='dynamics_ros developers',
    maintainer_email='dynamics_ros@example.com',
    license='Apache-2.0',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed']},
    data_files=list(data_files()),
    python_requires='>=3.10',
    install_requires=['setuptools', 'numpy', 'scipy', 'PyYAML'],
    extras_require={
        'calibration': ['clarabel', 'matplotlib', 'pyarrow', 'rosbags'],
        'llvm': ['llvmlite'],
        'meshes': ['trimesh'],
        'qp': ['daqp'],
        'recordings': ['rosbags', 'matplotlib'],
        'test': ['pytest', 'pytest-timeout', 'hypothesis'],
        'viewer': ['viser'],
    },
    zip_safe=True,
    entry_points={
        'console_scripts': [
            'calibrate_robot = dynamics_ros.calibration.command:main',
            'cartesian_servo_node = dynamics_ros.nodes.app.entry:cartesian_servo_node',
            'contact_node = dynamics_ros.nodes.app.entry:contact_node',
            'dynamics_node = dynamics_ros.nodes.app.entry:dynamics_node',
            'dynamics_ros = dynamics_ros.nodes.app.entry:composed',
            'dynamics_ros_viewer = dynamics_ros.nodes.app.entry:dynamics_ros_viewer',
            'estimate_bag = dynamics_ros.recordings.command:main',
            'export_kernels = dynamics_ros.export.command:main',
            'kinematics_node = dynamics_ros.nodes.app.entry:kinematics_node',
            'robot_simulator = dynamics_ros.nodes.app.entry:robot_simulator',
        ],
    },
)
