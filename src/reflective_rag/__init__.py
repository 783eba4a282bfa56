"""ReflectiveRAG: retrieval-augmented answers that judge their evidence first."""

__version__ = "0.1.0"
