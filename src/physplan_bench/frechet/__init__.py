"""FID and FVD: the Frechet distance between features of generated and of real frames or clips."""
