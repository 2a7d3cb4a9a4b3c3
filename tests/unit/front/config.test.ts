import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { readFrontSettings } from '../../../functions/config.ts'
import { createKeyring } from '../../../functions/keyring.ts'
import { createChannelKeys, createTokenKeys, publicTokenKeys, rotateChannelKeys } from '../../../shared/auth/keys.ts'
import { AGENT_SETTINGS, FRONT_SETTINGS } from '../../../shared/settings-names.ts'
import { makeRecorder } from '../../helpers/front/test-front.ts'

const directory = mkdtempSync(join(tmpdir(), 'front-config-'))
afterAll(() => rmSync(directory, { recursive: true }))

const PEM = '-----BEGIN CERTIFICATE-----\n'
const TLS = { BOXYARD_CHANNEL_CA: PEM, BOXYARD_CHANNEL_CERT: PEM, BOXYARD_CHANNEL_KEY: PEM }

describe('the settings of the front', () => {
  test('are complete with none given', () => {
    expect(readFrontSettings({ PATH: '/bin' })).toEqual({
      host: '127.0.0.1',
      port: 8080,
      agentUrl: 'http://127.0.0.1:8090',
      agentTimeoutMs: 29_000,
      drainMs: 30_000,
      logLevel: 'info',
      channelKeys: { file: '/var/lib/boxyard/keys/channel.json' },
      tokenKeys: { file: '/var/lib/boxyard/keys/token-public.json' },
      channelTls: null,
      connectionsMax: 4096,
      trustedProxies: [],
      corsOrigins: [],
      hosts: [],
      consoleDir: null,
    })
  })

  test('follow given values, and ignore empty ones', () => {
    const settings = readFrontSettings({
      BOXYARD_HOST: '::1',
      BOXYARD_PORT: '0',
      BOXYARD_DATA_DIR: '/data',
      BOXYARD_AGENT_PORT: '9000',
      BOXYARD_TOKEN_KEYS: '{}',
      BOXYARD_CHANNEL_KEYS: '',
      ...TLS,
    })
    expect(settings).toMatchObject({
      host: '::1',
      port: 0,
      agentUrl: 'https://127.0.0.1:9000',
      tokenKeys: { text: '{}' },
    })
    expect(settings.channelKeys).toEqual({ file: '/data/keys/channel.json' })
    expect(settings.channelTls).toEqual({ ca: PEM, cert: PEM, key: PEM })
  })

  test('have origins in a list', () => {
    const origins = ['https://app.example.com', 'http://localhost:3000']
    expect(readFrontSettings({ BOXYARD_CORS_ORIGINS: origins.join(',') }).corsOrigins).toEqual(origins)
  })

  test('have host names in a list', () => {
    const hosts = ['api.example.org', '*.example.org']
    expect(readFrontSettings({ BOXYARD_HOSTS: hosts.join(',') }).hosts).toEqual(hosts)
  })

  test('ignore those of the agent', () => {
    const others = Object.fromEntries(AGENT_SETTINGS.map((name) => [name, 'anything']))
    expect(() => readFrontSettings(others, AGENT_SETTINGS)).not.toThrow()
    expect(() => readFrontSettings(others)).toThrow('no such setting')
    expect(new Set([...AGENT_SETTINGS, ...FRONT_SETTINGS]).size).toBe(AGENT_SETTINGS.length + FRONT_SETTINGS.length)
  })

  test.each([
    [{ BOXYARD_PROT: '1' }, 'BOXYARD_PROT: no such setting'],
    [{ BOXYARD_PORT: '65536' }, 'BOXYARD_PORT="65536": expected a whole number from 0 to 65535'],
    [{ BOXYARD_PORT: '-1' }, 'BOXYARD_PORT="-1"'],
    ...[
      '*',
      'null',
      'https://*.example.com',
      'https://app.example.com/',
      'https://App.example.com',
      'app.example.com',
    ].map((text): [Record<string, string>, string] => [
      { BOXYARD_CORS_ORIGINS: `https://app.example.com,${text}` },
      `BOXYARD_CORS_ORIGINS="https://app.example.com,${text}": expected exact origins`,
    ]),
    [
      { BOXYARD_TRUSTED_PROXIES: '10.0.0.0/33' },
      'BOXYARD_TRUSTED_PROXIES="10.0.0.0/33": expected addresses or networks',
    ],
    ...['*', 'https://api.example.org', 'api.example.org:443', 'a b'].map((text): [Record<string, string>, string] => [
      { BOXYARD_HOSTS: text },
      `BOXYARD_HOSTS="${text}": expected host names such as`,
    ]),
    [{ BOXYARD_PORT: '1e3' }, 'BOXYARD_PORT="1e3"'],
    [{ BOXYARD_LOG_LEVEL: 'loud' }, 'BOXYARD_LOG_LEVEL="loud": expected one of'],
    [{ BOXYARD_DATA_DIR: 'data' }, 'BOXYARD_DATA_DIR="data": expected an absolute path'],
    [{ BOXYARD_AGENT_URL: 'nowhere' }, 'BOXYARD_AGENT_URL="nowhere": expected http://host:port'],
    [{ BOXYARD_AGENT_URL: 'http://a/path' }, 'BOXYARD_AGENT_URL'],
    [{ BOXYARD_AGENT_URL: 'http://a:1', ...TLS }, 'expected https://host:port, since BOXYARD_CHANNEL_CA is given'],
    [{ BOXYARD_CHANNEL_CA: PEM }, 'set all or none'],
    [{ ...TLS, BOXYARD_CHANNEL_KEY: '/nowhere/key.pem' }, 'BOXYARD_CHANNEL_KEY: expected PEM, or the path'],
    [{ BOXYARD_TOKEN_KEYS: '{}', BOXYARD_TOKEN_KEYS_FILE: '/x' }, 'set only one'],
  ])('%j are refused by name', (environment, message) => {
    expect(() => readFrontSettings(environment)).toThrow(message)
  })
})

describe('the keyring', () => {
  const file = join(directory, 'channel.json')
  const tokens = { text: JSON.stringify(publicTokenKeys(createTokenKeys())) }

  test('follows its files, read at most once a second, and keeps its keys when they are damaged', () => {
    let now = 10_000
    const { logger, lines } = makeRecorder()
    const first = createChannelKeys()
    writeFileSync(file, JSON.stringify(first))
    const keyring = createKeyring({ channelKeys: { file }, tokenKeys: tokens, logger, now: () => now })
    const known = keyring.channel()
    expect(known).toEqual(first)
    keyring.refresh('channel')
    expect(keyring.channel()).toBe(known)
    const second = rotateChannelKeys(first)
    writeFileSync(file, JSON.stringify(second))
    now += 999
    keyring.refresh('tokens')
    keyring.refresh('channel')
    expect(keyring.channel()).toBe(known)
    now += 1
    keyring.refresh('channel')
    expect(keyring.channel()).toEqual(second)
    writeFileSync(file, '{')
    now += 1000
    keyring.refresh('channel')
    expect(keyring.channel()).toEqual(second)
    expect(lines).toMatchObject([{ level: 'error' }])
  })

  test.each([
    [{ file: join(directory, 'absent.json') }, 'absent.json is not readable (ENOENT). The agent creates it'],
    [{ text: '{"secret":"hunter2"' }, 'A key set given in the environment is not JSON.'],
  ])('cannot be made from %j', (channelKeys, message) => {
    const { logger } = makeRecorder()
    const make = () => createKeyring({ channelKeys, tokenKeys: tokens, logger, now: Date.now })
    expect(make).toThrow(message)
    expect(make).not.toThrow('hunter2')
  })
})
