"""Studies: questions about the judge and about existing kernels that no rule of the pipeline asks.

`python -m studies --help` in the repository; README.md says what each answers. Not part of the installed package.
"""
