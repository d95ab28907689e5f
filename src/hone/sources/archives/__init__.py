"""Published answers: public repositories that hold models' kernels and what became of them elsewhere.

git at a pinned commit -> answers in one of several layouts -> answers with problem, model and claim.
Nothing of an archive is executed here, and nothing of it is kept in this project.
"""
