"""`hone status`: what a config's campaign has done, what is pending, and what that will cost at measured rates.

    config -> file_map (files that the pipeline makes) -> progress (done, pending)
    records in results/ and .hone -> rates             -> estimates -> one screen

It only reads: it writes nothing, takes no lock and asks no model. So it can run beside a running pipeline.
"""
