import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createCellAsks } from '../../../agent/server/cells/cell-asks.ts'
import { createCellLinks } from '../../../agent/server/cells/cell-links.ts'
import { createSigner } from '../../../shared/auth/channel.ts'
import { type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import { newIdOfCell } from '../../../shared/ids.ts'
import { createLineBudget } from '../../../shared/log-budget.ts'
import { eventually } from '../../helpers/eventually.ts'
import { answerList, listedItem } from '../../helpers/fleet/cell-lists.ts'
import { keptBox } from '../../helpers/fleet/entries.ts'
import { type FakeCells, startFakeCells } from '../../helpers/fleet/fake-cells.ts'
import { tableCell } from '../../helpers/fleet/table-directory.ts'
import { jsonOf, makeDeployment } from '../../helpers/front/test-front.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

// A cell that answers the wrong request, or never stops. It must not hold up an ingress node, and errors must name it.

const MIB = 1024 * 1024
const BOXES = '/v1/projects/demo/boxes'
const QUOTA = '/v1/projects/demo/quota'
let cells: FakeCells
/** Bytes read of endless answers, and how many of these answers have begun and ended. */
let taken: number
let begun: number
let ended: number

beforeEach(async () => {
  taken = begun = ended = 0
  cells = await startFakeCells()
  cells.fleet.homes.set('box demo/web', 'bb')
  cells.agents.bb.entry.memory.set('box demo/web', 'bb')
})
afterEach(() => cells.close())

/** Returns an answer whose body never ends. */
function endless(status: number): HttpResponse {
  async function* body(): AsyncGenerator<Uint8Array> {
    begun++
    try {
      for (;;) {
        taken += 64 * 1024
        yield Buffer.alloc(64 * 1024, ' ')
      }
    } finally {
      ended++
    }
  }
  return { status, headers: { 'content-type': 'application/json' }, body: body() }
}

/** Waits until no endless answer is read any longer, and checks how much was read. */
async function expectCutOff(bytesMax: number): Promise<void> {
  await eventually(() => begun > 0 && ended === begun)
  expect(taken / begun).toBeLessThan(bytesMax)
}

async function expectBlamed(answer: HttpResponse): Promise<void> {
  expect([answer.status, jsonOf(answer)]).toEqual([503, expect.objectContaining({ code: 'agent_unavailable' })])
  expect(jsonOf(answer)['detail']).toContain('cell bb')
}

describe('an answer without an end', () => {
  test.each([
    ['of an operation', `/v1/operations/${newIdOfCell('opr', 1_000, 'bb')}`],
    ['of a quota', QUOTA],
  ])('%s is read as far as an answer may be long, and no further', async (_, target) => {
    cells.agents.aa.respond = ({ target: asked }) =>
      asked === QUOTA ? jsonResponse(200, { used: {} }) : jsonResponse(404, { code: 'box_not_found' })
    cells.agents.bb.respond = () => endless(200)
    await expectBlamed(await cells.ask(target))
    await expectCutOff(32 * MIB)
  })

  test('of a box is none: the box is told by its card', async () => {
    cells.agents.aa.respond = () => jsonResponse(404, { code: 'box_not_found' })
    cells.agents.bb.respond = () => endless(200)
    cells.fleet.kept.push(keptBox('web', 'bb'))
    expect(jsonOf(await cells.ask(`${BOXES}/web`))['status']).toBe('unknown')
    await expectCutOff(32 * MIB)
  })

  test('in the place of a refusal takes no list with it', async () => {
    cells.agents.aa.respond = ({ target }) => answerList(target, 'volumes', [])
    cells.agents.bb.respond = () => endless(403)
    await expectBlamed(await cells.ask('/v1/projects/demo/data'))
    await expectCutOff(32 * MIB)
  })

  test('of a cell that has not got what it is asked for is not waited for, and its connection closed', async () => {
    cells.agents.bb.respond = () => endless(421)
    await expectBlamed(await cells.ask(`${BOXES}/web/exec`, 'POST', { shell: 'id' }))
    await expectCutOff(8 * MIB)
  })
})

describe('a list that is none', () => {
  beforeEach(() => {
    cells.agents.aa.respond = ({ target }) => answerList(target, 'boxes', [listedItem('mine')])
    cells.agents.cc.respond = ({ target }) => answerList(target, 'boxes', [listedItem('other')])
    cells.agents.aa.entry.memory.set('box demo/lost', 'bb')
    cells.fleet.kept.push(keptBox('lost', 'bb'))
  })
  const out = [listedItem('zzz'), listedItem('lost')]

  test.each<[string, HttpResponse, string[]]>([
    ['another list', jsonResponse(200, { volumes: [] }), ['lost', 'mine', 'other']],
    ['no JSON', { status: 200, headers: {}, body: '<html>' }, ['lost', 'mine', 'other']],
    ['broken items', { status: 200, headers: {}, body: '{"boxes":[{nothing}]}' }, ['lost', 'mine', 'other']],
    ['items out of order', jsonResponse(200, { boxes: out, has_more: false }), ['mine', 'other', 'zzz']],
    ['an item twice', jsonResponse(200, { boxes: [out[1], out[1]], has_more: false }), ['lost', 'mine', 'other']],
  ])('%s: the boxes of that cell are told by their cards', async (_, answer, names) => {
    cells.agents.bb.respond = () => answer
    const told = await cells.ask(BOXES)
    expect(told.status).toBe(200)
    expect((jsonOf(told)['boxes'] as { name: string }[]).map(({ name }) => name)).toEqual(names)
  })

  test.each<[string, HttpResponse]>([
    ['no JSON', { status: 200, headers: {}, body: '<html>' }],
    ['nothing', { status: 200, headers: {}, body: '' }],
    ['null', jsonResponse(200, null)],
  ])('%s in the place of a quota is told of that cell', async (_, answer) => {
    const used = { boxes: 1, cpus: 1, ram_mb: 1, storage_gb: 1, stored_bytes: 1 }
    for (const cell of ['aa', 'cc'] as const) cells.agents[cell].respond = () => jsonResponse(200, { used })
    cells.agents.bb.respond = () => answer
    await expectBlamed(await cells.ask(QUOTA))
  })
})

describe('bytes on a bare connection', () => {
  let server: Server
  let came: Socket[]
  let speak: (socket: Socket) => void

  beforeEach(async () => {
    came = []
    server = createServer((socket) => {
      socket.on('error', () => undefined)
      came.push(socket)
      socket.once('data', () => speak(socket))
      socket.resume()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    for (const socket of came) socket.destroy()
    server.close()
  })
  const url = (): string => `http://127.0.0.1:${(server.address() as { port: number }).port}`

  test('that drip are waited for as long as an answer may take in all', async () => {
    const { keys, agent_id: agentId } = makeDeployment().channelKeys
    const links = createCellLinks({ tls: null })
    const silences: string[] = []
    const patience = {
      of: () => 100,
      noteHeard: () => undefined,
      noteSilence: (cell: string) => void silences.push(cell),
      now: () => performance.now(),
    }
    const asks = createCellAsks({
      directory: { cell: 'aa', findCell: () => tableCell('bb', url()) },
      ...{ links, patience, logger: silentLogger, lines: createLineBudget({ now: Date.now }) },
      sign: createSigner({ keys: () => keys, agentId: () => agentId, now: Date.now }),
    })
    speak = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      const timer = setInterval(() => socket.write('1\r\n \r\n'), 30)
      socket.once('close', () => clearInterval(timer))
    }
    const request = { method: 'GET', target: BOXES, headers: {}, body: new Uint8Array(), owner: 'project demo' }
    const reply = await asks.ask('bb', request, { signal: new AbortController().signal })
    const reading = async (): Promise<void> => {
      const pieces = reply.body[Symbol.asyncIterator]()
      while ((await pieces.next()).done !== true) continue
    }
    await expect(reading()).rejects.toMatchObject({ code: 'agent_unavailable' })
    expect(silences).toEqual(['bb'])
    await links.close()
  })
})
