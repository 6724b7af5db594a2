"""Frozen image-to-video models behind one protocol (eq. 3, appendix A.5), and video files."""
