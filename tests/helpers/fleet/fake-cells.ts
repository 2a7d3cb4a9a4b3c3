import { type HttpHandler, type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import { type FakeAgent, type SeenRequest, startFakeAgent } from '../front/fake-agent.ts'
import { makeDeployment, makeFront, makeRequest } from '../front/test-front.ts'
import { makeFleet, type TestEntry, type TestFleet } from './entries.ts'

/** Cells whose agents answer as scripted, behind a front that knows one of them. */
export interface FakeCells {
  fleet: TestFleet
  agents: Record<CellName, FakeAgent & { entry: TestEntry }>
  /** Headers of all requests. By default, they have a token for all projects with all permissions. */
  headers: Record<string, string>
  ask(target: string, method?: string, body?: object): Promise<HttpResponse>
  /** Lets the front know only the agent of this cell. */
  openDoor(cell: CellName): void
  /** Creates another token for the header. */
  authorize(claims: Parameters<ReturnType<typeof makeDeployment>['mint']>[0]): Promise<void>
  /** Stops a cell's agent, and starts another. By default, the new agent has just started. `options` can change this. */
  restart(cell: CellName, options?: Parameters<typeof startFakeAgent>[1]): Promise<void>
  close(): Promise<void>
}

export const CELLS = ['aa', 'bb', 'cc'] as const
export type CellName = (typeof CELLS)[number]

/** Starts three cells, with cell `aa` as the gateway. */
export async function startFakeCells(
  respond: (cell: CellName, seen: SeenRequest) => HttpResponse | Promise<HttpResponse> = (cell) =>
    jsonResponse(200, { answered_by: cell }),
): Promise<FakeCells> {
  const deployment = makeDeployment()
  const closers: (() => Promise<void>)[] = []
  const fleet = makeFleet(deployment.channelKeys)
  const start = async (cell: CellName, options: Parameters<typeof startFakeAgent>[1] = {}) => {
    const entry = fleet.entryOf(cell)
    const agent = await startFakeAgent(() => deployment.channelKeys, { wrap: entry.wrap, ...options })
    fleet.urls.set(cell, agent.url)
    closers.push(async () => {
      await entry.close()
      await agent.close()
    })
    return Object.assign(agent, { entry, respond: (seen: SeenRequest) => respond(cell, seen) })
  }
  const started = await Promise.all(CELLS.map(async (cell) => [cell, await start(cell)] as const))
  let door: HttpHandler
  const cells: FakeCells = {
    fleet,
    agents: Object.fromEntries(started) as FakeCells['agents'],
    headers: { authorization: `Bearer ${await deployment.mint()}` },
    ask: (target, method = 'GET', body) => {
      const given = body === undefined ? {} : { body: JSON.stringify(body) }
      return door(makeRequest(method, target, { ...given, headers: cells.headers }))
    },
    openDoor: (cell) => {
      const { app, transport } = makeFront({ agentUrl: cells.agents[cell].url, keyring: deployment.keyring })
      closers.push(() => transport.close())
      door = app
    },
    authorize: async (claims) => {
      cells.headers['authorization'] = `Bearer ${await deployment.mint(claims)}`
    },
    restart: async (cell, options = { startedAt: Date.now() }) => {
      await cells.agents[cell].close()
      cells.agents[cell] = await start(cell, options)
    },
    close: async () => {
      for (const close of closers.reverse()) await close()
    },
  }
  cells.openDoor('aa')
  return cells
}
