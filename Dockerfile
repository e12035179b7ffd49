# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# `make image` builds it. The program is static, so that nothing else is in the image
# but the certificates of public authorities.
FROM golang:1.26 AS build
ARG VERSION=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build VERSION="$VERSION"

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/bin/kube-octavia /kube-octavia
# A number, as the kubelet cannot tell whether a name is root's.
USER 65532:65532
ENTRYPOINT ["/kube-octavia"]
