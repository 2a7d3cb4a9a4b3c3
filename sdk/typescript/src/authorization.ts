/**
 * Returns the authorization header for a token. Ignores white space around it, because files and variables often end with a line break.
 * @throws TypeError, without the token, if it is empty or no header can hold it
 */
export function authorizationOf(token: string | null): { authorization?: string } {
  if (token === null) return {}
  const text = token.trim()
  if (text === '') throw new TypeError('The token is empty. Check the file or variable that it comes from.')
  if (!TOKEN.test(text)) throw new TypeError('The token contains an invalid character, such as a line break.')
  return { authorization: `Bearer ${text}` }
}

const TOKEN = /^[\x21-\x7e]+$/
