import { expect, test } from '@jest/globals'
import { withLock } from '../../../infra/cluster/host-lock.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'

const HOUR_MS = 3_600_000

test('a wait for a lock names the holder, and lasts for as long as that lives', async () => {
  const time = createFakeTime()
  const lines: string[] = []
  const subject = `test-${process.pid}`
  const held = Promise.withResolvers<void>()
  const holder = withLock(subject, () => held.promise)
  const waiter = withLock(subject, async () => 'done', {
    what: 'the programs',
    say: (text) => void lines.push(text),
    clock: time.clock,
  })
  const poll = async (ms: number): Promise<void> => {
    await eventually(() => time.sleeps() > 0, 2)
    const before = time.sleeps()
    time.advance(ms)
    await eventually(() => time.sleeps() > before, 2)
  }
  await poll(500)
  expect(lines).toEqual([])
  await poll(500)
  for (let i = 0; i < 3; i += 1) await poll(10_000)
  await poll(24 * HOUR_MS)
  const line = `Waiting for process ${process.pid}, which builds the programs`
  expect(lines).toEqual([`${line}: 1 s so far`, `${line}: 31 s so far`, `${line}: 1440 min so far`])
  held.resolve()
  await holder
  time.advance(1_000)
  expect(await waiter).toBe('done')
})
