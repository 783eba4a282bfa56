"""Benchmarks: what the loop costs on top of the model. Every figure is a ratio of two things measured in one run."""
