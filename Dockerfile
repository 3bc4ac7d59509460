# The operator's image: the operator, the shared libraries of Debian that it uses, the certificates of
# public authorities, and nothing else: no shell, no package manager (hack/rootfs). libcurl speaks HTTP
# alone, libpq uses OpenSSL alone, and both are parts of the program (hack/libcurl, hack/libpq).
#
# A tag may name another image tomorrow. For an image that is given to others, pin the base that was
# checked: --build-arg BASE=docker.io/library/debian:12-slim@sha256:… (README.md says how to find it).
ARG BASE=docker.io/library/debian:12-slim
FROM ${BASE} AS build
# What CMakeLists.txt asks for; hack/deps says what each is for.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      gcc libc6-dev cmake ninja-build pkg-config \
      libcurl4-openssl-dev libssl-dev libwebsockets-dev libyajl-dev libyaml-dev zlib1g-dev libzip-dev \
      libprotobuf-c-dev protobuf-c-compiler libpq-dev \
      dpkg-dev libnghttp2-dev make patch xz-utils \
      ca-certificates
WORKDIR /src
COPY hack/libcurl hack/libcurl
COPY hack/libpq hack/libpq
COPY hack/lib/common.sh hack/lib/common.sh
COPY hack/lib/source.sh hack/lib/source.sh
RUN hack/libcurl && hack/libpq
COPY . .
RUN cmake --preset release -DKUSION_LIBCURL="$(hack/libcurl)" -DKUSION_LIBPQ="$(hack/libpq)" \
 && cmake --build build/release --target kusion-operator \
 && strip build/release/bin/kusion-operator \
 && hack/rootfs build/release/bin/kusion-operator /rootfs

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
