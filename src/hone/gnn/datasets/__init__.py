"""Where graphs come from: a module for each kind of the config's `graphs`, and what they share.

streams.py   what every reader and generator gives: streams of edges, features and labels, and the splits
csr.py       edges in any order -> sorted rows, outside memory
writing.py   arrays front to back into a folder that appears when it is complete
download.py  files from the public addresses, whole and checked
"""
