import { createHomeTable, createTableDirectory } from '../../helpers/fleet/table-directory.ts'
import { defineCardSuite, defineDirectorySuite } from './directory-suite.ts'

for (const defineSuite of [defineDirectorySuite, defineCardSuite])
  defineSuite('tabled', async () => ({
    directory: createTableDirectory(createHomeTable(), 'aa'),
    close: async () => undefined,
  }))
