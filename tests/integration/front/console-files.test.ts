import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readConsoleFiles } from '../../../functions/console-files.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { type FrontProcess, startFrontProcess } from '../../helpers/front/process.ts'
import { makeDeployment } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const root = mkdtempSync(join(tmpdir(), 'console-'))
const built = join(root, 'built')
const PAGE = '<!doctype html><title>Boxyard</title>'
const SCRIPT = `console.log(${JSON.stringify('x'.repeat(2000))})`
let agent: FakeAgent
let front: FrontProcess

beforeAll(async () => {
  mkdirSync(join(built, 'assets'), { recursive: true })
  writeFileSync(join(root, 'secret.txt'), 'secret')
  writeFileSync(join(built, 'index.html'), PAGE)
  writeFileSync(join(built, 'favicon.svg'), '<svg/>')
  writeFileSync(join(built, 'assets/app-B1x.js'), SCRIPT)
  writeFileSync(join(built, 'assets/app-B1x.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(built, 'assets/app-B1x.js.gz'), gzipSync(SCRIPT))
  symlinkSync(join(root, 'secret.txt'), join(built, 'link.txt'))
  symlinkSync(root, join(built, 'assets/up'))
  agent = await startFakeAgent(() => deployment.channelKeys)
  front = await startFrontProcess({
    agentUrl: agent.url,
    channelKeys: deployment.channelKeys,
    tokenKeys: deployment.keyring.tokens(),
    settings: { BOXYARD_CONSOLE_DIR: built, BOXYARD_CORS_ORIGINS: 'https://app.example.com' },
  })
})

afterAll(async () => {
  await front?.close()
  await agent.close()
  rmSync(root, { recursive: true })
})

interface Got {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
  text: string
}

/** Sends a request without normalizing its path. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const { hostname, port } = new URL(front.url)
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ hostname, port, path, method, headers }, (incoming) => {
      const pieces: Buffer[] = []
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
      incoming.on('end', () => {
        const bytes = Buffer.concat(pieces)
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes, text: bytes.toString() })
      })
    })
    outgoing.on('error', reject).end()
  })
}

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const codeOf = ({ text }: Got): string => (JSON.parse(text) as { code: string }).code

describe('the page of the console', () => {
  test('is at the root, and at every path that a browser opens and the API does not have', async () => {
    for (const path of ['/', '/?a=b', '/sign-in', '/projects/demo/boxes/web', '/projects/demo?tab=files']) {
      const got = await ask(path, HTML)
      expect([path, got.status, got.headers['content-type'], got.text]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
        PAGE,
      ])
    }
  })

  test('lets in no script, frame or address of others, and is asked for anew each time', async () => {
    const host = new URL(front.url).host
    const { headers } = await ask('/', HTML)
    expect(headers).toMatchObject({
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
    })
    const policy = String(headers['content-security-policy']).split('; ')
    expect(policy).toEqual(
      expect.arrayContaining([
        ...[
          "default-src 'none'",
          "script-src 'self'",
          "frame-ancestors 'none'",
          "base-uri 'none'",
          "form-action 'none'",
        ],
        `connect-src 'self' ws://${host} wss://${host}`,
      ]),
    )
    expect(headers).not.toHaveProperty('set-cookie')
  })

  test('takes no directive of its policy from the host of a request', async () => {
    const { status, headers } = await ask('/', { ...HTML, host: "x; script-src 'unsafe-inline'" })
    expect([status, headers['content-type']]).toEqual([421, 'text/html; charset=utf-8'])
    expect(headers['content-security-policy']).not.toContain('unsafe-inline')
  })

  test('is not sent again to who has it', async () => {
    const { headers } = await ask('/', HTML)
    const again = await ask('/sign-in', { ...HTML, 'if-none-match': `"other", W/${headers.etag}` })
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag])
    expect((await ask('/', { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('answers HEAD without a body', async () => {
    const got = await ask('/', HTML, 'HEAD')
    expect([got.status, got.text, got.headers['content-length']]).toEqual([200, '', String(PAGE.length)])
  })

  test('is open to no other origin, also not to one that may call the API', async () => {
    const got = await ask('/', { origin: 'https://app.example.com' })
    expect(got.headers).not.toHaveProperty('access-control-allow-origin')
  })
})

describe('a file of the console', () => {
  test('is kept for good where its name has a hash', async () => {
    const got = await ask('/assets/app-B1x.js')
    expect([got.status, got.text]).toEqual([200, SCRIPT])
    expect(got.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    })
    expect((await ask('/favicon.svg')).headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'cache-control': 'no-cache',
    })
  })

  test.each([
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['gzip;q=1.0, br;q=0', 'gzip', gunzipSync],
    ['identity', undefined, (bytes: Buffer) => bytes],
    ['br;q=0.000, brotli', undefined, (bytes: Buffer) => bytes],
  ])('is sent to a client that takes "%s" as %s', async (taken, encoding, decode) => {
    const got = await ask('/assets/app-B1x.js', { 'accept-encoding': taken })
    expect([got.headers['content-encoding'], decode(got.bytes).toString()]).toEqual([encoding, SCRIPT])
    const again = await ask('/assets/app-B1x.js', {
      'accept-encoding': taken,
      'if-none-match': String(got.headers.etag),
    })
    expect(again.status).toBe(304)
  })

  test('is served by no path that leads elsewhere', async () => {
    for (const path of [
      ...[
        '/../secret.txt',
        '/assets/../../secret.txt',
        '/..%2fsecret.txt',
        '/%2e%2e/secret.txt',
        '/assets/up/secret.txt',
      ],
      ...[
        '/link.txt',
        '/assets/up',
        '/assets/',
        '/assets',
        '//etc/passwd',
        '/index.html%00.js',
        '/%00',
        '/assets/%2e%2e%2findex.html',
      ],
      ...[`${built}/index.html`, '/assets\\app-B1x.js', '/assets/./app-B1x.js', '/assets//app-B1x.js'],
    ]) {
      const got = await ask(path)
      expect([path, got.status, got.text.includes('secret')]).toEqual([path, 404, false])
    }
  })

  test('is none that was built beside another', async () => {
    expect((await ask('/assets/app-B1x.js.br')).status).toBe(404)
  })
})

describe('beside the console the API', () => {
  test('answers what is its own as ever, also to browsers', async () => {
    for (const path of ['/v1/nothing', '/v1', '/v1/me/nothing', '/problems/nothing', '/healthz/x']) {
      const got = await ask(path, HTML)
      expect([path, got.status, got.headers['content-type']]).toEqual([path, 404, 'application/problem+json'])
    }
    expect(codeOf(await ask('/v1/me', HTML))).toBe('token_missing')
    expect((await ask('/problems', HTML)).headers['content-type']).toContain('text/html')
    expect(codeOf(await ask('/v1/session', HTML))).toBe('method_not_allowed')
  })

  test('answers what is no page', async () => {
    expect(codeOf(await ask('/sign-in'))).toBe('route_not_found')
    expect(codeOf(await ask('/missing.js', HTML))).toBe('route_not_found')
    expect(codeOf(await ask('/sign-in', HTML, 'POST'))).toBe('route_not_found')
  })
})

describe('a directory that is said to hold the console', () => {
  test('must hold one', () => {
    expect(() => readConsoleFiles(join(root, 'none'))).toThrow('ENOENT')
    expect(() => readConsoleFiles(join(built, 'assets'))).toThrow('expected a built console, with index.html')
  })
})
