"""`physplan accept`: acceptance test of a preset on a new machine, stage by stage."""
