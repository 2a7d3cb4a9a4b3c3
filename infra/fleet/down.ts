import { setTimeout as sleep } from 'node:timers/promises'
import { stopCluster } from '../cluster/stop.ts'
import { findFleet } from './cells.ts'

/**
 * `npm run fleet:down [-- NAME]` ends a fleet of this machine with its boxes, their data and the cluster, even if `fleet:up` was killed.
 */
async function main(args: readonly string[]): Promise<void> {
  const [name = 'fleet', ...others] = args
  if (others.length > 0 || name.startsWith('-')) return say(HELP)
  const startedAt = performance.now()
  await endSupervisor(name)
  if (!(await stopCluster(name))) return say(`There is no fleet ${name}.`)
  say(`Removed the fleet ${name} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
}

/** Ends the `fleet:up` that runs the fleet, if there is one. Stops it gracefully first, and forcibly if that takes too long. */
async function endSupervisor(name: string): Promise<void> {
  const pid = await findFleet(name)
  if (pid === null) return
  process.kill(pid, 'SIGTERM')
  const deadline = performance.now() + STOP_DEADLINE_MS
  while ((await findFleet(name)) === pid) {
    if (performance.now() > deadline) process.kill(pid, 'SIGKILL')
    await sleep(50)
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

const HELP = `Usage: npm run fleet:down [-- NAME]

Removes a fleet from this machine, with its agents, boxes, data and cluster.`
/** An agent and a front have 45 s each. */
const STOP_DEADLINE_MS = 100_000

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
