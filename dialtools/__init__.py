"""dialtools: learn and use dialogue embeddings from the shell."""

__version__ = "0.1.0"
RELEASED = "2026-11-23"
"""The day of this version, as man pages and CITATION.cff have it."""
