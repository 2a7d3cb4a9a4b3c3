import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { checkSize, readAgentKeys, readTls } from '../../../infra/aws/agent-keys.ts'
import { checkRecord } from '../../../infra/aws/record.ts'
import { checkChannel, checkStage, mergeSettings, NONE, type StageSettings } from '../../../infra/aws/settings.ts'
import { createChannelKeys, createTokenKeys, publicTokenKeys, rotateChannelKeys } from '../../../shared/auth/keys.ts'

const directory = mkdtempSync(join(tmpdir(), 'deploy-settings-'))
afterAll(() => rmSync(directory, { recursive: true }))

const write = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text)
  return join(directory, name)
}
const ACM = 'arn:aws:acm'
const KEY = '123456789012:certificate/0d0c'
const NETWORK = { 'agent-url': 'http://a:1', 'subnet-ids': 'subnet-0a,subnet-0b', 'security-group-ids': 'sg-0' }

describe('settings of a stage', () => {
  test('are those of the last deployment but for what is given now, and none where nothing is', () => {
    const kept = { ...NETWORK, 'cors-origins': 'https://a.example', domain: NONE }
    const merged = mergeSettings(kept, { 'agent-url': 'http://b:2', 'cors-origins': NONE })
    expect(merged).toMatchObject({ ...NETWORK, 'agent-url': 'http://b:2', 'cors-origins': NONE, 'alarm-topic': NONE })
  })

  test.each<[Partial<StageSettings>, string]>([
    [{}, '--agent-url none: expected http://host:port'],
    [{ 'agent-url': 'http://a:1/x' }, '--agent-url http://a:1/x: expected'],
    [{ 'agent-url': 'ftp://a' }, '--agent-url ftp://a: expected'],
    [{ ...NETWORK, 'security-group-ids': NONE }, 'set both or neither.'],
    [{ ...NETWORK, 'subnet-ids': 'subnet-0a, subnet-0b' }, 'expected subnet-…, separated by commas'],
    [{ ...NETWORK, domain: 'api.example.com' }, '--domain and --certificate: set both or neither.'],
    [{ ...NETWORK, 'console-certificate': `${ACM}:us-east-1:${KEY}` }, '--console-certificate: needs --domain,'],
    [
      { ...NETWORK, 'console-certificate': `${ACM}:eu-west-1:${KEY}` },
      'expected the ARN of an ACM certificate in us-east-1',
    ],
    [{ ...NETWORK, 'hosted-zone': 'Z1' }, '--hosted-zone: needs --domain.'],
    [{ ...NETWORK, 'cors-origins': 'https://a.example/' }, 'expected origins such as'],
    [{ ...NETWORK, 'alarm-topic': 'operators' }, 'expected the ARN of an SNS topic'],
  ])('%j are refused', (given, reason) => {
    expect(() => mergeSettings({}, given)).toThrow(reason)
  })

  test('have mutual TLS over a public address, and https exactly with it', () => {
    const open = mergeSettings({}, { 'agent-url': 'http://a:1' })
    const secure = mergeSettings({}, { 'agent-url': 'https://a:1' })
    expect(() => checkChannel(open, false)).toThrow('A public address of the agent needs mutual TLS')
    expect(() => checkChannel(open, true)).toThrow('expected https://…')
    expect(() => checkChannel(secure, false)).toThrow('--channel-ca, --channel-cert and --channel-key beside it')
    checkChannel(secure, true)
    checkChannel(mergeSettings({}, NETWORK), false)
    checkChannel(mergeSettings({}, { ...NETWORK, 'agent-url': 'https://a:1' }), true)
  })

  test.each(['Big', '', '1st', 'a_b', 'a'.repeat(21), '../x'])('stage %j is refused', (stage) => {
    expect(() => checkStage(stage)).toThrow('expected 1–20 of a–z')
  })
})

describe('a record that is not of the stage', () => {
  const stack = new Map([
    ['DomainTarget', 'd1.cloudfront.net'],
    ['ApiTarget', 'd-1.execute-api.eu-central-1.amazonaws.com'],
  ])
  const named = { ...NETWORK, domain: 'api.example.com', certificate: `${ACM}:eu-west-1:${KEY}` }
  const leadsTo = (name: string) => () => Promise.resolve([name])

  test('leads elsewhere before the console goes to which it led', async () => {
    const without = mergeSettings({}, named)
    await expect(checkRecord(without, stack, leadsTo('D1.cloudfront.net'))).rejects.toThrow(
      'api.example.com still points to d1.cloudfront.net, which this deletes with the console. Point it to d-1.execute-api',
    )
    await checkRecord(without, stack, leadsTo('d-1.execute-api.eu-central-1.amazonaws.com'))
    await checkRecord(without, stack, () => Promise.reject(new Error('ENODATA')))
  })

  test.each<[string, Partial<StageSettings>]>([
    ['the console stays', { 'console-certificate': `${ACM}:us-east-1:${KEY}` }],
    ['the record is of the stage', { 'hosted-zone': 'Z1' }],
  ])('is left alone where %s', async (_where, given) => {
    await checkRecord(mergeSettings({}, { ...named, ...given }), stack, leadsTo('d1.cloudfront.net'))
  })
})

describe('keys of a stage', () => {
  const channel = rotateChannelKeys(createChannelKeys())
  const tokens = createTokenKeys()

  test('are the key that signs and the public ones of tokens', () => {
    write('channel.json', JSON.stringify(channel))
    write('token-public.json', JSON.stringify(publicTokenKeys(tokens)))
    const read = readAgentKeys(directory)
    expect(JSON.parse(read.channel_keys)).toEqual({ ...channel, keys: channel.keys.slice(0, 1) })
    expect(JSON.parse(read.token_keys)).toEqual(publicTokenKeys(tokens))
  })

  test('with a private key of tokens among them, or damaged, are refused without showing one', () => {
    write('token-public.json', JSON.stringify(tokens))
    expect(() => readAgentKeys(directory)).toThrow(`${directory}/token-public.json contains a private key.`)
    write('channel.json', '{"agent_id":"a","keys":["s3cret"]}')
    expect(() => readAgentKeys(directory)).toThrow(/channel.json has a key that is not well-formed, at index 0\.$/)
    expect(() => readAgentKeys('-oProxyCommand=x:/keys')).toThrow('expected user@host:/directory')
    expect(() => readAgentKeys('root@host:/keys; rm')).toThrow('expected user@host:/directory')
  })

  test('that do not fit the variables of a function are refused', () => {
    const long = '-----BEGIN CERTIFICATE-----\n'.padEnd(2_000, 'A')
    const rest = { channel_ca: long, channel_cert: long, channel_key: '' }
    expect(() => checkSize({ channel_keys: '', token_keys: '', ...rest })).toThrow(/4000 bytes, but.*EC keys/)
  })

  test('have PEM of the right kind', () => {
    const wrong = write('wrong.pem', 'PEM')
    expect(() => readTls({ ca: wrong, cert: wrong, key: wrong })).toThrow(`--channel-ca ${wrong}: expected PEM.`)
  })
})
