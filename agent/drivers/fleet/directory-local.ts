import type { Directory, Home } from '../../ports/fleet/directory.ts'

/**
 * Creates the directory of a host without a fleet. Every name belongs to this cell. It keeps nothing, since only the database decides there
 * which names are taken.
 */
export function createLocalDirectory(): Directory {
  return {
    cell: ONLY_CELL,
    find: () => HERE,
    read: async () => HERE,
    findCell: () => null,
    cells: () => [],
    homeCells: () => [],
    readKept: async () => null,
    homesOf: async function* () {},
    onChange: () => () => undefined,
    claim: async ({ createdBy }) => ({ ...HERE, createdBy }),
    release: async () => undefined,
    bases: {
      find: () => null,
      read: async () => null,
      claim: async ({ version }) => ({ version }),
      release: async () => undefined,
      open: async () => null,
    },
  }
}

const ONLY_CELL = '00'
const HERE: Home = Object.freeze({ cell: ONLY_CELL, epoch: 1, phase: 'Live', createdBy: null })
