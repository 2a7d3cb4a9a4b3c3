import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { agentCommand } from '../../../infra/commands.ts'
import { createDeploymentLab, type DeploymentLab } from '../../helpers/access/made-deployment.ts'
import { eventually } from '../../helpers/eventually.ts'

let lab: DeploymentLab
let target: string

beforeAll(async () => {
  lab = createDeploymentLab()
  await lab.make('data')
  target = join(lab.scratch, 'backups')
  mkdirSync(target)
  // Replaces tar with a program that never ends.
  mkdirSync(join(lab.scratch, 'bin'))
  writeFileSync(join(lab.scratch, 'bin/tar'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 })
})

afterAll(() => lab.remove())

/** Starts a backup that waits for its tar, and returns the process. */
async function startBackup() {
  const [program = '', ...args] = agentCommand(['admin', 'backup', target])
  const env = {
    ...process.env,
    BOXYARD_DATA_DIR: join(lab.scratch, 'data'),
    PATH: `${lab.scratch}/bin:${process.env['PATH']}`,
  }
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (data: Buffer) => (output += data.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const prefix = `.boxyard-backup-${hostname()}-`
  await eventually(() =>
    readdirSync(target).some((name) => name.startsWith(prefix) && existsSync(join(target, name, 'archive'))),
  )
  return { child, ended, output: () => output }
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('a backup that %s ends leaves no keys behind', async (signal) => {
  const { child, ended, output } = await startBackup()
  child.kill(signal)
  expect([await ended, readdirSync(target)]).toEqual([1, []])
  expect(output()).toContain(`${signal} interrupted the archive before it was complete.`)
})

test('a backup of another host to the same directory is left alone', async () => {
  const other = join(target, `.boxyard-backup-other.${hostname()}-${2 ** 22 + 1}-abc`)
  mkdirSync(other)
  await lab.backUp('data')
  const { child, ended } = await startBackup()
  expect(existsSync(other)).toBe(true)
  child.kill('SIGTERM')
  await ended
})
