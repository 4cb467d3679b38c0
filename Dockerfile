# Two images out of the wheel in dist/, which .ci/package makes:
#   docker build --target light --tag savepoint .          looks, queries, verifies, copies
#   docker build --target spark --tag savepoint:spark .    makes new state as well, on a Java of its own
#   docker run --rm --volume "$PWD:/data:ro" savepoint describe /data/savepoint-1a2b
FROM python:3.12-slim AS light
COPY dist/*.whl /tmp/
RUN pip install --no-cache-dir "$(ls /tmp/*.whl)[s3]" \
    && rm /tmp/*.whl \
    && useradd --create-home --uid 10001 savepoint
USER savepoint
WORKDIR /home/savepoint
# Machine code that the first large table compiles.
ENV SAVEPOINT_CACHE_DIR=/home/savepoint/.cache/savepoint
ENTRYPOINT ["savepoint"]
CMD ["--help"]

FROM light AS spark
USER root
RUN pip install --no-cache-dir "savepoint-state-processor[spark]"
USER savepoint
