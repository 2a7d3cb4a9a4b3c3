import { readFileSync, rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { pendingRecord } from '../core/reconcile/outcome.ts'
import { parseMountInfo } from '../drivers/host/mount-info.ts'
import { type DeploymentDeps, hasDeployment, openDeployment } from './deployment.ts'
import { endHostEdge, endHostLxcfs, openBoxWorld } from './drivers.ts'

/** `down [--embedded]`, as `DOWN_HELP` describes. */
export async function runDownCommand(
  deps: DeploymentDeps,
  args: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { embedded: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
  })
  const { dataDir, runtime } = deps.settings
  if (values.help) print(DOWN_HELP)
  else if (values.embedded && runtime !== 'embedded') print('Boxes are pods of a cluster, so they keep running.')
  else if (!hasDeployment(dataDir)) print(`Nothing to stop: ${dataDir} has no deployment.`)
  else return takeDown(deps, print, { isKept: true })
  return 0
}

/**
 * Stops every box as a shutdown of the host would, and removes what this deployment made on the host: mounts, interfaces,
 * firewall rules, claims, the edge. Data stays, and the next start starts the boxes that ran. If the caller removes the data afterwards,
 * `isKept` is false.
 */
export async function takeDown(
  deps: DeploymentDeps,
  print: (text: string) => void,
  { isKept }: { isKept: boolean },
): Promise<number> {
  const { closers, clock, settings } = deps
  const deployment = openDeployment(deps, { exclusive: true })
  const { store } = deployment
  await endHostEdge(deployment)
  const { runtime, network } = await openBoxWorld(deps, deployment)
  const running = (await runtime.list()).filter((box) => box.isRunning)
  const boxes = (await store.boxes.ids()).length
  await Promise.all(
    running.map(async ({ id }) => {
      const record = await store.boxes.byId(id)
      if (record) await store.boxes.replace(pendingRecord(record, 'starting', clock.now()))
      await runtime.stop(id, { graceMs: (record?.gracePeriodSeconds ?? 0) * 1000 })
    }),
  )
  for (const { id } of await runtime.list()) await runtime.stop(id, { graceMs: 0 })
  await runtime.close()
  await endHostLxcfs(deployment)
  await network.close({ release: true })
  await closers.run(DOWN_CLOSE_MS)
  removeRunDirectory(deployment.runDir)
  const stopped = `Stopped ${counted(running.length, 'box')}.`
  print(isKept ? `${stopped} The service restarts the boxes that were running.` : stopped)
  if (isKept) print(`Kept in ${settings.dataDir}: ${counted(boxes, 'box')} with all data, keys and tokens.`)
  return 0
}

// Removes nothing while something is mounted below, because `rm -r` must never enter a mounted pool.
function removeRunDirectory(runDir: string): void {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo'))
  const isMounted = mounts.some(({ path }) => path.startsWith(`${runDir}/`))
  if (!isMounted) rmSync(runDir, { recursive: true, force: true })
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 'es'}`
}

const DOWN_HELP = `Usage: down [--embedded]

Stops every box as a shutdown of the host does, and removes mounts, interfaces, firewall rules and the edge of this deployment.
Keeps all data. The next start of the service restarts the boxes that were running. Fails while the agent runs.

  --embedded  do nothing if boxes are pods of a cluster`
const DOWN_CLOSE_MS = 30_000
