import { expect, test } from '@jest/globals'
import { readAgentSettings } from '../../../agent/config/agent.ts'
import { reservedDomainsOf } from '../../../agent/config/reserved-domains.ts'

test('the hosts of the API, the console and pages that may call it are reserved by default', () => {
  const { edge } = readAgentSettings({
    BOXYARD_DATA_URL: 'https://data.example.org:8443',
    BOXYARD_CORS_ORIGINS: 'https://console.example.org,http://127.0.0.1:3000',
    BOXYARD_RESERVED_DOMAINS: 'example.com',
  })
  expect(edge.reservedDomains).toEqual(['example.com', 'console.example.org', 'data.example.org'])
  expect(readAgentSettings({}).edge.reservedDomains).toEqual([])
})

test('names of the front may have a wildcard or a port; addresses and names of one label are no domains', () => {
  const environment = {
    BOXYARD_HOST: '0.0.0.0',
    BOXYARD_HOSTS: 'API.example.org,*.eu.example.org,localhost,[::1],a.example.net:8080',
  }
  expect(reservedDomainsOf([], environment)).toEqual(['api.example.org', 'eu.example.org', 'a.example.net'])
})

test.each([
  ['BOXYARD_RESERVED_DOMAINS', 'example'],
  ['BOXYARD_RESERVED_DOMAINS', 'https://example.org'],
  ['BOXYARD_EDGE_RESOLVERS', 'dns.example.org'],
])('%s=%s is refused', (name, value) => {
  expect(() => readAgentSettings({ [name]: value })).toThrow(`${name}="${value}": expected`)
})
