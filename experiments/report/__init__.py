"""A report of runs as one self-contained HTML page."""
