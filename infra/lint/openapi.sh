#!/usr/bin/env bash
# Writes the OpenAPI document and lints it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
node infra/openapi.ts
REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
  node node_modules/@redocly/cli/bin/cli.js lint .build/openapi.json --config redocly.yaml
