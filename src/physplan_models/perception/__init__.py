"""Segmenters, depth estimators and feature encoders, mostly of transformers."""
