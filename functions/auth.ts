import type { TokenKeySet } from '../shared/auth/keys.ts'
import { createTokenVerifier, type TokenClaims, tokenKeyId } from '../shared/auth/tokens.ts'
import { bearerToken, type HeaderMap } from '../shared/http/messages.ts'
import type { Keyring } from './keyring.ts'

/**
 * Gives the claims of a request's bearer token; a key it does not know yet makes it read the keys again.
 * @throws ServiceError `token_missing`, `token_invalid`, `token_expired`
 */
export type Authenticator = (headers: HeaderMap) => Promise<TokenClaims>

/** Makes an authenticator that asks nobody: signature, shape and expiry only; the agent knows what is revoked. */
export function createAuthenticator(options: { keyring: Keyring; now(): number }): Authenticator {
  const { keyring, now } = options
  const verify = createTokenVerifier({ keys: () => keyring.tokens(), now })
  return async (headers) => {
    const token = bearerToken(headers)
    const keys = keyring.tokens()
    try {
      return await verify(token)
    } catch (error) {
      if (token === undefined || !isOfUnknownKey(token, keys)) throw error
      if (keyring.tokens() === keys) keyring.refresh('tokens')
      // Another request may have read them meanwhile, so what counts is whether they are others than before.
      if (keyring.tokens() === keys) throw error
      return verify(token)
    }
  }
}

function isOfUnknownKey(token: string, { keys }: TokenKeySet): boolean {
  const kid = tokenKeyId(token)
  return kid !== undefined && !keys.some((key) => key.kid === kid)
}
