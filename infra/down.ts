import { existsSync, realpathSync } from 'node:fs'
import { runAgentCommand } from './agent-command.ts'
import { findInstance } from './instance-lock.ts'
import { readUpSettings } from './up-settings.ts'

/** `npm run down` stops the boxes of a data directory whose service is stopped, and prints what it leaves. */
async function main(): Promise<number> {
  const args = process.argv.slice(2)
  // The mode explains its usage, and refuses what it does not know.
  if (args.length > 0) return await runAgentCommand(['down', ...args])
  const { dataDir } = readUpSettings(process.env)
  if (!existsSync(dataDir)) {
    process.stdout.write(`Nothing to stop: ${dataDir} does not exist.\n`)
    return 0
  }
  const pid = await findInstance(realpathSync(dataDir))
  if (pid !== null) {
    process.stderr.write(
      `Boxyard still runs on ${dataDir}. Stop it first (Ctrl-C in its terminal, or: kill ${pid}), then run this command again.\n`,
    )
    return 1
  }
  return await runAgentCommand(['down'])
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  return 1
})
