# Builds the JavaScript with every development tool, then ships from scratch what runs, and nothing else: no shell, no package manager.
# A tag can be moved to other contents; a digest cannot. Look it up and build with it (docs/deploying.md, "The image"):
#   docker buildx imagetools inspect node:26-bookworm-slim
#   docker build --build-arg NODE_IMAGE=node:26-bookworm-slim@sha256:… .
ARG NODE_IMAGE=node:26-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY tools ./tools
# The workspaces stay out of node_modules: their code is in dist.
RUN npm ci --workspaces=false --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY packages ./packages
COPY docs ./docs
COPY assets ./assets
COPY bench/README.md ./bench/README.md
COPY CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
# Without the Postgres that the package brings: replicas share the one at DATABASE_URL.
RUN npm run build && npm run docs -- --for-package && npm prune --workspaces=false --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE} AS root
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
COPY deploy/image/health.c /
# Node.js without its table of symbols (33 MB), the libraries that it is linked to, and `env`, by which `docker exec … purchase-watch` finds it.
RUN set -eu; \
  mkdir -p /image/usr/local/bin /image/data /image/etc /image/tmp; \
  gcc -static -Os -s -Wall -Wextra -Werror -o /image/usr/local/bin/health /health.c; \
  strip -o /image/usr/local/bin/node "$(command -v node)"; \
  for program in "$(command -v node)" /usr/bin/env; do ldd "$program"; done | grep -o '/[^ ]*' | sort -u | xargs cp -L --parents -t /image; \
  cp --parents /usr/bin/env /image; \
  ln -s /app/bin/purchase-watch.mjs /image/usr/local/bin/purchase-watch; \
  echo 'purchase-watch:x:1000:1000::/data:/usr/sbin/nologin' > /image/etc/passwd; \
  echo 'purchase-watch:x:1000:' > /image/etc/group; \
  echo 'hosts: files dns' > /image/etc/nsswitch.conf; \
  chown 1000:1000 /image/data; chmod 1777 /image/tmp

FROM scratch
LABEL org.opencontainers.image.title="purchase-watch" org.opencontainers.image.version="0.1.0" org.opencontainers.image.licenses="MIT"
ENV PATH=/usr/local/bin:/usr/bin NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
COPY --from=root /image /
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/book ./book
COPY package.json LICENSE CHANGELOG.md ./
COPY bin ./bin
COPY migrations ./migrations
COPY assets ./assets
# By number, so that Kubernetes can see that it is not root. The file system may be read-only: with DATABASE_URL nothing is written.
USER 1000:1000
EXPOSE 8080
# The signal that ends it in order, within SHUTDOWN_TIMEOUT (8 s): Docker kills after 10 s.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s CMD ["/usr/local/bin/health"]
# The settings of bin/memory.json: named here, the daemon need not begin a second time, as process 1 that would lose a SIGTERM meanwhile.
ENV MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
ENTRYPOINT ["node", "--max-semi-space-size=8", "--heap-growing-percent=30", "/app/bin/purchase-watch.mjs"]
CMD ["start"]
