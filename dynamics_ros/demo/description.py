"""The description of the robot to show, from a file or from the package."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import get_package_share_directory

from dynamics_ros.errors import ModelError

DEFAULT_ROBOT = 'seven_joint_arm.urdf'


def read_description(path: str | None) -> str:
    """URDF text of a file, expanded if it is a xacro file, or of the package's own arm.

    Raises:
        ModelError: the file cannot be read or expanded.
    """
    if path is None:
        share = get_package_share_directory('dynamics_ros')
        file = Path(share, 'urdf', DEFAULT_ROBOT)
    else:
        file = Path(path)
    if file.suffix == '.xacro':
        return _expanded(file)
    try:
        return file.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f'file {str(file)!r}', f'cannot be read: {error}') from error


def _expanded(file: Path) -> str:
    try:
        import xacro
    except ImportError:
        raise ModelError(f'file {str(file)!r}', 'xacro is not installed') from None
    try:
        text: str = xacro.process_file(str(file)).toxml()
    except Exception as error:  # xacro raises whatever its expressions raise
        raise ModelError(f'file {str(file)!r}', f'xacro: {error}') from error
    return text
