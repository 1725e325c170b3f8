"""What the launch files share. Only ``actions`` needs the packages launch and launch_ros."""
