import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type { TerminalStream } from '../../../sdk/typescript/src/index.ts'
import { watchPeer } from '../../../web/src/terminal/peer-watch.ts'

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

/** Watches a peer that answers as `answer` does. */
function watched(answer: () => Promise<void>) {
  const told = { pings: 0, silences: 0, heard: 0 }
  const leave = new AbortController()
  leaving.push(leave)
  const ping = (): Promise<void> => {
    told.pings++
    return answer()
  }
  const watch = watchPeer({ ping } as TerminalStream, {
    onHeard: () => told.heard++,
    onSilent: () => told.silences++,
    signal: leave.signal,
  })
  return { watch, told }
}

const never = (): Promise<void> => new Promise(() => undefined)

test('a peer that answers no ping is asked once, and is not silent', async () => {
  const { watch, told } = watched(never)
  for (let count = 0; count < 5; count++) {
    watch.beginWait()
    await jest.advanceTimersByTimeAsync(60_000)
    watch.endWait()
  }
  expect(told).toEqual({ pings: 1, silences: 0, heard: 0 })
})

test('a peer that has answered is silent when it no longer does', async () => {
  let answer = (): Promise<void> => Promise.resolve()
  const { watch, told } = watched(() => answer())
  watch.beginWait()
  await jest.advanceTimersByTimeAsync(8_100)
  expect(told).toEqual({ pings: 3, silences: 0, heard: 3 })
  answer = never
  await jest.advanceTimersByTimeAsync(9_100)
  expect(told).toEqual({ pings: 4, silences: 1, heard: 3 })
})

test('output is no answer of a peer that answers no ping', async () => {
  let output = (): void => undefined
  const { watch, told } = watched(() => new Promise((resolve) => (output = resolve)))
  watch.beginWait()
  output()
  watch.endWait()
  watch.beginWait()
  await jest.advanceTimersByTimeAsync(60_000)
  expect(told).toEqual({ pings: 2, silences: 0, heard: 1 })
})
