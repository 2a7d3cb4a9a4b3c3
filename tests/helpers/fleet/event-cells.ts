import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFleetHistories, openSingleHistory } from '../../../agent/compose/histories.ts'
import { createClosers } from '../../../agent/compose/shutdown.ts'
import { type AuditLog, createAuditLog } from '../../../agent/core/events/audit-list.ts'
import { type AuditTrail, createAuditTrail } from '../../../agent/core/events/audit-trail.ts'
import { createEventFeed, type EventFeed } from '../../../agent/core/events/feed.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import { createActorContext } from '../../../agent/lib/actor-context.ts'
import type { Actor } from '../../../agent/ports/store/events.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { createTokenKeys, type TokenKeySet } from '../../../shared/auth/keys.ts'
import { SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../boxes/box-records.ts'
import { silentLogger } from '../silent-logger.ts'

/** One cell. It has a store on disk, a feed and an audit log over all cells, and a server from which other cells read. */
export interface EventCell {
  cell: string
  store: Store
  trail: AuditTrail
  feed: EventFeed
  auditLog: AuditLog
  url: string
  /** Inserts a box, which emits an event `box.created` with the time `at`, by default now. Returns the name of the box. */
  write(name: string, options?: { project?: string; at?: number }): Promise<string>
  /** Ends the cell as a kill does. Breaks connections without notice. */
  kill(): Promise<void>
  /** Number of requests from other cells, by path. */
  asked: Map<string, number>
}

/** Cells that find each other in a table. */
export interface EventFleet {
  /** Cells that each cell's directory knows, including its own. */
  directory: Map<string, { cell: string; channelUrl: string }>
  keys: TokenKeySet
  /** Starts a cell, with its earlier data if it ran before. `prepare` can change the data before the cell answers any request. */
  start(cell: string, prepare?: (store: Store) => Promise<void>): Promise<EventCell>
  /** Starts a cell's data as a host without a fleet. */
  startAlone(cell: string): Promise<EventCell>
  close(): Promise<void>
}

export function createEventFleet(): EventFleet {
  const root = mkdtempSync(join(tmpdir(), 'boxyard-cells-'))
  const running = new Set<EventCell>()
  const directory: EventFleet['directory'] = new Map()
  const keys = createTokenKeys()
  const start = async (options: Pick<CellOptions, 'cell' | 'isAlone' | 'prepare'>): Promise<EventCell> => {
    const path = join(root, `${options.cell}.db`)
    const made = await startCell({ path, keys, directory, ...options })
    const { kill } = made
    made.kill = async () => {
      if (running.delete(made)) await kill()
    }
    running.add(made)
    return made
  }
  return {
    directory,
    keys,
    start: (cell, prepare = unchanged) => start({ cell, isAlone: false, prepare }),
    startAlone: (cell) => start({ cell, isAlone: true, prepare: unchanged }),
    close: async () => {
      for (const each of [...running]) await each.kill()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

interface CellOptions extends Pick<EventFleet, 'directory' | 'keys'> {
  cell: string
  path: string
  isAlone: boolean
  prepare(store: Store): Promise<void>
}

const unchanged = async (): Promise<void> => undefined

async function startCell({ cell, path, keys, directory, isAlone, prepare }: CellOptions): Promise<EventCell> {
  const clock = {
    now: () => Date.now(),
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        signal?.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      }),
  }
  const actorContext = createActorContext<Actor>()
  let at: number | null = null
  const store = openSqliteStore(path, { outbox: { now: () => at ?? Date.now(), actorContext } })
  await prepare(store)
  const trail = createAuditTrail({ store, logger: silentLogger, clock })
  const closers = createClosers(silentLogger)
  const common = { deployment: { keys: { tokens: () => keys } as never, store }, trail, cell, clock, closers }
  const histories = isAlone
    ? openSingleHistory({ ...common, logger: silentLogger })
    : await openFleetHistories({
        ...{ ...common, logger: silentLogger, tls: null },
        cells: () => [...directory.values()].filter((each) => each.cell !== cell),
      })
  const { eventCursors, auditCursors, own, others } = histories
  const feed = createEventFeed({ own, others, store, clock, actorContext, cursors: eventCursors })
  const asked = new Map<string, number>()
  const server: Server = createServer(SERVER_OPTIONS)
  const handler = histories.wrap(async () => ({ status: 404, headers: {}, body: null }))
  serve(server, {
    ...{ logger: silentLogger, now: Date.now },
    handler: (request) => {
      asked.set(request.target, (asked.get(request.target) ?? 0) + 1)
      return handler(request)
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  directory.set(cell, { cell, channelUrl: url })
  return {
    ...{ cell, store, trail, feed, url, asked },
    auditLog: createAuditLog({ own, others, cursors: auditCursors }),
    write: async (name, { project = 'demo', at: time } = {}) => {
      at = time ?? null
      await store.boxes.insert(boxRecord({ id: newId('box', Date.now()), project, name }))
      at = null
      return name
    },
    kill: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      feed.close()
      histories.close()
      await closers.run(1_000)
      await store.close()
    },
  }
}
