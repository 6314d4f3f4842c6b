"""Clusters of embedding files: what they are, how sure they are, and what changes in them."""
