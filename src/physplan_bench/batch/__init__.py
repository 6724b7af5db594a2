"""Many videos from one file of rows: read and checked first, made by the engine, shown in a gallery."""
