import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

const directory = mkdtempSync(join(tmpdir(), 'boxyard-reload-'))
let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  makeCertificate(directory, 'data')
  service = await startService({
    settings: {
      BOXYARD_POOL_GB: '0.25',
      BOXYARD_POOL_STEP_GB: '0.25',
      BOXYARD_DATA_CERT: join(directory, 'data.crt'),
      BOXYARD_DATA_KEY: join(directory, 'data.key'),
    },
  })
})

afterAll(async () => {
  await service.close()
  rmSync(directory, { recursive: true })
})

/**
 * Changes settings as an operator does in boxyard.conf. Null removes a setting. Makes the agent reload them, and returns its output.
 * Reverts refused changes.
 */
async function reload(changes: Record<string, string | null> = {}): Promise<string> {
  const before = Object.keys(changes).map((name) => [name, service.environment[name] ?? null] as const)
  const set = ([name, value]: readonly [string, string | null]): void => {
    if (value === null) delete service.environment[name]
    else service.environment[name] = value
  }
  for (const change of Object.entries(changes)) set(change)
  try {
    return (await service.runAgentMode('admin', 'reload')).trim()
  } catch (error) {
    for (const each of before) set(each)
    throw error
  }
}

const limits = async (): Promise<Record<string, number>> => (await client.get('/v1/config')).body.limits

/** Returns the serial number of the certificate that the data address presents. */
function shownSerial(): Promise<string> {
  const { hostname: host, port } = new URL(service.dataUrl)
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber)
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

test('limits and the log level change in the running agent, and what waits for a restart is named', async () => {
  const pid = service.agentPid
  const changes = {
    BOXYARD_RATE_LIMIT: '7777',
    BOXYARD_BOXES_MAX: '0',
    BOXYARD_LOG_LEVEL: 'debug',
    BOXYARD_DNS: '9.9.9.9',
  }
  const before = await limits()
  await expect(reload(changes)).rejects.toThrow('BOXYARD_BOXES_MAX="0": expected a number from 1 to 1000')
  await expect(reload({ BOXYARD_RATE_LIMIT: '7777', BOXYARD_DRAIN_SECONDS: 'soon' })).rejects.toThrow(
    'BOXYARD_DRAIN_SECONDS="soon": expected a whole number from 0 to 3600',
  )
  expect(await limits()).toEqual(before)
  expect(await reload({ ...changes, BOXYARD_BOXES_MAX: '1' })).toBe(
    [
      'Applied: BOXYARD_BOXES_MAX, BOXYARD_LOG_LEVEL, BOXYARD_RATE_LIMIT.',
      'Applied when you restart the agent (boxes keep running): BOXYARD_DNS.',
      'Applied when you restart the front: BOXYARD_LOG_LEVEL.',
    ].join('\n'),
  )
  expect(await limits()).toMatchObject({ requests_per_second: 7777, boxes_max: 1 })
  expect((await client.post('/v1/projects/demo/boxes', { name: 'one' })).status).toBe(201)
  const { status, body } = await client.post('/v1/projects/demo/boxes', { name: 'two' })
  expect([status, body.detail]).toEqual([403, expect.stringMatching(/^This deployment holds 1 of at most 1 boxes\. /)])
  expect(await reload({ BOXYARD_BOXES_MAX: null })).toMatch(/^Applied: BOXYARD_BOXES_MAX\.\n/)
  expect((await client.post('/v1/projects/demo/boxes', { name: 'two' })).status).toBe(201)
  expect(service.agentPid).toBe(pid)
  expect(service.logs.some((line) => line.includes('reloaded settings'))).toBe(true)
})

test('requests are limited by the rate that is in force', async () => {
  expect(await reload({ BOXYARD_RATE_LIMIT: '1', BOXYARD_RATE_BURST: '3' })).toMatch(
    /BOXYARD_RATE_BURST, BOXYARD_RATE_LIMIT/,
  )
  const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await client.get('/v1/me')).status))
  expect(statuses).toContain(429)
  await reload({ BOXYARD_RATE_LIMIT: '7777', BOXYARD_RATE_BURST: '7777' })
  expect((await client.get('/v1/me')).status).toBe(200)
})

test('a renewed certificate is shown at once, and an unsound one is refused', async () => {
  const before = await shownSerial()
  const sound = readFileSync(join(directory, 'data.crt'))
  writeFileSync(join(directory, 'data.crt'), 'no certificate')
  await expect(reload()).rejects.toThrow(/The certificate .*data\.crt with the key .*data\.key is not usable: /)
  expect(await shownSerial()).toBe(before)
  writeFileSync(join(directory, 'data.crt'), sound)
  makeCertificate(directory, 'data')
  expect(await reload()).toMatch(/^Reloaded certificates\./)
  expect(await shownSerial()).not.toBe(before)
})

test('without an agent there is nothing to reload', async () => {
  await service.killAgent('SIGTERM')
  await expect(reload()).rejects.toThrow(/No agent runs on .*\. It reads its settings when it starts\./)
  await service.startAgent()
})
