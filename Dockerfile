# Hone with a CPU build of PyTorch, from the pins of envs/requirements.lock:
#   docker build --tag hone .
#   docker run --rm hone            # make demo
#   docker run --rm -it hone bash   # to look around; `make demo` writes to /hone/results
# Containers forbid namespaces as a rule: the judge then confines less and says so (docs/log/2026-11-23-container.md).
FROM python:3.12-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ git make \
    && rm -rf /var/lib/apt/lists/*

# Which build of PyTorch; README.md names others.
ARG UV_TORCH_BACKEND=cpu
ARG UV_NO_CACHE=1

WORKDIR /hone

# The packages first: only another lock file or Makefile installs them anew.
COPY Makefile .
COPY envs/requirements.lock envs/requirements.lock
RUN make .venv/.packages

# Then the project itself, so that `make` finds the environment complete.
COPY . .
RUN make .venv/.installed

CMD ["make", "demo"]
