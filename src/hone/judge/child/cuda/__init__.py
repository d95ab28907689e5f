"""What runs in the processes of a GPU's judge."""
