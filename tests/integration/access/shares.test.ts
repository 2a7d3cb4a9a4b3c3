import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { publishedLimits } from '../../../agent/compose/limits.ts'
import { readAgentSettings } from '../../../agent/config/agent.ts'
import { createRateLimit } from '../../../agent/core/access/rate-limit.ts'
import { createTickets } from '../../../agent/core/access/tickets.ts'
import { createBaseUploads } from '../../../agent/core/bases/unpack.ts'
import { createBoxActivity } from '../../../agent/core/boxes/activity.ts'
import { accountsOf, rateAccountOf } from '../../../agent/core/common/accounts.ts'
import type { Caller } from '../../../agent/core/common/caller.ts'
import { createEventFeed } from '../../../agent/core/events/feed.ts'
import { createOwnHistory } from '../../../agent/core/events/own-history.ts'
import { createSingleCursors } from '../../../agent/core/events/positions.ts'
import { createExecs, type ExecsDeps } from '../../../agent/core/exec/execs.ts'
import { createLogStreams } from '../../../agent/core/services/logs.ts'
import { createFileTransfers } from '../../../agent/drivers/files/transfers.ts'
import { noOtherHistories } from '../../../agent/drivers/fleet/no-other-histories.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import { createActorContext } from '../../../agent/lib/actor-context.ts'
import type { Actor } from '../../../agent/ports/store/events.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import type { TokenRecord, TokenRoom } from '../../../agent/ports/store/tokens.ts'
import { createSessionRoom } from '../../../agent/shim/session-room.ts'
import { createUnreadInput } from '../../../agent/shim/unread-input.ts'
import { createTokenKeys } from '../../../shared/auth/keys.ts'
import { createBodyBudget } from '../../../shared/http/body-budget.ts'
import { SHARES, type ShareName } from '../../../shared/schemas/shares.ts'
import { createRecordShare } from '../../helpers/access/record-share.ts'
import { createOwnTokens } from '../../helpers/access/tokens.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { CALLER } from '../../helpers/caller.ts'
import {
  BOX,
  CAT,
  messageTaker,
  type StreamLab,
  startStreamLab,
  webSocketTaker,
} from '../../helpers/exec/stream-lab.ts'
import { fail, isUnderWay, type NamesWith, takes } from '../../helpers/shares.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

const LIMITS = publishedLimits(readAgentSettings({}))
const MIB = 1024 ** 2
const ATTEMPTS_MAX = 20_000
const clock = { now: () => 0, sleep: () => new Promise<void>(() => undefined) }

/** A user that takes something: a box of a project, with a token of the root token `root`. */
interface User {
  box: string
  project: string
  root: string
}

/** A new shared resource: its total, and an attempt to take one more. The attempt resolves with false if it is refused. */
interface Shared {
  total: number
  take(user: User, attempt: number): Promise<boolean> | boolean
}

let directory: string
let store: Store
let lab: StreamLab | null = null
const opened: Store[] = []

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-shares-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
})

afterEach(async () => {
  await lab?.close()
  lab = null
})

afterAll(async () => {
  for (const each of [store, ...opened]) await each.close()
  rmSync(directory, { recursive: true, force: true })
})

function callerOf({ project, root }: User, attempt = 0): Caller {
  const scope = { projects: [project], permissions: CALLER.permissions, root }
  return { ...CALLER, ...scope, tokenId: `tok_${root}_${attempt}`, accounts: accountsOf(scope, project) }
}

function accountsIn(user: User): string[] {
  return [`box ${user.box}`, ...callerOf(user).accounts]
}

/** Resources with the rule that an account leaves free at least as much as it holds. A missing one does not compile. */
const AT_MOST_FREE: Record<NamesWith<'at_most_free'>, () => Shared | Promise<Shared>> = {
  tickets: () => {
    const tickets = createTickets({ clock })
    const grant = { operationId: 'streamExec', target: '/', boxId: null }
    return {
      total: LIMITS.tickets_at_once,
      take: (user, attempt) => takes(() => tickets.issue({ ...grant, caller: callerOf(user, attempt) })),
    }
  },
  event_streams: () => {
    const own = createOwnHistory({ cell: '00', store, trail: { readOwn: fail }, aloneThrough: 0 })
    const cells = { own, others: noOtherHistories(), cursors: createSingleCursors('00') }
    const feed = createEventFeed({ ...cells, store, clock, actorContext: { current: () => null } })
    return {
      total: LIMITS.event_streams_at_once,
      // Alternates between streams and waiting reads.
      take: (user, attempt) => {
        const caller = callerOf(user, attempt)
        if (attempt % 2 === 0) return isUnderWay(feed.follow(caller, user.project, {}))
        return isUnderWay(feed.read(caller, user.project, { since: 'now', wait_seconds: 25, max_results: 1 }))
      },
    }
  },
  log_streams: () => {
    const streams = createLogStreams({ outputs: {} as never, clock, actorContext: { current: () => null } })
    return {
      total: LIMITS.log_streams_at_once,
      take: (user, attempt) => takes(() => streams.follow(callerOf(user, attempt), {} as never, {} as never)),
    }
  },
  websockets: async () => {
    lab = await startStreamLab({ streamsAtOnce: 16 })
    return { total: 16, take: webSocketTaker(lab, { permission: 'exec', path: CAT }) }
  },
  port_connections: async () => {
    lab = await startStreamLab({ portConnectionsAtOnce: 16 })
    lab.openPort = async () => ({ stream: new PassThrough(), close: () => undefined, reset: () => undefined })
    return { total: 16, take: webSocketTaker(lab, { permission: 'ports', path: `${BOX}/ports/80/ws` }) }
  },
  commands: () => {
    const actorContext = createActorContext<Actor>()
    const runtime = { exec: () => new Promise(() => undefined) }
    const limits = { execsAtOnce: LIMITS.execs_at_once }
    const parts = { store, clock, runtime, outputs: {}, limits, logger: silentLogger, meter: silentMeter }
    const execs = createExecs({ ...parts, actorContext, activity: createBoxActivity() } as unknown as ExecsDeps)
    return {
      total: LIMITS.execs_at_once,
      take: (user, attempt) => {
        const record = boxRecord({ id: `box_${user.box}`, project: user.project })
        const box = { ...record, observed: { ...record.observed, status: 'running' as const } }
        const options = { waitMs: 0, onRecorded: async () => undefined }
        const run = () => execs.run(box, { command: ['sleep'] }, options)
        return isUnderWay(actorContext.run(callerOf(user, attempt), run))
      },
    }
  },
  console_sessions: () => {
    const room = createSessionRoom()
    return { total: LIMITS.sessions_at_once, take: (user) => takes(() => room.take(callerOf(user).accounts)) }
  },
  unread_input: () => {
    const unread = createUnreadInput()
    const input = Buffer.alloc(MIB).toString('base64')
    return {
      total: LIMITS.unread_input_bytes_at_once / MIB,
      take: (user) => takes(() => unread.take(accountsIn(user), input)),
    }
  },
  large_bodies: () => {
    const bodies = createBodyBudget(LIMITS.large_body_bytes_at_once)
    return {
      total: LIMITS.large_body_bytes_at_once / MIB,
      take: (user) => takes(() => bodies.hold(() => accountsIn(user), MIB)),
    }
  },
  file_transfers: () => {
    const transfers = createFileTransfers()
    return {
      total: LIMITS.file_transfers_at_once,
      take: (user, attempt) =>
        takes(() => transfers.acquire({ boxId: `${user.box}_${attempt}`, accounts: callerOf(user).accounts })),
    }
  },
  records: () => {
    opened.push(openSqliteStore(join(directory, `records-${opened.length}.db`)))
    const share = createRecordShare(opened.at(-1) ?? store)
    const isRefused = (error: unknown): boolean => takes(() => fail(error))
    return { total: share.total, take: ({ project }) => share.insert(project).then(() => true, isRefused) }
  },
  base_uploads: () => {
    const uploads = createBaseUploads()
    return { total: LIMITS.base_uploads_at_once, take: (user) => takes(() => uploads.enter(callerOf(user).accounts)) }
  },
}

function rated(total: number, take: (account: string) => boolean): Shared {
  return { total, take: (user, attempt) => take(rateAccountOf(callerOf(user, attempt), user.project)) }
}

/** Resources with a separate limit for each account. */
const PER_ACCOUNT: Record<NamesWith<'per_account'>, () => Shared> = {
  requests: () => {
    const limit = createRateLimit({ perSecond: LIMITS.requests_per_second, burst: LIMITS.requests_burst, clock })
    return rated(LIMITS.requests_burst, (account) => takes(() => limit(account)))
  },
  websocket_messages: () => rated(LIMITS.websocket_messages_per_second, messageTaker(clock)),
  live_tokens: () => {
    const keys = createTokenKeys()
    const records: TokenRecord[] = []
    const counted = {
      get: async (id: string) => records.find((record) => record.id === id) ?? null,
      hasRoom: async () => true,
      insert: async (record: TokenRecord, { of, most }: TokenRoom) =>
        records.filter(({ root }) => 'root' in of && root === of.root).length < most && records.push(record) > 0,
    }
    const tokens = createOwnTokens({ store: { tokens: counted } as never, clock, signingKeys: () => keys })
    const minted = new Map<string, Caller>()
    return {
      total: LIMITS.tokens_per_root,
      // Creates each token with the one created last.
      take: async (user, attempt) => {
        const caller = minted.get(user.root) ?? callerOf(user)
        const body = { name: `n${attempt}`, projects: ['demo'], permissions: ['read' as const] }
        const scope = { ...caller, projects: ['demo'] }
        const outcome = await tokens.create(scope, body).catch((error: unknown) => takes(() => fail(error)))
        if (typeof outcome === 'boolean') return false
        expect(outcome.record.root).toBe(user.root)
        minted.set(user.root, { ...scope, tokenId: outcome.record.id })
        return true
      },
    }
  },
}

async function takeAll({ take }: Shared, userOf: (attempt: number) => User): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) if (!(await take(userOf(attempt), attempt))) return attempt
  throw new Error('nothing was ever refused')
}

/** A user that shares only `kind` with the other attackers. */
function attackerOf(kind: 'box' | 'project' | 'token', attempt: number): User {
  const others = { box: `web-${attempt}`, project: `p-${attempt}`, root: `tok_${attempt}` }
  if (kind === 'token') return { ...others, root: 'tok_attacker' }
  return { ...others, project: 'attacked', ...(kind === 'box' ? { box: 'web' } : {}) }
}

const VICTIM = { box: 'box-of-another', project: 'another', root: 'tok_another' }

const attacks = <T extends ShareName>(made: Record<T, unknown>) =>
  (Object.keys(made) as T[]).flatMap((name) => SHARES[name].by.map((kind) => [name, kind] as const))

describe('one account takes all it can, and leaves some to another', () => {
  test.each(attacks(AT_MOST_FREE))('%s, by one %s', async (name, kind) => {
    const shared = await AT_MOST_FREE[name]()
    expect(await takeAll(shared, (attempt) => attackerOf(kind, attempt))).toBe(shared.total / 2)
    expect(await shared.take(VICTIM, 0)).toBe(true)
  })

  test.each(attacks(PER_ACCOUNT))('%s, by one %s', async (name, kind) => {
    const shared = PER_ACCOUNT[name]()
    expect(await takeAll(shared, (attempt) => attackerOf(kind, attempt))).toBe(shared.total)
    expect(await shared.take(VICTIM, 0)).toBe(true)
  })
})
