"""The paper's reasoner, a vision-language model with four instructions, and its ablations, by name."""
