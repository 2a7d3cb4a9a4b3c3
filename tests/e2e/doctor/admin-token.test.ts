import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { probeService } from '../../../agent/doctor/probes/service.ts'

let dataDir: string
let server: Server
let seen: (string | undefined)[]

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'boxyard-doctor-token-'))
  mkdirSync(join(dataDir, 'log'))
  writeFileSync(join(dataDir, 'admin.token'), 'token-of-the-administrator\n', { mode: 0o600 })
})

afterEach(() => void server.close())
afterAll(() => rmSync(dataDir, { recursive: true }))

/** Listens as a user, and returns the port. */
async function listenAs(uid: number, host: string): Promise<number> {
  seen = []
  server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.end('{"status":"ok"}')
  })
  process.seteuid?.(uid)
  try {
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
  } finally {
    process.seteuid?.(0)
  }
  return (server.address() as AddressInfo).port
}

test.each(['127.0.0.1', '0.0.0.0', '::1', '::'])(
  'the token is not sent to another user who listens where the service would (%s)',
  async (host) => {
    await probeService(dataDir, { host, port: await listenAs(65_534, host) })
    expect(seen).toEqual([undefined, undefined])
  },
)

test.each(['127.0.0.1', '0.0.0.0', '::1', '::'])('it is sent to a service of root at %s', async (host) => {
  const { health } = await probeService(dataDir, { host, port: await listenAs(0, host) })
  expect(seen).toEqual(Array(2).fill('Bearer token-of-the-administrator'))
  expect(health).toMatchObject({ value: { status: 'ok' } })
})
