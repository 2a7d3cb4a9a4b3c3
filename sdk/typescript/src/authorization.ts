/** Returns the authorization header for a token. @throws TypeError, without the token, if no header can hold it */
export function authorizationOf(token: string | null): { authorization?: string } {
  if (token === null) return {}
  if (!TOKEN.test(token)) throw new TypeError('The token contains an invalid character, such as a line break.')
  return { authorization: `Bearer ${token}` }
}

const TOKEN = /^[\x21-\x7e]+$/
