#!/usr/bin/env bash
# Runs a worker of jest, by the Node.js that is first on the path, in a mount namespace of its own (infra/jest-workers.mjs).
TEST_OWN_MOUNTS=1 exec unshare --mount --propagation slave -- node "$@"
