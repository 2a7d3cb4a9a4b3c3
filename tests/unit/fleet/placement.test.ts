import { describe, expect, test } from '@jest/globals'
import { digestOf } from '../../../agent/core/common/digest.ts'
import { type Placement, type PlaceRequest, placesFor } from '../../../agent/core/fleet/placement.ts'
import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import type { BaseName } from '../../../agent/ports/fleet/bases.ts'
import type { Cell, Home, HomeName } from '../../../agent/ports/fleet/directory.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { baseKey, homeKey, tableCell } from '../../helpers/fleet/table-directory.ts'

const NOW = 1_000_000

const cellOf = (cell: string, more: Partial<Cell> = {}): Cell => ({
  ...tableCell(cell, 'http://x'),
  region: 'north',
  free: { ramMb: 1_000, storageBytes: 1 },
  heartbeatAt: NOW,
  ...more,
})
const requestOf = (more: Partial<PlaceRequest> = {}): PlaceRequest => ({
  ...{
    made: { kind: 'box', project: 'demo', name: 'web' },
    sources: [],
    region: null,
    node: null,
    repeatKey: null,
    requestId: 'req_1',
  },
  ...more,
})
const TOOLS = { uid: 'bas_1', version: 1, source: 'tar', createdAt: 1, createdBy: null }
const volume = (name: string): HomeName => ({ kind: 'volume', project: 'demo', name })

/** Places a request that cell `aa` received. */
function place(
  request: PlaceRequest,
  {
    cells,
    homes = {},
    bases = {},
    createdBy = null,
    placement = 'spread',
  }: {
    cells: Cell[]
    homes?: Record<string, string>
    bases?: Record<string, string>
    createdBy?: string | null
    placement?: Placement
  },
): string[] {
  const home = (cell: string): Home => ({ cell, epoch: 1, phase: 'Live', createdBy })
  const directory = {
    cell: 'aa',
    find: (name: HomeName) => (homes[homeKey(name)] === undefined ? null : home(String(homes[homeKey(name)]))),
    findCell: (cell: string) => cells.find((each) => each.cell === cell) ?? null,
    cells: () => cells.filter((each) => each.cell !== 'aa'),
    bases: {
      ...createLocalDirectory().bases,
      find: (name: BaseName) => {
        const cell = bases[baseKey(name)]
        return cell === undefined ? null : { ...name, ...TOOLS, cell }
      },
    },
  }
  return placesFor(request, { directory, placement, now: () => NOW })
}

const errorOf = (work: () => unknown): ServiceError => {
  try {
    work()
  } catch (error) {
    if (error instanceof ServiceError) return error
  }
  throw new Error('nothing was refused')
}

const THREE = [cellOf('aa'), cellOf('bb'), cellOf('cc')]

describe('a create is carried out', () => {
  test('of a base by the cell that has its name, or its box, or any', () => {
    const made = { kind: 'base', project: 'demo', name: 'tools' } as const
    const box: HomeName = { kind: 'box', project: 'demo', name: 'web' }
    const given = { cells: THREE, homes: { 'box demo/web': 'bb' } }
    expect(place(requestOf({ made, sources: [box] }), { ...given, bases: { 'demo/tools': 'cc' } })).toEqual(['cc'])
    expect(place(requestOf({ made, sources: [box] }), given)).toEqual(['bb'])
    // A shared base with the same name is a different base.
    expect(place(requestOf({ made }), { ...given, bases: { '-/tools': 'cc' } })).toHaveLength(3)
  })

  test('by the cell that has the name', () => {
    expect(place(requestOf(), { cells: THREE, homes: { 'box demo/web': 'cc' } })).toEqual(['cc'])
  })

  test('where it was answered before another has made what has the name, for a repeat', () => {
    const request = requestOf({ repeatKey: 'tok_1\nkey' })
    const first = place(request, { cells: THREE })
    for (const cell of ['aa', 'bb', 'cc']) {
      const homes = { 'box demo/web': cell }
      expect(place(request, { cells: THREE, homes })).toEqual(first)
      expect(place(request, { cells: THREE, homes, createdBy: digestOf('tok_1\nkey') })).toEqual([cell])
    }
  })

  test('where its sources are', () => {
    const request = requestOf({ sources: [volume('pg'), volume('unknown')] })
    expect(place(request, { cells: THREE, homes: { 'volume demo/pg': 'bb' } })).toEqual(['bb'])
  })

  test('where its sources are before any region or node that it names', () => {
    const request = requestOf({ sources: [volume('pg')], region: 'west', node: 'node-cc', repeatKey: 'tok_1\nkey' })
    expect(place(request, { cells: THREE, homes: { 'volume demo/pg': 'bb' } })).toEqual(['bb'])
  })

  test('nowhere if these are at several cells', () => {
    const request = requestOf({ sources: [volume('pg'), volume('media')] })
    const homes = { 'volume demo/pg': 'bb', 'volume demo/media': 'cc' }
    const error = errorOf(() => place(request, { cells: THREE, homes }))
    expect(error.code).toBe('volume_on_other_node')
    expect(error.message).toContain('volume "pg" is at cell bb, volume "media" is at cell cc')
  })

  test('in the region and on the node that it names', () => {
    const cells = [cellOf('aa'), cellOf('bb', { region: 'south' }), cellOf('cc', { region: 'south' })]
    expect(place(requestOf({ region: 'south' }), { cells }).sort()).toEqual(['bb', 'cc'])
    expect(place(requestOf({ node: 'node-cc' }), { cells })).toEqual(['cc'])
    const error = errorOf(() => place(requestOf({ region: 'west' }), { cells }))
    expect(error.errors).toEqual([{ pointer: '/config/region', detail: 'must be one of this fleet: "north", "south"' }])
    expect(errorOf(() => place(requestOf({ node: 'node-dd' }), { cells })).errors?.[0]?.pointer).toBe('/node')
    expect(errorOf(() => place(requestOf({ region: 'north', node: 'node-cc' }), { cells })).errors?.[0]?.pointer).toBe(
      '/node',
    )
  })

  test('by none that is not ready, drains, or is silent', () => {
    const cells = [
      cellOf('aa'),
      cellOf('bb', { isReady: false }),
      cellOf('cc', { isDraining: true }),
      cellOf('dd', { heartbeatAt: NOW - 600_000 }),
      cellOf('ee', { heartbeatAt: null }),
    ]
    expect(place(requestOf(), { cells })).toEqual(['aa'])
    expect(errorOf(() => place(requestOf({ node: 'node-dd' }), { cells })).code).toBe('runtime_unavailable')
  })

  test('by this cell if it could not tell of itself, or if it drains and no other may have it, as it says itself', () => {
    const silent = cellOf('aa', { isReady: false, heartbeatAt: null })
    expect(place(requestOf(), { cells: [silent, cellOf('bb', { isReady: false })] })).toEqual(['aa'])
    const cells = [cellOf('aa', { isDraining: true }), cellOf('bb')]
    for (let i = 0; i < 20; i++) expect(place(requestOf({ requestId: `req_${i}` }), { cells })).toEqual(['bb'])
    expect(place(requestOf({ node: 'node-aa' }), { cells })).toEqual(['aa'])
  })

  test('by this cell before the fleet knows of it', () => {
    expect(place(requestOf(), { cells: [cellOf('bb')] })).toEqual(['aa'])
  })

  test('first by a cell with places ready, then, of two by chance, by the one with more free memory', () => {
    const cells = [cellOf('aa'), cellOf('bb', { free: { ramMb: 9_000, storageBytes: 1 } }), cellOf('cc', { warm: 2 })]
    for (let i = 0; i < 20; i++) {
      const request = requestOf({ requestId: `req_${i}` })
      expect(place(request, { cells: cells.slice(0, 2) })).toEqual(['bb', 'aa'])
      expect(place(request, { cells })[0]).toBe('cc')
      // The same request gets the same result when the front signs it again.
      expect(place(request, { cells })).toEqual(place(request, { cells }))
    }
  })
})

describe('a repeated create', () => {
  test('comes to the same cell, also as others come and go', () => {
    const keys = Array.from({ length: 200 }, (_, i) => `token\n${i}`)
    const first = keys.map((repeatKey) => place(requestOf({ repeatKey }), { cells: THREE })[0])
    const busier = THREE.map((cell) => ({ ...cell, warm: cell.cell === 'bb' ? 3 : 0 }))
    expect(keys.map((repeatKey) => place(requestOf({ repeatKey }), { cells: busier })[0])).toEqual(first)
    const more = [...THREE, cellOf('dd')]
    const moved = keys.filter((repeatKey, i) => {
      const now = place(requestOf({ repeatKey }), { cells: more })[0]
      return now !== first[i] && now !== 'dd'
    })
    expect(moved).toEqual([])
    expect(new Set(first)).toEqual(new Set(['aa', 'bb', 'cc']))
  })
})

describe('a project that is kept together', () => {
  const projects = Array.from({ length: 100 }, (_, i) => `project-${i}`)
  const made = (project: string, kind: 'box' | 'volume' = 'box', name = 'web') => ({ made: { kind, project, name } })
  const kept = (cells: Cell[], more: Partial<PlaceRequest>, given: { homes?: Record<string, string> } = {}) =>
    place(requestOf(more), { ...given, cells, placement: 'project' })
  const orders = (cells: Cell[], more: Partial<PlaceRequest> = {}): string[][] =>
    projects.map((project) => kept(cells, { ...made(project), ...more }))

  test('has all its boxes, volumes and bases at one cell, and projects are at all cells', () => {
    for (const [index, order] of orders(THREE).entries()) {
      const project = String(projects[index])
      expect([...order].sort()).toEqual(['aa', 'bb', 'cc'])
      for (let i = 0; i < 5; i++) {
        expect(kept(THREE, { ...made(project, 'volume', `v-${i}`), requestId: `req_${i}` })).toEqual(order)
        expect(kept(THREE, { ...made(project, 'box', `b-${i}`), repeatKey: `token\n${i}` })).toEqual(order)
        expect(kept(THREE, { made: { kind: 'base', project, name: `t-${i}` } })).toEqual(order)
      }
    }
    expect(new Set(orders(THREE).map(([first]) => first))).toEqual(new Set(['aa', 'bb', 'cc']))
  })

  test('is there also when others have more room, or places that are ready', () => {
    const busy = [
      cellOf('aa', { free: { ramMb: 1, storageBytes: 0 } }),
      cellOf('bb', { free: { ramMb: 90_000, storageBytes: 1 } }),
      cellOf('cc', { warm: 5 }),
    ]
    expect(orders(busy)).toEqual(orders(THREE))
  })

  test('goes to its next cell while its own takes none, and comes back', () => {
    for (const cell of ['bb', 'cc']) {
      const without = orders(THREE).map((order) => order.filter((each) => each !== cell))
      for (const state of [{ isReady: false }, { isDraining: true }, { heartbeatAt: NOW - 600_000 }])
        expect(orders(THREE.map((each) => (each.cell === cell ? { ...each, ...state } : each)))).toEqual(without)
    }
  })

  test('stays where it is as cells come, unless it is at the new one', () => {
    const before = orders(THREE)
    const after = orders([...THREE, cellOf('dd')])
    expect(after.map((order) => order.filter((cell) => cell !== 'dd'))).toEqual(before)
    const moved = after.filter(([first]) => first === 'dd')
    expect(moved.length).toBeGreaterThan(0)
    expect(moved.length).toBeLessThan(projects.length / 2)
  })

  test('is at one cell of each region that is asked for, the first of them in its order', () => {
    const cells = [...THREE, ...['dd', 'ee'].map((cell) => cellOf(cell, { region: 'south' }))]
    const all = orders(cells)
    expect(orders(cells, { region: 'south' })).toEqual(all.map((order) => order.filter((cell) => cell > 'cc')))
    expect(orders(cells, { region: 'north' })).toEqual(all.map((order) => order.filter((cell) => cell < 'dd')))
    expect(kept(cells, { node: 'node-ee' })).toEqual(['ee'])
  })

  test('has what is made from something where that is, and a name where it is', () => {
    for (const cell of ['aa', 'bb', 'cc']) {
      const homes = { 'volume demo/pg': cell }
      expect(kept(THREE, { sources: [volume('pg')] }, { homes })).toEqual([cell])
      expect(kept(THREE, { made: volume('pg') }, { homes })).toEqual([cell])
    }
  })

  test('is not what all projects share', () => {
    const shared = (requestId: string) => ({ made: { kind: 'base', project: null, name: 'tools' } as const, requestId })
    const firsts = Array.from({ length: 50 }, (_, i) => kept(THREE, shared(`req_${i}`))[0])
    expect(new Set(firsts)).toEqual(new Set(['aa', 'bb', 'cc']))
  })
})
