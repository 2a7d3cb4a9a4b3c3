import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { lockDataDirectory, unitOf } from '../../../agent/lib/disk/data-lock.ts'

describe('the lock of a data directory', () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-lock-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  test('names its holder to the second that wants it', () => {
    const release = lockDataDirectory(directory)
    const message = `Another agent runs on ${directory} (process ${process.pid}`
    expect(() => lockDataDirectory(directory)).toThrow(message)
    release()
  })

  test('can be had again once it is released', () => {
    lockDataDirectory(directory)()
    lockDataDirectory(directory)()
  })
})

describe('the unit of a process', () => {
  test.each([
    ['of cgroup v2', '0::/system.slice/boxyard-agent.service\n', 'boxyard-agent.service'],
    ['that delegates', '0::/system.slice/boxyard-agent.service/agent\n', 'boxyard-agent.service'],
    ['of cgroup v1', '4:cpu,cpuacct:/\n1:name=systemd:/system.slice/box@1.service\n0::/\n', 'box@1.service'],
    ['is none in a login', '0::/user.slice/user-0.slice/user@0.service/app.slice/a.service\n', null],
    ['is none in a session', '0::/user.slice/user-0.slice/session-1.scope\n', null],
    ['is none in a container', '0::/system.slice/docker-0a1b.scope\n', null],
    ['is none by another hierarchy', '4:cpu:/system.slice/cron.service\n0::/\n', null],
    ['is none without groups', '', null],
  ])('%s', (_case, groups, unit) => expect(unitOf(groups)).toBe(unit))
})
