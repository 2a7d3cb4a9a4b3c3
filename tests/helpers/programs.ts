import { CONSOLE_DIRECTORY } from '../../infra/web/build.ts'

// A run of tests bundles agent and front as a release has them (infra/test.ts), so that each start takes half of the processor's time.
const BUNDLES = process.env['TEST_BUNDLES']

/** Path from the root of this checkout to the agent that tests start. */
export const TESTED_AGENT = BUNDLES === undefined ? 'agent/main.ts' : `${BUNDLES}/agent/main.mjs`

/** The same of the standalone front. */
export const TESTED_FRONT = BUNDLES === undefined ? 'functions/standalone.ts' : `${BUNDLES}/functions/standalone.mjs`

/** Settings of that front: where the console of this checkout is, which the sources find by themselves. */
export const TESTED_FRONT_SETTINGS: Record<string, string> =
  BUNDLES === undefined ? {} : { BOXYARD_CONSOLE_DIR: CONSOLE_DIRECTORY }
