"""What a run asks before its first job: names that the config uses, keys, tools, a GPU, jobs left on the cluster."""
