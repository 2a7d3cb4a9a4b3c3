import { beforeEach, describe, expect, test } from '@jest/globals'
import { createObjectIndex, type FollowedObject, type ObjectIndex } from '../../../agent/drivers/fleet/object-index.ts'

let index: ObjectIndex<{ cell: string }>
/** Names that the index reported as changed. */
let changed: (string | null)[]

beforeEach(() => {
  changed = []
  index = createObjectIndex({ onChange: (key) => changed.push(key) })
})

const stored = (key: string, version: number, cell = 'aa'): FollowedObject<{ cell: string }> => ({
  key,
  version,
  value: { cell },
})
const cellOf = (key: string): string | null => index.find(key)?.value.cell ?? null

/** A list that the test sends page by page, and ends. */
const openList = () => {
  const pages: { objects: FollowedObject<{ cell: string }>[]; version: string }[] = []
  let wake = Promise.withResolvers<void>()
  let isOver = false
  const send = async (version: number, ...homes: FollowedObject<{ cell: string }>[]): Promise<void> => {
    pages.push({ objects: homes, version: String(version) })
    wake.resolve()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const taken = index.replaceAll(
    (async function* () {
      while (pages.length > 0 || !isOver) {
        const page = pages.shift()
        if (page) yield page
        else await wake.promise
        wake = Promise.withResolvers()
      }
    })(),
  )
  const end = async (): Promise<string> => {
    isOver = true
    wake.resolve()
    return taken
  }
  return { send, end }
}

describe('what a cell writes', () => {
  test('is not undone by an older event', () => {
    index.note(stored('a', 10, 'bb'))
    index.put(stored('a', 8, 'aa'))
    expect(cellOf('a')).toBe('bb')
    index.drop('a', 9)
    expect(cellOf('a')).toBe('bb')
    index.put(stored('a', 11, 'cc'))
    expect(cellOf('a')).toBe('cc')
    index.drop('a', 12)
    expect(cellOf('a')).toBeNull()
  })

  test('and then deletes does not come back with an event from before', () => {
    index.note(stored('a', 10))
    index.forget('a', 10)
    for (const version of [9, 10]) index.put(stored('a', version))
    expect(cellOf('a')).toBeNull()
    // Another object gets the name before the deletion event arrives.
    index.note(stored('a', 12, 'bb'))
    index.drop('a', 11)
    expect(cellOf('a')).toBe('bb')
  })

  test('and deletes is forgotten with the event, and a later one of the name is seen', () => {
    index.note(stored('a', 10))
    index.forget('a', 10)
    index.drop('a', 11)
    index.put(stored('a', 12, 'bb'))
    expect(cellOf('a')).toBe('bb')
  })

  test('leaves alone what an event has told meanwhile', () => {
    index.put(stored('a', 12, 'bb'))
    index.forget('a', 10)
    expect(cellOf('a')).toBe('bb')
  })
})

describe('a list', () => {
  test('takes the place of what was known, also of versions that were higher', async () => {
    for (const key of ['a', 'b']) index.put(stored(key, 1_000, 'old'))
    index.forget('b', 1_000)
    const list = openList()
    await list.send(20, stored('b', 5, 'bb'))
    await list.send(20, stored('c', 6, 'cc'))
    expect(await list.end()).toBe('20')
    expect(['a', 'b', 'c'].map(cellOf)).toEqual([null, 'bb', 'cc'])
    index.put(stored('b', 21, 'dd'))
    expect(cellOf('b')).toBe('dd')
  })

  test('does not undo what is written while it is taken', async () => {
    index.put(stored('gone', 3))
    const list = openList()
    await list.send(20, stored('first', 5))
    index.note(stored('new', 21, 'bb'))
    index.note(stored('changed', 22, 'bb'))
    index.forget('gone', 3)
    index.forget('first', 5)
    await list.send(20, stored('changed', 9), stored('gone', 3))
    await list.end()
    expect(['new', 'changed', 'gone', 'first'].map(cellOf)).toEqual(['bb', 'bb', null, null])
  })

  test('that fails leaves the rest as it was, and the next one starts anew', async () => {
    index.put(stored('a', 3))
    const failing = index.replaceAll(
      (async function* () {
        yield { objects: [stored('b', 4)], version: '20' }
        throw new Error('The list expired.')
      })(),
    )
    await expect(failing).rejects.toThrow('The list expired.')
    expect(['a', 'b'].map(cellOf)).toEqual(['aa', 'aa'])
    index.note(stored('c', 21))
    const list = openList()
    await list.send(30, stored('b', 4))
    await list.end()
    expect(['a', 'b', 'c'].map(cellOf)).toEqual([null, 'aa', null])
  })
})
