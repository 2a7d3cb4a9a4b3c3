import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { pack } from 'tar-stream'
import { ApiError, ConnectionError } from '../../../sdk/typescript/src/api-error.ts'
import { type BoxHandle, type Boxyard, createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { BoxNotFoundError, InvalidRequestError } from '../../../sdk/typescript/src/generated/error-classes.ts'
import { OPERATIONS } from '../../../sdk/typescript/src/generated/operations.ts'
import type { TerminalStream } from '../../../sdk/typescript/src/terminal-stream.ts'
import { OPERATIONS as TABLE } from '../../../shared/routes.ts'
import { openPlainFront, type PlainFront } from '../../helpers/clients/plain-front.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
let boxyard: Boxyard
let box: BoxHandle

beforeAll(async () => {
  service = await startService()
  boxyard = createBoxyard({ url: service.url, token: () => service.adminToken })
  box = await boxyard.createBox('sdk', { name: 'web' })
})

afterAll(async () => {
  await service.close()
})

async function readAll(stream: TerminalStream): Promise<{ stdout: string; stderr: string; exitCode: number | null }> {
  const text = { stdout: '', stderr: '' }
  for await (const piece of stream) text[piece.stream] += Buffer.from(piece.bytes).toString('utf8')
  return { ...text, exitCode: (await stream.ended()).exitCode }
}

const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text()

describe('calls', () => {
  test('every operation of the table can be called', () => {
    expect(Object.keys(OPERATIONS).sort()).toEqual(TABLE.map(({ id }) => id).sort())
  })

  test('a box is made, forked, stopped, resumed and deleted', async () => {
    expect((await box.info()).status).toBe('running')
    const fork = await box.fork('other')
    expect(await fork.info()).toMatchObject({ status: 'running', fork_of: 'web' })
    expect((await fork.stop()).status).toBe('stopped')
    expect((await fork.resume()).status).toBe('running')
    await fork.delete()
    await expect(fork.info()).rejects.toBeInstanceOf(BoxNotFoundError)
  })

  test('a refusal is an error of the class of its code, with its faults', async () => {
    const refused = await boxyard.call('createBox', { path: { project: 'sdk' }, body: { name: 'NO' } }).catch((e) => e)
    expect(refused).toBeInstanceOf(InvalidRequestError)
    expect(refused).toBeInstanceOf(ApiError)
    expect(refused).toMatchObject({ code: 'invalid_request', status: 400, errors: [{ pointer: '/name' }] })
    expect(refused.requestId).toMatch(/^req_/)
  })

  test('a service that is not there is a ConnectionError', async () => {
    const nowhere = createBoxyard({ url: 'http://127.0.0.1:9', attempts: 2 })
    await expect(nowhere.call('getVersion', {})).rejects.toBeInstanceOf(ConnectionError)
  })

  test('a list is read over its pages', async () => {
    const names = ['page-a', 'page-b', 'page-c']
    for (const name of names) await boxyard.call('createVolume', { path: { project: 'sdk' }, body: { name } })
    const found: string[] = []
    const input = { path: { project: 'sdk' }, query: { max_results: 1 } }
    for await (const { name } of boxyard.list('listVolumes', input)) found.push(name)
    expect(found).toEqual(names)
  })

  test('a create that is repeated with its key over a lost answer makes one box', async () => {
    let sent = 0
    const lossy = createBoxyard({
      url: service.url,
      token: () => service.adminToken,
      fetch: async (request) => {
        const answer = await fetch(request)
        if (++sent > 1) return answer
        throw new TypeError('the answer was lost')
      },
    })
    const { status, headers } = await lossy.callFully('createBox', { path: { project: 'sdk' }, body: { name: 'once' } })
    expect([sent, status, headers.get('idempotent-replayed')]).toEqual([2, 201, 'true'])
    await lossy.box('sdk', 'once').delete()
  })
})

describe('answers of a newer service', () => {
  /** Returns a client that receives the responses of the service as `change` rewrites them. */
  function newer(change: (body: string) => string): Boxyard {
    return createBoxyard({
      url: service.url,
      token: service.adminToken,
      fetch: async (request) => {
        const answer = await fetch(request)
        const { status, headers } = answer
        return new Response(change(await answer.text()), { status, headers: new Headers(headers) })
      },
    })
  }

  test('values and fields that are not known come as they are', async () => {
    const yard = newer((body) => body.replace('"running"', '"hibernated","new_field":["new"]'))
    expect(await yard.box('sdk', 'web').info()).toMatchObject({ name: 'web', status: 'hibernated', new_field: ['new'] })
  })

  test('events of types that are not known come', async () => {
    const yard = newer((body) => body.replaceAll('"box.created"', '"box.painted"'))
    for await (const { type } of yard.events('sdk')) {
      expect(type).toBe('box.painted')
      break
    }
  })

  test('a refusal with a code that is not known is an ApiError', async () => {
    const yard = newer((body) => body.replaceAll('box_not_found', 'too_colourful'))
    const refusal = await yard
      .box('sdk', 'none')
      .info()
      .catch((error: unknown) => error)
    expect(Object.getPrototypeOf(refusal)).toBe(ApiError.prototype)
    expect(refusal).toMatchObject({ code: 'too_colourful', status: 404 })
  })
})

describe('commands', () => {
  test('one is run to its end over HTTP', async () => {
    expect(await box.run('echo out; echo err >&2; exit 3')).toMatchObject({
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 3,
    })
  })

  test('one is streamed with its input', async () => {
    const stream = await box.stream(['sh', '-c', 'cat; echo err >&2; exit 4'], { stdin: true, env: { A: 'b' } })
    await stream.write(Buffer.from('in\n'))
    await stream.endInput()
    expect(await readAll(stream)).toEqual({ stdout: 'in\n', stderr: 'err\n', exitCode: 4 })
    expect(stream.id).toMatch(/^exe_/)
  })

  test('one with a terminal is told its size', async () => {
    const stream = await box.stream(['stty', 'size'], { tty: true, cols: 91, rows: 17 })
    expect((await readAll(stream)).stdout.trim()).toBe('17 91')
  })

  test('output far larger than the queue comes whole', async () => {
    const stream = await box.stream(['sh', '-c', 'head -c 20000000 /dev/zero'])
    let bytes = 0
    for await (const piece of stream) bytes += piece.bytes.length
    expect(bytes).toBe(20_000_000)
  })

  test('a refused stream is the error of the API', async () => {
    await expect(boxyard.box('sdk', 'none').stream(['true'])).rejects.toBeInstanceOf(BoxNotFoundError)
  })

  test('the stream of one with noHup goes on over an agent that is killed, byte for byte', async () => {
    const line = 'i=0; while [ $i -lt 40 ]; do echo line-$i; echo err-$i >&2; i=$((i+1)); sleep 0.1; done; exit 5'
    const stream = await box.stream(['sh', '-c', line], { noHup: true })
    const text = { stdout: '', stderr: '' }
    let restart: Promise<void> | null = null
    for await (const { stream: name, bytes } of stream) {
      text[name] += Buffer.from(bytes).toString('utf8')
      if (text.stdout.includes('line-2\n')) restart ??= service.killAgent().then(() => service.startAgent())
    }
    await restart
    const lines = (word: string): string => Array.from({ length: 40 }, (_, i) => `${word}-${i}\n`).join('')
    expect(text).toEqual({ stdout: lines('line'), stderr: lines('err') })
    expect((await stream.ended()).exitCode).toBe(5)
  })

  test('a stream without noHup that is lost is a ConnectionError', async () => {
    const stream = await box.stream(['sh', '-c', 'echo begun; sleep 600'])
    const read = async (): Promise<void> => {
      for await (const { bytes } of stream) if (bytes.length > 0) await service.killAgent()
    }
    await expect(read()).rejects.toBeInstanceOf(ConnectionError)
    await service.startAgent()
  })

  test('a console goes on for the next client', async () => {
    const first = await box.console({ session: 'kept' })
    await first.write(Buffer.from('echo se$((1))en\n'))
    for await (const { bytes } of first) if (Buffer.from(bytes).toString().includes('se1en')) break
    first.close()
    const second = await box.console({ session: 'kept' })
    await second.write(Buffer.from('exit 6\n'))
    const { stdout, exitCode } = await readAll(second)
    expect(stdout).toContain('se1en')
    expect(exitCode).toBe(6)
  })
})

describe('files, events and waits', () => {
  test('a file is written and read as a stream', async () => {
    expect(await box.writeFile('/root/a', 'hello')).toMatchObject({ size_bytes: 5 })
    await box.writeFile('/root/b', new Blob(['from ', 'a stream']).stream())
    expect(await textOf(await box.readFile('/root/a'))).toBe('hello')
    expect(await textOf(await box.readFile('/root/b'))).toBe('from a stream')
  })

  test('a stream tells its length where it is known, and is refused with another', async () => {
    const lengths: (string | null)[] = []
    for (const tickets of ['auto', 'always'] as const) {
      const counted = createBoxyard({
        ...{ url: service.url, token: service.adminToken, tickets },
        fetch: (request) => {
          lengths.push(request.method === 'PUT' ? request.headers.get('content-length') : null)
          return fetch(request)
        },
      }).box('sdk', 'web')
      const stream = (): ReadableStream<Uint8Array> => new Blob(['so long']).stream()
      expect(await counted.writeFile('/root/sized', { stream: stream(), sizeBytes: 7 })).toMatchObject({
        size_bytes: 7,
      })
      await expect(counted.writeFile('/root/sized', { stream: stream(), sizeBytes: 8 })).rejects.toThrow()
      expect(await textOf(await counted.readFile('/root/sized'))).toBe('so long')
    }
    expect(lengths.filter((length) => length !== null)).toEqual(['7', '8', '7', '8'])
  })

  test('a directory goes over as a tar', async () => {
    await box.run('mkdir -p /root/tree/sub; echo deep > /root/tree/sub/file; mkdir -p /root/copy')
    await box.writeArchive('/root/copy', await box.readArchive('/root/tree'))
    expect((await box.run('cd /root/copy; find . -type f | xargs cat')).stdout).toBe('deep\n')
  })

  test('events come in order, with a cursor to go on from', async () => {
    const ending = new AbortController()
    const types: string[] = []
    const events = boxyard.events('events', { types: ['box.created', 'box.deleted'], signal: ending.signal })
    await (await boxyard.createBox('events', { name: 'seen' })).delete()
    for await (const event of events) {
      types.push(event.type)
      if (types.length === 2) break
    }
    expect(types).toEqual(['box.created', 'box.deleted'])
    ending.abort()
  })

  test('a box is waited for', async () => {
    const waited = box.waitUntil('stopped')
    await box.stop()
    expect((await waited).status).toBe('stopped')
    await box.resume()
  })
})

describe('behind a front that cannot stream', () => {
  let plain: PlainFront

  beforeAll(async () => {
    plain = await openPlainFront(service.url)
  })
  afterAll(() => plain.close())

  test('streams take tickets by themselves, after one refusal', async () => {
    const handle = createBoxyard({ url: plain.url, token: service.adminToken }).box('sdk', 'web')
    for (const word of ['one', 'two']) {
      expect(await readAll(await handle.stream(['echo', word]))).toMatchObject({ stdout: `${word}\n`, exitCode: 0 })
    }
    expect(plain.upgrades).toHaveLength(1)
    await handle.writeFile('/root/ticket', 'by ticket')
    expect(await textOf(await handle.readFile('/root/ticket'))).toBe('by ticket')
  })

  test('what is too long for it is sent again by a ticket, as far as it can be read again', async () => {
    const piece = new Uint8Array(256 * 1024).fill(97)
    const stream = (): ReadableStream<Uint8Array> => ReadableStream.from(Array.from({ length: 8 }, () => piece))
    // Creates a client that has no state of the front yet.
    const fresh = (): BoxHandle => createBoxyard({ url: plain.url, token: service.adminToken }).box('sdk', 'web')
    for (const body of [stream, new Blob(Array.from({ length: 8 }, () => piece))]) {
      expect(await fresh().writeFile('/root/long', body)).toMatchObject({ size_bytes: 2_097_152 })
    }
    const refused = await fresh()
      .writeFile('/root/once', stream())
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'body_too_large',
      message: expect.stringContaining('a function that creates'),
    })
    expect(await fresh().writeFile('/root/once', ReadableStream.from([piece]))).toMatchObject({ size_bytes: 262_144 })

    const bases = createBoxyard({ url: plain.url, token: service.adminToken })
    const tar = (): ReadableStream<Uint8Array> => {
      const archive = pack()
      archive.entry({ name: 'bin/sh', mode: 0o755 }, Buffer.alloc(2_000_000))
      archive.finalize()
      return ReadableStream.from(archive as AsyncIterable<Uint8Array>)
    }
    expect((await bases.createBaseFrom('sdk', tar, { name: 'long' })).body).toMatchObject({ name: 'long' })
  })
})
