import { expect, test } from '@jest/globals'
import { resolveRegistryOrigins } from '../../../agent/drivers/registry/origins.ts'

const NAMED = new Set(['http://127.0.0.1:5000', 'https://inner.example.org', 'https://both:1', 'http://both:1'])

test.each([
  ['127.0.0.1:5000', 'http://127.0.0.1:5000'],
  ['inner.example.org', 'https://inner.example.org'],
  ['inner.example.org:443', 'https://inner.example.org'],
  ['both:1', 'https://both:1'],
])('%s is contacted as configured, and may redirect to all configured registries', (registry, origin) => {
  expect(resolveRegistryOrigins(registry, NAMED)).toEqual({ origin, named: NAMED })
})

test.each([
  ['docker.io', 'https://registry-1.docker.io'],
  ['ghcr.io', 'https://ghcr.io'],
  ['127.0.0.1', 'https://127.0.0.1'],
  ['127.0.0.1:5001', 'https://127.0.0.1:5001'],
  ['127.1:5001', 'https://127.0.0.1:5001'],
  ['inner.example.org:80', 'https://inner.example.org:80'],
  ['[::1]:5000', 'https://[::1]:5000'],
])('%s is contacted over https, and may redirect to no configured registry', (registry, origin) => {
  expect(resolveRegistryOrigins(registry, NAMED)).toEqual({ origin, named: new Set() })
})

test.each(['1.2.3.256', '[::zz]', '0x1.2.3.4.5'])('%s has no address', (registry) => {
  expect(() => resolveRegistryOrigins(registry, NAMED)).toThrow('no such address')
})
