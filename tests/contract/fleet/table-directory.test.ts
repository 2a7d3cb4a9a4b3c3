import { createHomeTable, createTableDirectory } from '../../helpers/fleet/table-directory.ts'
import { defineFleetBasesSuite } from './bases-suite.ts'
import { defineCardSuite, defineDirectorySuite } from './directory-suite.ts'

for (const defineSuite of [defineDirectorySuite, defineCardSuite])
  defineSuite('tabled', async () => ({
    directory: createTableDirectory(createHomeTable(), 'aa'),
    close: async () => undefined,
  }))

defineFleetBasesSuite('tabled', async () => {
  const table = createHomeTable()
  const [aa, bb] = [createTableDirectory(table, 'aa').bases, createTableDirectory(table, 'bb').bases]
  return { aa, bb, close: async () => undefined }
})
