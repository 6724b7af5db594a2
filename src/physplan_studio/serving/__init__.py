"""`/v1/videos`: an HTTP API for other programs, over the studio's queue and run folders."""
