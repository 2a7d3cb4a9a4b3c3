import { describe, expect, test } from '@jest/globals'
import { Flood } from '../../../web/src/terminal/flood.ts'
import { HeldInput, type Unsent } from '../../../web/src/terminal/held-input.ts'

const textOf = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString()

describe('input while no connection is open', () => {
  const hold = (): { held: HeldInput; told: (Unsent | null)[] } => {
    const told: (Unsent | null)[] = []
    return { held: new HeldInput((unsent) => told.push(unsent)), told }
  }

  test('is kept in order and not mentioned while the break is brief', () => {
    const { held, told } = hold()
    held.add(Buffer.from('ec'))
    held.add(Buffer.from('ho'))
    expect(told).toEqual([])
    expect(textOf(held.take())).toBe('echo')
    expect(held.take()).toEqual([])
  })

  test('is reported after a loss, with what was sent and not answered', () => {
    const { held, told } = hold()
    held.endBrief()
    held.note()
    held.heard()
    held.endBrief()
    expect(told.at(-1)).toBeNull()
    held.note()
    held.endBrief()
    expect(told.at(-1)).toEqual({ isKept: false, isUnsure: true })
    held.add(Buffer.from('x'))
    expect(told.at(-1)).toEqual({ isKept: true, isUnsure: true })
    held.drop()
    expect(told.at(-1)).toBeNull()
  })

  test('is bounded, and what is beyond is reported', () => {
    const { held, told } = hold()
    held.endBrief()
    held.add(Buffer.alloc(60_000))
    held.add(Buffer.alloc(60_000))
    expect(told.at(-1)).toEqual({ isKept: true, isUnsure: true })
    expect(Buffer.concat(held.take()).length).toBe(60_000)
  })
})

describe('a flood of output', () => {
  test.each([
    ['a whole file at once', [300_000], 0, true],
    ['much, without a pause', Array.from({ length: 20 }, () => 16_384), 100, true],
    ['what ended a while ago', [300_000], 400, false],
    ['a screen that is drawn anew at times', Array.from({ length: 100 }, () => 8_000), 1000, false],
    ['little, without a pause', Array.from({ length: 2000 }, () => 1_000), 200, false],
  ])('%s', (_name, pieces, pauseMs, isFlood) => {
    let now = 0
    const flood = new Flood(() => now)
    for (const bytes of pieces) {
      flood.take(bytes)
      now += pauseMs
    }
    expect(flood.isOn()).toBe(isFlood)
  })
})
