"""Hard negatives of pairs: responses near a context that do not answer it. Loads no torch."""
