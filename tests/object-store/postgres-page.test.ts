import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { type ObjectStore, startObjectStore } from '../helpers/backups/object-store.ts'
import { useCommandLine } from '../helpers/clients/command-line.ts'
import { PageReader, settingsIn } from '../helpers/clients/page-reader.ts'
import { useOwnService } from '../helpers/own-service.ts'

const PAGE = 'docs/how-to/postgres.md'
const own = useOwnService(async () => ({ settings: { BOXYARD_BASE: 'debian', BOXYARD_POOL_GB: '4' } }))
const commandLine = useCommandLine(own)
let server: ObjectStore

const keyFile = (): string => join(commandLine.directory(), 's3.json')
const here = (text: string): string => text.replaceAll('/etc/boxyard/s3.json', keyFile())
const reader = new PageReader({
  page: PAGE,
  commandLine,
  here,
  perform: (command) => (command === 'systemctl restart boxyard-agent' ? restart() : null),
})

/** Restarts the agent with the settings of the page. Replaces the reader's bucket and keys with this test's own. */
async function restart(): Promise<void> {
  const settings = settingsIn(here(readFileSync(join(ROOT, PAGE), 'utf8')))
  expect(Object.keys(settings)).toHaveLength(3)
  cpSync(server.keyFile, keyFile())
  const { endpoint, region } = server.place
  await own.service().killAgent('SIGTERM')
  await own.service().startAgent({
    ...settings,
    BOXYARD_BACKUP_S3_ENDPOINT: endpoint,
    BOXYARD_BACKUP_S3_REGION: region,
  })
}

beforeAll(async () => {
  server = await startObjectStore()
})
afterAll(() => server.close())

describe(`the commands in ${PAGE}`, () => {
  test.each(reader.commands)('line $line: $command', (command) => reader.follow(command), 300_000)

  test('leave a scheduled backup in the bucket', async () => {
    expect((await own.client.get('/v1/config')).body.drivers.backups).toBe('s3')
    const { body } = await own.client.get('/v1/projects/shop/data/db')
    expect(body.backup_schedule).toMatchObject({ interval_seconds: 21_600, keep_count: 28, keep_seconds: 2_592_000 })
  })
})
