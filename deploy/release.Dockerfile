# The self-hosted server, from the archives of a release. `make release` writes the version into it. Run in the folder
# with the archives:
#   docker build -t postern .
#   docker run -p 8787:8787 -v postern-data:/data postern
# The image has no shell and runs as user 65532. Unlike the image of deploy/Dockerfile it has the WebAssembly core too.

ARG VERSION=

FROM scratch AS archive
ARG VERSION
ARG TARGETARCH=amd64
ADD postern-${VERSION}-linux-${TARGETARCH}.tar.gz /
WORKDIR /data

FROM scratch
ARG VERSION
ARG TARGETARCH=amd64
COPY --from=archive /postern-${VERSION}-linux-${TARGETARCH}/ /
COPY --from=archive --chown=65532:65532 /data /data
USER 65532:65532
ENV POSTERN_DATA=/data POSTERN_LISTEN=0.0.0.0:8787
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=15s --start-period=30s CMD ["/postern", "doctor", "--live"]
ENTRYPOINT ["/postern"]
CMD ["serve"]
