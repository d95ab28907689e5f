"""The command `hone`: a module for each group of its subcommands."""
