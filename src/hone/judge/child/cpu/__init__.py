"""What runs in the processes of a CPU's judge."""
