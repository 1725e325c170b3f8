"""`python -m dynamics_ros.export` is `ros2 run dynamics_ros export_kernels`."""

import sys

from .command import main

sys.exit(main())
