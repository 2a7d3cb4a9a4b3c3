import { expect, test } from '@jest/globals'
import { parseChallenge, readToken, tokenUrl } from '../../../agent/drivers/registry/token.ts'

const REALM = 'https://auth.example.org/token'

test.each([
  [
    `Bearer realm="${REALM}",service="registry",scope="repository:x/y:pull,push"`,
    'registry',
    'repository:x/y:pull,push',
  ],
  [`bearer Realm="${REALM}"`, null, null],
  [`Basic realm="no", Bearer realm="${REALM}", service="a b"`, 'a b', null],
])('%s asks for a token', (header, service, scope) => {
  expect(parseChallenge(header)).toEqual({ realm: REALM, service, scope })
})

test.each(['', 'Basic realm="x"', 'Bearer', 'Bearer service="x"', 'Bearer realm=https://x'])(
  '%j does not',
  (header) => {
    expect(parseChallenge(header)).toBeNull()
  },
)

test('the token is fetched for the requested scope, else for pulling from the repository', () => {
  const asked = tokenUrl({ realm: `${REALM}?a=b`, service: 's t', scope: 'repository:z:pull' }, 'x/y')
  expect(asked.href).toBe(`${REALM}?a=b&service=s+t&scope=repository%3Az%3Apull`)
  expect(tokenUrl({ realm: REALM, service: null, scope: null }, 'x/y').searchParams.get('scope')).toBe(
    'repository:x/y:pull',
  )
  expect(() => tokenUrl({ realm: 'nowhere', service: null, scope: null }, 'x')).toThrow('no place for its tokens')
})

test('a token is read as `token` or `access_token`, and must fit into a header', () => {
  expect(readToken(Buffer.from('{"token":"abc","expires_in":300}'))).toBe('abc')
  expect(readToken(Buffer.from('{"access_token":"def"}'))).toBe('def')
  for (const body of ['', '[]', '{}', '{"token":1}', '{"token":""}', '{"token":"a\\r\\nx: y"}'])
    expect(() => readToken(Buffer.from(body))).toThrow('gives no token')
})
