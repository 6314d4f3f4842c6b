"""Merging: the weights of a start, and parts of the way that models went from it.

START + the sum of weight * (model - START), tensor by tensor. The command is `cli/merge.py`; what
scores candidates is handed in from there.
"""
