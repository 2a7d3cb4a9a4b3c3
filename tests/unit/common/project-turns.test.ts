import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import {
  createProjectTurns,
  createRecentProjects,
  type ProjectTurns,
  RECENT_MAX,
} from '../../../shared/project-turns.ts'

let turns: ProjectTurns
let begun: string[]
let ends: Map<string, () => void>

beforeEach(() => {
  jest.useFakeTimers()
  begun = []
  ends = new Map()
})

afterEach(() => void jest.useRealTimers())

function open(atOnce: number): void {
  turns = createProjectTurns({ atOnce, recent: createRecentProjects() })
}

/** Requests a turn for the project before the `/`. The turn lasts until the test calls the function in `ends`. */
async function ask(...names: string[]): Promise<void> {
  for (const name of names) {
    const held = Promise.withResolvers<void>()
    ends.set(name, held.resolve)
    void turns.run(name.split('/')[0] ?? '', () => {
      begun.push(name)
      return held.promise
    })
  }
  await jest.advanceTimersByTimeAsync(0)
}

async function end(name: string, afterMs = 0): Promise<void> {
  await jest.advanceTimersByTimeAsync(afterMs)
  ends.get(name)?.()
  await jest.advanceTimersByTimeAsync(0)
}

describe('with many starts of one project waiting', () => {
  test('that of another is the next, and those of each stay in order', async () => {
    open(1)
    await ask('loud/1', 'loud/2', 'loud/3', 'quiet/1', 'calm/1', 'quiet/2')
    expect(begun).toEqual(['loud/1'])
    for (const name of ['loud/1', 'quiet/1', 'loud/2', 'calm/1', 'quiet/2']) await end(name)
    expect(begun).toEqual(['loud/1', 'quiet/1', 'loud/2', 'calm/1', 'quiet/2', 'loud/3'])
  })

  test('one that hangs holds up nobody for more than 50 ms', async () => {
    open(1)
    await ask('loud/hangs', 'quiet/1')
    await jest.advanceTimersByTimeAsync(49)
    expect(begun).toEqual(['loud/hangs'])
    await jest.advanceTimersByTimeAsync(1)
    expect(begun).toEqual(['loud/hangs', 'quiet/1'])
    // Its late end does not free the slot a second time.
    await end('loud/hangs')
    await ask('calm/1')
    expect(begun).toEqual(['loud/hangs', 'quiet/1'])
    await end('quiet/1')
    expect(begun).toEqual(['loud/hangs', 'quiet/1', 'calm/1'])
  })

  test('a place is free for another that was there within the last 2 s', async () => {
    open(4)
    await ask('loud/1', 'loud/2', 'loud/3', 'loud/4', 'loud/5')
    expect(begun).toHaveLength(4)
    await ask('quiet/1')
    for (const name of ['loud/1', 'loud/2', 'loud/3', 'quiet/1']) await end(name)
    expect(begun.slice(4)).toEqual(['quiet/1', 'loud/5'])
    await ask('loud/6')
    expect(begun).not.toContain('loud/6')
    await ask('quiet/2')
    expect(begun.at(-1)).toBe('quiet/2')
  })
})

test('a project alone has all turns, again once the others were away for 2 s', async () => {
  open(2)
  await ask('quiet/1')
  await end('quiet/1')
  await ask('loud/1', 'loud/2')
  expect(begun).toEqual(['quiet/1', 'loud/1'])
  await end('loud/1', 40)
  await end('loud/2', 2_000)
  await ask('loud/3', 'loud/4')
  expect(begun).toEqual(['quiet/1', 'loud/1', 'loud/2', 'loud/3', 'loud/4'])
})

test('work that fails ends its turn, and rejects', async () => {
  open(1)
  const failed = expect(turns.run('loud', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await ask('quiet/1')
  await failed
  expect(begun).toEqual(['quiet/1'])
})

test('of more projects than it remembers the last are known, and none once they were away', async () => {
  const recent = createRecentProjects()
  for (let index = 0; index < 2 * RECENT_MAX; index++) recent.note(`project ${index}`)
  expect(recent.others('another')).toBe(RECENT_MAX)
  expect(recent.others('project 0')).toBe(RECENT_MAX)
  expect(recent.others(`project ${2 * RECENT_MAX - 1}`)).toBe(RECENT_MAX - 1)
  await jest.advanceTimersByTimeAsync(2_001)
  expect(recent.others('another')).toBe(0)
  const brief = createRecentProjects(250)
  brief.note('calm')
  jest.advanceTimersByTime(249)
  expect(brief.others('loud')).toBe(1)
  jest.advanceTimersByTime(2)
  expect(brief.others('loud')).toBe(0)
})

describe('after a turn', () => {
  test('a project that has more waiting pauses for as long as it took, while another is there', async () => {
    open(1)
    await ask('quiet/1')
    await end('quiet/1')
    await ask('loud/1', 'loud/2')
    await end('loud/1', 30)
    await ask('quiet/2')
    await end('quiet/2')
    expect(begun).toEqual(['quiet/1', 'loud/1', 'quiet/2'])
    await jest.advanceTimersByTimeAsync(29)
    expect(begun).not.toContain('loud/2')
    await jest.advanceTimersByTimeAsync(1)
    expect(begun.at(-1)).toBe('loud/2')
  })

  test('a project that has more waiting pauses as many times as long as is said', async () => {
    turns = createProjectTurns({ atOnce: 1, pause: 3, recent: createRecentProjects() })
    await ask('quiet/1')
    await end('quiet/1')
    await ask('loud/1', 'loud/2')
    await end('loud/1', 30)
    await jest.advanceTimersByTimeAsync(89)
    expect(begun).not.toContain('loud/2')
    await jest.advanceTimersByTimeAsync(1)
    expect(begun.at(-1)).toBe('loud/2')
  })

  test('nobody pauses who asks for one after the other', async () => {
    open(1)
    await ask('loud/1')
    await ask('quiet/1')
    await end('loud/1', 30)
    await end('quiet/1', 30)
    await ask('quiet/2')
    expect(begun).toEqual(['loud/1', 'quiet/1', 'quiet/2'])
  })

  test('nobody pauses who is alone', async () => {
    open(1)
    await ask('loud/1', 'loud/2')
    await end('loud/1', 30)
    expect(begun).toEqual(['loud/1', 'loud/2'])
  })
})
