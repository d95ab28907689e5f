"""Methods of the KernelBench paper: (definition, history) -> messages, and completion -> solution."""
