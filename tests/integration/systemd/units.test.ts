import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { buildSeccompProfile } from '../../../agent/drivers/host/seccomp-profile.ts'
import { ROOT } from '../../../infra/commands.ts'
import { UNITS } from '../../../infra/release/tree.ts'

const SYSTEM = 'usr/lib/systemd/system'
/** A root directory with our units, the units that they name, and files in place of the programs. */
let root: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'boxyard-units-'))
  for (const unit of UNITS) put(`${SYSTEM}/${unit}`, knownOf(readFileSync(join(ROOT, 'infra/systemd', unit), 'utf8')))
  for (const target of ['sysinit', 'basic', 'shutdown', 'multi-user', 'network', 'local-fs'])
    put(`${SYSTEM}/${target}.target`, '[Unit]\nDescription=A target\n')
  for (const program of ['usr/lib/boxyard/node_modules/.bin/node', 'usr/bin/boxyard', 'bin/sleep', 'bin/sh'])
    chmodSync(put(program, '#!/bin/sh\n'), 0o755)
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Returns a unit's text without settings that the systemd of this machine does not know yet. Debian 13 has version 257. */
function knownOf(text: string): string {
  const version = /^systemd (\d+)/.exec(execFileSync('systemd-analyze', ['--version'], { encoding: 'utf8' }))?.[1]
  return Number(version) >= 254 ? text : text.replace(/^DelegateSubgroup=.*$/m, '')
}

function put(path: string, text: string): string {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  return join(root, path)
}

test.each([...UNITS])('systemd takes %s without a word', (unit) => {
  const { status, stdout, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', '--man=no', '--recursive-errors=yes', `--root=${root}`, unit],
    { encoding: 'utf8' },
  )
  // systemd prints this for units that name the boxes' unit, on a machine with cgroup version 1. The package does not support version 1.
  const words = stderr.split('\n').filter((line) => !line.includes('we are running with legacy cgroups v1'))
  expect([status, stdout, words]).toEqual([0, '', ['']])
})

test.each([
  ['boxyard-agent.service', 60],
  ['boxyard-front.service', 20],
])('%s is exposed by %d tenths at most', (unit, tenths) => {
  const args = ['security', '--offline=true', `--threshold=${tenths}`, '--no-pager', join(ROOT, 'infra/systemd', unit)]
  const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  expect([status, stdout.trim().split('\n').at(-1)]).toEqual([0, expect.stringContaining(unit)])
})

test('boxes, which inherit the filters of the agent, lose the state of the clock and 16-bit code alone', () => {
  const text = readFileSync(join(ROOT, 'infra/systemd/boxyard-agent.service'), 'utf8')
  const setting = (name: string): string[] => (new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '').split(' ')
  const { syscalls } = buildSeccompProfile('x64')
  const allowed = new Set(syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW').flatMap(({ names }) => names))
  const groups = setting('SystemCallFilter').map((group) => group.replace('~', ''))
  expect(groups).toContain('@module')
  const filtered = groups.flatMap((group) => {
    const list = execFileSync('systemd-analyze', ['syscall-filter', group], { encoding: 'utf8' })
    return list.split('\n').flatMap((line) => /^ {4}(\w+)/.exec(line)?.[1] ?? [])
  })
  expect(filtered).toContain('init_module')
  expect(filtered.filter((name) => allowed.has(name)).sort()).toEqual([
    'adjtimex',
    'clock_adjtime',
    'clock_adjtime64',
    'modify_ldt',
  ])
  const families = syscalls.filter(({ names }) => names[0] === 'socket').map(({ args }) => args?.[0]?.value)
  const names: Record<string, number> = { AF_UNIX: 1, AF_INET: 2, AF_INET6: 10, AF_NETLINK: 16 }
  const allowedFamilies = new Set(setting('RestrictAddressFamilies').map((name) => names[name]))
  expect(new Set(families)).toEqual(allowedFamilies)
})
