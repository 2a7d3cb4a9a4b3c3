import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())
const BOX = '/v1/projects/demo/boxes/web'

beforeAll(async () => {
  expect(await cli.run(['create', 'web', '--env', 'A=1', '--env', 'B=2', '--tag', 'team=docs'])).toMatchObject({
    code: 0,
  })
  expect(await cli.run(['volume', 'create', 'db', '--tag', 'a=1', '--tag', 'b=2'])).toMatchObject({ code: 0 })
})

/** Runs an update and returns the resource. */
async function after(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await cli.run([...args, '-o', 'json'])
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

describe('an update keeps what it does not name', () => {
  test('of the environment', async () => {
    expect((await after('update', 'web', '--env', 'C=3')).environment).toEqual({ A: '1', B: '2', C: '3' })
    expect((await after('update', 'web', '--env', 'A=x', '--unset-env', 'B')).environment).toEqual({ A: 'x', C: '3' })
    expect((await after('update', 'web', '--unset-env', 'gone')).environment).toEqual({ A: 'x', C: '3' })
    expect((await after('update', 'web', '--cpus', '1')).environment).toEqual({ A: 'x', C: '3' })
    expect((await after('update', 'web', '--env', 'D=4', '--replace-env')).environment).toEqual({ D: '4' })
    expect((await after('update', 'web', '--replace-env')).environment).toEqual({})
    expect((await after('update', 'web', '--env', 'E=5')).tags).toEqual({ team: 'docs' })
  })

  test('of the tags of boxes and volumes', async () => {
    expect((await after('update', 'web', '--tag', 'stage=test')).tags).toEqual({ team: 'docs', stage: 'test' })
    expect((await after('update', 'web', '--unset-tag', 'team')).tags).toEqual({ stage: 'test' })
    expect((await after('update', 'web', '--tag', 'only=1', '--replace-tags')).tags).toEqual({ only: '1' })
    expect((await after('volume', 'update', 'db', '--tag', 'c=3', '--unset-tag', 'a')).tags).toEqual({ b: '2', c: '3' })
    expect((await after('volume', 'update', 'db', '--size-gb', '12g')).tags).toEqual({ b: '2', c: '3' })
    expect((await after('volume', 'update', 'db', '--replace-tags')).tags).toEqual({})
  })

  test('--data has the meaning of the API, and flags are merged into it', async () => {
    const data = JSON.stringify({ tags: { x: '1' }, config: { cpus: 1 } })
    expect(await after('update', 'web', '-d', data, '--tag', 'y=2', '--ram-mb', '256m')).toMatchObject({
      tags: { x: '1', y: '2' },
      config: { cpus: 1, ram_mb: 256 },
    })
    expect((await cli.client.put(BOX, { tags: { z: '3' } })).body.tags).toEqual({ z: '3' })
  })

  test('a key that is set and removed is refused, and so is an update without a flag', async () => {
    expect(await cli.run(['update', 'web', '--env', 'A=1', '--unset-env', 'A'])).toMatchObject({
      code: 2,
      stderr: 'boxyard: --env and --unset-env both name A.\n',
    })
    const commands = [['update', 'web'], ['update', 'web', '-o', 'json'], ['volume', 'update', 'db'], ['set-quota']]
    for (const args of commands)
      expect(await cli.run(args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^boxyard: Nothing to change\. Add a flag\. boxyard [a-z -]+ --help lists them\.\n$/,
        ),
      })
  })
})

test('tags that select are refused where they name none, before anything is sent', async () => {
  const nowhere = { env: { BOXYARD_URL: 'http://127.0.0.1:1' } }
  for (const value of ['', ' ', ',', '=x', 'team=docs,'])
    for (const words of [['rm', '--yes'], ['rm', '-f', '--tag', 'team'], ['ls'], ['volume', 'ls']]) {
      const { code, stdout, stderr } = await cli.run([...words, '--tag', value], nowhere)
      expect([words, code, stdout, stderr]).toEqual([words, 2, '', expect.stringMatching(/^boxyard: --tag: must be /)])
    }
  expect((await cli.run(['volume', 'ls', '--tag', 'a,b', '-o', 'name'])).code).toBe(0)
  for (const path of ['/v1/projects/demo/boxes', '/v1/projects/-/boxes', '/v1/projects/demo/data'])
    for (const query of ['tag=', 'tag=,', 'tag=team&tag=', 'tag=%3Dx']) {
      const { status, body } = await cli.client.get(`${path}?${query}`)
      expect([query, status, body.code, body.errors[0].pointer]).toEqual([query, 400, 'invalid_request', '/query/tag'])
      expect(body.errors[0].detail).toContain('must name a tag, as `key` or `key=value`')
    }
  expect(await cli.run(['info', 'web'])).toMatchObject({ code: 0 })
})

describe('what others change meanwhile', () => {
  /** Forwards requests, replaces the entity tag of each response, and makes a change of its own before each of the first `changes` PUTs. */
  async function withOthers(
    changes: number,
    run: (url: string) => Promise<void>,
    tagOf = (etag: string | undefined) => etag,
  ): Promise<number> {
    let puts = 0
    const change = async (): Promise<void> => {
      const { tags } = (await cli.client.get(BOX)).body
      await cli.client.put(BOX, { tags: { ...tags, [`other-${puts}`]: String(performance.now()) } })
    }
    const pass = async (incoming: IncomingMessage, answer: ServerResponse): Promise<void> => {
      const pieces: Buffer[] = []
      for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece)
      if (incoming.method === 'PUT' && ++puts <= changes) await change()
      const { method = 'GET', headers } = incoming
      const passed = forward(`${cli.service().url}${incoming.url}`, { method, headers }, (got) => {
        const { etag, ...others } = got.headers
        const tag = tagOf(etag)
        answer.writeHead(got.statusCode ?? 502, tag === undefined ? others : { ...others, etag: tag })
        got.pipe(answer)
      })
      passed.end(Buffer.concat(pieces))
    }
    const server = createServer((incoming, answer) => void pass(incoming, answer))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    } finally {
      server.closeAllConnections()
      server.close()
    }
    return puts
  }

  test('stays, and the update is made again', async () => {
    await cli.client.put(BOX, { tags: { first: '1' } })
    const puts = await withOthers(3, async (url) => {
      const { code, stderr } = await cli.run(['update', 'web', '--tag', 'mine=1'], { env: { BOXYARD_URL: url } })
      expect([code, stderr]).toEqual([0, ''])
    })
    const { tags } = (await cli.client.get(BOX)).body
    const other = expect.any(String)
    expect([puts, tags]).toEqual([4, { first: '1', mine: '1', 'other-1': other, 'other-2': other, 'other-3': other }])
  })

  test('without an end is told', async () => {
    await withOthers(1000, async (url) => {
      const { code, stderr } = await cli.run(['update', 'web', '--tag', 'late=1'], { env: { BOXYARD_URL: url } })
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^boxyard: /)])
    })
    expect((await cli.client.get(BOX)).body.tags).not.toHaveProperty('late')
  })

  test('is told of by entity tags, also those that a proxy made weak', async () => {
    await cli.client.put(BOX, { tags: { first: '1' } })
    const update = async (url: string): Promise<void> => {
      const { code, stderr } = await cli.run(['update', 'web', '--tag', 'weak=1'], { env: { BOXYARD_URL: url } })
      expect([code, stderr]).toEqual([0, ''])
    }
    expect(await withOthers(0, update, (etag) => etag && `W/${etag}`)).toBe(1)
    expect((await cli.client.get(BOX)).body.tags).toEqual({ first: '1', weak: '1' })
  })

  test('cannot be told without an entity tag, as while the host is away: then nothing is changed', async () => {
    const before = (await cli.client.get(BOX)).body
    const update = async (url: string): Promise<void> => {
      const { code, stderr } = await cli.run(['update', 'web', '--tag', 'lost=1'], { env: { BOXYARD_URL: url } })
      const words = 'Its host does not answer, so its variables and tags cannot be read. Nothing changed. Retry later.'
      expect([code, stderr]).toEqual([1, `boxyard: ${words}\n`])
    }
    expect(await withOthers(0, update, () => undefined)).toBe(0)
    expect((await cli.client.get(BOX)).body).toMatchObject({ tags: before.tags, environment: before.environment })
  })
})
