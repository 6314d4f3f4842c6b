"""Options of dial-eval's tasks."""
