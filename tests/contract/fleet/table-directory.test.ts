import { createHomeTable, createTableDirectory } from '../../helpers/fleet/table-directory.ts'
import { defineDirectorySuite } from './directory-suite.ts'

defineDirectorySuite('tabled', async () => ({
  directory: createTableDirectory(createHomeTable(), 'aa'),
  close: async () => undefined,
}))
