import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { repeat } from '../../shared/repeat.ts'
import { writeAgentCredentials } from '../cluster/manifests.ts'
import { type ClusterRecord, clusterPaths, readRecord } from '../cluster/record.ts'
import { reviveCluster } from '../cluster/revive.ts'
import { startCluster } from '../cluster/start.ts'
import { readUpRequest } from '../cluster/up-request.ts'
import { endOnSignal } from '../service-process.ts'
import { ensureConsole } from '../web/build.ts'
import { signInLink } from '../web/sign-in-link.ts'
import { type CellService, createCellService, stopCellServices } from './cell-service.ts'
import { fleetCells, fleetDirectory, isFleet, lockFleet, type RigCell } from './cells.ts'
import { writeChannelCertificates } from './certificates.ts'
import { cellEnvironment, doorOf, sharedEnvironment } from './settings.ts'

/**
 * `npm run fleet:up [-- NAME] [-- --nodes N]` starts a cluster of several nodes, with an agent and a front on each. It runs these in the
 * foreground until a signal. Boxes and the cluster keep running, and the next run of the same name takes them over.
 */
async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) return say(HELP)
  const { name, nodeCount } = readUpRequest(args, 'fleet')
  if (nodeCount === 1) throw new Error('A fleet needs at least two nodes. For one host, use: npm run up')
  const shared = sharedEnvironment(process.env)
  const lock = await lockFleet(name)
  if (!('release' in lock))
    throw new Error(`The fleet ${name} already runs (process ${lock.heldBy}). Stop it, or choose another name.`)
  ensureConsole()
  const services: CellService[] = []
  const kill = (): void => {
    for (const { agent, front } of services) for (const each of [front, agent]) each.kill()
  }
  const ending = endOnSignal({ stop: () => stopCellServices(services), kill, say }, () => lock.release())
  try {
    const record = await openCluster(name, nodeCount)
    const cells = fleetCells(record)
    await prepareCells(record, cells)
    for (const cell of cells)
      services.push(createCellService(cell, cellEnvironment(cell, shared, certificatesOf(name)), say))
    await Promise.all(services.map(({ agent }) => agent.start()))
    await Promise.all(services.map(({ front }) => front.start()))
    if (ending.hasBegun()) return
    say(`KUBECONFIG=${clusterPaths(name).adminKubeconfig}`)
    for (const cell of cells) say(`DOOR=${doorOf(cell)}`)
    await sayAccess(cells[0])
    say('Boxyard fleet is ready')
  } catch (error) {
    if (ending.hasBegun()) return
    fail(error)
    await ending.begin()
  }
}

/** Prints how a user reaches the first gateway. */
async function sayAccess(door: RigCell | undefined): Promise<void> {
  if (door === undefined) return
  say(`TOKEN_FILE=${join(door.dataDir, 'admin.token')}`)
  // A failed sign-in to the console is no reason to stop the running services.
  const link = await signInLink(doorOf(door), door).catch((error: unknown) => `${doorOf(door)} (${messageOf(error)})`)
  if (link !== null) say(`CONSOLE=${link}`)
}

/** Starts the cluster, or the ended parts of an existing one with its boxes. */
async function openCluster(name: string, nodeCount: number | undefined): Promise<ClusterRecord> {
  if (isFleet(name) && !(await reviveCluster(name)))
    throw new Error(
      `The cluster of the fleet ${name} is incomplete or no longer runs, such as after a reboot. First run: npm run fleet:down -- ${name}`,
    )
  await startCluster(name, say, nodeCount ?? readRecord(name)?.nodeCount ?? NODES)
  const record = readRecord(name)
  if (record === null || record.nodeCount === 1)
    throw new Error(`The cluster ${name} has one node, so it cannot be a fleet. Choose another name.`)
  return record
}

/** Writes certificates and tokens of the cells, these again before they end. */
async function prepareCells(record: ClusterRecord, cells: readonly RigCell[]): Promise<void> {
  mkdirSync(fleetDirectory(record.name), { recursive: true, mode: 0o711 })
  await Promise.all([writeChannelCertificates(certificatesOf(record.name), cells), writeAgentCredentials(record)])
  const onError = (error: unknown): void => say(`The tokens of the agents could not be renewed: ${messageOf(error)}`)
  repeat(() => writeAgentCredentials(record), { everyMs: RENEWAL_MS, onError })
}

function certificatesOf(name: string): string {
  return join(fleetDirectory(name), 'tls')
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function fail(error: unknown): void {
  process.stderr.write(`The fleet did not start: ${messageOf(error)}\n`)
  process.exitCode = 1
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const HELP = `Usage: npm run fleet:up [-- NAME] [-- --nodes N]

Runs a whole fleet on this machine in the foreground: a Kubernetes with N nodes (3), and an agent and a front on each, behind one API.
Ctrl-C stops the agents, and boxes keep running. npm run fleet:down removes everything.`

const NODES = 3
/** Tokens last a day. */
const RENEWAL_MS = 4 * 3_600_000

await main(process.argv.slice(2)).catch(fail)
