import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { buildCli } from '../../infra/cli-bundle.ts'
import { oldestNode } from '../helpers/clients/installed-sdk.ts'
import { useSharedService } from '../helpers/own-service.ts'

const { service } = useSharedService()
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
  await run('cp', 'app', 'web:/root/app')
  await run('sync', 'app', 'web:/root/same')
  expect(await run('exec', 'web', 'cat', '/root/app/deep/file', '/root/same/deep/file')).toBe('contentcontent')
  await run('cp', 'web:/root/app', 'back')
  expect(await run('cat', 'web:/root/same/deep/file')).toBe('content')
  expect(await run('events')).toContain('box.created')
  expect(await run('completion', 'words', '--', 'info', 'w')).toBe('web\n')
  await expect(run('cp', 'nosuch', 'web:/root/')).rejects.toThrow('boxyard: nosuch: no such file or directory\n')
})
