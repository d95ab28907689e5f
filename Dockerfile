# Hone with a CPU build of PyTorch, from the pins of envs/requirements.lock:
#   docker build --tag hone .
#   docker run --rm hone            # make demo
#   docker run --rm -it hone bash   # to look around; `make demo` writes to /hone/results
# Not tried: neither the build nor a run of this image, nor how much of the judge's confinement a container allows.
FROM python:3.12-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ git make \
    && rm -rf /var/lib/apt/lists/*

# An index of PyTorch's builds beside PyPI; README.md says how to choose one.
ARG PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
ARG PIP_NO_CACHE_DIR=1

WORKDIR /hone

# The environment first: only another lock file installs it anew.
COPY envs/requirements.lock envs/requirements.lock
RUN python -m venv .venv && .venv/bin/pip install -r envs/requirements.lock

# The Makefile's own rule adds the project, so that `make` finds the environment complete.
COPY . .
RUN make .venv/.installed

CMD ["make", "demo"]
