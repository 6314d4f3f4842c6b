"""Fine-tuning as an evaluation: few examples, a small head, the best state on validation rows.

The protocol is DSE's (app. B.1).
"""
