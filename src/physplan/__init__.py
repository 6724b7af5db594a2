"""PhysPlan: physically plausible video from a picture and a sentence."""

__version__ = "0.1.0"
