import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { buildCli } from '../../infra/cli-bundle.ts'
import { oldestNode } from '../helpers/clients/installed-sdk.ts'
import { useOwnService } from '../helpers/own-service.ts'

const { service } = useOwnService()
let directory: string
let program: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-cli-20-'))
  program = await buildCli(directory)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

test('the command line does its work on Node.js 20', async () => {
  const env = {
    ...{ PATH: process.env['PATH'], HOME: directory, BOXYARD_PROJECT: 'demo' },
    ...{ BOXYARD_URL: service().url, BOXYARD_TOKEN: service().adminToken },
  }
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(oldestNode(), [program, ...args], { cwd: directory, env })).stdout
  mkdirSync(join(directory, 'app/deep'), { recursive: true })
  writeFileSync(join(directory, 'app/deep/file'), 'content')
  expect(await run('create', 'web', '-o', 'name')).toBe('web\n')
  await run('cp', 'app', 'web:/srv/app')
  await run('sync', 'app', 'web:/srv/same')
  expect(await run('exec', 'web', 'cat', '/srv/app/deep/file', '/srv/same/deep/file')).toBe('contentcontent')
  await run('cp', 'web:/srv/app', 'back')
  expect(await run('cat', 'web:/srv/same/deep/file')).toBe('content')
  expect(await run('events')).toContain('box.created')
})
