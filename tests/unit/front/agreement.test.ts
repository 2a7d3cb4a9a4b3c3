import { expect, test } from '@jest/globals'
import { inspectFrontSettings } from '../../../agent/config/front.ts'
import { readGivenSettings } from '../../../agent/config/given.ts'
import { readFrontSettings } from '../../../functions/config.ts'
import { AGENT_SETTINGS } from '../../../shared/settings-names.ts'

/** Returns whether the front starts with these settings. */
function starts(given: Record<string, string>): boolean {
  try {
    readFrontSettings(given, AGENT_SETTINGS)
    return true
  } catch {
    return false
  }
}

test.each([
  ...['abc', '', '0', '1', '3600', '3601', '30.0', '-1', ' 30'].flatMap((value) => [
    { BOXYARD_DRAIN_SECONDS: value },
    { BOXYARD_AGENT_TIMEOUT_SECONDS: value },
  ]),
  ...['0', '65535', '65536', '99999', '80a'].map((value) => ({ BOXYARD_PORT: value })),
  ...['http://10.0.0.1:8090', 'https://10.0.0.1', 'ftp://x', 'http://x/y', 'http://x?a=1', 'http://a@x', 'x', ''].map(
    (value) => ({ BOXYARD_AGENT_URL: value }),
  ),
  ...['https://app.example.com', 'https://app.example.com,http://127.0.0.1:3000', '*', 'https://*.example.com'].map(
    (value) => ({ BOXYARD_CORS_ORIGINS: value }),
  ),
  ...['https://app.example.com/', 'https://app.example.com:443', 'app.example.com', 'https://a.example, x', ','].map(
    (value) => ({ BOXYARD_CORS_ORIGINS: value }),
  ),
  ...['10.0.0.0/8', '192.0.2.1,2001:db8::/32', '10.0.0.0/33', 'proxy', '10.0.0.0/', '10.0.0.1, 10.0.0.2', ''].map(
    (value) => ({ BOXYARD_TRUSTED_PROXIES: value }),
  ),
  ...['api.example.org', '*.example.org,node-1', '*', 'https://a.example', 'a:1', 'a, b', ''].map((value) => ({
    BOXYARD_HOSTS: value,
  })),
  ...['/srv/console', 'console', ''].map((value) => ({ BOXYARD_CONSOLE_DIR: value })),
  { BOXYARD_CHANNEL_KEYS: '{}', BOXYARD_CHANNEL_KEYS_FILE: '/x' },
  { BOXYARD_TOKEN_KEYS: '{}', BOXYARD_TOKEN_KEYS_FILE: '/x' },
  { BOXYARD_TOKEN_KEYS_FILE: 'x' },
  { BOXYARD_CHANNEL_KEYS_FILE: '/x' },
  { BOXYARD_HOST: '::1', BOXYARD_AGENT_PORT: '1' },
])('doctor and reload judge %j as the front does', (given) => {
  const { faults } = readGivenSettings(given)
  expect([faults, faults.length === 0]).toEqual([expect.any(Array), starts(given)])
})

test('a wrong setting of the front has its default in what else is told', () => {
  expect(inspectFrontSettings({ BOXYARD_PORT: 'x', BOXYARD_HOST: '::1' })).toEqual({
    address: { host: '::1', port: 8080 },
    faults: ['BOXYARD_PORT="x": expected a whole number from 0 to 65535.'],
  })
})
