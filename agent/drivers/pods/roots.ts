import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import type { BoxMounts } from '../boxes/mounts.ts'
import { readStartTicks } from '../host/handle.ts'
import { INIT_PATH } from '../host/oci-spec.ts'
import { buildSeccompProfile } from '../host/seccomp-profile.ts'
import { buildPodConfig, type GivenConfig, type PodIdentity, parseGivenConfig, podIdentityOf } from './config.ts'
import { type HookCall, type HookListener, hookPath } from './node-hook.ts'

/** An expected pod of this agent, which becomes a box or a warm pod. */
export interface PodTicket {
  spec: Pick<BoxSpec, 'pidsMax' | 'environment'>
  namespace: string
  /** Called once the pod has its network, before anything runs in it. */
  prepare(network: PodEndpoint): PodRoot
}

/** The address and network namespace of a pod. */
export interface PodEndpoint {
  address: string
  /** Path of its network namespace. */
  networkNamespace: string
}

/** The root of a pod's container. */
export interface PodRoot {
  /** Host path of the tree. */
  source: string
  readOnly: boolean
  /** Host paths of files to mount, by path below the root. */
  files: Readonly<Record<string, string>>
}

/** The init of a box that runs in its pod. */
export interface PodInit {
  pid: number
  startTicks: number
  idBase: number
  /** Path below the mount point of each hierarchy. */
  cgroup: string
}

/** The listener of the node hook. Provides the root of each expected pod. */
export interface PodRoots extends HookListener {
  /** Admits the pod `podUid` to its root. `started` resolves once its init runs. */
  expect(podUid: string, ticket: PodTicket): { started: Promise<PodInit>; fail(why: Error): void; drop(): void }
  /** Rejects `started` of that pod. Does nothing for an unexpected pod. */
  fail(podUid: string, why: Error): void
}

export interface PodRootsOptions {
  instanceId: string
  /** Directory for runtime files, searchable by users of boxes. */
  runDir: string
  initPath: string
  cgroupVersion(): 1 | 2
  mounts: Pick<BoxMounts, 'stage'>
  /** The warm pods of a fleet that the scheduler puts on this node, or null if there are none. */
  shared: {
    /** Value that they have instead of an instance. */
    mark: string
    /** Namespace of these pods, because a pod of another namespace may have the same name as a box's. */
    namespace: string
    /** Called before the root of such a pod is prepared. Must call `expect` for it at once, or else the pod is refused. */
    admit(pod: SharedPod): void
  } | null
}

/** A warm pod of a fleet that the scheduler has put on this node. */
export interface SharedPod {
  uid: string
  name: string
}

/** Provides roots only to pods that `expect` announced. */
export function createPodRoots(options: PodRootsOptions): PodRoots {
  const { shared } = options
  const tickets = new Map<string, Ticket>()
  /** Containers that have no process yet, by bundle. */
  const prepared = new Map<string, { ticket: Ticket; idBase: number }>()
  const find = async (podUid: string): Promise<Ticket> => {
    // The node may call before the API has answered the request that created the pod.
    const deadline = performance.now() + UNKNOWN_MS
    for (;;) {
      const ticket = tickets.get(podUid)
      if (ticket !== undefined) return ticket
      if (performance.now() > deadline) throw new Error('this pod is not a starting box')
      await sleep(UNKNOWN_PAUSE_MS)
    }
  }
  return {
    expect: (podUid, ticket) => {
      const { promise: started, resolve, reject } = Promise.withResolvers<PodInit>()
      // The waiter may have timed out.
      started.catch(() => undefined)
      tickets.set(podUid, { ...ticket, resolve, reject })
      const drop = (): void => {
        tickets.delete(podUid)
        for (const [bundle, { ticket }] of prepared) if (ticket.resolve === resolve) prepared.delete(bundle)
      }
      return { started, fail: reject, drop }
    },
    fail: (podUid, why) => tickets.get(podUid)?.reject(why),
    prepare: async (call) => {
      const given = readConfig(call)
      const identity = podIdentityOf(given)
      const { podUid: uid, podName: name, instanceId } = identity
      const isShared = instanceId === shared?.mark
      if (isShared) checkPlace(identity, shared.namespace)
      if (isShared && !tickets.has(uid)) shared.admit({ uid, name })
      const ticket = await find(uid)
      check(identity, ticket, isShared ? instanceId : options.instanceId)
      await prepare(options, { call, given, identity, ticket })
      prepared.set(call.bundle, { ticket, idBase: identity.idBase })
    },
    created: async ({ pid, bundle }) => {
      const box = prepared.get(bundle)
      prepared.delete(bundle)
      if (box === undefined) return
      try {
        box.ticket.resolve(await untilInit(pid, box.idBase))
      } catch (error) {
        box.ticket.reject(error)
      }
    },
  }
}

interface Ticket extends PodTicket {
  resolve(init: PodInit): void
  reject(error: unknown): void
}

interface Preparation {
  call: HookCall
  given: GivenConfig
  identity: PodIdentity
  ticket: PodTicket
}

function check(identity: PodIdentity, ticket: PodTicket, expectedInstance: string): void {
  checkPlace(identity, ticket.namespace)
  if (identity.instanceId !== expectedInstance) throw notOurs()
}

function checkPlace({ namespace, container }: PodIdentity, expected: string): void {
  if (namespace !== expected || container !== 'box') throw notOurs()
}

function notOurs(): Error {
  return new Error('this container is not that of a box of this agent')
}

async function prepare(options: PodRootsOptions, { call, given, identity, ticket }: Preparation): Promise<void> {
  const { userNamespace, networkNamespace } = identity
  const stagePath = `${options.runDir}/stage`
  fs.mkdirSync(stagePath, { recursive: true, mode: 0o711 })
  const address = podAddressOf(sandboxOf(networkNamespace))
  const { source, readOnly, files } = ticket.prepare({ address, networkNamespace })
  await options.mounts.stage({ pid: call.pid, userNamespace, source, readOnly, target: stagePath })
  const config = buildPodConfig(given, ticket.spec, {
    stagedRoot: stagePath,
    userNamespace,
    networkNamespace,
    init: options.initPath,
    files: Object.fromEntries(Object.entries(files).map(([name, from]) => [`/${name}`, from])),
    seccomp: buildSeccompProfile(process.arch),
    cgroupVersion: options.cgroupVersion(),
  })
  const path = hookPath(call, 'config.json')
  fs.writeFileSync(`${path}.boxyard`, JSON.stringify(config), { mode: 0o600 })
  fs.renameSync(`${path}.boxyard`, path)
}

function readConfig(call: HookCall): GivenConfig {
  return parseGivenConfig(fs.readFileSync(hookPath(call, 'config.json'), 'utf8'))
}

// Finds the sandbox process. The pod's network is up before its first container is created.
function sandboxOf(networkNamespace: string): number {
  const pid = /^\/proc\/(\d+)\/ns\/net$/.exec(networkNamespace)?.[1]
  if (pid === undefined) throw new Error('the namespace does not name the network of the pod')
  return Number(pid)
}

/** Reads the IPv4 address of the network namespace of process `pid`. */
export function podAddressOf(pid: number): string {
  const address = parseAddress(fs.readFileSync(`/proc/${pid}/net/fib_trie`, 'utf8'))
  if (address === null) throw new Error('the pod has no IPv4 address')
  return address
}

/** Finds the first IPv4 address, other than loopback, in the text of `/proc/<pid>/net/fib_trie`. */
export function parseAddress(fibTrie: string): string | null {
  const addresses = [...fibTrie.matchAll(/\|-- ([\d.]+)\n\s+\/32 host LOCAL/g)].map(([, address]) => address ?? '')
  return addresses.find((address) => !address.startsWith('127.')) ?? null
}

// Between creation and start the process runs runc.
async function untilInit(pid: number, idBase: number): Promise<PodInit> {
  const startTicks = readStartTicks(pid)
  const deadline = performance.now() + START_MS
  while (startTicks !== null && readStartTicks(pid) === startTicks && performance.now() < deadline) {
    if (readCommand(pid) === INIT_COMMAND) return { pid, startTicks, idBase, cgroup: readCgroup(pid) }
    await sleep(START_PAUSE_MS)
  }
  throw new Error('the container ended before its first process ran')
}

function readCommand(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}

// Reads the only path of cgroup v2, or the path of the pids controller of v1, which the other controllers share.
function readCgroup(pid: number): string {
  const lines = fs.readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n')
  const line = lines.find((each) => /^\d+:pids:/.test(each)) ?? lines.find((each) => each.startsWith('0::')) ?? ''
  const path = line.slice(line.indexOf(':', line.indexOf(':') + 1) + 2)
  if (path === '') throw new Error('the container has no cgroup of its own')
  return path
}

const INIT_COMMAND = INIT_PATH.slice(INIT_PATH.lastIndexOf('/') + 1)
const UNKNOWN_MS = 3_000
const UNKNOWN_PAUSE_MS = 20
const START_MS = 30_000
const START_PAUSE_MS = 2
