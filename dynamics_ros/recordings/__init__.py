"""The estimators over recordings: rosbag2 files in, rosbag2 files and plots out."""
