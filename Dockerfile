# The operator's image: Debian's shared libraries, a libcurl that speaks HTTP alone (hack/libcurl),
# the certificates of public authorities, and the operator.
#
# A tag may name another image tomorrow. For an image that is given to others, pin the one that was
# checked, for both stages: --build-arg BASE=debian:12-slim@sha256:… (README.md says how to find it).
ARG BASE=debian:12-slim
FROM ${BASE} AS build
# What CMakeLists.txt asks for; hack/deps says what each is for.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      gcc libc6-dev cmake ninja-build pkg-config \
      libcurl4-openssl-dev libssl-dev libwebsockets-dev libyajl-dev libyaml-dev zlib1g-dev \
      dpkg-dev libnghttp2-dev patch xz-utils \
      libcunit1-dev
WORKDIR /src
COPY hack/libcurl hack/libcurl
COPY hack/lib/common.sh hack/lib/common.sh
RUN hack/libcurl
COPY . .
RUN cmake --preset release -DKUSION_LIBCURL="$(hack/libcurl)" \
 && cmake --build build/release --target kusion-operator \
 && strip build/release/bin/kusion-operator

FROM ${BASE}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      ca-certificates libnghttp2-14 libssl3 libwebsockets17 libyajl2 libyaml-0-2 zlib1g \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/release/bin/kusion-operator /usr/bin/kusion-operator
COPY LICENSE /usr/share/doc/kusion-operator/copyright
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /
# Metrics, and the probes of its health.
EXPOSE 8080 9440
ENTRYPOINT ["/usr/bin/kusion-operator"]
