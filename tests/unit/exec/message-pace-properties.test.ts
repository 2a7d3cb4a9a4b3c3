import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, jest, test } from '@jest/globals'
import fc from 'fast-check'
import type { WebSocket } from 'ws'
import { createMessagePaces, type Intake } from '../../../agent/server/message-pace.ts'
import { check } from '../../helpers/fairness/check.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

/** A socket with endless messages. It brings several at once unless it is paused. */
function openSocket(watch: (socket: WebSocket) => Intake) {
  const state = { isPaused: false, passed: 0 }
  const socket = Object.assign(new EventEmitter(), {
    pause: () => void (state.isPaused = true),
    resume: () => void (state.isPaused = false),
  })
  const intake = watch(socket as unknown as WebSocket)
  const bring = (count: number): void => {
    if (state.isPaused) return
    state.passed += count
    for (let each = 0; each < count; each++) socket.emit('message', Buffer.alloc(1))
  }
  return { state, intake, bring, close: () => socket.emit('close') }
}

const anyFlood = fc.record({
  perSecond: fc.integer({ min: 5, max: 500 }),
  burst: fc.integer({ min: 1, max: 50 }),
  sockets: fc.integer({ min: 1, max: 8 }),
  atOnce: fc.integer({ min: 1, max: 20 }),
})

interface Flood {
  perSecond: number
  burst: number
  sockets: number
  atOnce: number
}

/** Floods through the sockets of one account, while another account sends within its rate. */
async function expectPace({ perSecond, burst, sockets, atOnce }: Flood): Promise<void> {
  const paces = createMessagePaces({ perSecond, burst }, { now: Date.now })
  const open = (account: string) => openSocket((socket) => paces.watch(socket, account))
  const loud = Array.from({ length: sockets }, () => open('loud'))
  const calm = open('calm')
  const seconds = 4
  const calmEvery = Math.ceil(LOOKS_A_SECOND / perSecond)
  for (let look = 0; look < seconds * LOOKS_A_SECOND; look++) {
    for (const each of loud) each.bring(atOnce)
    if (look % calmEvery === 0) {
      assert.ok(!calm.state.isPaused, 'the calm one is paused')
      calm.bring(1)
    }
    await jest.advanceTimersByTimeAsync(1000 / LOOKS_A_SECOND)
  }
  const sum = loud.reduce((total, { state }) => total + state.passed, 0)
  // Messages that a socket has already read get through. Later messages pay for them.
  const most = burst + seconds * perSecond + sockets * atOnce
  assert.ok(sum <= most, `${sum} instead of ${most}`)
  const offered = seconds * LOOKS_A_SECOND * sockets * atOnce
  assert.ok(sum >= Math.min(offered, seconds * perSecond) / 2, `${sum} of ${seconds * perSecond}`)
  for (const each of [...loud, calm]) each.close()
  await jest.advanceTimersByTimeAsync((1000 * sockets * sockets * atOnce) / perSecond)
  const fresh = open('loud')
  fresh.bring(1)
  assert.ok(!fresh.state.isPaused, 'one that comes later pays for those that have left')
}

describe('an account gets its rate by all its sockets together, each of them goes on, and another account is not paused,', () => {
  test('whatever its rate is, and however many sockets send how much', () =>
    check(fc.asyncProperty(anyFlood, expectPace), 12))

  test('if it sends one message after the other', () => expectPace({ perSecond: 5, burst: 1, sockets: 1, atOnce: 1 }))
})

test('a socket that has sent one more than there is goes on soon, however much others of the account have sent, and none before for its reader', async () => {
  const property = fc.asyncProperty(anyFlood, async ({ perSecond, burst, sockets, atOnce }) => {
    const paces = createMessagePaces({ perSecond, burst }, { now: Date.now })
    const open = () => openSocket((socket) => paces.watch(socket, 'loud'))
    const loud = Array.from({ length: sockets }, open)
    for (const each of loud) each.bring(burst + 1_000 * atOnce)
    const typing = open()
    typing.bring(1)
    assert.ok(typing.state.isPaused)
    for (const { intake } of [...loud, typing]) {
      intake.pause()
      intake.resume()
    }
    assert.ok(
      [...loud, typing].every(({ state }) => state.isPaused),
      'a reader makes one go on',
    )
    // Each waiting socket gets its share, one message, after which the next check follows.
    await jest.advanceTimersByTimeAsync((1000 * (sockets + 1)) / perSecond + 11)
    assert.ok(!typing.state.isPaused, 'the typing one waits')
    assert.ok(
      loud.every(({ state }) => state.isPaused),
      'a flood goes on',
    )
    for (const each of [...loud, typing]) each.close()
  })
  await check(property, 30)
})

const LOOKS_A_SECOND = 100
