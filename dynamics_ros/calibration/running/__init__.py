"""calibrate_robot run: the planned motion on a robot, through a joint_trajectory_controller."""
