"""Metrics, evaluation, and the ways to compile a program against labelled questions."""
