"""python -m dynamics_ros.calibration.running is the executable calibrate_robot."""

import sys

from .command import main

if __name__ == '__main__':
    sys.exit(main())
