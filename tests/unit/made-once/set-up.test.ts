import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { eventually } from '../../helpers/eventually.ts'

/** Replaces npm: records its command, begins to install, and hangs while the file `hang` exists. */
const NPM = `#!/bin/sh
echo "npm $1" >>calls
mkdir -p node_modules
[ ! -e hang ] || { echo $$ >begun; exec sleep 1000; }
`

let checkout: string

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'boxyard-set-up-'))
  mkdirSync(join(checkout, 'infra'))
  cpSync(join(ROOT, 'infra/setup.sh'), join(checkout, 'infra/setup.sh'))
  mkdirSync(join(checkout, 'bin'))
  writeFileSync(join(checkout, 'bin/npm'), NPM, { mode: 0o755 })
  writeFileSync(join(checkout, 'package-lock.json'), 'first')
})
afterEach(() => rmSync(checkout, { recursive: true }))

/** Runs the setup to its end, and returns the npm commands it ran. */
async function setUp(purpose: string): Promise<string[]> {
  rmSync(join(checkout, 'calls'), { force: true })
  const child = start(purpose)
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  return existsSync(join(checkout, 'calls')) ? readFileSync(join(checkout, 'calls'), 'utf8').trim().split('\n') : []
}

/** Kills a setup while npm installs. */
async function interrupt(purpose: string): Promise<void> {
  writeFileSync(join(checkout, 'hang'), '')
  const child = start(purpose)
  const exited = once(child, 'exit')
  await eventually(() => existsSync(join(checkout, 'begun')), 5)
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await exited
  rmSync(join(checkout, 'hang'))
}

function start(purpose: string): ReturnType<typeof spawn> {
  const env = { ...process.env, PATH: `${join(checkout, 'bin')}:${process.env['PATH']}` }
  return spawn('bash', [join(checkout, 'infra/setup.sh'), purpose], { env, stdio: 'ignore', detached: true })
}

test('a set-up installs Node.js packages once', async () => {
  expect(await setUp('program')).toEqual(['npm ci'])
  expect(await setUp('program')).toEqual([])
})

test('an installation of Node.js packages that was interrupted is begun anew', async () => {
  await interrupt('program')
  expect(await setUp('program')).toEqual(['npm ci'])
})

test('a set-up does not take what an interrupted one has left for the packages from before it', async () => {
  await setUp('program')
  writeFileSync(join(checkout, 'package-lock.json'), 'second')
  await interrupt('program')
  writeFileSync(join(checkout, 'package-lock.json'), 'first')
  expect(await setUp('program')).toEqual(['npm ci'])
})
