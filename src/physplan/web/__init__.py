"""Pages over HTTP with the standard library: what the user study and the studio are served with."""
