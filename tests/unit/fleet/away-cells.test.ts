import { describe, expect, test } from '@jest/globals'
import { awayCellFaults, isPresent } from '../../../agent/core/fleet/away-cells.ts'
import type { Cell } from '../../../agent/ports/fleet/directory.ts'
import { tableCell } from '../../helpers/fleet/table-directory.ts'

const NOW = Date.parse('2026-01-01T00:10:00Z')
const cellOf = (cell: string, more: Partial<Cell> = {}): Cell => ({
  ...tableCell(cell, 'http://x'),
  heartbeatAt: NOW - 59_000,
  ...more,
})

describe('a cell', () => {
  test('is present while it tells each minute that it takes requests', () => {
    expect(isPresent(cellOf('aa'), NOW)).toBe(true)
    expect(isPresent(cellOf('aa', { isDraining: true }), NOW)).toBe(true)
    expect(isPresent(cellOf('aa', { isReady: false }), NOW)).toBe(false)
    expect(isPresent(cellOf('aa', { heartbeatAt: null }), NOW)).toBe(false)
    expect(isPresent(cellOf('aa', { heartbeatAt: NOW - 180_000 }), NOW)).toBe(false)
  })

  test('that is away is a fault which says since when', () => {
    const cells = [
      cellOf('cc', { isReady: false }),
      cellOf('aa'),
      cellOf('bb', { heartbeatAt: NOW - 300_000 }),
      cellOf('dd', { heartbeatAt: null, isReady: false }),
    ]
    expect(awayCellFaults(cells, NOW).map(({ evidence }) => evidence)).toEqual([
      'The agent of cell bb, on node node-bb, sent its last heartbeat at 2026-01-01T00:05:00.000Z.',
      'The agent of cell cc, on node node-cc, was stopped at 2026-01-01T00:09:01.000Z.',
      'The agent of cell dd, on node node-dd, has never sent a heartbeat.',
    ])
  })

  test('is counted where many are away', () => {
    const cells = Array.from({ length: 32 }, (_, i) => cellOf(`c${i.toString(36)}`, { isReady: false }))
    const faults = awayCellFaults(cells, NOW)
    expect(faults).toHaveLength(11)
    expect(faults.at(-1)?.evidence).toBe('The agents of 22 more cells are also away.')
  })
})
