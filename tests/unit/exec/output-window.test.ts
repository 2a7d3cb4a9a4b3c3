import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type { WebSocket } from 'ws'
import { OutputWindow, REMIND_MS, WINDOW_BYTES } from '../../../agent/server/bridge.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

function lab() {
  const marks: Buffer[] = []
  const socket = Object.assign(new EventEmitter(), {
    ...{ readyState: 1, OPEN: 1, bufferedAmount: 0, isPaused: false },
    ping: (mark: Buffer) => marks.push(mark),
  })
  let taken = 0
  const window = new OutputWindow(socket as unknown as WebSocket, () => taken++)
  return { socket, marks, window, taken: () => taken }
}

const QUARTER = WINDOW_BYTES / 4

test('the last mark is sent again until the client answers it', () => {
  const { socket, marks, window, taken } = lab()
  window.count(QUARTER)
  socket.emit('pong', marks[0])
  for (let i = 0; i < 5; i++) window.count(QUARTER)
  expect(window.exceeds(WINDOW_BYTES)).toBe(true)
  // The client answered an earlier ping, which is not a mark.
  socket.emit('pong', Buffer.alloc(0))
  expect([window.exceeds(WINDOW_BYTES), marks.length]).toEqual([true, 6])
  jest.advanceTimersByTime(REMIND_MS)
  expect(marks.at(-1)).toEqual(marks[5])
  expect(marks).toHaveLength(7)
  socket.emit('pong', marks.at(-1))
  expect([window.exceeds(0), taken()]).toEqual([false, 2])
  jest.advanceTimersByTime(10 * REMIND_MS)
  expect(marks).toHaveLength(7)
})

test('a client that answers no mark has no bound after a while, but one whose socket is full keeps it', () => {
  const { socket, window, taken } = lab()
  for (let i = 0; i < 6; i++) window.count(QUARTER)
  socket.bufferedAmount = 1
  jest.advanceTimersByTime(10 * REMIND_MS)
  expect([window.exceeds(WINDOW_BYTES), taken()]).toEqual([true, 0])
  socket.bufferedAmount = 0
  jest.advanceTimersByTime(REMIND_MS)
  expect([window.exceeds(WINDOW_BYTES), taken()]).toEqual([false, 1])
})

test('an end leaves no timer', () => {
  const { socket, window } = lab()
  window.count(QUARTER)
  socket.emit('close')
  expect(jest.getTimerCount()).toBe(0)
})
