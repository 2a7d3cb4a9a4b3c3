import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type { TerminalStream } from '../../../sdk/typescript/src/index.ts'
import { PingRecord, watchPeer } from '../../../web/src/terminal/peer-watch.ts'

const globals = globalThis as unknown as Record<string, unknown>
const leaving: AbortController[] = []

beforeEach(() => {
  jest.useFakeTimers()
  globals['addEventListener'] = globals['removeEventListener'] = () => undefined
})

afterEach(() => {
  for (const each of leaving.splice(0)) each.abort()
  jest.useRealTimers()
})

/** Watches a peer that responds with `answer`. */
function watched(answer: () => Promise<void>, record = new PingRecord()) {
  const told = { pings: 0, silences: 0, heard: 0 }
  const leave = new AbortController()
  leaving.push(leave)
  const ping = (): Promise<void> => {
    told.pings++
    return answer()
  }
  const watch = watchPeer({ ping } as TerminalStream, {
    record,
    onHeard: () => told.heard++,
    onSilent: () => told.silences++,
    signal: leave.signal,
  })
  return { watch, told }
}

const never = (): Promise<void> => new Promise(() => undefined)

test('a peer of which two connections answered no ping is not asked again', async () => {
  const record = new PingRecord()
  const connections = [1, 2, 3].map(() => watched(never, record))
  for (const { watch } of connections) {
    watch.beginWait()
    await jest.advanceTimersByTimeAsync(60_000)
    watch.end()
  }
  expect(connections.map(({ told }) => [told.pings, told.silences])).toEqual([
    [1, 1],
    [1, 1],
    [0, 0],
  ])
})

test('a peer that has answered once is silent on every later connection that does not answer', async () => {
  const record = new PingRecord()
  const first = watched(() => Promise.resolve(), record)
  first.watch.beginWait()
  await jest.advanceTimersByTimeAsync(8_100)
  first.watch.end()
  expect(first.told).toEqual({ pings: 2, silences: 0, heard: 2 })
  for (let count = 0; count < 4; count++) {
    const { watch, told } = watched(never, record)
    watch.beginWait()
    await jest.advanceTimersByTimeAsync(9_100)
    watch.end()
    expect(told).toEqual({ pings: 1, silences: 1, heard: 0 })
  }
})

test('output is no answer of a peer that answers no ping', async () => {
  const record = new PingRecord()
  let output = (): void => undefined
  const { watch, told } = watched(() => new Promise((resolve) => (output = resolve)), record)
  watch.beginWait()
  await jest.advanceTimersByTimeAsync(4_100)
  output()
  watch.endWait()
  await jest.advanceTimersByTimeAsync(1)
  expect(told).toEqual({ pings: 1, silences: 0, heard: 1 })
  record.noteSilence()
  record.noteSilence()
  expect(record.isMute).toBe(true)
})
