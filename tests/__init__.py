"""Tests; they mirror the tree. A package only so that test modules can say `from tests.fakes import fake_lm`."""
