"""Sweeps: the same questions under one condition after another."""
