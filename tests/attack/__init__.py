"""A bad day: what may happen to a user, tried on purpose (`make attack`)."""
