"""Content credentials (C2PA): sign a run's video, check a signed one, make a certificate to try it with."""
