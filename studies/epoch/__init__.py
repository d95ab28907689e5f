"""Which constants and streams of the device system make an epoch shortest?"""
