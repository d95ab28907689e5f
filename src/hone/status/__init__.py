"""`hone status`: what a config's campaign has done, what is pending, and what that will cost at measured rates.

    config -> file_map (files that the pipeline makes) -> progress (done, pending)
    records in results/ and .hone -> rates             -> estimates -> one screen

Everything is read and nothing is written, locked or asked, so that it can run beside a running pipeline.
"""
