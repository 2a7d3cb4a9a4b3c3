import { describe, expect, test } from '@jest/globals'
import { buildTerminalGate, candidatePaths } from '../../../agent/drivers/exec/terminal-gate.ts'

const MANY = Array.from({ length: 8_192 }, (_, n) => n.toString(36).padStart(3, '0')).join(':')

describe('the paths of a program', () => {
  test('are those of PATH in order, each once, or the given path', () => {
    expect(candidatePaths('x', '/a:/b::/a')).toEqual(['/a/x', '/b/x', './x'])
    expect(candidatePaths('./x', '/a:/b')).toEqual(['./x'])
    expect(candidatePaths('', '/a:/b')).toEqual([''])
  })

  test('exclude paths too long for the kernel, in bytes', () => {
    expect(candidatePaths('n'.repeat(255), '/a')).toEqual([`/a/${'n'.repeat(255)}`])
    expect(candidatePaths('n'.repeat(256), '/a')).toEqual([])
    expect(candidatePaths('ü'.repeat(128), '/a')).toEqual([])
    expect(candidatePaths(`/${'p'.repeat(4_094)}`, '')).toHaveLength(1)
    expect(candidatePaths(`/${'p'.repeat(4_095)}`, '')).toEqual([])
    expect(candidatePaths('x', `/${'d'.repeat(4_093)}:/${'d'.repeat(4_092)}:/b`)).toEqual([
      `/${'d'.repeat(4_092)}/x`,
      '/b/x',
    ])
  })

  test('are cut off after the limit', () => {
    expect(candidatePaths('x', MANY)).toEqual(MANY.split(':', 1_024).map((directory) => `${directory}/x`))
    const long = candidatePaths('n'.repeat(255), MANY)
    expect(long).toHaveLength(Math.floor(65_536 / 260))
    expect(long[0]).toBe(`000/${'n'.repeat(255)}`)
  })
})

test.each([
  ['a name', 'x'.repeat(131_071), MANY],
  ['a path', `/${'x'.repeat(131_070)}`, MANY],
  ['the longest name that is tried', 'x'.repeat(255), MANY],
  ['a short name', 'x', MANY],
  ['the same directory', 'x'.repeat(255), ':'.repeat(32_768)],
  ['one long directory', 'x', 'd'.repeat(32_768)],
])('the gate of the largest request stays small: %s', (_, program, path) => {
  const started = performance.now()
  for (const machine of ['x64', 'arm64'] as const)
    expect(buildTerminalGate({ program, candidates: candidatePaths(program, path) }, machine).length).toBeLessThan(
      131_072,
    )
  // Without limits, it takes many seconds.
  expect(performance.now() - started).toBeLessThan(2_000)
})
