# The operator's image: the operator, the shared libraries of Debian that it uses, the certificates of
# public authorities, and nothing else: no shell, no package manager (hack/rootfs). libcurl speaks HTTP
# alone, libpq uses OpenSSL alone, and both are parts of the program (hack/libcurl, hack/libpq).
# `--target cli` makes kubectl-kusion, which is no part of the image: hack/cli.
#
# A tag may name another image tomorrow. For an image that is given to others, pin the base that was
# checked: --build-arg BASE=docker.io/library/debian:12-slim@sha256:… (README.md says how to find it).
ARG BASE=docker.io/library/debian:12-slim
FROM --platform=$BUILDPLATFORM ${BASE} AS libraries
# amd64 or arm64, by a cross compiler where the machine is the other one. Empty: that of the machine.
ARG TARGETARCH
WORKDIR /src
COPY hack/builder hack/
COPY hack/lib/common.sh hack/lib/
RUN hack/builder install "$TARGETARCH"
COPY hack/libcurl hack/
COPY hack/lib/source.sh hack/lib/
COPY cmake/arm64.cmake cmake/
RUN hack/builder run "$TARGETARCH" hack/libcurl

FROM libraries AS cli-build
ARG TARGETARCH
COPY . .
# The time that lists of packages have: SECONDS since 1970. Default: now.
ARG SOURCE_DATE_EPOCH
RUN hack/builder run "$TARGETARCH" sh -eux -c '\
    cmake --preset cli -DKUSION_LIBCURL="$(hack/libcurl)" \
 && cmake --build build/cli --target kubectl-kusion \
 && mkdir /cli \
 && "${CROSS}strip" -o /cli/kubectl-kusion build/cli/bin/kubectl-kusion \
 && hack/notice build/cli/bin/kubectl-kusion.map /cli'

FROM scratch AS cli
COPY --from=cli-build /cli /

FROM libraries AS build
ARG TARGETARCH
COPY hack/libpq hack/
RUN hack/builder run "$TARGETARCH" hack/libpq
COPY . .
ARG SOURCE_DATE_EPOCH
RUN hack/builder run "$TARGETARCH" sh -eux -c '\
    cmake --preset release -DKUSION_LIBCURL="$(hack/libcurl)" -DKUSION_LIBPQ="$(hack/libpq)" \
 && cmake --build build/release --target kusion-operator \
 && "${CROSS}strip" build/release/bin/kusion-operator \
 && hack/rootfs build/release/bin/kusion-operator /rootfs'

FROM scratch
COPY --from=build /rootfs /
COPY LICENSE /usr/share/doc/kusion-operator/copyright
# The allocator keeps small blocks for each thread, up to 256 bytes instead of 1 KiB: 20 threads keep 1.5 MB
# less of what they freed.
ENV GLIBC_TUNABLES=glibc.malloc.tcache_max=256
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /
# Metrics, and the probes of its health.
EXPOSE 8080 9440
ENTRYPOINT ["/usr/bin/kusion-operator"]
