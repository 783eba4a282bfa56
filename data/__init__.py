"""Labelled questions, their files and checks, and the back ends that passages are searched in."""
