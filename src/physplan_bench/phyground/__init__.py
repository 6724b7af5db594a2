"""PhyGround: 250 prompts with first frames, rated 1 to 5 on general dimensions and laws."""
