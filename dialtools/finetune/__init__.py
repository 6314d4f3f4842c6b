"""Fine-tuning as an evaluation: few examples, a small head, the checkpoint that is best on validation rows (METHODS 3.8)."""
