import { expect, test } from '@jest/globals'
import { createUploadQueue, type SendUpload } from '../../../web/src/pages/box/files/upload-queue.ts'
import { eventually } from '../../helpers/eventually.ts'

const file = (name: string, content = 'text'): { path: string; file: File } => ({
  path: name,
  file: new File([content], name),
})

/** A queue whose uploads use `send`, and how often it has been idle. */
function queueOf(send: SendUpload) {
  const idle = { count: 0 }
  return { queue: createUploadQueue(send, () => void idle.count++), idle }
}

test('thousands of files are sent two at a time, told of some times, and shown in part', async () => {
  let [running, most, told] = [0, 0, 0]
  const { queue, idle } = queueOf(async ({ path }) => {
    most = Math.max(most, ++running)
    await Promise.resolve()
    running--
    if (path === 'f77') throw new Error('refused')
    return 'done'
  })
  queue.watch(() => void told++)
  queue.add(Array.from({ length: 10_000 }, (_, index) => file(`f${index}`)))
  await eventually(() => queue.view().count.done === 9_999)
  expect(queue.view()).toMatchObject({ total: 10_000, count: { failed: 1, waiting: 0, sending: 0 } })
  expect(queue.view().shown).toHaveLength(100)
  expect(queue.view().shown[0]).toMatchObject({ path: 'f77', state: 'failed' })
  expect({ most, idle: idle.count }).toEqual({ most: 2, idle: 1 })
  expect(told).toBeLessThan(200)
})

test('a file whose name is taken replaces what is there only when it is asked for', async () => {
  const { queue } = queueOf(async (_, { isReplacing }) => (isReplacing ? 'done' : 'taken'))
  queue.add([file('a')])
  await eventually(() => queue.view().count.taken === 1)
  queue.again(queue.view().shown[0]?.id ?? 0)
  await eventually(() => queue.view().count.done === 1)
  expect(queue.view()).toMatchObject({ sentBytes: 4, totalBytes: 4 })
})

test('one that is taken off the list is broken off, and one that waits is never sent', async () => {
  const sent: string[] = []
  const { queue, idle } = queueOf(({ path }, { signal }) => {
    sent.push(path)
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('broken off'))))
  })
  queue.add([file('a'), file('b'), file('c')])
  const ids = queue.view().shown.map(({ id }) => id)
  for (const id of ids.toReversed()) queue.remove(id)
  await eventually(() => idle.count === 1)
  expect(sent).toEqual(['a', 'b'])
  await eventually(() => queue.view().total === 0)
})
