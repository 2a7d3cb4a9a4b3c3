import { describe, expect, test } from '@jest/globals'
import { createScheduling, type SchedulingRequest } from '../../../agent/core/fleet/scheduling.ts'
import type { BoxPlaces } from '../../../agent/ports/boxes/box-places.ts'
import type { Cell, Home } from '../../../agent/ports/fleet/directory.ts'
import { tableCell } from '../../helpers/fleet/table-directory.ts'

const NOW = 1_000_000
const cellOf = (cell: string, more: Partial<Cell> = {}): Cell => ({
  ...{ ...tableCell(cell, 'http://x'), node: `node-${cell}`, region: 'north', heartbeatAt: NOW },
  ...more,
})
const HOME: Home = { cell: 'bb', epoch: 1, phase: 'Live', createdBy: null }
const requestOf = (more: Partial<SchedulingRequest> = {}): SchedulingRequest => ({
  ...{ project: 'demo', name: 'web', config: { cpus: 1, ram_mb: 64, region: null }, isBound: false },
  ...more,
})

function scheduling({
  ready = 0,
  cells = [cellOf('bb'), cellOf('cc')],
  home = null,
  choose = async () => 'node-cc',
}: {
  ready?: number
  cells?: Cell[]
  home?: Home | null
  choose?: BoxPlaces['choose']
} = {}) {
  const asked: unknown[] = []
  const places: BoxPlaces = {
    ready: () => ready,
    onTurn: () => undefined,
    choose: (...given) => {
      asked.push(given)
      return choose(...given)
    },
  }
  const directory = { cell: 'aa', cells: () => cells, find: () => home, findCell: () => cellOf('aa') }
  return { asked, ...createScheduling({ places, directory, now: () => NOW }) }
}

describe('the cell of a new box', () => {
  test('is that of the node which the scheduler chooses, if none is ready here', async () => {
    const { asked, cellFor } = scheduling()
    expect(await cellFor(requestOf())).toBe('cc')
    expect(asked).toEqual([[{ cpus: 1, ramMb: 64 }, { closedNodes: [] }]])
  })

  test.each<[string, Parameters<typeof scheduling>[0], Partial<SchedulingRequest>]>([
    ['one is ready here', { ready: 1 }, {}],
    ['it must be here', {}, { isBound: true }],
    ['its name is known', { home: HOME }, {}],
  ])('is this one, and nobody is asked, if %s', async (_, given, more) => {
    const { asked, cellFor } = scheduling(given)
    expect(await cellFor(requestOf(more))).toBeNull()
    expect(asked).toEqual([])
  })

  test.each<[string, string | null]>([
    ['the node is its own', 'node-aa'],
    ['the scheduler finds none', null],
    ['the node has no cell', 'stranger'],
  ])('is this one if %s', async (_, node) => {
    expect(await scheduling({ choose: async () => node }).cellFor(requestOf())).toBeNull()
  })

  test('is on no node that takes none, or is in another region', async () => {
    const cells = [
      cellOf('bb', { isDraining: true }),
      cellOf('cc', { region: 'south' }),
      cellOf('dd', { isReady: false }),
      cellOf('ee', { heartbeatAt: NOW - 600_000 }),
      cellOf('ff'),
    ]
    const { asked, cellFor } = scheduling({ cells, choose: async () => 'node-ff' })
    const config = { cpus: 1, ram_mb: 64, region: 'north' }
    expect(await cellFor(requestOf({ config }))).toBe('ff')
    expect(asked).toMatchObject([[{}, { closedNodes: ['node-bb', 'node-cc', 'node-dd', 'node-ee'] }]])
  })

  test('is this one for those of a project, and of all, that would wait beyond their number', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { asked, cellFor } = scheduling({ choose: () => promise })
    const ask = (project: string, count: number) => Array.from({ length: count }, () => cellFor(requestOf({ project })))
    const first = ask('one', 10)
    expect(await Promise.all(first.slice(8))).toEqual([null, null])
    const others = [...ask('two', 8), ...ask('three', 8), ...ask('four', 9)]
    expect(await others.at(-1)).toBeNull()
    expect(asked).toHaveLength(32)
    resolve('node-cc')
    expect(new Set(await Promise.all(first.slice(0, 8)))).toEqual(new Set(['cc']))
    await Promise.all(others)
    expect(await cellFor(requestOf({ project: 'one' }))).toBe('cc')
  })

  test('is free again for others after a failure', async () => {
    const failing = scheduling({ choose: async () => Promise.reject(new Error('broken')) })
    for (let i = 0; i < 9; i++) await expect(failing.cellFor(requestOf())).rejects.toThrow('broken')
    expect(failing.asked).toHaveLength(9)
  })
})
