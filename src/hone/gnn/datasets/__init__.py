"""Where graphs come from: a module for each kind of the config's `graphs`, and what they share.

A kind's module has its name and `read(entry, downloads)`, which gives `GraphStreams`, or a `FolderWriter` where the
arrays come about in another way. Where the config's class is a `PublishedGraph`, the module also has
`fetch(entry, downloads)`: it gives the place of the files, and downloads them first where the entry names no folder.
`hone.config.graphs` says what else a new kind takes.

streams.py   what every reader and generator gives: streams of edges, features and labels, and the splits
csr.py       edges in any order -> sorted rows, outside memory
writing.py   arrays front to back into a folder that appears when it is complete
download.py  files from public addresses, and the user's folders, archives and URLs, whole and checked
saved.py     files of torch.save, read without running code
like_*.py    graphs of a public one's size: their law, and how a GPU draws and writes them
"""
