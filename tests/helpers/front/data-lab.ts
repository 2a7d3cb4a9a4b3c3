import { createRateLimit } from '../../../agent/core/access/rate-limit.ts'
import { createTickets } from '../../../agent/core/access/tickets.ts'
import type { Handlers, Reply } from '../../../agent/handlers/common/call.ts'
import { allowPages, matchTicketed } from '../../../agent/server/data-address.ts'
import { createDispatch } from '../../../agent/server/dispatch.ts'
import { createRequestMeter } from '../../../agent/server/metrics.ts'
import { OpenRequests } from '../../../agent/server/open-requests.ts'
import { createProcessorTurns } from '../../../agent/server/processor-turns.ts'
import { trustSender } from '../../../agent/server/trust.ts'
import { createTokenVerifier } from '../../../shared/auth/tokens.ts'
import { createBodyBudget } from '../../../shared/http/body-budget.ts'
import { CALLER } from '../caller.ts'
import { silentLogger } from '../silent-logger.ts'
import { silentMeter } from '../silent-meter.ts'
import { createHttpServers, type TestServer } from './http-server.ts'
import { makeDeployment } from './test-front.ts'

/** A server of the data address, with scripted handlers behind the real dispatch. */
export interface DataLab extends TestServer {
  /** Returns a URL for a file of box `web`. It is valid once. */
  fileUrl(operationId: 'readFile' | 'writeFile'): string
  /** A token with all permissions. */
  token: string
  isDraining: boolean
  /** Implements every handler. */
  respond(call: unknown): Promise<Reply>
  close(): Promise<void>
}

/** Starts a lab on a free loopback port, with `now` as its clock. The caller must close it. */
export async function startDataLab(given: { now(): number; burst?: number; bodyBytes?: number }): Promise<DataLab> {
  const { now, burst = 100, bodyBytes = 1024 ** 2 } = given
  const deployment = makeDeployment()
  const clock = { now, sleep: () => Promise.resolve() }
  const tickets = createTickets({ clock })
  const handle = (call: unknown): Promise<Reply> => lab.respond(call)
  const nowhere = (): never => {
    throw new Error('Nothing at the data address is replayed.')
  }
  const dispatch = createDispatch({
    trust: trustSender,
    match: matchTicketed(),
    verifyToken: createTokenVerifier({ keys: () => deployment.tokenKeys, now: Date.now }),
    checkAlive: async () => undefined,
    openRequests: new OpenRequests({ clock, checkAlive: async () => undefined }),
    tickets,
    rateLimit: createRateLimit({ perSecond: 1, burst, clock }),
    turns: createProcessorTurns(),
    isDraining: () => lab.isDraining,
    requests: createRequestMeter(silentMeter, clock),
    clock,
    logger: silentLogger,
    bodies: createBodyBudget(bodyBytes),
    audit: { add: () => undefined },
    actorContext: { run: (_cause, work) => work() },
    idempotency: { begin: nowhere, finish: nowhere, drop: nowhere, prune: nowhere, bound: nowhere },
    handlers: { readFile: handle, writeFile: handle } as unknown as Handlers,
  })
  const servers = createHttpServers()
  const server = await servers.start(allowPages(dispatch))
  const token = await deployment.mint()
  const lab: DataLab = Object.assign(server, {
    ...{ token, isDraining: false },
    fileUrl: (operationId: 'readFile' | 'writeFile') => {
      const target = `/v1/projects/demo/boxes/web/files/${operationId === 'readFile' ? 'read' : 'write'}?path=/f`
      const { ticket } = tickets.issue({ operationId, target, boxId: 'box_0', caller: CALLER })
      return `${server.url}${target}&ticket=${ticket}`
    },
    respond: async () => ({ body: null, bytes: Buffer.from('here') }),
    close: servers.closeAll,
  })
  return lab
}
