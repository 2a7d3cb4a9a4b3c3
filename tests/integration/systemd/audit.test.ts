import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'

jest.setTimeout(120_000)
let server: Server
let answer: { status: number; body: unknown }
let asked: Record<string, string[]>

beforeEach(async () => {
  asked = {}
  server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const isQuestion = request.url === '/-/npm/v1/security/advisories/bulk'
      if (isQuestion) asked = JSON.parse(gunzipSync(Buffer.concat(pieces)).toString()) as typeof asked
      response.writeHead(isQuestion ? answer.status : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isQuestion ? answer.body : {}))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** Runs `npm run audit` with this test's registry. */
function audit(): Promise<{ code: unknown; stdout: string }> {
  const { port } = server.address() as AddressInfo
  const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_fetch_retries: '0' }
  return new Promise((resolve) => {
    execFile('npm', ['run', '--silent', 'audit'], { cwd: ROOT, env }, (error, stdout) =>
      resolve({ code: error?.code ?? 0, stdout }),
    )
  })
}

test('a known vulnerability of a package of production fails the audit, by name and advisory', async () => {
  const advisory = {
    ...{ id: 1, title: 'Memory without bound', url: 'https://example.org/GHSA-1', severity: 'high' },
    vulnerable_versions: '<999.0.0',
  }
  answer = { status: 200, body: { ws: [advisory] } }
  const { code, stdout } = await audit()
  expect(stdout).toMatch(/^FAULT ws .*\(high\): Memory without bound https:\/\/example\.org\/GHSA-1$/m)
  expect(code).toBe(1)
  expect(asked).toHaveProperty('undici')
  // The audit does not ask for development packages.
  expect(asked).not.toHaveProperty('jest')
})

test('nothing known passes', async () => {
  answer = { status: 200, body: {} }
  const { code, stdout } = await audit()
  expect(stdout).toMatch(/^\d+ production packages, 0 faults, checked against the registry$/m)
  expect(code).toBe(0)
})

test('a registry that takes no such question is named, and is no fault', async () => {
  answer = { status: 405, body: {} }
  const { code, stdout } = await audit()
  expect(stdout).toMatch(/0 faults, the registry did not answer \(405 /)
  expect(code).toBe(0)
})
