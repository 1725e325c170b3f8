"""calibrate_robot: recordings and a description in; a description, parameters and a report out."""
