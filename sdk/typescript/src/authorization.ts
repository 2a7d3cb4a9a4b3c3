/** Returns the header that tells the token. @throws TypeError, without the token, for one that no header can hold */
export function authorizationOf(token: string | null): { authorization?: string } {
  if (token === null) return {}
  if (!TOKEN.test(token)) throw new TypeError('The token has a character that no token has, such as a line break.')
  return { authorization: `Bearer ${token}` }
}

const TOKEN = /^[\x21-\x7e]+$/
