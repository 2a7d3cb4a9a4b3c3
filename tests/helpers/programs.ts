import { join } from 'node:path'
import { agentCommand, frontCommand, ROOT } from '../../infra/commands.ts'

// A run of tests bundles agent and front as a release has them (infra/test.ts), so that each start takes half of the processor's time.
const BUNDLES = process.env['TEST_BUNDLES']

/** Returns the command of the agent, as `agentCommand`; of the bundle if there is one. */
export function testedAgent(args: readonly string[] = [], script?: string): string[] {
  return agentCommand(args, script ?? (BUNDLES === undefined ? undefined : `${BUNDLES}/agent/main.mjs`))
}

/** Returns the command of the standalone front, as `frontCommand`; of the bundle if there is one. */
export function testedFront(): string[] {
  return frontCommand(BUNDLES === undefined ? undefined : `${BUNDLES}/functions/standalone.mjs`)
}

/** Returns settings of the front: where the console of this checkout is, which the sources find by themselves. */
export function testedFrontSettings(): Record<string, string> {
  return BUNDLES === undefined ? {} : { BOXYARD_CONSOLE_DIR: join(ROOT, '.build/console') }
}
