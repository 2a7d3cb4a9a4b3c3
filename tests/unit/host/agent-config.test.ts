import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { readAgentSettings } from '../../../agent/config/agent.ts'
import { AGENT_SETTINGS, FRONT_SETTINGS } from '../../../shared/settings-names.ts'

describe('the data address', () => {
  test('is beside the agent by default', () => {
    expect(readAgentSettings({}).data).toEqual({ host: '127.0.0.1', port: 8091, url: null, tls: null })
  })

  test('follows the settings', () => {
    const settings = readAgentSettings({
      BOXYARD_DATA_HOST: '0.0.0.0',
      BOXYARD_DATA_PORT: '443',
      BOXYARD_DATA_URL: 'https://Data.example.org/',
      BOXYARD_DATA_CERT: '/etc/data.crt',
      BOXYARD_DATA_KEY: '/etc/data.key',
    })
    expect(settings.data).toEqual({
      host: '0.0.0.0',
      port: 443,
      url: 'https://data.example.org',
      tls: { cert: '/etc/data.crt', key: '/etc/data.key' },
    })
  })

  test.each([
    ['BOXYARD_DATA_PORT', '70000'],
    ['BOXYARD_DATA_URL', 'data.example.org'],
    ['BOXYARD_DATA_URL', 'https://data.example.org/path'],
    ['BOXYARD_DATA_URL', 'https://user@data.example.org'],
    ['BOXYARD_DATA_URL', 'https://data.example.org:99999'],
    ['BOXYARD_DATA_CERT', 'data.crt'],
  ])('is refused with %s=%s', (name, value) => {
    expect(() => readAgentSettings({ [name]: value })).toThrow(`${name}=${JSON.stringify(value)}: `)
  })

  test.each(['BOXYARD_DATA_CERT', 'BOXYARD_DATA_KEY'])('is refused with %s alone', (name) => {
    expect(() => readAgentSettings({ [name]: '/file' })).toThrow(
      'BOXYARD_DATA_CERT and BOXYARD_DATA_KEY: set both or neither.',
    )
  })
})

describe('the address for metrics', () => {
  test('is on loopback by default, and can be set or switched off', () => {
    expect(readAgentSettings({}).metrics).toEqual({ host: '127.0.0.1', port: 8092 })
    const given = { BOXYARD_METRICS_HOST: '10.0.0.7', BOXYARD_METRICS_PORT: '0' }
    expect(readAgentSettings(given).metrics).toEqual({ host: '10.0.0.7', port: 0 })
    expect(readAgentSettings({ BOXYARD_METRICS_PORT: 'off' }).metrics).toBeNull()
  })

  test.each(['70000', 'no', '-1'])('is refused with port %s', (port) => {
    expect(() => readAgentSettings({ BOXYARD_METRICS_PORT: port })).toThrow(
      `BOXYARD_METRICS_PORT="${port}": expected a port from 0 to 65535, or off.`,
    )
  })
})

const ACME = { BOXYARD_EDGE_ACME: 'admin@example.org' }

describe('the edge', () => {
  test('listens on this host only, for boxes below localhost, by default', () => {
    const { edge } = readAgentSettings({})
    expect(edge).toEqual({
      ...{ host: '127.0.0.1', port: 8081, domain: 'localhost', seenAs: null, certificates: null },
      ...{ trustedProxies: [], acme: null, reservedDomains: [], resolvers: [] },
      limits: { connections: expect.any(Number), connectionsPerSecond: 200, questionsPerSecond: 50 },
    })
    // Each connection takes two descriptors.
    const descriptors = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
    expect(edge.limits.connections).toBeLessThanOrEqual(0.3 * descriptors)
  })

  test('follows the settings', () => {
    const given = { BOXYARD_EDGE_HOST: '0.0.0.0', BOXYARD_EDGE_PORT: '0', BOXYARD_EDGE_CERTIFICATES: '/etc/edge' }
    const proxies = '192.0.2.1,10.0.0.0/8,2001:db8::/32'
    const { edge } = readAgentSettings({
      BOXYARD_EDGE_TRUSTED_PROXIES: proxies,
      BOXYARD_EDGE_CONNECTIONS_MAX: '500',
      ...{ ...given, BOXYARD_DOMAIN: 'boxes.example.org', BOXYARD_EDGE_URL: 'https://boxes.example.org:8443' },
    })
    expect(edge).toEqual({
      ...{ host: '0.0.0.0', port: 0, domain: 'boxes.example.org', certificates: '/etc/edge' },
      seenAs: { scheme: 'https', port: 8443 },
      ...{ trustedProxies: proxies.split(','), acme: null, reservedDomains: [], resolvers: [] },
      limits: { connections: 500, connectionsPerSecond: 200, questionsPerSecond: 50 },
    })
    const plain = readAgentSettings({ BOXYARD_EDGE_URL: 'https://localhost' })
    expect(plain.edge.seenAs).toEqual({ scheme: 'https', port: null })
  })

  test.each([
    ['BOXYARD_EDGE_PORT', '65536'],
    ['BOXYARD_EDGE_PORT', '-1'],
    ['BOXYARD_DOMAIN', 'Boxes.example.org'],
    ['BOXYARD_DOMAIN', 'example.org.'],
    ['BOXYARD_EDGE_URL', 'localhost:8081'],
    ['BOXYARD_EDGE_CERTIFICATES', 'certs'],
    ['BOXYARD_EDGE_ACME', 'true'],
    ['BOXYARD_EDGE_ACME_DIRECTORY', 'http://ca.example.org/dir'],
    ['BOXYARD_EDGE_ACME_ROOT', 'root.pem'],
    ['BOXYARD_EDGE_HTTP_PORT', '0'],
    ['BOXYARD_EDGE_CONNECTIONS_MAX', '15'],
    ['BOXYARD_EDGE_TRUSTED_PROXIES', 'proxy.example.org'],
    ['BOXYARD_EDGE_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['BOXYARD_EDGE_TRUSTED_PROXIES', '10.0.0.0/8/8'],
    ['BOXYARD_EDGE_TRUSTED_PROXIES', '2001:db8::/129'],
  ])('is refused with %s=%s', (name, value) => {
    expect(() => readAgentSettings({ [name]: value })).toThrow(`${name}=${JSON.stringify(value)}: `)
  })

  test('gets certificates from a CA if a contact address is set', () => {
    const none = { directory: null, root: null, httpPort: null }
    expect(readAgentSettings(ACME).edge.acme).toEqual({ email: 'admin@example.org', ...none })
    const all = {
      ...{
        ...ACME,
        BOXYARD_EDGE_ACME_DIRECTORY: 'https://ca.example.org/dir',
        BOXYARD_EDGE_ACME_ROOT: '/etc/root.pem',
      },
      ...{ BOXYARD_EDGE_HTTP_PORT: '80', BOXYARD_EDGE_CERTIFICATES: '/etc/edge', BOXYARD_EDGE_PORT: '443' },
    }
    expect(readAgentSettings(all).edge).toMatchObject({
      certificates: '/etc/edge',
      acme: {
        email: 'admin@example.org',
        directory: 'https://ca.example.org/dir',
        root: '/etc/root.pem',
        httpPort: 80,
      },
    })
  })

  test.each([
    [{ BOXYARD_EDGE_ACME_DIRECTORY: 'https://ca.example.org/dir' }, 'BOXYARD_EDGE_ACME_DIRECTORY is given without'],
    [{ BOXYARD_EDGE_ACME_ROOT: '/etc/root.pem' }, 'BOXYARD_EDGE_ACME_ROOT is given without'],
    [{ BOXYARD_EDGE_HTTP_PORT: '80' }, 'BOXYARD_EDGE_HTTP_PORT is given without'],
    [{ ...ACME, BOXYARD_EDGE_TRUSTED_PROXIES: '10.0.0.1' }, 'BOXYARD_EDGE_TRUSTED_PROXIES: not allowed with'],
    [{ ...ACME, BOXYARD_EDGE_URL: 'http://localhost' }, 'BOXYARD_EDGE_URL must be https'],
    [{ ...ACME, BOXYARD_EDGE_HTTP_PORT: '8081' }, 'must be different'],
  ])('is refused with %j', (given, fault) => {
    expect(() => readAgentSettings(given)).toThrow(fault)
  })

  test('is refused with a URL of another domain', () => {
    expect(() => readAgentSettings({ BOXYARD_EDGE_URL: 'https://example.org' })).toThrow(
      'BOXYARD_EDGE_URL: must have the host',
    )
  })
})

describe('the place in a fleet', () => {
  test('is none unless there is a cell, and then the settings say it', () => {
    expect(readAgentSettings({}).fleet).toBeNull()
    const given = { BOXYARD_CELL: 'k1' }
    const plain = { cell: 'k1', channelUrl: null, edgePort: 8093, placement: 'spread' }
    expect(readAgentSettings(given).fleet).toEqual(plain)
    expect(readAgentSettings({ ...given, BOXYARD_PLACEMENT: 'project' }).fleet).toEqual({
      ...plain,
      placement: 'project',
    })
  })

  test.each([
    [{ BOXYARD_PLACEMENT: 'project' }, 'BOXYARD_PLACEMENT is given without BOXYARD_CELL'],
    [{ BOXYARD_CELL: 'k1', BOXYARD_PLACEMENT: 'near' }, 'BOXYARD_PLACEMENT="near": '],
    [{ BOXYARD_CELL: 'kilo' }, 'BOXYARD_CELL="kilo": expected 2 to 4 of'],
    [{ BOXYARD_CELL_URL: 'http://10.0.0.7:8090' }, 'BOXYARD_CELL_URL is given without BOXYARD_CELL'],
    [{ BOXYARD_CELL: 'k1', BOXYARD_AGENT_HOST: '0.0.0.0' }, 'BOXYARD_AGENT_HOST=0.0.0.0: needs BOXYARD_CELL_URL'],
  ])('is refused with %j', (given, fault) => {
    expect(() => readAgentSettings(given)).toThrow(fault)
  })
})

test('the agent knows every setting that the front ignores, and the reverse', () => {
  for (const name of [...AGENT_SETTINGS, ...FRONT_SETTINGS]) {
    expect(() => readAgentSettings({ [name]: '?' })).not.toThrow('no such setting')
  }
})

describe('registries that images may come from', () => {
  test('are named as in references, over https unless the scheme is http', () => {
    const { baseRegistries } = readAgentSettings({
      BOXYARD_BASE_REGISTRIES: 'Registry.example.org,10.0.0.7:5000,https://a.example.org:443/,http://127.0.0.1:5000',
    })
    expect(baseRegistries).toEqual([
      ...['https://registry.example.org', 'https://10.0.0.7:5000', 'https://a.example.org', 'http://127.0.0.1:5000'],
    ])
    expect(readAgentSettings({}).baseRegistries).toEqual([])
  })

  test.each(['a.example.org/path', 'ftp://a.example.org', 'user@a.example.org', 'a.example.org:99999', 'a b'])(
    'are refused: %s',
    (value) => {
      expect(() => readAgentSettings({ BOXYARD_BASE_REGISTRIES: value })).toThrow('expected registries such as')
    },
  )
})

describe('nesting', () => {
  test('is off, and on where the operator says so', () => {
    expect(readAgentSettings({}).limits.allowsNesting).toBe(false)
    expect(readAgentSettings({ BOXYARD_NESTING: 'true' }).limits.allowsNesting).toBe(true)
  })

  test('is refused with pods', () => {
    const settings = { BOXYARD_NESTING: 'true', BOXYARD_RUNTIME: 'kubernetes' }
    expect(() => readAgentSettings(settings)).toThrow(
      'BOXYARD_NESTING=true: must be false with BOXYARD_RUNTIME=kubernetes',
    )
    expect(readAgentSettings({ BOXYARD_RUNTIME: 'kubernetes' }).limits.allowsNesting).toBe(false)
  })
})
