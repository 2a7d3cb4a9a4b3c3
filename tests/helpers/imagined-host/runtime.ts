import type { HostNetwork } from '../../../agent/ports/boxes/network.ts'
import type { BoxMount, BoxSpec, DetachedExec, Runtime, RuntimeBox } from '../../../agent/ports/boxes/runtime.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { type ImaginedBox, type ImaginedWorld, imaginedPath } from './world.ts'

/** Creates the driver of imagined boxes. A command runs until it gets a signal, or until its box ends. */
export function createImaginedRuntime(world: ImaginedWorld, now: () => number): Runtime {
  const { boxes, commands } = world
  const ends = createEnds(world, now)
  const change = (id: string, changes: Partial<ImaginedBox>): void => {
    boxes.set(id, { ...running(world, id), ...changes })
    world.effects++
  }
  const unsupported = (): Promise<never> => Promise.reject(new Error('An imagined box has no such thing.'))
  return {
    kind: 'imagined',
    // The kernel's freezer outlives an agent, so the next agent thaws frozen boxes.
    open: async () => {
      for (const [id, { isFrozen }] of boxes) if (isFrozen) change(id, { isFrozen: false })
    },
    warmUp: () => undefined,
    checkReady: async () => undefined,
    start: async (spec) => {
      const found = boxes.get(spec.id)
      if (found !== undefined) return boxOf(found)
      checkTrees(world, spec)
      const { cpus, ramMb, shmMb, networkMbps, diskMbps, diskIops } = spec
      const limits = { cpus, ramMb, shmMb, networkMbps, diskMbps, diskIops }
      const box = { spec, limits, mounts: [...spec.mounts], pid: ++world.starts, isFrozen: false }
      boxes.set(spec.id, box)
      world.effects++
      return boxOf(box)
    },
    list: async () => [...boxes.values()].map(boxOf),
    stop: async (id) => {
      for (const [execId, { boxId }] of commands) if (boxId === id) ends.end(execId, 'SIGTERM')
      if (boxes.delete(id)) world.effects++
    },
    attach: async (id, mount) => {
      const { mounts } = running(world, id)
      if (mounts.some((each) => isSame(each, mount))) return
      if (mounts.some(({ path }) => path === mount.path))
        throw new ServiceError('path_invalid', 'Something is mounted there.')
      checkMount(world, id, mount)
      change(id, { mounts: [...mounts, mount] })
    },
    detach: async (id, source) => {
      const { mounts } = running(world, id)
      const left = mounts.filter((each) => each.source !== source)
      if (left.length < mounts.length) change(id, { mounts: left })
    },
    mounts: async (id) => [...(boxes.get(id)?.mounts ?? [])],
    problems: async () => [],
    ...{ pausedSeconds: () => 0, oomKills: () => 0 },
    usage: async (id) => (boxes.has(id) ? IDLE : null),
    resize: async (id, limits) => {
      if (JSON.stringify(running(world, id).limits) !== JSON.stringify(limits)) change(id, { limits })
    },
    frozen: async (id, work) => {
      if (!boxes.has(id)) return work()
      change(id, { isFrozen: true })
      return work().finally(() => {
        if (boxes.has(id)) change(id, { isFrozen: false })
      })
    },
    exec: unsupported,
    ...detachedOf(world, ends),
    openSession: unsupported,
    session: () => null,
    sessions: async () => [],
    ...{ connect: unsupported, openSocket: unsupported },
    onExit: () => undefined,
    onRecovery: () => undefined,
    close: async () => undefined,
  }
}

function detachedOf(world: ImaginedWorld, ends: Ends): Pick<Runtime, 'execDetached' | 'listDetached'> {
  const { commands, outputs } = world
  return {
    execDetached: async (id, execId, { command }) => {
      running(world, id)
      if (commands.has(execId)) world.violations.push(`${execId} is started twice`)
      commands.set(execId, { boxId: id, command, end: null })
      outputs.add(`${id}/${execId}`)
      world.effects++
      return { detached: ends.handle(execId), cwd: '/root' }
    },
    listDetached: async () => [...commands.keys()].map(ends.handle),
  }
}

/** Creates the network of imagined boxes. Each running box has its own address. */
export function createImaginedNetwork({ boxes }: ImaginedWorld): HostNetwork {
  return {
    problems: async () => [],
    addressOf: async (boxId) => {
      const box = boxes.get(boxId)
      return box === undefined ? null : imaginedAddress(box)
    },
    close: async () => undefined,
  }
}

/** Returns the address of a running box. */
export function imaginedAddress({ pid }: Pick<ImaginedBox, 'pid'>): string {
  return `10.99.${pid >> 8}.${pid & 0xff}`
}

function boxOf({ spec: { id }, pid }: ImaginedBox): RuntimeBox {
  return { id, isRunning: true, pid }
}

function running({ boxes }: ImaginedWorld, id: string): ImaginedBox {
  const found = boxes.get(id)
  if (found === undefined) throw new ServiceError('box_not_running', 'The box is not running.')
  return found
}

function isSame(one: BoxMount, other: BoxMount): boolean {
  return one.source === other.source && one.path === other.path && one.readOnly === other.readOnly
}

function checkTrees(world: ImaginedWorld, { id, rootPath, mounts }: BoxSpec): void {
  if (![...world.pool.keys()].some((name) => imaginedPath(name) === rootPath)) throw new Error(`${id} has no root`)
  for (const other of world.boxes.values())
    if (other.spec.rootPath === rootPath) world.violations.push(`${id} runs with the root of ${other.spec.id}`)
  for (const mount of mounts) checkMount(world, id, mount)
}

function checkMount({ pool, boxes, violations }: ImaginedWorld, id: string, { source, readOnly }: BoxMount): void {
  const [, subvolume] = [...pool].find(([name]) => imaginedPath(name) === source) ?? []
  if (subvolume === undefined) throw new Error(`${id} gets ${source}, which is not there`)
  if (readOnly) return
  if (subvolume.isReadOnly) violations.push(`${id} gets to write to ${source}, which is sealed`)
  for (const [other, { mounts }] of boxes)
    if (other !== id && mounts.some((each) => each.source === source && !each.readOnly))
      violations.push(`${id} writes to ${source}, and so does ${other}`)
}

/** Ends of detached commands, and their waiters. */
interface Ends {
  end(execId: string, signal: string): void
  handle(execId: string): DetachedExec
}

function createEnds(world: ImaginedWorld, now: () => number): Ends {
  const { commands } = world
  const ended = new Map<
    string,
    PromiseWithResolvers<DetachedExec extends { ended: Promise<infer End> } ? End : never>
  >()
  const waiter = (execId: string) => {
    const found = ended.get(execId) ?? Promise.withResolvers()
    ended.set(execId, found)
    const end = commands.get(execId)?.end ?? null
    if (end !== null) found.resolve(end)
    return found
  }
  const end = (execId: string, signal: string): void => {
    const found = commands.get(execId)
    if (found === undefined || found.end !== null) return
    const how = { exitCode: null, signal, outOfMemory: false, timedOut: false, endedAt: now() }
    commands.set(execId, { ...found, end: how })
    world.effects++
    waiter(execId)
  }
  const handle = (execId: string): DetachedExec => ({
    boxId: commands.get(execId)?.boxId ?? '',
    execId,
    process: 1,
    ended: waiter(execId).promise,
    onOutput: () => () => undefined,
    signal: async (name) => end(execId, name),
    attach: () => Promise.reject(new Error('An imagined command has no streams.')),
    forget: async () => {
      if (commands.delete(execId)) world.effects++
    },
  })
  return { end, handle }
}

const IDLE = {
  ...{ cpuSeconds: 0, memoryBytes: 0, cacheBytes: 0, pids: 1 },
  network: { receivedBytes: 0, receivedPackets: 0, sentBytes: 0, sentPackets: 0 },
}
