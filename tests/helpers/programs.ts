import { CONSOLE_DIRECTORY } from '../../infra/web/build.ts'

// A test run bundles the agent and the front as in a release (infra/test.ts). This halves the CPU time of each start.
const BUNDLES = process.env['TEST_BUNDLES']

/** Path of the agent that tests start, from the root of this checkout. */
export const TESTED_AGENT = BUNDLES === undefined ? 'agent/main.ts' : `${BUNDLES}/agent/main.mjs`

/** Path of the standalone front that tests start, from the same root. */
export const TESTED_FRONT = BUNDLES === undefined ? 'functions/standalone.ts' : `${BUNDLES}/functions/standalone.mjs`

/** Settings of that front. A bundle needs the directory of this checkout's console, which the sources find without a setting. */
export const TESTED_FRONT_SETTINGS: Record<string, string> =
  BUNDLES === undefined ? {} : { BOXYARD_CONSOLE_DIR: CONSOLE_DIRECTORY }
