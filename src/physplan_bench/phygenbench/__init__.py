"""PhyGenBench: does the video show the phenomenon (1), in the right order (2), naturally (3)? 0 to 3 each."""
