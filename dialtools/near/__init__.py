"""Jobs on embedding files by nearness: rows like rows, classes of rows. Loads no torch."""
