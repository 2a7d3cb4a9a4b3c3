import { createTableTokens, createTokenTable } from '../../helpers/fleet/table-tokens.ts'
import { defineFleetTokensSuite } from './tokens-suite.ts'

defineFleetTokensSuite('tabled', async () => {
  const table = createTokenTable()
  return { aa: createTableTokens(table, 'aa'), bb: createTableTokens(table, 'bb'), close: async () => undefined }
})
