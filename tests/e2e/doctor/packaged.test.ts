import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { agentCommand } from '../../../infra/commands.ts'

let scratch: string

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'boxyard-packaged-'))
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

interface Check {
  check: string
  level: string
  code: string | null
  evidence: string
}

/** Runs doctor in a mount namespace where /etc/boxyard/boxyard.conf has this text and /var/lib/boxyard is empty. */
function doctorBeside(conf: string, env: NodeJS.ProcessEnv): Check[] {
  writeFileSync(join(scratch, 'conf'), conf)
  const setUp = [
    'mount -t tmpfs tmpfs /etc && mkdir /etc/boxyard',
    `cp ${join(scratch, 'conf')} /etc/boxyard/boxyard.conf`,
    'exec "$@"',
  ].join(' && ')
  const command = agentCommand(['doctor', '--json'])
  const { stdout } = spawnSync('unshare', ['--mount', 'sh', '-c', setUp, 'sh', ...command], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], BOXYARD_PORT: '1', ...env },
  })
  return (JSON.parse(stdout) as { checks: Check[] }).checks
}

test('a setting that the services read otherwise than the command is told, with both readings', () => {
  const checks = doctorBeside('BOXYARD_LOG_LEVEL=debug # verbose\n', { BOXYARD_LOG_LEVEL: 'debug' })
  expect(checks.filter(({ check }) => check === 'settings')).toEqual([
    expect.objectContaining({
      ...{ level: 'problem', code: 'setting_wrong' },
      evidence: expect.stringContaining('is "debug # verbose" for the services, but "debug" for this command'),
    }),
  ])
})

test('why the agent of the package ended last is read from the journal', () => {
  const bin = join(scratch, 'bin')
  mkdirSync(bin)
  const line = JSON.stringify({ level: 'error', message: 'The disk is gone.', fatal: true })
  const journalctl = `#!/bin/sh\ncase "$*" in *'-u boxyard-agent.service'*) echo '${line}' ;; esac\n`
  writeFileSync(join(bin, 'journalctl'), journalctl, { mode: 0o755 })
  const evidenceOf = (env: NodeJS.ProcessEnv): string[] =>
    doctorBeside('', { PATH: `${bin}:${process.env['PATH']}`, ...env })
      .filter(({ check }) => check === 'service')
      .map(({ evidence }) => evidence)
  expect(evidenceOf({})).toEqual([expect.stringContaining('Its last error: The disk is gone.')])
  expect(evidenceOf({ BOXYARD_DATA_DIR: join(scratch, 'other') })).toEqual([
    `${join(scratch, 'other')} has no deployment yet.`,
  ])
})
