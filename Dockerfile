# PhysPlan on a CPU: docker build -t physplan . && docker run --rm -v "$PWD/out:/out" physplan demo -o /out
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home physplan && install -d -o physplan /app
WORKDIR /app
COPY --chown=physplan . .
USER physplan
# Where pip finds a CPU build of torch is pip's own setting: --build-arg PIP_EXTRA_INDEX_URL=... or PIP_FIND_LINKS=...
ARG PIP_EXTRA_INDEX_URL
ARG PIP_FIND_LINKS
RUN make setup
ENV PATH="/app/.venv/bin:$PATH"
ENTRYPOINT ["physplan"]
CMD ["--help"]
