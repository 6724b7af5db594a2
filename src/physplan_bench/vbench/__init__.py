"""VBench's seven quality dimensions, and the Quality Score that weighs them."""
