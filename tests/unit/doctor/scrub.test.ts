import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { createRedactor } from '../../../agent/doctor/support/scrub.ts'
import { secretsIn } from '../../../agent/doctor/support/secrets.ts'

const { privateKey: PEM } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const LINES = PEM.trim().split('\n')
const scrub = createRedactor([])

test.each([
  ['a token', 'got eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2ln there', 'got [redacted] there'],
  ['a header', 'Authorization: Bearer abcdef123456', 'Authorization: Bearer [redacted]'],
  ['a ticket', 'GET /x?ticket=abc&a=1', 'GET /x?ticket=[redacted]&a=1'],
  ['a signed URL', 'GET /x?X-Amz-Signature=00ff&a=1', 'GET /x?X-Amz-Signature=[redacted]&a=1'],
  ['a URL with a password', 'https://ann:secret@example.org/x', 'https://[redacted]@example.org/x'],
  ['JSON', '{"secret_access_key":"a b c","n":1}', '{"secret_access_key":[redacted],"n":1}'],
  ['JSON with quotes', '{"password":"ab\\"cdefgh","n":1}', '{"password":[redacted],"n":1}'],
  [
    'JSON in a line of JSON',
    '{"m":"{\\"password\\":\\"hunter22\\",\\"n\\":1}"}',
    '{"m":"{\\"password\\":[redacted],\\"n\\":1}"}',
  ],
  ['a private key in a line of JSON', '{"m":"{\\"d\\":\\"abc\\"}"}', '{"m":"{\\"d\\":[redacted]}"}'],
  ['a setting', 'DB_PASSWORD=hunter22 next', 'DB_PASSWORD=[redacted] next'],
  ['a cookie', 'Cookie: boxyard=abc; other=def', 'Cookie: [redacted]'],
  ['a key id of S3', 'key AKIAIOSFODNN7EXAMPLE', 'key [redacted]'],
  ['variables of a unit', ' Environment=A=1 B=two\nUser=root', ' Environment=[redacted]\nUser=root'],
  [
    'variables of a unit over lines',
    'Environment=A=1 \\\n  B=two \\\n  C=3\nUser=root',
    'Environment=[redacted]\nUser=root',
  ],
  ['a private key in JSON', '{"kid":"k","d":"abc def","x":"y"}', '{"kid":"k","d":[redacted],"x":"y"}'],
  ['a key', `before\n${PEM}after`, 'before\n[redacted]\nafter'],
  ['a key on one line', `{"pem":"${LINES.join('\\n')}\\n"}`, '{"pem":"[redacted]\\n"}'],
  ['a key whose end is missing', `before\n${LINES.slice(0, 2).join('\n')}`, 'before\n[redacted]'],
  ['a key whose beginning is missing', `${LINES.slice(1).join('\n')}\nafter`, '[redacted]\nafter'],
  ['nothing else', 'token of ci; keys/token-private.json 0600', 'token of ci; keys/token-private.json 0600'],
])('takes out %s', (_case, text, expected) => expect(scrub(text)).toBe(expected))

test('known secrets are taken out wherever they stand, also as JSON and URLs write them, the longest first', () => {
  const known = createRedactor(['abcdef', 'abcdefgh', 'with "quotes" & more', 'tiny', ''])
  expect(known('xabcdefghx abcdefabcdef ab tiny')).toBe('x[redacted]x [redacted][redacted] ab tiny')
  expect(known(JSON.stringify({ a: 'with "quotes" & more' }))).toBe('{"a":"[redacted]"}')
  expect(known(JSON.stringify({ m: JSON.stringify({ a: 'with "quotes" & more' }) }))).toBe(
    JSON.stringify({ m: '{"a":"[redacted]"}' }),
  )
  expect(known(`?x=${encodeURIComponent('with "quotes" & more')}`)).toBe('?x=[redacted]')
})

test('known secrets are taken out where they were encoded as a whole', () => {
  const secret = 'hunter22?>ÿ~'
  const known = createRedactor([secret])
  for (const encoding of ['base64', 'base64url', 'hex'] as const)
    expect(known(`data: ${Buffer.from(secret).toString(encoding).replace(/=+$/, '')}.`)).toBe('data: [redacted].')
})

test.each([
  ['words like lines of a key', 'A'.repeat(20) + ' '],
  ['words with hyphens', 'a-'],
  ['schemes', 'a:'],
  ['URLs without an end', 'http://a:'],
  ['beginnings of keys', LINES[0] ?? ''],
  ['beginnings of other keys', `${LINES[0]}x${LINES.at(-1)?.replace('END ', 'END B ')}`],
  ['spaces', ' '],
  ['names of secrets', 'password'],
  ['beginnings of tokens', 'eyJ-'],
  ['continued variables', 'Environment=\\\n'],
])('a log full of %s takes no time without end', (_case, piece) => {
  const begun = performance.now()
  scrub(piece.repeat(Math.ceil(1024 ** 2 / piece.length)))
  expect(performance.now() - begun).toBeLessThan(20_000)
})

test('many secrets take no more time than few', () => {
  const text = 'some line of a log that is not short, and says little\n'.repeat(20_000)
  const timed = (count: number): number => {
    const many = createRedactor(Array.from({ length: count }, (_, i) => `secret-${i}-of-a-box`))
    const begun = performance.now()
    expect(many(text)).toBe(text)
    return performance.now() - begun
  }
  timed(10)
  const [few, many] = [Math.min(timed(10), timed(10)), Math.min(timed(50_000), timed(50_000))]
  expect(many).toBeLessThan(20 * few + 1000)
})

test('secrets are found in files of keys, tokens and credentials', () => {
  expect(secretsIn('{"keys":[{"kid":"k1","x":"public","d":"private"}]}')).toEqual(['private'])
  expect(secretsIn('{"agent_id":"a","keys":[{"id":"k","secret":"s1"},{"id":"l","secret":"s2"}]}')).toEqual(['s1', 's2'])
  expect(secretsIn('{"access_key_id":"A","secret_access_key":"B"}')).toEqual(['A', 'B'])
  expect(secretsIn('eyJ.token\n')).toEqual(['eyJ.token'])
  expect(secretsIn('-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n' + PEM)).toEqual(LINES.slice(1, -1))
  expect(secretsIn('users:\n- user:\n    token: abc.def\n    client-key-data: Zm9v\n')).toEqual(['abc.def', 'Zm9v'])
})
