import { describe, expect, test } from '@jest/globals'
import {
  createChannelKeys,
  createTokenKeys,
  dropOldKeys,
  parseChannelKeys,
  parseTokenKeys,
  prepareChannelKeys,
  prepareTokenKeys,
  publicTokenKeys,
  rotateChannelKeys,
  rotateTokenKeys,
} from '../../../shared/auth/keys.ts'

describe('key files', () => {
  test('are read as they were written', () => {
    const channel = createChannelKeys()
    const tokens = createTokenKeys()
    expect(parseChannelKeys(JSON.stringify(channel))).toEqual(channel)
    expect(parseTokenKeys(JSON.stringify(tokens))).toEqual(tokens)
  })

  test('have nothing in common with another new set', () => {
    const [a, b] = [createChannelKeys(), createChannelKeys()]
    expect(a.agent_id).not.toBe(b.agent_id)
    expect(a.keys[0]?.secret).not.toBe(b.keys[0]?.secret)
    expect(Buffer.from(a.keys[0]?.secret ?? '', 'base64url')).toHaveLength(32)
  })

  test('keep the agent and the last signing key when the channel rotates', () => {
    const first = createChannelKeys()
    const second = rotateChannelKeys(first)
    const third = rotateChannelKeys(second)
    expect(second.keys.slice(1)).toEqual(first.keys)
    expect(third.keys).toHaveLength(2)
    expect(third.keys[1]).toEqual(second.keys[0])
    expect(third.agent_id).toBe(first.agent_id)
    expect(dropOldKeys(third)).toEqual({ agent_id: first.agent_id, keys: third.keys.slice(0, 1) })
  })

  test('have the next token key before it signs, and lose it neither by another preparation nor by dropping old ones', () => {
    const first = createTokenKeys()
    const prepared = prepareTokenKeys(rotateTokenKeys(first))
    const [signing, old, next] = prepared.keys
    expect(old).toEqual(first.keys[0])
    expect(prepareTokenKeys(prepared)).toEqual(prepared)
    expect(dropOldKeys(prepared).keys).toEqual([signing, next])
    const rotated = rotateTokenKeys(prepared)
    expect(rotated.keys.map(({ kid }) => kid)).toEqual([next?.kid, signing?.kid, old?.kid])
    expect(dropOldKeys(rotated).keys.map(({ kid }) => kid)).toEqual([next?.kid])
    expect(JSON.stringify(publicTokenKeys(prepared))).not.toContain('next')
  })

  test('have the next channel key before it signs, and then two keys', () => {
    const first = createChannelKeys()
    const prepared = prepareChannelKeys(rotateChannelKeys(first))
    const [signing, old, next] = prepared.keys
    expect([old, next?.next]).toEqual([first.keys[0], true])
    expect(prepareChannelKeys(prepared)).toEqual(prepared)
    expect(parseChannelKeys(JSON.stringify(prepared))).toEqual(prepared)
    expect(dropOldKeys(prepared).keys).toEqual([signing, next])
    const rotated = rotateChannelKeys(prepared)
    expect(rotated.keys).toEqual([{ id: next?.id, secret: next?.secret }, signing])
    expect(rotated.agent_id).toBe(first.agent_id)
  })

  test('have no private part in the public set', () => {
    const set = createTokenKeys()
    expect(JSON.stringify(publicTokenKeys(set))).not.toContain(set.keys[0]?.d ?? '?')
    expect(publicTokenKeys(set).keys[0]).toMatchObject({ kid: set.keys[0]?.kid, x: set.keys[0]?.x })
  })

  test.each([
    ['{', 'is not JSON'],
    ['null', 'is not a JSON object'],
    ['{"keys":[]}', 'has no "agent_id"'],
    ['{"agent_id":"a","keys":[]}', 'has no "keys"'],
    ['{"agent_id":"a","keys":[{"id":"k1","secret":"c2hvcnQ"}]}', 'index 0'],
    ['{"agent_id":"a","keys":[{"id":"K.1","secret":"' + 'A'.repeat(43) + '"}]}', 'index 0'],
    ['{"agent_id":"a","keys":[null]}', 'index 0'],
  ])('a damaged channel file %s is refused without showing it', (text, reason) => {
    expect(() => parseChannelKeys(text)).toThrow(reason)
  })

  test.each([
    '{"keys":[{"kty":"RSA","kid":"a","x":"b"}]}',
    '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"b"}]}',
    '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"b","d":1}]}',
  ])('a damaged token file %s is refused', (text) => {
    expect(() => parseTokenKeys(text)).toThrow('index 0')
  })
})
