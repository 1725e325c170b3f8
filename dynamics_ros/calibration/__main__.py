"""python -m dynamics_ros.calibration is calibrate_robot."""

import sys

from .command import main

if __name__ == '__main__':
    sys.exit(main())
