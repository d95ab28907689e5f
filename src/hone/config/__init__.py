"""The typed config: every section with its defaults, checked before anything runs."""
