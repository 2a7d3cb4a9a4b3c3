import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cellSideOf } from '../../../agent/drivers/edge/cell-side.ts'
import { haproxyConfig } from '../../../agent/drivers/edge/config.ts'
import { edgePaths } from '../../../agent/drivers/edge/names.ts'
import { createChannelKeys } from '../../../shared/auth/keys.ts'
import { encryptDomain, makeCertificate } from '../../helpers/edge/certificates.ts'

const LUA = join(import.meta.dirname, '../../../agent/drivers/edge/gate.lua')
const { keys } = createChannelKeys()

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-cell-config-'))
  const { jail, routes, grants, cells } = edgePaths(directory)
  mkdirSync(jail, { recursive: true })
  for (const map of [routes, grants, cells]) writeFileSync(map, '')
  makeCertificate(directory, 'authority')
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const sideOf = (host: string, isEncrypted: boolean) => {
  const tls = { ca: at('authority.crt'), cert: at('authority.crt'), key: at('authority.key') }
  const options = { host, port: 9, tls: isEncrypted ? tls : null, keys: () => keys }
  return cellSideOf(options, { port: 9, paths: edgePaths(directory) })
}
const at = (name: string): string => join(directory, name)

function configWith(changed: Partial<Parameters<typeof haproxyConfig>[0]>): string {
  const settings: Parameters<typeof haproxyConfig>[0] = {
    ...{ paths: edgePaths(directory), host: '127.0.0.1', port: 8, frontProxy: null, cells: null },
    ...{
      signInHost: 'sign-in.localhost',
      scheme: 'http',
      certificates: null,
      tokenPrefixes: ['x_'],
      trustedProxies: [],
    },
    refusalMark: 'secret',
    limits: { connections: 100, connectionsPerSecond: 10, questionsPerSecond: 10 },
    lua: { path: LUA, fingerprint: '' },
    ...changed,
  }
  return haproxyConfig(settings, 1).text
}

test.each([
  ['alone on its port', {}],
  ['with certificates', { scheme: 'https' as const, isCertified: true }],
  ['at an address of IPv6', { host: '::1' }],
  ['behind proxies', { trustedProxies: ['10.0.0.0/8'] }],
  ['behind Caddy', { frontProxy: { socket: '/tmp/none.sock', user: 'root', asks: { port: 10, digest: 'a' } } }],
])(
  'HAProxy takes the configuration of an edge of a fleet %s',
  (_, { isCertified = false, ...changed }: object & { isCertified?: boolean }) => {
    const made = isCertified ? encryptDomain(directory, 'localhost').settings['BOXYARD_EDGE_CERTIFICATES'] : undefined
    const certificates = made === undefined ? null : { directory: made, fingerprint: '' }
    for (const cells of [sideOf('127.0.0.1', false), sideOf('::1', true)]) {
      const file = at('edge.cfg')
      writeFileSync(file, configWith({ ...changed, certificates, cells }))
      // HAProxy fails with a reason if it does not understand every line.
      execFileSync('haproxy', ['-c', '-f', file], { stdio: 'pipe' })
    }
  },
)

test('an edge alone has nothing of other cells', () => {
  expect(configWith({})).not.toMatch(/backend cells|is_led|is_away|so_id|boxyard_own|x-boxyard-cell/)
  expect(configWith({ cells: sideOf('127.0.0.1', false) })).toMatch(/is_away/)
})
