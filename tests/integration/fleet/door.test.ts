import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openDoor } from '../../../agent/compose/door.ts'
import { baseReceiverOf } from '../../../agent/server/base-sender.ts'
import { createBaseSource } from '../../../agent/server/base-source.ts'
import { createCellLinks } from '../../../agent/server/cells/cell-links.ts'
import { createPeerKeys } from '../../../agent/server/peer-keys.ts'
import { AGENT_RUN_HEADER, createSigner, REFUSAL_HEADER, SIGNATURE_HEADER } from '../../../shared/auth/channel.ts'
import { createChannelKeys, createTokenKeys } from '../../../shared/auth/keys.ts'
import { createBodyBudget } from '../../../shared/http/body-budget.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'
import { type Serving, serve } from '../../../shared/http/serve.ts'
import { createHomeTable, createTableDirectory, tableCell } from '../../helpers/fleet/table-directory.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

// The entry point for other cells, as an agent opens it, with the keys of its deployment.

const UID = `bas_${'0'.repeat(26)}`
const PATH = `/cells/bases/${UID}`
const channel = createChannelKeys()
const tokens = createTokenKeys()
const clock = { now: () => Date.now(), sleep: async () => undefined }
let server: Server
let serving: Serving
let url: string
let close: (() => void | Promise<void>)[]

beforeEach(async () => {
  close = []
  const closers = { add: (_: string, closer: () => void | Promise<void>) => close.push(closer) }
  const deps = { settings: { channelTls: null, fleet: null }, closers, clock, logger: silentLogger }
  const record = { id: UID, subvolume: 'bas_x' }
  const store = { bases: { all: async () => [record] } }
  async function* send(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a secret of a project')
  }
  const door = openDoor(deps as never, {
    deployment: { keys: { channel: () => channel, tokens: () => tokens }, store } as never,
    drivers: { filesystem: { send } as never },
    directory: createTableDirectory(createHomeTable(), 'bb'),
    bodies: createBodyBudget(1024),
    turns: { run: (_: string, work: (later: never) => unknown) => work(undefined as never) } as never,
    rateLimit: () => undefined,
    checkAlive: async () => undefined,
    refuse: async () => jsonResponse(500, {}),
    viewBox: () => null,
  })
  server = createServer()
  serving = serve(server, {
    handler: door.wrap(async () => jsonResponse(200, {})),
    logger: silentLogger,
    now: Date.now,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  for (const each of close) await each()
  await serving.drain(AbortSignal.abort())
})

test('a base is sent to another agent of the fleet, and to nobody who has only the keys of the functions', async () => {
  const links = createCellLinks({ tls: null })
  const keys = createPeerKeys(() => tokens)
  const open = createBaseSource({ keys, links, now: Date.now, findCell: (cell) => tableCell(cell, url) })
  const base = { project: 'demo', name: 'own', uid: UID, version: 1, cell: 'bb', source: 'tar' as const }
  const pieces: Uint8Array[] = []
  const stream = await open({ ...base, createdAt: 1, createdBy: null }, new AbortController().signal)
  for await (const piece of stream ?? []) pieces.push(piece)
  expect(Buffer.concat(pieces).toString()).toBe('a secret of a project')
  await links.close()
  const sign = createSigner({ keys: () => channel.keys, agentId: () => baseReceiverOf('bb'), now: Date.now })
  let run: Record<string, string> = {}
  for (let round = 0; round < 2; round++) {
    const headers = { accept: '*/*', ...run }
    const signature = sign({ method: 'GET', target: PATH, headers }, null)
    const answer = await fetch(url + PATH, { headers: { ...headers, [SIGNATURE_HEADER]: signature } })
    expect([answer.status, answer.headers.get(REFUSAL_HEADER)]).toEqual([502, 'unknown_key'])
    run = { [AGENT_RUN_HEADER]: answer.headers.get(AGENT_RUN_HEADER) ?? '' }
  }
})
