import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiAnswer, createApiClient } from './api-client.ts'
import { clusterCgroup, createCgroups } from './cgroups.ts'
import { enterCommand, holdsNode } from './node-space.ts'
import { type NodeRecord, nodeCgroup, nodePaths } from './nodes.ts'
import { type Part, partCommand, roleOf } from './part-table.ts'
import { type ClusterRecord, clusterPaths, readRecord } from './record.ts'

/** Stops one part of the cluster `name` and resolves when it is gone. Its children keep running, because containers outlive containerd. */
export async function stopPart(name: string, part: Part, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  const deadline = performance.now() + STOP_DEADLINE_MS
  const pid = findPart(name, part)
  if (pid === null) return
  process.kill(pid, signal)
  while (findPart(name, part) === pid) {
    if (performance.now() > deadline) process.kill(pid, 'SIGKILL')
    await sleep(20)
  }
}

/** Starts one part of the cluster `name`, unless it runs, and resolves when it answers. */
export async function startPart(name: string, part: Part): Promise<void> {
  const record = readRecord(name)
  if (record === null) throw new Error(`There is no cluster ${name}.`)
  launchPart(record, part)
  await waitForPart(record, part)
}

/** Starts a part, unless it runs, in its own session, so that it outlives this process. */
export function launchPart(record: ClusterRecord, part: Part): void {
  if (findPart(record.name, part) !== null) return
  const { name } = record
  const { run, log } = clusterPaths(name)
  const { program, node } = roleOf(record, part)
  const { state } = node === null ? clusterPaths(name) : nodePaths(name, node)
  // containerd mounts a temporary directory as it starts. Below `state` it is removed with the cluster.
  const temporary = join(state, 'tmp')
  for (const directory of [log, run, temporary]) mkdirSync(directory, { recursive: true, mode: 0o711 })
  const output = openSync(join(log, `${part}.log`), 'a', 0o600)
  // The shell joins the cgroup before exec, so that no child of the part can escape.
  const script = 'echo $$ >"$1" && shift && exec "$@"'
  const cgroup = createCgroups(node === null ? clusterCgroup(name) : nodeCgroup(name, node))
  const enter = node === null || node.suffix === '' || program === 'node' ? [] : enterCommand(findHolder(name, node))
  const child = spawn('/bin/sh', ['-c', script, part, cgroup, ...enter, ...partCommand(record, part)], {
    cwd: state,
    detached: true,
    stdio: ['ignore', output, output],
    env: { PATH: `${record.programs}:${SYSTEM_PATH}`, HOME: state, TMPDIR: temporary },
  })
  closeSync(output)
  child.on('error', () => undefined)
  child.unref()
  if (child.pid === undefined) throw new Error(`${part} does not start.`)
  writeFileSync(noteOf(name, part), JSON.stringify({ pid: child.pid, startTicks: readStartTicks(child.pid) }))
}

/** Resolves when a part answers. Rejects with the end of its log if it ends first or `deadlineMs` passes. */
export async function waitForPart(record: ClusterRecord, part: Part, deadlineMs = 60_000): Promise<void> {
  const deadline = performance.now() + deadlineMs
  while (!(await answers(record, part))) {
    const hasEnded = findPart(record.name, part) === null
    if (hasEnded || performance.now() > deadline) {
      throw new Error(`${part} ${hasEnded ? 'ended' : 'does not answer'}:\n${readLogEnd(record.name, part)}`)
    }
    await sleep(POLL_MS)
  }
}

/** Returns the pid of a part, or null if it does not run. Detects a pid that the kernel gave to a later process. */
export function findPart(name: string, part: Part): number | null {
  try {
    const { pid, startTicks } = JSON.parse(readFileSync(noteOf(name, part), 'utf8')) as Process
    return readStartTicks(pid) === startTicks ? pid : null
  } catch {
    return null
  }
}

/** Returns the pid of the process that holds the namespaces of a node of several. @throws Error if the node is down */
export function findHolder(name: string, { number, name: node }: NodeRecord): number {
  const pid = findPart(name, `node-${number}`)
  if (pid === null) throw new Error(`The node ${node} is down.`)
  return pid
}

interface Process {
  pid: number
  startTicks: string
}

/** Returns the boot id and start time of a process, in clock ticks. Throws if the process is gone, or a zombie without threads. */
function readStartTicks(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in parentheses, may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // While other threads end, the process still holds its ports.
  if (fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length === 1) throw new Error(`Process ${pid} has exited.`)
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return `${boot}:${fields[19]}`
}

function noteOf(name: string, part: Part): string {
  return join(clusterPaths(name).run, `${part}.json`)
}

function readLogEnd(name: string, part: Part): string {
  const path = join(clusterPaths(name).log, `${part}.log`)
  return `${readFileSync(path, 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n')}\n(full log: ${path})`
}

async function answers(record: ClusterRecord, part: Part): Promise<boolean> {
  const { program, node } = roleOf(record, part)
  switch (program) {
    case 'etcd':
      return await isListening({ host: '127.0.0.1', port: record.ports.etcd })
    case 'kube-apiserver':
      return (await createApiClient(record).get('/readyz')).isOk
    // These two listen on no port. They work once the API server answers.
    case 'kube-controller-manager':
    case 'kube-scheduler':
      return findPart(record.name, program) !== null
    case 'node':
      return isHeld(findPart(record.name, part))
    case 'containerd':
      return await isListening({ path: nodePaths(record.name, node).containerdSocket })
    case 'kubelet':
      return await knowsItsPods(record, node)
  }
}

function isHeld(holder: number | null): boolean {
  return holder !== null && holdsNode(holder)
}

/** Waits past the open port. A kubelet listens before it has listed its pods, and until then refuses commands for them. */
async function knowsItsPods(record: ClusterRecord, node: NodeRecord): Promise<boolean> {
  const { name, ports } = record
  if (!(await isListening({ host: node.address, port: ports.kubelet }))) return false
  if (findPart(name, 'kube-apiserver') === null) return true
  const client = createApiClient(record)
  const bound = await client.get(`/api/v1/pods?fieldSelector=spec.nodeName=${node.name}`)
  const known = await client.get(`/api/v1/nodes/${node.name}/proxy/pods`)
  const count = ({ body }: ApiAnswer): number => (Array.isArray(body['items']) ? body['items'].length : 0)
  return known.isOk && count(known) >= count(bound)
}

function isListening(target: { path: string } | { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(target)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const POLL_MS = 50
const LOG_LINES = 12
const STOP_DEADLINE_MS = 10_000
