import type { TokenKeySet } from '../shared/auth/keys.ts'
import { createTokenVerifier, type TokenClaims, tokenKeyId } from '../shared/auth/tokens.ts'
import { bearerToken, type HeaderMap } from '../shared/http/messages.ts'
import type { Keyring } from './keyring.ts'

/**
 * Returns the claims of a request's bearer token. Reloads the keys if the token names an unknown key.
 * @throws ServiceError `token_missing`, `token_invalid`, `token_expired`
 */
export type Authenticator = (headers: HeaderMap) => Promise<TokenClaims>

/** Creates an authenticator that checks signature, shape and expiry offline. The agent checks revocation. */
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
      // Compares with the earlier keys, because a concurrent request may have reloaded them.
      if (keyring.tokens() === keys) throw error
      return verify(token)
    }
  }
}

function isOfUnknownKey(token: string, { keys }: TokenKeySet): boolean {
  const kid = tokenKeyId(token)
  return kid !== undefined && !keys.some((key) => key.kid === kid)
}
