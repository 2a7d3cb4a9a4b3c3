#!/usr/bin/env bash
# Runs a jest worker in a mount namespace of its own (infra/jest/workers.mjs), with the first Node.js on PATH.
# It ends with jest, however that ended, and with it what the tests started by `dieWithParent`, such as QEMU.
TEST_OWN_MOUNTS=1 exec setpriv --pdeathsig KILL -- unshare --mount --propagation slave -- node "$@"
