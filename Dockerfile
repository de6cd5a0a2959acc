# Builds the JavaScript with every development tool, then ships it with what runs only.
# A tag can be moved to other contents; a digest cannot. Look it up and build with it (docs/operations.md, "The image"):
#   docker buildx imagetools inspect node:26-bookworm-slim
#   docker build --build-arg NODE_IMAGE=node:26-bookworm-slim@sha256:… .
ARG NODE_IMAGE=node:26-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY tools ./tools
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY docs ./docs
COPY assets ./assets
COPY bench/README.md ./bench/README.md
COPY CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
RUN npm run build && npm run docs -- --for-package && npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/book ./book
COPY package.json LICENSE CHANGELOG.md ./
COPY bin ./bin
COPY migrations ./migrations
COPY assets ./assets
# 1000 is the `node` user of the base image. The file system may be read-only: with DATABASE_URL nothing is written.
# The link is for `docker exec <container> purchase-watch status`.
RUN mkdir /data && chown 1000:1000 /data && ln -s /app/bin/purchase-watch.mjs /usr/local/bin/purchase-watch
USER 1000:1000
EXPOSE 8080
# The signal that ends it in order, within SHUTDOWN_TIMEOUT (8 s): Docker kills after 10 s.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The settings of bin/memory.json: named here, the daemon need not begin a second time, as process 1 that would lose a SIGTERM meanwhile.
ENV MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
ENTRYPOINT ["node", "--max-semi-space-size=8", "--heap-growing-percent=30", "/app/bin/purchase-watch.mjs"]
CMD ["start"]
