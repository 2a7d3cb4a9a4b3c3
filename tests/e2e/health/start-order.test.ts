import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { askUrl } from '../../helpers/edge/url-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
let programs: string
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

/** Puts a program before the host's that waits for the file `go` first. */
function hold(program: string): void {
  const text = `#!/bin/sh\nuntil [ -e ${programs}/go ]; do sleep 0.1; done\nPATH=$(echo "$PATH" | cut -d: -f2-) exec ${program} "$@"\n`
  writeFileSync(`${programs}/${program}`, text)
  chmodSync(`${programs}/${program}`, 0o755)
}

beforeAll(async () => {
  programs = mkdtempSync(`${tmpdir()}/boxyard-programs-`)
  service = await startService()
})

afterAll(async () => {
  writeFileSync(`${programs}/go`, '')
  await service.close()
  rmSync(programs, { recursive: true })
})

test('after a boot the API answers before the edge and lxcfs have started', async () => {
  await client.post('/v1/projects/order/boxes', { name: 'kept', config: { ram_mb: 64 } })
  await service.killAgent('SIGTERM')
  // As a boot: nothing runs.
  await service.runAgentMode('down')
  for (const program of ['haproxy', 'lxcfs']) hold(program)
  let isReady = false
  const starting = service.startAgent({ PATH: `${programs}:${service.environment['PATH']}` }).then(() => {
    isReady = true
  })
  starting.catch(() => undefined)
  await eventually(async () => (await client.get('/healthz')).body.status === 'ok', 30)
  const seen = (await client.get('/v1/projects/order/boxes')).body.boxes
  expect([isReady, seen.map(({ name }: { name: string }) => name)]).toEqual([false, ['kept']])
  writeFileSync(`${programs}/go`, '')
  await starting
  await eventually(async () => (await client.get('/v1/projects/order/boxes/kept')).body.status === 'running', 30)
  const { url } = (await client.get('/v1/projects/order/boxes/kept')).body
  expect((await askUrl(url, { token: service.adminToken })).status).toBe(502)
})
