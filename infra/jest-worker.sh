#!/usr/bin/env bash
# Runs a jest worker in a mount namespace of its own (infra/jest-workers.mjs), with the first Node.js on PATH.
TEST_OWN_MOUNTS=1 exec unshare --mount --propagation slave -- node "$@"
