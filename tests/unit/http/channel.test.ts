import { createHmac } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { bodyMac } from '../../../shared/auth/body-mac.ts'
import {
  AGENT_RUN_HEADER,
  bodyRefusal,
  type ChannelKey,
  type ChannelRequest,
  createSigner,
  createVerifier,
  refusalError,
  SIGNATURE_HEADER,
  SIGNED_HEADERS,
  type VerifierOptions,
} from '../../../shared/auth/channel.ts'

const NOW = 1_790_000_000_000
const SECRET = Buffer.alloc(32, 7).toString('base64url')
const KEY: ChannelKey = { id: 'k1', secret: SECRET }
const BODY = Buffer.from('{"name":"web"}')
const REQUEST: ChannelRequest = {
  method: 'POST',
  target: '/v1/projects/demo/boxes?wait_seconds=5',
  headers: {
    authorization: 'Bearer token-of-the-caller',
    'content-type': 'application/json',
    'idempotency-key': 'once',
    'if-match': '"3"',
    'x-request-id': 'req-1',
  },
}

function verifierOf(options: Partial<VerifierOptions> = {}) {
  return createVerifier({ keys: () => [KEY], agentId: 'agent', now: () => NOW, startedAt: NOW - 90_000, ...options })
}

function signed(request: ChannelRequest = REQUEST, options: { key?: ChannelKey; at?: number } = {}): ChannelRequest {
  const { key = KEY, at = NOW } = options
  const sign = createSigner({ keys: () => [key], agentId: () => 'agent', now: () => at })
  return { ...request, headers: { ...request.headers, [SIGNATURE_HEADER]: sign(request, BODY) } }
}

describe('a signed request', () => {
  test('is accepted with the headers that were signed and no others', () => {
    const request = signed()
    const verdict = verifierOf()({ ...request, headers: { ...request.headers, 'x-forwarded-for': '1.2.3.4' } })
    expect(verdict).toMatchObject({ isAccepted: true, keyId: 'k1', headers: REQUEST.headers })
    if (!verdict.isAccepted) return
    expect(Object.keys(verdict.headers)).not.toContain('x-forwarded-for')
    expect(verdict.matchesBody(BODY)).toBe(true)
  })

  test('with another body does not match', () => {
    const verdict = verifierOf()(signed())
    if (!verdict.isAccepted) throw new Error('refused')
    expect(verdict.matchesBody(Buffer.from('{"name":"wec"}'))).toBe(false)
    expect(verdict.matchesBody(new Uint8Array(0))).toBe(false)
    expect(bodyRefusal(verdict)).toEqual({ isAccepted: false, reason: 'body', keyId: 'k1', skewMs: null })
  })

  test('signs exactly the bytes of the length-prefix format', () => {
    const value = String(signed().headers[SIGNATURE_HEADER])
    const [version, keyId, time, nonce = '', digest = '', mac] = value.split('.')
    expect([version, keyId, time, nonce.length]).toEqual(['v1', 'k1', String(NOW), 22])
    expect(digest).toBe('RH8CkJ-stO-we-hz9W9YeJze-tODBZT5V88nMel_i5g')
    const headers = ['-', '26:Bearer token-of-the-caller', '-', '16:application/json', '-', '4:once', '3:"3"']
    const text = [
      'boxyard-channel-v1\n2:k15:agent13:1790000000000',
      `22:${nonce}4:POST38:/v1/projects/demo/boxes?wait_seconds=5`,
      ...headers,
      '-------',
      '5:req-1',
      '--',
      `43:${digest}`,
    ].join('')
    expect(mac).toBe(createHmac('sha256', Buffer.alloc(32, 7)).update(text).digest('base64url'))
  })

  test('without body has the digest of nothing', () => {
    const sign = createSigner({ keys: () => [KEY], agentId: () => 'agent', now: () => NOW })
    const value = sign({ method: 'GET', target: '/', headers: {} }, new Uint8Array(0))
    expect(value).toContain('.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU.')
  })
})

describe('a request whose body is not known yet', () => {
  const sign = createSigner({ keys: () => [KEY], agentId: () => 'agent', now: () => NOW })
  const value = sign(REQUEST, null)
  const request = { ...REQUEST, headers: { ...REQUEST.headers, [SIGNATURE_HEADER]: value } }

  test('is accepted with the key to check its seal, bound to this signature', () => {
    const verdict = verifierOf()(request)
    if (!verdict.isAccepted) throw new Error('refused')
    expect(verdict.bodyMac?.().digest()).toEqual(bodyMac(KEY, value).digest())
    expect(verdict.bodyMac?.().digest()).not.toEqual(bodyMac(KEY, sign(REQUEST, null)).digest())
  })

  test('matches no body, and one that is known has no seal', () => {
    const verdict = verifierOf()(request)
    if (!verdict.isAccepted) throw new Error('refused')
    for (const body of [BODY, new Uint8Array(0)]) expect(verdict.matchesBody(body)).toBe(false)
    // The last character of a 32-byte digest holds only four bits, so this one is not canonical.
    expect(Buffer.from(value.split('.')[4] ?? '', 'base64url').toString('base64url')).not.toBe(value.split('.')[4])
    expect(verifierOf()(signed())).toMatchObject({ isAccepted: true, bodyMac: null })
  })

  test('cannot be made from one whose body is known', () => {
    const known = String(signed().headers[SIGNATURE_HEADER]).split('.')
    known[4] = value.split('.')[4] ?? ''
    const headers = { ...REQUEST.headers, [SIGNATURE_HEADER]: known.join('.') }
    expect(verifierOf()({ ...REQUEST, headers })).toMatchObject({ isAccepted: false, reason: 'signature' })
  })
})

describe('an altered request is refused as wrongly signed', () => {
  test.each(['GET', 'PUT', 'DELETE'])('with method %s', (method) => {
    expect(verifierOf()({ ...signed(), method })).toMatchObject({ isAccepted: false, reason: 'signature' })
  })

  test.each(['/v1/projects/demo/boxes', '/v1/projects/demo/boxes?wait_seconds=6', '/v1/projects/deno/boxes'])(
    'with target %s',
    (target) => {
      expect(verifierOf()({ ...signed(), target })).toMatchObject({ isAccepted: false, reason: 'signature' })
    },
  )

  test.each(SIGNED_HEADERS)('with another %s, or with one added or taken away', (name) => {
    const request = signed({ ...REQUEST, headers: { ...REQUEST.headers, [name]: 'value' } })
    for (const value of ['valuf', '', undefined]) {
      const verdict = verifierOf()({ ...request, headers: { ...request.headers, [name]: value } })
      expect(verdict).toMatchObject({ isAccepted: false, reason: 'signature' })
    }
    if (name in REQUEST.headers) return
    const plain = signed()
    const added = verifierOf()({ ...plain, headers: { ...plain.headers, [name]: 'value' } })
    expect(added).toMatchObject({ isAccepted: false, reason: 'signature' })
  })

  test('with text moved from one header into the next', () => {
    const headers = { 'if-match': '"1"', 'if-modified-since': '"2"' }
    const request = signed({ ...REQUEST, headers })
    const moved = { ...request.headers, 'if-match': '"1"3:"2"', 'if-modified-since': undefined }
    expect(verifierOf()({ ...request, headers: moved })).toMatchObject({ reason: 'signature' })
  })

  test.each([
    ['key id', 1, 'k2', 'unknown_key'],
    ['time', 2, String(NOW + 1), 'signature'],
    ['nonce', 3, 'A'.repeat(22), 'signature'],
    ['body digest', 4, 'A'.repeat(43), 'signature'],
    ['MAC', 5, 'A'.repeat(43), 'signature'],
    ['version', 0, 'v2', 'unsigned'],
  ])('with another %s in the signature itself', (_name, index, value, reason) => {
    const request = signed()
    const parts = String(request.headers[SIGNATURE_HEADER]).split('.')
    parts[index] = value
    const headers = { ...request.headers, [SIGNATURE_HEADER]: parts.join('.') }
    expect(verifierOf()({ ...request, headers })).toMatchObject({ isAccepted: false, reason })
  })

  test('for another agent', () => {
    expect(verifierOf({ agentId: 'other' })(signed())).toMatchObject({ reason: 'signature' })
  })

  test('by another secret under the same key id', () => {
    const forged = signed(REQUEST, { key: { id: 'k1', secret: Buffer.alloc(32, 8).toString('base64url') } })
    expect(verifierOf()(forged)).toMatchObject({ reason: 'signature' })
  })
})

describe('an unsigned request is refused', () => {
  test.each([undefined, '', 'v1', 'v1.k1.1.2.3.4', `v1.k1.${NOW}..`, 'x'.repeat(100_000)])('signature %#', (value) => {
    const request = { ...REQUEST, headers: { ...REQUEST.headers, [SIGNATURE_HEADER]: value } }
    expect(verifierOf()(request)).toEqual({ isAccepted: false, reason: 'unsigned', keyId: null, skewMs: null })
  })
})

describe('time', () => {
  test.each([
    [30_000, true],
    [30_001, false],
    [-30_000, true],
    [-30_001, false],
  ])('a sender whose clock is %i ms ahead is accepted: %s', (skewMs, isAccepted) => {
    const verdict = verifierOf()(signed(REQUEST, { at: NOW + skewMs }))
    expect(verdict).toMatchObject(isAccepted ? { isAccepted } : { isAccepted, reason: 'stale', skewMs })
  })

  test('a request signed before the verifier began must be signed anew, as it may have been used', () => {
    const verify = verifierOf({ startedAt: NOW - 10 })
    for (const at of [NOW - 10_000, NOW - 11, NOW - 10])
      expect(verify(signed(REQUEST, { at }))).toMatchObject({ reason: 'restarted', agentRun: expect.any(String) })
    expect(verify(signed(REQUEST, { at: NOW - 30_001 }))).toMatchObject({ reason: 'stale' })
  })
})

describe('replay', () => {
  test('a request is accepted once', () => {
    const verify = verifierOf()
    const request = signed()
    expect(verify(request)).toMatchObject({ isAccepted: true })
    expect(verify(request)).toMatchObject({ isAccepted: false, reason: 'replayed' })
  })

  test('two equal requests have different nonces', () => {
    const verify = verifierOf()
    expect([verify(signed()), verify(signed())].map((verdict) => verdict.isAccepted)).toEqual([true, true])
  })

  test('a replay stays refused for as long as its time is acceptable', () => {
    let now = NOW
    const verify = verifierOf({ now: () => now })
    const request = signed(REQUEST, { at: NOW + 30_000 })
    expect(verify(request)).toMatchObject({ isAccepted: true })
    for (now = NOW; now <= NOW + 60_000; now += 500) expect(verify(request)).toMatchObject({ reason: 'replayed' })
    now = NOW + 60_001
    expect(verify(request)).toMatchObject({ reason: 'stale' })
  })

  test('a full memory refuses rather than forgets, and takes requests again once the old ones have expired', () => {
    let now = NOW
    const verify = verifierOf({ nonceCapacity: 2, now: () => now })
    const first = signed()
    expect(verify(first).isAccepted && verify(signed()).isAccepted).toBe(true)
    expect(verify(signed())).toMatchObject({ isAccepted: false, reason: 'overloaded' })
    expect(verify(first)).toMatchObject({ reason: 'replayed' })
    now += 32_000
    expect(verify(signed(REQUEST, { at: now }))).toMatchObject({ isAccepted: true })
  })

  test('a request from a clock ahead is not accepted again by the next run of the agent', () => {
    const request = signed(REQUEST, { at: NOW + 30_000 })
    expect(verifierOf()(request)).toMatchObject({ isAccepted: true })
    let now = NOW
    const next = verifierOf({ startedAt: NOW, now: () => now })
    for (; now <= NOW + 60_000; now += 500) expect(next(request)).toMatchObject({ reason: 'restarted' })
    expect(next(request)).toMatchObject({ reason: 'stale' })
  })

  test('a new run accepts requests signed for it once, and later all fresh ones', () => {
    let now = NOW
    const verify = verifierOf({ startedAt: NOW, now: () => now })
    const refused = verify(signed())
    if (refused.isAccepted) throw new Error('accepted')
    const forRun = (run: string) => signed({ ...REQUEST, headers: { ...REQUEST.headers, [AGENT_RUN_HEADER]: run } })
    const request = forRun(String(refused.agentRun))
    expect(verify(request)).toMatchObject({ isAccepted: true })
    expect(verify(request)).toMatchObject({ reason: 'replayed' })
    expect(verify(forRun('A'.repeat(22)))).toMatchObject({ reason: 'restarted' })
    expect(refusalError(refused).headers[AGENT_RUN_HEADER]).toBe(refused.agentRun)
    now = NOW + 30_001
    expect(verify(signed(REQUEST, { at: now }))).toMatchObject({ isAccepted: true })
  })

  test('one signature is for the runs of several agents, each of which accepts it once', () => {
    const verifiers = [verifierOf({ startedAt: NOW }), verifierOf({ startedAt: NOW })]
    const runs = verifiers.map((verify) => {
      const refused = verify(signed())
      return refused.isAccepted ? '' : String(refused.agentRun)
    })
    const request = signed({ ...REQUEST, headers: { ...REQUEST.headers, [AGENT_RUN_HEADER]: runs.join(',') } })
    for (const verify of verifiers) {
      expect(verify(request)).toMatchObject({ isAccepted: true })
      expect(verify(request)).toMatchObject({ reason: 'replayed' })
    }
    expect(verifierOf({ startedAt: NOW })(request)).toMatchObject({ reason: 'restarted' })
  })

  test('a forged request does not take up memory', () => {
    const verify = verifierOf({ nonceCapacity: 1 })
    const request = signed()
    verify({ ...request, method: 'GET' })
    expect(verify(request)).toMatchObject({ isAccepted: true })
  })
})

describe('rotation', () => {
  const NEXT: ChannelKey = { id: 'k2', secret: Buffer.alloc(32, 9).toString('base64url') }

  test('both keys verify and the first signs', () => {
    const verify = verifierOf({ keys: () => [NEXT, KEY] })
    expect(verify(signed())).toMatchObject({ isAccepted: true, keyId: 'k1' })
    const sign = createSigner({ keys: () => [NEXT, KEY], agentId: () => 'agent', now: () => NOW })
    expect(sign(REQUEST, BODY).startsWith('v1.k2.')).toBe(true)
  })

  test('a dropped key is unknown at once', () => {
    let keys = [NEXT, KEY]
    const verify = verifierOf({ keys: () => keys })
    keys = [NEXT]
    expect(verify(signed())).toMatchObject({ isAccepted: false, reason: 'unknown_key', keyId: 'k1' })
  })
})

test('a refused sender gets 502 agent_protocol with the reason', () => {
  const error = refusalError({ isAccepted: false, reason: 'stale', keyId: 'k1', skewMs: -40_000 })
  expect(error).toMatchObject({ code: 'agent_protocol', status: 502, headers: { 'x-boxyard-refusal': 'stale' } })
})
