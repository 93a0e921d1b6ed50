# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# gputrace in an image of its own: docker build -t gputrace .   What to start it with is in docs/containers.md.
# `make check-dockerfile` does what stands here, without Docker.
FROM debian:12 AS build
COPY . /gputrace
WORKDIR /gputrace
RUN tools/deps build && make -s -j"$(nproc)" tarball
RUN mkdir /out && tar -xf build/packages/gputrace-*.tar.gz -C /out --strip-components=1

FROM debian:12-slim
COPY --from=build /out /usr/local
ENTRYPOINT ["/usr/local/bin/gputrace"]
CMD ["doctor"]
