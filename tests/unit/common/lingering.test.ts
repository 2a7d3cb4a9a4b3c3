import { expect, test } from '@jest/globals'
import { createLingering, type Lingering } from '../../../shared/lingering.ts'

const moment = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

/** Adds streams by name, and records the closed ones. */
function addTo(lingering: Lingering, closed: string[]) {
  const closers = new Map<string, () => void>()
  return {
    closers,
    add: (name: string, ...owners: string[]) => {
      const { promise: released, resolve } = Promise.withResolvers<void>()
      closers.set(name, resolve)
      const release = (): void => {
        closed.push(name)
        resolve()
      }
      lingering.add({ released, release }, owners)
    },
  }
}

test('who has most loses the oldest, and by one account it is the box that has most', async () => {
  const closed: string[] = []
  const lingering = createLingering(4)
  const { add } = addTo(lingering, closed)
  add('calm', 'box 1', 'project calm', 'token x')
  add('quiet', 'box 2', 'project loud', 'token y')
  for (const name of ['a', 'b', 'c', 'd']) add(name, 'box 3', 'project loud', 'token y')
  await moment()
  expect([closed, lingering.size]).toEqual([['a', 'b'], 4])
  lingering.releaseAll()
  await moment()
  expect([closed.toSorted(), lingering.size]).toEqual([['a', 'b', 'c', 'calm', 'd', 'quiet'], 0])
})

test('neither many boxes nor many projects of a token gain anything', async () => {
  const closed: string[] = []
  const { add } = addTo(createLingering(6), closed)
  for (const name of ['first', 'second']) add(name, 'box 1', 'project calm')
  for (let n = 0; n < 8; n++) add(`of-token-${n}`, `box a${n}`, `project p${n}`, 'token x')
  for (let n = 0; n < 8; n++) add(`of-project-${n}`, `box b${n}`, 'project loud', `token t${n}`)
  await moment()
  const gone = [0, 1, 2, 3, 4, 5].flatMap((n) => [`of-project-${n}`, `of-token-${n}`])
  expect(closed.toSorted()).toEqual(gone.toSorted())
})

test('what closes by itself costs nobody anything', async () => {
  const closed: string[] = []
  let released = 0
  const lingering = createLingering(2, () => released++)
  const { add, closers } = addTo(lingering, closed)
  add('first', 'box 1')
  add('second', 'box 1')
  for (let n = 0; n < 5; n++) {
    add(`short-${n}`, 'box 2')
    closers.get(`short-${n}`)?.()
  }
  await moment()
  expect([closed, lingering.size, released]).toEqual([[], 2, 5])
})
