"""`python -m reflective_rag.experiments` is `reflective-rag`."""

from reflective_rag.experiments.cli import main

main()
