# Two images out of the wheels in dist/, which .ci/package makes:
#   docker build --target light --tag savepoint .          looks, queries, verifies, copies
#   docker build --target spark --tag savepoint:spark .    makes new state as well, on a Java of its own
#   docker run --rm --volume "$PWD:/data:ro" savepoint describe /data/savepoint-1a2b
# --build-arg PYTHON=python:3.12-slim@sha256:... names the base image by its digest.
ARG PYTHON=python:3.12-slim
FROM ${PYTHON} AS light
COPY dist/*.whl .ci/requirements/light.txt /tmp/
RUN pip install --no-cache-dir --require-hashes --requirement /tmp/light.txt \
    && pip install --no-cache-dir --no-deps --no-index --pre --find-links /tmp savepoint-state-processor \
    && rm /tmp/* \
    && useradd --create-home --uid 10001 savepoint
USER savepoint
WORKDIR /home/savepoint
ENTRYPOINT ["savepoint"]
CMD ["--help"]

FROM light AS spark
USER root
COPY .ci/requirements/sources.txt .ci/requirements/spark.txt /tmp/
RUN pip install --no-cache-dir --require-hashes --requirement /tmp/sources.txt \
    && pip install --no-cache-dir --require-hashes --no-build-isolation --use-pep517 --requirement /tmp/spark.txt \
    && rm /tmp/*
USER savepoint
