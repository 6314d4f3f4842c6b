"""One definition of each number. Nothing heavy is imported here."""

TIES = ("average", "optimistic", "pessimistic")
