import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { trustBackupsOf } from '../helpers/backups/trust.ts'
import { useCommandLine } from '../helpers/clients/command-line.ts'
import { PageReader } from '../helpers/clients/page-reader.ts'
import { createClient } from '../helpers/front/client.ts'
import { useOwnService } from '../helpers/own-service.ts'
import { startService, type TestService } from '../helpers/service.ts'

const PAGE = 'docs/how-to/several-nodes.md'
/** Backup directory of both deployments, in place of a shared bucket. */
const shared = mkdtempSync(join(tmpdir(), 'boxyard-both-'))
const settings = { BOXYARD_BACKUP_DIR: shared }

// Another service takes the place of the fleet, because both have the same API. Another test
// (tests/unit/clients/how-to-pages.test.ts) parses the commands that need several machines. tests/fleet shows how a fleet behaves.
const fleet = useOwnService(async () => ({ settings }))
const commandLine = useCommandLine(fleet)
let old: TestService
const client = createClient(
  () => old.url,
  () => old.adminToken,
)

const reader = new PageReader({
  page: PAGE,
  commandLine,
  here: (text) =>
    text.replaceAll('http://10.0.0.9:8080', old.url).replaceAll('http://10.0.0.1:8080', fleet.service().url),
  env: () => ({ BOXYARD_URL: '', BOXYARD_TOKEN: '' }),
})

beforeAll(async () => {
  old = await startService({ settings })
  writeFileSync(join(commandLine.directory(), 'old.token'), old.adminToken)
  writeFileSync(join(commandLine.directory(), 'fleet.token'), fleet.service().adminToken)
  trustBackupsOf(old, fleet.service())
  const project = '/v1/projects/shop'
  expect((await client.post(`${project}/data`, { name: 'db', size_gb: 0.1 })).status).toBe(201)
  const box = { name: 'web', environment: { LEVEL: 'info' }, data_mounts: [{ name: 'db', path: '/var/lib/db' }] }
  expect((await client.post(`${project}/boxes`, box)).status).toBe(201)
  await client.shell('shop', 'web', 'echo row > /var/lib/db/table; echo own > /root/note; sync')
  const command = ['/bin/sh', '-c', 'exec sleep 600']
  expect((await client.put(`${project}/boxes/web/services/site`, { command })).status).toBeLessThan(300)
})
afterAll(async () => {
  await old?.close()
  rmSync(shared, { recursive: true, force: true })
})

describe(`the commands in ${PAGE}`, () => {
  test.each(reader.commands)('line $line: $command', (command) => reader.follow(command))

  test('bring a box with its files and environment, and leave the old one', async () => {
    const { body } = await fleet.client.shell('shop', 'web', 'cat /root/note; echo $LEVEL; ls /var/lib/db')
    expect(body.stdout).toBe('own\ninfo\ntable\n')
    expect((await client.get('/v1/projects/shop/boxes/web')).body.status).toBe('stopped')
  })
})
