# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Installs the package where ament and `ros2 run` look for it, or makes the library into a wheel.

`colcon build` installs everything. A wheel, as `python -m build` and `pip install` make it, is the
library alone: what needs ROS has to come with messages that are built for the ROS beside it.
"""

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

NAME = 'dynamics_ros'

# The commands of setup.py that frontends of wheels call; colcon and bloom call neither.
IN_WHEEL = not {'bdist_wheel', 'dist_info', 'editable_wheel'}.isdisjoint(sys.argv)

WITH_ROS = ('demo', 'doctor', 'fleet', 'launching', 'nodes', 'wire')
"""Rooms that no wheel has."""

LIBRARY = {
    'calibrate_robot': 'tools:calibrate_robot',
    'export_kernels': 'tools:export_kernels',
}
"""Tools of a wheel."""

ROS = {
    'analyze_recordings': 'tools:analyze_recordings',
    'cartesian_servo_node': 'nodes.entry:cartesian_servo_node',
    'contact_node': 'nodes.entry:contact_node',
    'dynamics_node': 'nodes.entry:dynamics_node',
    'doctor': 'tools:doctor',
    'dynamics_ros': 'nodes.entry:composed',
    'dynamics_ros_viewer': 'nodes.entry:dynamics_ros_viewer',
    'estimate_bag': 'tools:estimate_bag',
    'impedance_controller_node': 'nodes.entry:impedance_controller_node',
    'inspect': 'tools:inspect',
    'kinematics_node': 'nodes.entry:kinematics_node',
    'robot_simulator': 'nodes.entry:robot_simulator',
}
"""Nodes, tools that need ROS, and those whose names are too common for every shell."""


class BuildWithNumPy(build_ext):
    """Builds the extension module where there is a C compiler, and NumPy with its headers."""

    def build_extension(self, extension):
        """Find NumPy's headers when they are needed, so that setup.py can be read without NumPy."""
        if sysconfig.get_config_var('Py_GIL_DISABLED'):
            # It borrows references that another thread may release.
            raise CompileError('not for Python without the global interpreter lock')
        try:
            import numpy
        except ImportError as error:
            raise CompileError(str(error)) from error
        extension.include_dirs.append(numpy.get_include())
        super().build_extension(extension)


CALLS = Extension(
    f'{NAME}.kernels._native',
    [f'{NAME}/kernels/_native.c'],
    define_macros=[
        ('NPY_NO_DEPRECATED_API', 'NPY_1_7_API_VERSION'),
        ('NPY_TARGET_VERSION', 'NPY_1_23_API_VERSION'),  # the oldest of NEEDED
    ],
    optional=True,  # without it kernels are called through ctypes: slower, and nothing else is lost
)


def data_files():
    """Return what belongs into share/: the ament index, package.xml and our data folders."""
    yield 'share/ament_index/resource_index/packages', [f'resource/{NAME}']
    yield f'share/{NAME}', ['package.xml']
    for folder in ('launch', 'config', 'urdf', 'examples', 'examples/cpp', 'examples/cpp/src'):
        files = sorted(str(path) for path in Path(folder).glob('*') if path.is_file())
        if files:
            yield f'share/{NAME}/{folder}', files


# The oldest that the tests of the library have passed with.
NEEDED = ['numpy>=1.23', 'scipy>=1.9', 'PyYAML']

left_out = [f'{NAME}.{room}{below}' for room in WITH_ROS for below in ('', '.*')]
programs = LIBRARY if IN_WHEEL else {**LIBRARY, **ROS}

setup(
    name=NAME,
    version='0.1.0',
    description='Kinematics and dynamics from a robot_description, as ROS 2 nodes and a library',
    long_description=Path('README.md').read_text(encoding='utf-8') if IN_WHEEL else '',
    long_description_content_type='text/markdown',
    maintainer='dynamics_ros developers',
    maintainer_email='dynamics_ros@example.com',
    license='Apache-2.0',
    packages=find_packages(include=[NAME, f'{NAME}.*'], exclude=left_out if IN_WHEEL else []),
    package_data={
        NAME: [
            'py.typed',
            'kernels/_native.pyi',
            'multibody/*.pyi',
            'export/ros2_control/templates/*',
        ]
    },
    data_files=[] if IN_WHEEL else list(data_files()),
    python_requires='>=3.10',
    install_requires=[*NEEDED, *([] if IN_WHEEL else ['setuptools'])],
    extras_require={
        'calibration': ['matplotlib', 'pyarrow', 'rosbags'],
        'collision': ['coal'],
        'descriptions': ['robot_descriptions', 'mujoco', 'xacro'],
        'jax': ['jax>=0.5'],
        'llvm': ['llvmlite'],
        'meshes': ['pycollada', 'trimesh'],
        'mjcf': ['mujoco'],
        'qp': ['daqp'],  # of the servo
        'recordings': ['lz4', 'pyarrow', 'rich', 'rosbags'],
        'sdf': ['drake'],
        'simulation': ['mujoco'],  # of contacts and floating bases; fixed arms need nothing
        'test': ['pytest', 'pytest-timeout', 'hypothesis'],
        'torch': ['torch'],
        'viewer': ['pycollada', 'viser'],
        'xacro': ['xacro'],
    },
    ext_modules=[CALLS],
    cmdclass={'build_ext': BuildWithNumPy},
    zip_safe=False,
    entry_points={
        'console_scripts': [f'{name} = {NAME}.{place}' for name, place in sorted(programs.items())],
    },
)
