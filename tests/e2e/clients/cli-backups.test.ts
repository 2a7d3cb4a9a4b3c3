import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxyard-backups-'))
const cli = useCommandLine(useOwnService(async () => ({ settings: { BOXYARD_BACKUP_DIR: folder } })))

beforeAll(async () => {
  expect(await cli.run(['volume', 'create', 'db', '--size-gb', '1'])).toMatchObject({ code: 0 })
})
afterAll(() => rmSync(folder, { recursive: true }))

test('a schedule ends, and keeps all, by the words for that', async () => {
  const schedule = async (...flags: string[]) => {
    expect(await cli.run(['backup', 'schedule', 'db', ...flags])).toMatchObject({ code: 0 })
    return JSON.parse((await cli.run(['volume', 'info', 'db', '-o', 'json'])).stdout).backup_schedule
  }
  const kept = await schedule('--interval-seconds', '12h', '--keep-count', '3', '--keep-seconds', '30d')
  expect(kept).toMatchObject({ interval_seconds: 43_200, keep_count: 3, keep_seconds: 2_592_000 })
  const all = await schedule('--interval-seconds', '12h', '--keep-count', 'all', '--keep-seconds', 'forever')
  expect(all).toMatchObject({ interval_seconds: 43_200, keep_count: null, keep_seconds: null })
  expect(await schedule('--interval-seconds', 'never')).toBeNull()
})

test('backups of a deleted volume are listed with its name, and restored', async () => {
  expect(await cli.run(['backup', 'create', 'db'])).toMatchObject({ code: 0 })
  expect(await cli.run(['volume', 'rm', 'db'])).toMatchObject({ code: 0 })
  const gone = await cli.run(['backup', 'ls', 'db'])
  expect([gone.code, gone.stderr]).toEqual([
    1,
    expect.stringContaining('To list the backups of deleted volumes: boxyard'),
  ])
  const [head = '', row = ''] = (await cli.run(['backup', 'stored'])).stdout.split('\n')
  expect(head.split(/\s{2,}/)).toEqual(['ID', 'VOLUME', 'STATUS', 'AUTOMATIC', 'SIZE GB', 'SIZE', 'CREATED AT'])
  const [id = '', volume] = row.split(/\s+/)
  expect(volume).toBe('db')
  expect(await cli.run(['volume', 'create', 'again', '--from-backup', id])).toMatchObject({ code: 0 })
})
