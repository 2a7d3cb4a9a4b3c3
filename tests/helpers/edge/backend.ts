import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { wireEdgeBackend } from '../../../agent/compose/edge.ts'
import { createTickets, type Tickets } from '../../../agent/core/access/tickets.ts'
import type { NewToken, Tokens } from '../../../agent/core/access/tokens.ts'
import { type BoxActivity, createBoxActivity } from '../../../agent/core/boxes/activity.ts'
import type { EdgeAddress } from '../../../agent/core/common/urls.ts'
import { createEdgeGrants, type EdgeGrants } from '../../../agent/core/edge/grants.ts'
import type { HostTarget } from '../../../agent/core/edge/routes.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { EdgeBackend } from '../../../agent/handlers/edge/backend.ts'
import type { CellEdge, Edge, EdgeDecision, EdgeRequest, EdgeRoute } from '../../../agent/ports/edge/edge.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { createTokenKeys, publicTokenKeys, type TokenKeySet } from '../../../shared/auth/keys.ts'
import { createTokenVerifier } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { HttpRequest } from '../../../shared/http/messages.ts'
import { createJsonLogger } from '../../../shared/log.ts'
import { createOwnTokens } from '../access/tokens.ts'
import { boxRecord } from '../boxes/box-records.ts'

export const ADDRESS: EdgeAddress = { domain: 'boxes.test', scheme: 'https', port: null }
export const BOX_HOST = 'web--demo.boxes.test'
export const SIGN_IN_HOST = 'sign-in.boxes.test'
export const START = 1_800_000_000_000

/** The agent's side of the edge, with a real store and a fake edge that records grants. */
export interface BackendLab {
  backend: EdgeBackend
  grants: EdgeGrants
  activity: BoxActivity
  store: Store
  tokens: Tokens
  tickets: Tickets
  /** Expiry of each grant, by credential and scope. */
  passing: Map<string, number>
  /** Targets by host. */
  hosts: Map<string, HostTarget>
  /** Edges of other cells, by host. */
  led: Map<string, CellEdge>
  /** Names of resumed boxes, in order. */
  resumed: string[]
  /** Log lines. */
  lines: string[]
  /** Sets a callback that runs before a resume returns. */
  onResume(act: (box: string) => void | Promise<void>): void
  /** Sets the prober's answer. Null means that the port accepts connections. */
  look(answer: () => string | null): void
  /** Advances the clock. */
  pass(ms: number): void
  mint(wanted?: Partial<NewToken>): Promise<{ token: string; id: string }>
  /** Simulates an agent restart with the same store and an edge without grants. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** Opens a lab in its own directory. */
export async function openBackendLab(): Promise<BackendLab> {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-edge-backend-'))
  const path = join(directory, 'boxyard.db')
  const state: LabState = {
    keys: createTokenKeys(),
    now: START,
    lines: [],
    passing: new Map(),
    hosts: new Map(),
    led: new Map(),
    resumed: [],
    look: () => null,
    whenResumed: () => undefined,
  }
  const lab = {
    ...wire(state, path),
    passing: state.passing,
    hosts: state.hosts,
    led: state.led,
    resumed: state.resumed,
    lines: state.lines,
    onResume: (act: LabState['whenResumed']) => {
      state.whenResumed = act
    },
    look: (answer: LabState['look']) => {
      state.look = answer
    },
    pass: (ms: number) => {
      state.now += ms
    },
    mint: async (wanted: Partial<NewToken> = {}) => {
      const plain = { name: 'me', projects: ['demo'], permissions: ['read' as const], expiresAt: null, createdBy: null }
      const { record, token } = await lab.tokens.issue({ ...plain, ...wanted })
      return { token, id: record.id }
    },
    restart: async () => {
      await lab.store.close()
      state.passing.clear()
      Object.assign(lab, wire(state, path))
    },
    close: async () => {
      await lab.store.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return lab
}

/** State that survives a simulated restart. */
interface LabState extends Pick<BackendLab, 'passing' | 'hosts' | 'led' | 'resumed' | 'lines'> {
  keys: TokenKeySet
  now: number
  look(): string | null
  whenResumed(box: string): void | Promise<void>
}

type WiredLab = Pick<BackendLab, 'store' | 'tokens' | 'tickets' | 'grants' | 'activity' | 'backend'>

function wire(state: LabState, path: string): WiredLab {
  const now = (): number => state.now
  const sleep = async (ms: number): Promise<void> => {
    state.now += ms
    await new Promise((resolve) => setImmediate(resolve))
  }
  const clock = { now, sleep }
  const store = openSqliteStore(path)
  const tokens = createOwnTokens({ store, clock, signingKeys: () => state.keys })
  const grants = createEdgeGrants({ grants: store.edgeGrants, edge: rememberingEdge(state), clock })
  const activity = createBoxActivity()
  const tickets = createTickets({ clock })
  const publicKeys = publicTokenKeys(state.keys)
  const backend = wireEdgeBackend({
    grants,
    hosts: {
      lookup: async (host) => state.hosts.get(host) ?? null,
      hold: () => () => undefined,
      boxAt: async () => null,
    },
    leads: {
      find: async (host) => state.led.get(host) ?? null,
      exactOwner: (host) => (state.led.has(host) ? `demo/${host}` : null),
    },
    address: ADDRESS,
    reserved: ['api.example.org'],
    boxes: {
      resume: async ({ name }) => {
        state.resumed.push(name)
        await state.whenResumed(name)
        return { record: boxRecord({ name }), isSettled: true }
      },
    },
    tokens,
    tickets,
    activity,
    verifyToken: createTokenVerifier({ keys: () => publicKeys, now }),
    runtime: { connect: () => Promise.reject(new ServiceError('port_not_listening', 'Nothing listens.')) },
    services: { of: async () => [], get: async () => null },
    loopbackAtOnce: 10,
    prober: { probe: async () => state.look() },
    clock,
    logger: createJsonLogger({ level: 'debug', write: (line) => state.lines.push(line), now }),
  })
  return { store, tokens, tickets, grants, activity, backend }
}

function rememberingEdge({ passing }: LabState): Pick<Edge, 'grant' | 'revoke' | 'credentials'> {
  return {
    credentials: async () => new Set(),
    grant: async (grants) => {
      for (const { credential, scope, expiresAt } of grants) passing.set(`${credential}@${scope}`, expiresAt)
    },
    revoke: async (credentials) => {
      for (const key of passing.keys()) if (credentials.includes(key.slice(0, 64))) passing.delete(key)
    },
  }
}

/** Returns a box, and its route if it runs. */
export function targetOf(
  overrides: Partial<BoxRecord> & {
    status?: BoxRecord['observed']['status']
    auth?: 'token' | 'public'
    wake?: boolean
  },
  host = BOX_HOST,
): HostTarget {
  const { status = 'running', auth = 'token', wake = false, ...rest } = overrides
  const plain = boxRecord(rest)
  const power = status === 'stopped' ? ('stopped' as const) : ('running' as const)
  const reason = status === 'stopped' ? ('stopped_by_request' as const) : ('ready' as const)
  const box: BoxRecord = {
    ...plain,
    desired: { power, generation: 1 },
    observed: { ...plain.observed, status, reason, since: 1000, generation: 1 },
    urlSettings: { auth, wake, idle_stop_seconds: null },
    ...rest,
  }
  const at = { boxId: box.id, port: 8080 }
  const route: EdgeRoute = { host, project: box.project, boxId: box.id, auth, address: '10.1.0.2', port: 8080 }
  return { box, service: null, at, route: status === 'running' ? route : null, isHeld: false }
}

/** Builds a request head. `browses` adds a browser's headers. `cookie` makes it a request from a page of the same host. */
export function edgeRequest(
  changed: Partial<EdgeRequest> & { browses?: boolean; token?: string; cookie?: string } = {},
): EdgeRequest {
  const { browses = false, token, cookie, headers = {}, ...rest } = changed
  const accept = browses ? { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'sec-fetch-mode': 'navigate' } : {}
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const sent = {
    ...accept,
    ...authorization,
    ...(cookie === undefined ? {} : { cookie, 'sec-fetch-site': 'same-origin' }),
    ...headers,
  }
  const plain = {
    method: 'GET',
    host: BOX_HOST,
    target: '/',
    clientAddress: '192.0.2.1',
    isSecure: true,
    isLed: false,
    isOwn: false,
  }
  return { ...plain, ...rest, headers: sent }
}

/** Builds a request for one of the agent's own pages, as the edge forwards it. */
export function pageRequest(
  host: string,
  target: string,
  {
    method = 'GET',
    headers = {},
    form,
  }: { method?: string; headers?: Record<string, string>; form?: Record<string, string> } = {},
): HttpRequest {
  const body = form === undefined ? '' : new URLSearchParams(form).toString()
  const type = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
  return {
    method: form === undefined ? method : 'POST',
    target,
    headers: { host, accept: 'text/html', ...type, ...headers },
    clientAddress: '192.0.2.1',
    signal: new AbortController().signal,
    readBody: async () => Buffer.from(body),
    openBody: () => {
      throw new Error('a page has no body to stream')
    },
  }
}

/** Returns a decision that is an answer. Throws for a forwarded request. */
export function answerOf(decision: EdgeDecision): Extract<EdgeDecision, { kind: 'answer' }> {
  if (decision.kind === 'answer') return decision
  throw new Error(`not answered: ${JSON.stringify(decision)}`)
}
