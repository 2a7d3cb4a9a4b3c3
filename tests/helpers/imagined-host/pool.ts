import type { StorageAccounts } from '../../../agent/ports/pool/accounts.ts'
import type { CowFilesystem, ReceiveRequest, SendRequest } from '../../../agent/ports/pool/cow-filesystem.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { type ImaginedSubvolume, type ImaginedWorld, imaginedPath, keptBytes } from './world.ts'

/** Creates the driver of an imagined pool. Each effect is atomic and immediate. */
export function createImaginedPool(world: ImaginedWorld): CowFilesystem {
  const { pool } = world
  const put = (name: string, project: string | null, subvolume: ImaginedSubvolume): void => {
    if (pool.has(checked(name))) throw failed(name, 'EEXIST')
    pool.set(name, subvolume)
    world.owners.set(name, project)
    world.effects++
  }
  const change = (name: string, changes: Partial<ImaginedSubvolume>): void => {
    const found = existing(pool, name)
    pool.set(name, { ...found, ...changes })
    if (Object.entries(changes).some(([key, value]) => found[key as keyof ImaginedSubvolume] !== value)) world.effects++
  }
  return {
    kind: 'imagined',
    poolId: world.poolId,
    path: (name) => imaginedPath(checked(name)),
    exists: async (name) => pool.has(name),
    list: async () => [...pool.keys()],
    create: async (name, project) => put(name, project, emptyOf(name)),
    snapshot: async ({ source, name, project, isReadOnly, quotaBytes }) =>
      put(name, project, { ...existing(pool, source), isReadOnly, quotaBytes }),
    setReadOnly: async (name, isReadOnly) => change(name, { isReadOnly }),
    setQuota: async (name, quotaBytes) => change(name, { quotaBytes }),
    destroy: async (name) => {
      for (const [id, { spec, mounts }] of world.boxes)
        if ([spec.rootPath, ...mounts.map(({ source }) => source)].includes(imaginedPath(checked(name))))
          world.violations.push(`${name} is destroyed while ${id} has it`)
      if (pool.delete(checked(name))) world.effects++
    },
    origin: async (name) => pool.get(name)?.origin ?? null,
    commit: async () => undefined,
    usedBytes: async (name) => Buffer.byteLength(existing(pool, name).content),
    changes: () => Promise.reject(new Error('An imagined pool knows of no files.')),
    measure: async (names) => names.map((name) => (pool.has(name) ? { sizeBytes: 0, uniqueBytes: 0 } : null)),
    send: (request) => send(pool, request),
    receive: async (request) => {
      const { container, name, project, quotaBytes } = request
      put(container, project, emptyOf(container))
      const content = await receive(request)
      const kept = [{ writer: name, bytes: Buffer.byteLength(content) }]
      put(name, project, { ...emptyOf(container), content, quotaBytes, kept })
    },
    withSoundWrites: (work) => work(),
    capacity: async () => ({ path: '/pool', totalBytes: 64 * GIB, usedBytes: 0, availableBytes: 64 * GIB }),
    checkWritable: async () => undefined,
    condition: async () => CONDITION,
    startScrub: async () => undefined,
    close: async () => undefined,
  }
}

/** Creates the driver that accounts for the storage of projects in an imagined pool. */
export function createImaginedAccounts(world: ImaginedWorld): StorageAccounts {
  const { owners, bounds } = world
  return {
    usedBytes: async (project) => keptBytes(world, project),
    all: async () => {
      const projects = new Set([...owners.values(), ...bounds.keys()].filter((project) => project !== null))
      return new Map([...projects].map((project) => [project, keptBytes(world, project)]))
    },
    limit: async (project, bytes) => {
      if ((bounds.get(project) ?? null) === bytes) return
      if (bytes === null) bounds.delete(project)
      else bounds.set(project, bytes)
      world.effects++
    },
    settle: async () => undefined,
    assign: async (given) => {
      for (const [name, project] of given) {
        if (!world.pool.has(name) || owners.get(name) === project) continue
        owners.set(name, project)
        world.effects++
      }
    },
  }
}

type Pool = ImaginedWorld['pool']

function emptyOf(origin: string): ImaginedSubvolume {
  return { content: '', origin, isReadOnly: false, quotaBytes: null, kept: [] }
}

function checked(name: string): string {
  if (!/^[a-z0-9_]{1,64}$/.test(name)) throw new Error(`"${name}" is no name of a subvolume`)
  return name
}

function existing(pool: Pool, name: string): ImaginedSubvolume {
  const found = pool.get(name)
  if (found === undefined) throw failed(name, 'ENOENT')
  return found
}

function failed(name: string, code: string): ServiceError {
  return new ServiceError('internal', 'The storage pool failed.', { cause: Object.assign(new Error(name), { code }) })
}

async function* send(pool: Pool, { name, parent }: SendRequest): AsyncGenerator<Uint8Array> {
  const { content, origin } = existing(pool, name)
  const from = parent === null ? null : existing(pool, parent)
  if (from !== null && from.origin !== origin) throw new Error('the two have nothing in common')
  yield Buffer.from(JSON.stringify({ from: from?.content ?? null, to: content }))
}

async function receive({ streams, signal }: ReceiveRequest): Promise<string> {
  let content: string | null = null
  for await (const stream of streams) {
    signal?.throwIfAborted()
    const pieces: Uint8Array[] = []
    for await (const piece of stream) pieces.push(piece)
    const { from, to }: { from: string | null; to: string } = JSON.parse(Buffer.concat(pieces).toString())
    if (from !== content) throw new ServiceError('internal', 'A stream does not follow the one before.')
    content = to
  }
  if (content === null) throw new ServiceError('internal', 'No stream came.')
  return content
}

const GIB = 1024 ** 3
const UNUSED = { totalBytes: GIB, usedBytes: 0, pendingBytes: 0 }
const CONDITION = {
  ...{ data: UNUSED, metadata: UNUSED, isReadOnly: false, scrub: null },
  deviceErrors: { writes: 0, reads: 0, flushes: 0, corruptions: 0, generations: 0 },
  backing: { missingBytes: 0, availableBytes: GIB },
}
