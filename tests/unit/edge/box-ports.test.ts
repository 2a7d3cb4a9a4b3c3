import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, expect, test } from '@jest/globals'
import { createBoxActivity } from '../../../agent/core/boxes/activity.ts'
import { type BoxPortOpener, createBoxPortOpener } from '../../../agent/core/edge/box-ports.ts'
import type { PortConnection } from '../../../agent/ports/boxes/port-connection.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { targetOf } from '../../helpers/edge/backend.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

const OWN = { id: 'box_a', name: 'web' }
const stopped = targetOf({ ...OWN, status: 'stopped', wake: true }).box
const running = targetOf({ ...OWN, wake: true }).box

let now: BoxRecord
let time: ReturnType<typeof createFakeTime>
let ports: BoxPortOpener
const seen = { reads: 0, resumes: 0, connects: 0 }
const listening = new Set<number>()

beforeEach(() => {
  now = stopped
  time = createFakeTime()
  Object.assign(seen, { reads: 0, resumes: 0, connects: 0 })
  listening.clear()
  ports = createBoxPortOpener({
    boxes: {
      get: async () => {
        seen.reads++
        return now
      },
      resume: async () => {
        seen.resumes++
        now = running
        return { record: now, isSettled: true }
      },
    },
    runtime: {
      connect: async (_id, port) => {
        seen.connects++
        if (!listening.has(port)) throw new ServiceError('port_not_listening', `Nothing listens at port ${port}.`)
        return connectionOf()
      },
    },
    activity: createBoxActivity(),
    clock: time.clock,
    meter: silentMeter,
  })
})

function connectionOf(): PortConnection {
  const stream = new PassThrough()
  return { stream, close: () => stream.destroy(), reset: () => stream.destroy() }
}

/** Opens connections, and advances time until each is open or refused. */
async function openAll(wanted: readonly number[], onPass: (passedMs: number) => void = () => undefined) {
  const state = { isOver: false }
  const opened = Promise.allSettled(wanted.map((port) => ports.open(stopped, port))).finally(() => {
    state.isOver = true
  })
  for (let passedMs = 0; !state.isOver; passedMs += 10) {
    await turn()
    time.advance(10)
    onPass(passedMs)
  }
  return opened
}

const codeOf = (result: PromiseSettledResult<PortConnection>): string =>
  result.status === 'rejected' ? String((result.reason as ServiceError).code) : 'open'

test('many who come for a port of a stopped box where nothing listens share one wait, which looks less and less often', async () => {
  const results = await openAll(Array.from({ length: 450 }, () => 9))
  expect(new Set(results.map(codeOf))).toEqual(new Set(['port_not_listening']))
  expect(seen.resumes).toBe(1)
  expect(seen.connects).toBeLessThan(120)
  expect(seen.reads).toBeLessThan(450 + 120)
})

test('waits for many ports of a project look no more often together than 500 times a second', async () => {
  const results = await openAll(Array.from({ length: 400 }, (_, index) => index + 1))
  expect(new Set(results.map(codeOf))).toEqual(new Set(['port_not_listening']))
  expect(seen.connects).toBeLessThan(25 * 500 + 2 * 400)
})

test('each of those who waited gets a connection of its own once the port takes them', async () => {
  const results = await openAll([80, 80, 80], (passedMs) => {
    if (passedMs === 3_000) listening.add(80)
  })
  const streams = results.map((result) => (result.status === 'fulfilled' ? result.value.stream : null))
  expect(streams).not.toContain(null)
  expect(new Set(streams).size).toBe(3)
  // The wait has ended, so later connections are refused at once.
  listening.clear()
  now = running
  await expect(ports.open(running, 80)).rejects.toMatchObject({ code: 'port_not_listening' })
})

test('a wait that failed is not what the next one gets', async () => {
  expect((await openAll([80])).map(codeOf)).toEqual(['port_not_listening'])
  now = stopped
  listening.add(80)
  expect((await openAll([80])).map(codeOf)).toEqual(['open'])
  expect(seen.resumes).toBe(2)
})
