"""dialtools: learn and use dialogue embeddings from the shell."""

__version__ = "0.1.0"
