import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readConsoleFiles, serveConsole } from '../../functions/console-files.ts'
import { CONSOLE_DIRECTORY, ensureConsole } from '../../infra/web/build.ts'
import { OPERATIONS } from '../../shared/routes.ts'
import { type ObjectStore, startObjectStore } from '../helpers/backups/object-store.ts'
import { createClient } from '../helpers/front/client.ts'
import { CONSOLE_HOST, type Distribution, openDistribution, readDistribution } from '../helpers/lambda/distribution.ts'
import { type Gateway, openGateway } from '../helpers/lambda/gateway.ts'
import { lambdaRuntime, type Packed, packFunction } from '../helpers/lambda/packed.ts'
import { functionVariables } from '../helpers/lambda/variables.ts'
import { openWebBucket, type WebBucket } from '../helpers/lambda/web-bucket.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { useVisits } from '../helpers/web/visits.ts'

// Serves the web console from a bucket next to the function, as in infra/aws/console.yml. Uses a real S3 server, AWS's own client of the
// Lambda Runtime API, and a real Chromium. A substitute for CloudFront follows the packaged template.
const directory = mkdtempSync(join(tmpdir(), 'boxyard-lambda-console-'))
let service: TestService
let packed: Packed
let gateway: Gateway
let store: ObjectStore
let bucket: WebBucket
let distribution: Distribution
const client = createClient(
  () => distribution.url,
  () => service.adminToken,
)

beforeAll(async () => {
  ensureConsole()
  const [started, made, opened] = await Promise.all([
    startService({ front: false }),
    packFunction(directory, 'console'),
    startObjectStore(),
  ])
  service = started
  store = opened
  bucket = openWebBucket(store)
  packed = { ...made, runtime: lambdaRuntime() }
  gateway = await openGateway(packed, functionVariables(service))
  distribution = await openDistribution(packed.template, { bucket, apiUrl: gateway.url })
  await bucket.fill(CONSOLE_DIRECTORY)
})

afterAll(async () => {
  await distribution?.close()
  await gateway?.close()
  bucket?.close()
  await store?.close()
  await service?.close()
  rmSync(directory, { recursive: true, force: true })
})

describe('a visitor', () => {
  const { user, visitor } = useVisits(() => ({ service: { url: distribution.url }, client }))

  test('signs in by a link, sees the boxes, and signs out', async () => {
    await client.post('/v1/projects/yard/boxes', { name: 'one' })
    await user.page.getByRole('link', { name: 'Boxes' }).first().click()
    await user.page.getByRole('link', { name: 'yard/one' }).waitFor()
    // Cold start: the distribution serves the page at its address.
    await visitor.open('/boxes/yard/one/files', 'yard/one')
    await visitor.sees('etc')
    await visitor.press('Sign out')
    await visitor.open('/boxes', 'Sign in to Boxyard')
  })

  test('gets by other ways what a function does not carry: changes, commands, logs; and is told of terminals', async () => {
    const box = '/v1/projects/yard/boxes/two'
    await client.post('/v1/projects/yard/boxes', { name: 'two' })
    await visitor.sees('Every ten seconds')
    await client.post(`${box}/stop`)
    await visitor.open('/boxes/yard/two', 'yard/two')
    await visitor.sees('stopped')
    await client.post(`${box}/resume`)
    await visitor.sees('running')
    await user.page.getByRole('link', { name: 'Commands' }).click()
    await user.page.getByLabel('Command', { exact: true }).fill('echo "by $((40 + 2))"; exit 3')
    await visitor.press('Run')
    await visitor.sees('by 42')
    await visitor.sees('Exited (3).')
    await client.put(`${box}/services/clock`, {
      command: ['/bin/sh', '-c', 'echo begun; sleep 2; echo goes on; exec sleep 600'],
    })
    await user.page.getByRole('link', { name: 'Terminal' }).click()
    await visitor.sees('Terminals are not available here')
    await visitor.open('/boxes/yard/two/services?service=clock', 'yard/two')
    await visitor.sees('begun')
    await visitor.sees('goes on')
  })
})

test('the pages have the headers that the standalone front sends', async () => {
  const serve = serveConsole(readConsoleFiles(CONSOLE_DIRECTORY), {
    isKnown: () => true,
    handler: () => Promise.reject(new Error('not of the console')),
  })
  const answer = await serve({
    method: 'GET',
    target: '/boxes',
    headers: { host: CONSOLE_HOST, accept: 'text/html' },
    clientAddress: '',
    signal: new AbortController().signal,
    readBody: () => Promise.resolve(new Uint8Array()),
    openBody: () => new ReadableStream(),
  })
  const { etag: _, vary: __, ...headers } = answer.headers
  const sent = new Map(Object.entries(headers))
  for (const name of ['content-type', 'content-encoding', 'cache-control']) sent.delete(name)
  expect(readDistribution(packed.template).headers).toEqual(sent)
})

test('each path of the API leads to it, and each of a page or file to the bucket', () => {
  const { behaviourOf, rewrite } = readDistribution(packed.template)
  const targetOf = (path: string): string => behaviourOf(path).TargetOriginId
  const concrete = OPERATIONS.map(({ path }) => path.replace(/\{[^}]+\}/g, 'x'))
  expect(concrete.filter((path) => targetOf(path) !== 'api')).toEqual([])
  const methods = new Set(OPERATIONS.map(({ method }) => method))
  expect(behaviourOf('/v1/me').AllowedMethods).toEqual(expect.arrayContaining([...methods]))
  for (const path of ['/', '/boxes', '/boxes/yard/one/files', '/sign-in']) {
    expect([path, targetOf(path), rewrite(path)]).toEqual([path, 'console', '/index.html'])
  }
  for (const path of ['/assets/index-BxS3.js', '/icon.svg']) {
    expect([targetOf(path), rewrite(path)]).toEqual(['console', path])
  }
})
