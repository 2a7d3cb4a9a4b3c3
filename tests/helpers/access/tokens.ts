import { createTokenRecords } from '../../../agent/core/access/token-records.ts'
import { createTokens, type Tokens, type TokensDeps } from '../../../agent/core/access/tokens.ts'
import { createLocalTokens } from '../../../agent/drivers/fleet/tokens-local.ts'
import { silentLogger } from '../silent-logger.ts'

/** Creates the tokens of an agent without a fleet. */
export function createOwnTokens(deps: Omit<TokensDeps, 'records'>): Tokens {
  return createTokens({
    ...deps,
    records: createTokenRecords({ ...deps, fleet: createLocalTokens(), logger: silentLogger }),
  })
}
