import { describe, expect, test } from '@jest/globals'
import { findConnection } from '../../../cli/context/connection.ts'
import { authorizationOf } from '../../../sdk/typescript/src/authorization.ts'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { ORIGINS, REFUSED_ORIGINS } from '../../helpers/clients/origins.ts'

const connectionOf = (environment: NodeJS.ProcessEnv): ReturnType<typeof findConnection> =>
  findConnection({}, { XDG_CONFIG_HOME: '/nonexistent', ...environment }, '/')

/** Where the SDK sends a request. */
async function requestOf(url: string, token?: string | (() => string)): Promise<Request> {
  let sent: Request | null = null
  const fetch = async (request: Request): Promise<Response> => {
    sent = request
    return Response.json({})
  }
  await createBoxyard({ url, token, fetch }).call('getMe', {})
  if (sent === null) throw new Error('It sent nothing.')
  return sent
}

describe('the URL of a service', () => {
  test.each(ORIGINS)('%j is %s', async (text, origin) => {
    expect(connectionOf({ BOXYARD_URL: text }).url).toBe(origin)
    expect((await requestOf(text)).url).toBe(`${origin}/v1/me`)
  })

  test.each(REFUSED_ORIGINS)('%j is refused: %s', (text, words) => {
    const said = new RegExp(`^url: ${words}`)
    expect(() => createBoxyard({ url: text })).toThrow(said)
    expect(() => connectionOf({ BOXYARD_URL: text })).toThrow(new RegExp(`^BOXYARD_URL: ${words}`))
  })

  test('that is refused shows no secret in it', () => {
    for (const text of ['http://a:secret@b', 'http://b/?ticket=secret', 'http://b/sign-in#secret', 'a:secret@b:x'])
      expect(() => createBoxyard({ url: text })).toThrow(/^(?![^]*secret)/)
  })

  test('of this host is refused if its settings make none', () => {
    expect(() => connectionOf({ BOXYARD_PORT: 'abc' })).toThrow(
      /^BOXYARD_HOST and BOXYARD_PORT: must begin with .* It is not a URL\./,
    )
  })
})

describe('a token', () => {
  test.each(['byt_a\n', ' byt_a\r\n', '\tbyt_a', '\ufeffbyt_a\n'])(
    '%j is sent without the white space around it',
    async (text) => {
      expect((await requestOf('http://a', text)).headers.get('authorization')).toBe('Bearer byt_a')
      expect((await requestOf('http://a', () => text)).headers.get('authorization')).toBe('Bearer byt_a')
      const { url, token } = connectionOf({ BOXYARD_URL: 'http://a', BOXYARD_TOKEN: text })
      expect([url, authorizationOf(token())]).toEqual(['http://a', { authorization: 'Bearer byt_a' }])
    },
  )

  test.each(['', ' ', '\n'])('%j is refused as empty', async (text) => {
    await expect(requestOf('http://a', text)).rejects.toThrow(/^The token is empty\./)
    await expect(requestOf('http://a', () => text)).rejects.toThrow(/^The token is empty\./)
  })

  test('with white space in it is refused', async () => {
    for (const text of ['byt_a\nbyt_b', 'byt_a byt_b', 'byt_ä'])
      await expect(requestOf('http://a', text)).rejects.toThrow(/^The token contains an invalid character/)
  })
})
