import { expect, test } from '@jest/globals'
import { formatImageReference, parseImageReference } from '../../../agent/core/bases/image-reference.ts'

const SHA = `sha256:${'a'.repeat(64)}`

test.each([
  ['debian', 'docker.io', 'library/debian', 'latest', null],
  ['debian:12', 'docker.io', 'library/debian', '12', null],
  ['user/tool', 'docker.io', 'user/tool', 'latest', null],
  ['docker.io/debian:12', 'docker.io', 'library/debian', '12', null],
  ['index.docker.io/user/tool:1', 'docker.io', 'user/tool', '1', null],
  [`ghcr.io/x/y@${SHA}`, 'ghcr.io', 'x/y', null, SHA],
  [`quay.io/a/b/c:v1.2_3-rc@${SHA}`, 'quay.io', 'a/b/c', 'v1.2_3-rc', SHA],
  ['127.0.0.1:5000/it', '127.0.0.1:5000', 'it', 'latest', null],
  ['[::1]:5000/it:1', '[::1]:5000', 'it', '1', null],
  ['localhost/it', 'localhost', 'it', 'latest', null],
  ['REGISTRY.Example.org/some__name/a-b.c', 'registry.example.org', 'some__name/a-b.c', 'latest', null],
])('%s is parsed', (text, registry, repository, tag, digest) => {
  expect(parseImageReference(text)).toEqual({ registry, repository, tag, digest })
})

test.each([
  '',
  'Debian',
  'docker://debian',
  'https://ghcr.io/x/y',
  'user@ghcr.io/x',
  'ghcr.io/x:',
  'ghcr.io/x:-1',
  'ghcr.io/x@sha256:abc',
  `ghcr.io/x@${SHA}@${SHA}`,
  'ghcr.io/',
  'ghcr.io//x',
  'ghcr.io/x/',
  'ghcr.io/../x',
  'ghcr.io/x/..',
  'ghcr.io/x?y=z',
  'ghcr.io/x#y',
  'ghcr.io/x y',
  'ghcr.io/x%2fy',
  'ghcr.io:0/x',
  'ghcr.io:65536/x',
  'ghcr.io:/x',
  '-a.example.org/x',
  '[::1/x',
  `ghcr.io/${'a'.repeat(256)}`,
  `ghcr.io/x:${'a'.repeat(129)}`,
])('%j is refused', (text) => {
  expect(() => parseImageReference(text)).toThrow(
    expect.objectContaining({ code: 'invalid_request', errors: [expect.objectContaining({ pointer: '/image' })] }),
  )
})

test('the longest reference that fits a request is parsed quickly', () => {
  for (const text of [`${'a-'.repeat(255)}!`, `${'a.'.repeat(250)}!/x`, `x.y/${'a/'.repeat(250)}`])
    expect(() => parseImageReference(text)).toThrow('Expected a reference such as')
})

test('it is formatted in full, with the digest found', () => {
  expect(formatImageReference(parseImageReference('debian:12'), SHA)).toBe(`docker.io/library/debian:12@${SHA}`)
  expect(formatImageReference(parseImageReference(`ghcr.io/x/y@${SHA}`), SHA)).toBe(`ghcr.io/x/y@${SHA}`)
})
