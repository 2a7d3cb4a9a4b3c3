import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { FleetBase, FleetBases } from '../../../agent/ports/fleet/bases.ts'
import { createBaseSender } from '../../../agent/server/base-sender.ts'
import { createBaseSource } from '../../../agent/server/base-source.ts'
import { type CellLinks, createCellLinks } from '../../../agent/server/cells/cell-links.ts'
import { createPeerKeys } from '../../../agent/server/peer-keys.ts'
import { createSigner, REFUSAL_HEADER, SIGNATURE_HEADER } from '../../../shared/auth/channel.ts'
import { createChannelKeys, createTokenKeys } from '../../../shared/auth/keys.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'
import { type Serving, serve } from '../../../shared/http/serve.ts'
import { eventually } from '../../helpers/eventually.ts'
import { tableCell } from '../../helpers/fleet/table-directory.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const UID = `bas_${'0'.repeat(26)}`
const KNOWN: FleetBase = {
  ...{ project: null, name: 'tools', uid: UID, version: 1, cell: 'bb' },
  ...{ source: 'tar', createdAt: 1, createdBy: null },
}
const channel = createChannelKeys()
const tokenKeys = createTokenKeys()
const keys = createPeerKeys(() => tokenKeys)
let server: Server
let serving: Serving
let links: CellLinks
let url: string
/** Stream that the pool sends. */
let send: () => AsyncGenerator<Uint8Array>
let sends: number
let open: FleetBases['open']

beforeEach(async () => {
  sends = 0
  send = async function* () {
    for (let i = 0; i < 5; i++) yield Buffer.alloc(100_000, i)
  }
  links = createCellLinks({ tls: null })
  await startCell('bb')
  open = createBaseSource({
    keys,
    links,
    now: Date.now,
    findCell: (cell) => (cell === 'bb' ? tableCell(cell, url) : null),
  })
})

afterEach(async () => {
  await links.close()
  server.closeAllConnections()
  server.close()
})

async function startCell(cell: string): Promise<void> {
  server = createServer()
  const filesystem = {
    send: () => {
      sends++
      return send()
    },
  }
  const record = { id: UID, subvolume: 'bas_x' }
  const copy = { id: `bas_${'1'.repeat(26)}`, subvolume: 'bas_y', cell: 'cc' }
  const bases = { all: async () => [record, copy] as never }
  const sending = { cell, bases, filesystem, keys, logger: silentLogger, now: Date.now, stalledMs: 200 }
  const wrap = createBaseSender(sending)
  const handler = wrap(async () => jsonResponse(200, { answered: 'elsewhere' }))
  serving = serve(server, { handler, logger: silentLogger, now: Date.now })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const never = (): AbortSignal => new AbortController().signal

async function read(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer | null> {
  if (stream === null) return null
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces)
}

describe('a base', () => {
  test('comes whole, also from an agent that has just started', async () => {
    for (let i = 0; i < 2; i++) {
      const bytes = await read(await open(KNOWN, never()))
      expect(bytes).toHaveLength(500_000)
      expect([bytes?.[0], bytes?.at(-1)]).toEqual([0, 4])
    }
    expect(sends).toBe(2)
  })

  test('that its cell has not got, or only a copy of, is none', async () => {
    expect(await open({ ...KNOWN, uid: `bas_${'2'.repeat(26)}` }, never())).toBeNull()
    expect(await open({ ...KNOWN, uid: `bas_${'1'.repeat(26)}` }, never())).toBeNull()
    expect(sends).toBe(0)
  })

  test('of a cell that is away is refused', async () => {
    await expect(open({ ...KNOWN, cell: 'zz' }, never())).rejects.toMatchObject({ code: 'agent_unavailable' })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await expect(open(KNOWN, never())).rejects.toMatchObject({ code: 'agent_unavailable' })
  })

  test('is sent on while others take nothing of theirs, which are cut off', async () => {
    const whole = send
    let ended = 0
    send = async function* () {
      try {
        for (;;) yield Buffer.alloc(1_000_000)
      } finally {
        ended++
      }
    }
    const stalled = [await open(KNOWN, never()), await open(KNOWN, never())]
    await eventually(() => sends === 2)
    send = whole
    expect(await read(await open(KNOWN, never()))).toHaveLength(500_000)
    for (const stream of stalled) await expect(read(stream)).rejects.toThrow('not whole')
    await eventually(() => ended === 2)
  })

  test('that breaks off, or is altered on its way, is found out', async () => {
    const whole = send
    send = async function* () {
      yield Buffer.alloc(100_000)
      throw new Error('the disk failed')
    }
    await expect(open(KNOWN, never()).then(read)).rejects.toThrow('not whole')
    send = whole
    const altering: Pick<CellLinks, 'send'> = {
      send: async (...given) => {
        const answer = await links.send(...given)
        answer.body.once('data', (piece: Buffer) => piece.fill(7, 0, 1))
        return answer
      },
    }
    const findCell = () => tableCell('bb', url)
    await expect(
      createBaseSource({ keys, links: altering, now: Date.now, findCell })(KNOWN, never()).then(read),
    ).rejects.toThrow('not whole')
  })

  test('is sent no further once nobody takes it, and two at once', async () => {
    let ended = 0
    send = async function* () {
      try {
        for (;;) yield Buffer.alloc(100_000)
      } finally {
        ended++
      }
    }
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
    const readings = [first, second, third].map(({ signal }) =>
      open(KNOWN, signal)
        .then(read)
        .catch((error: unknown) => error),
    )
    await eventually(() => sends === 2)
    first.abort()
    await eventually(() => ended === 1 && sends === 3)
    second.abort()
    third.abort()
    await eventually(() => ended === 3)
    for (const each of await Promise.all(readings)) expect(String(each)).toMatch(/abort|not whole/i)
    await serving.drain(AbortSignal.timeout(1_000))
  })
})

describe('a request is refused', () => {
  const path = `/cells/bases/${UID}`
  const ask = async (agentId: string | null, body: Uint8Array | null = null, given = keys): Promise<Response> => {
    const sign = createSigner({ keys: given, agentId: () => agentId ?? '', now: () => Date.now() })
    const headers = { accept: '*/*' }
    const signature = sign({ method: 'GET', target: path, headers }, body)
    return fetch(url + path, { headers: agentId === null ? headers : { ...headers, [SIGNATURE_HEADER]: signature } })
  }

  test.each<[string, string | null, string]>([
    ['without a signature', null, 'unsigned'],
    ['that the functions have signed', channel.agent_id, 'signature'],
    ['that is for another cell', 'bases of cell cc', 'signature'],
    ['that is for an agent before this one', 'bases of cell bb', 'restarted'],
  ])('%s', async (_, agentId, reason) => {
    const answer = await ask(agentId)
    expect([answer.status, answer.headers.get(REFUSAL_HEADER)]).toEqual([502, reason])
    expect(sends).toBe(0)
  })

  test('by a key of the channel, which the functions hold', async () => {
    const answer = await ask('bases of cell bb', null, () => channel.keys)
    expect(answer.headers.get(REFUSAL_HEADER)).toBe('unknown_key')
    expect(sends).toBe(0)
  })

  test('with another key', async () => {
    const others = createPeerKeys(createTokenKeys)
    const answer = await ask('bases of cell bb', null, others)
    expect(answer.headers.get(REFUSAL_HEADER)).toBe('unknown_key')
  })

  test('and any other path is answered as ever', async () => {
    expect(await (await fetch(`${url}/v1/config`)).json()).toEqual({ answered: 'elsewhere' })
  })
})
