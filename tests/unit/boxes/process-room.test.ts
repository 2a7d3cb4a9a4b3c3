import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { readProcessRoom } from '../../../agent/drivers/host/cgroup/process-room.ts'

let home = ''

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'boxyard-pids-'))
  mkdirSync(join(home, 'exec'))
})

afterEach(() => rmSync(home, { recursive: true }))

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text)
}

test('a box with as many processes as it may have is full', () => {
  write({ 'pids.max': '256\n', 'pids.current': '255\n', 'pids.events': 'max 3\n' })
  expect(readProcessRoom(home, [])).toEqual({ max: 256, free: 1, refusals: 3 })
  // A process that was moved into the box can exceed the limit by one.
  write({ 'pids.current': '257\n' })
  expect(readProcessRoom(home, [])).toEqual({ max: 256, free: 0, refusals: 3 })
})

test('refusals are also those that the kernel counts in the cgroup of the command', () => {
  write({ 'pids.max': '16\n', 'pids.current': '1\n', 'pids.events': 'max 1\n', 'exec/pids.events': 'max 4\n' })
  expect(readProcessRoom(home, [join(home, 'exec')]).refusals).toBe(5)
})

test('a cgroup without the controller, or without a limit, is never full', () => {
  expect(readProcessRoom(join(home, 'exec'), [])).toEqual({ max: null, free: null, refusals: 0 })
  write({ 'pids.max': 'max\n', 'pids.current': '5\n' })
  expect(readProcessRoom(home, [])).toEqual({ max: null, free: null, refusals: 0 })
})
