import { createTableTokens, createTokenTable } from '../../helpers/fleet/table-tokens.ts'
import { defineTokensSuite } from './tokens-suite.ts'

defineTokensSuite('tabled', async () => {
  const table = createTokenTable()
  return { aa: createTableTokens(table, 'aa'), bb: createTableTokens(table, 'bb'), close: async () => undefined }
})
