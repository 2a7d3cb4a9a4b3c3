import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { CALLER } from '../../helpers/caller.ts'
import { makeScriptedStream } from '../../helpers/exec/scripted-stream.ts'
import { refusedStream, type StreamClient } from '../../helpers/exec/stream-client.ts'
import { BOX, CAT, handshakeOf, type StreamLab, startStreamLab } from '../../helpers/exec/stream-lab.ts'
import { makeRecorder } from '../../helpers/front/test-front.ts'

const BASE64 = { protocols: ['v4.base64.channel.k8s.io'] }
let at: StreamLab

afterEach(async () => {
  await at.close()
})

describe('a WebSocket', () => {
  test('connects a client with a command, and sends its exit status', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join(undefined, { headers: { 'x-request-id': 'mine' } })
    expect(client.socket.protocol).toBe('v5.channel.k8s.io')
    expect(client.headers).toMatchObject({ 'x-exec-id': command.stream.id, 'x-request-id': 'mine' })
    expect(at.calls[0]).toMatchObject({
      params: { project: 'demo', name: 'web' },
      query: { command: ['cat'], stdin: true, tty: false },
      caller: { tokenName: 'test', requestId: 'mine' },
      boundBoxId: null,
    })
    client.send(0, 'hello')
    command.stdin.pipe(command.stdout)
    await client.until(1, 'hello')
    command.stderr.write('oops')
    await client.until(2, 'oops')
    command.end({ exitCode: 3 })
    expect(await client.closed).toEqual({ code: 1000, reason: '' })
    expect(client.status()).toMatchObject({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    })
    expect(client.messages.filter((one) => one[0] === 3)).toHaveLength(1)
    expect(command.stdin.destroyed).toBe(true)
    // The end of the stream does not hang up processes that the command left running.
    expect(command.hasLeft()).toBe(false)
  })

  test.each(['token', 'ticket'])('acts for the caller that came by %s', async (way) => {
    at = await startStreamLab()
    const { ticket } = at.tickets.issue({ operationId: 'streamExec', target: CAT, boxId: 'box_0', caller: CALLER })
    const headers = { 'x-request-id': 'mine' }
    await (way === 'token' ? at.join(CAT, { headers }) : at.join(`${CAT}&ticket=${ticket}`, { headers, token: null }))
    const tokenName = way === 'token' ? 'test' : CALLER.tokenName
    expect(at.actors).toMatchObject([{ tokenName, requestId: 'mine' }])
  })

  test.each([
    ['v5.channel.k8s.io, v5.channel.k8s.io', 'v5.channel.k8s.io'],
    ['v9.channel.k8s.io, v4.channel.k8s.io, v4.channel.k8s.io', 'v4.channel.k8s.io'],
  ])('opens when its client offers %s', async (offered, chosen) => {
    at = await startStreamLab()
    const raw = await at.connect()
    raw.write(handshakeOf(at.token, offered))
    const [[said], command] = await Promise.all([once(raw, 'data'), at.next()])
    expect(String(said)).toMatch(/^HTTP\/1\.1 101 /)
    expect(String(said).match(/^sec-websocket-protocol: .*$/gim)).toEqual([`Sec-WebSocket-Protocol: ${chosen}`])
    expect([command.hasLeft(), at.server.open('streams')]).toEqual([false, 1])
    raw.destroy()
    await command.left
  })

  test('answers an input without bytes with such an output, and the command sees none of it', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    const answered = once(client.socket, 'message')
    client.send(0)
    const [answer] = await answered
    expect([...(answer as Buffer)]).toEqual([1])
    client.send(0, 'after')
    expect(String(await once(command.stdin, 'data'))).toBe('after')
    const text = await at.join(undefined, BASE64)
    const answeredInText = once(text.client.socket, 'message')
    text.client.socket.send('0')
    const [said] = await answeredInText
    expect(String(said)).toBe('1')
  })

  test('names its session in a header', async () => {
    at = await startStreamLab()
    at.respond = async () => makeScriptedStream('ses_00000000000000000000000001')
    const { client } = await at.join(`${BOX}/console?session=main`)
    expect(client.headers['x-session-id']).toBe('ses_00000000000000000000000001')
    expect(client.headers['x-exec-id']).toBeUndefined()
  })

  test('sends the status after all output of the command, also to a slow reader', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    command.end({ exitCode: 0 }, true)
    const bytes = Buffer.alloc(3_000_000, 'x')
    command.stdout.end(bytes)
    command.stderr.end('last words')
    await client.closed
    expect(client.text(1)).toHaveLength(bytes.length)
    expect(client.text(2)).toBe('last words')
    expect((client.messages.at(-1) as Buffer)[0]).toBe(3)
    expect(client.status()).toEqual({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' })
    expect(Math.max(...client.messages.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024 + 1)
  })

  test('half-closes the input, and resizes the terminal', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    client.send(4, '{"Width":132,"Height":43}')
    client.send(0, 'all')
    client.socket.send(Buffer.from([255, 0]))
    client.send(0, 'too late')
    const read: Buffer[] = []
    for await (const piece of command.stdin) read.push(piece as Buffer)
    expect(Buffer.concat(read).toString()).toBe('all')
    expect(command.sizes).toEqual([{ cols: 132, rows: 43 }])
    command.stdout.write('still here')
    await client.until(1, 'still here')
  })

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('of %s takes text as its bytes', async (protocol) => {
    at = await startStreamLab()
    const { client, command } = await at.join(undefined, { protocols: [protocol] })
    command.stdin.pipe(command.stdout, { end: false })
    client.socket.send('\0hi ä\n')
    await client.until(1, 'hi ä\n')
    client.socket.send('\x04{"Width":132,"Height":43}')
    client.send(0, 'and bytes')
    await client.until(1, 'hi ä\nand bytes')
    expect(command.sizes).toEqual([{ cols: 132, rows: 43 }])
  })

  test('carries what programs send to an SSH agent, as it comes by its turns, and the answers', async () => {
    at = await startStreamLab()
    const made = makeScriptedStream()
    const output = new PassThrough({ objectMode: true })
    const answers: [number, string][] = []
    const take = (id: number, bytes: Uint8Array): void => void answers.push([id, Buffer.from(bytes).toString()])
    at.respond = async () => ({ ...made, stream: { ...made.stream, agent: { output, take } } })
    const { client, command } = await at.join()
    output.write(Buffer.from('\0\0\0\x01list'))
    await client.until(5, '\0\0\0\x01list')
    client.send(5, '\0\0\0\x01keys')
    client.send(0, 'input')
    expect(String(await once(command.stdin, 'data'))).toBe('input')
    expect(answers).toEqual([[1, 'keys']])
    output.end()
    command.end()
    expect((await client.closed).code).toBe(1000)
  })

  test('carries text for clients without binary frames', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join(undefined, BASE64)
    client.socket.send(`0${Buffer.from('hi ä').toString('base64')}`)
    command.stdin.pipe(command.stdout, { end: false })
    while (client.messages.length === 0) await sleep(5)
    expect(client.messages).toEqual([`1${Buffer.from('hi ä').toString('base64')}`])
    command.end({ signal: 'SIGTERM' })
    expect((await client.closed).code).toBe(1000)
    expect(client.status()?.details?.causes).toEqual([{ reason: 'ExitCode', message: '143' }])
  })

  test.each<[string, (client: StreamClient) => void, number]>([
    ['an unknown channel', (client) => client.send(9, 'x'), 1008],
    ['what only the server sends', (client) => client.send(1, 'x'), 1008],
    ['an SSH agent that it has not offered', (client) => client.send(5, '\0\0\0\x01x'), 1008],
    ['text of an unknown channel', (client) => client.socket.send('0aGk='), 1008],
    ['text that is no UTF-8', (client) => client.socket.send(Buffer.from([0, 255]), { binary: false }), 1007],
    ['a size of nothing', (client) => client.send(4, '{"Width":0,"Height":1}'), 1007],
    ['a message beyond 1 MiB', (client) => client.send(0, Buffer.alloc(1024 ** 2 + 1)), 1009],
    [
      'pieces of a message beyond 1 MiB',
      (client) => {
        for (let i = 0; i < 17; i++) client.socket.send(Buffer.alloc(64 * 1024), { fin: false })
      },
      1009,
    ],
  ])('is closed for %s, and the command left', async (_what, send, code) => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    send(client)
    expect((await client.closed).code).toBe(code)
    await command.left
    expect(client.status()).toBeUndefined()
  })

  test.each([
    ['no base64', '0a*==', 1007],
    ['bytes', Buffer.from('0aGk='), 1003],
  ])('of text is closed for %s', async (_what, message, code) => {
    at = await startStreamLab()
    const { client, command } = await at.join(undefined, BASE64)
    client.socket.send(message)
    expect((await client.closed).code).toBe(code)
    await command.left
  })

  test('with random bytes is closed, and harms no other', async () => {
    at = await startStreamLab()
    const other = await at.join()
    for (const noise of ['ffffffffffffffff', '8b00', '83800000', 'c1810000000000', '0900']) {
      const raw = await at.shakeHands()
      const command = await at.next()
      raw.write(Buffer.from(noise, 'hex'))
      await command.left
      raw.destroy()
    }
    other.command.stdout.write('fine')
    await other.client.until(1, 'fine')
  })
})

describe('a client that goes', () => {
  test.each([
    ['with a close frame', (client: StreamClient) => client.socket.close(1001)],
    ['without one', (client: StreamClient) => client.socket.terminate()],
  ])('%s hangs up its command', async (_how, go) => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    go(client)
    await command.left
    while (at.server.open('streams') > 0) await sleep(5)
  })

  test('hangs up its command before it is answered', async () => {
    at = await startStreamLab()
    const gate = Promise.withResolvers<void>()
    const made = makeScriptedStream()
    at.respond = () => gate.promise.then(() => made)
    const raw = await at.connect()
    raw.write(handshakeOf(at.token))
    while (at.calls.length === 0) await sleep(5)
    raw.destroy()
    await sleep(50)
    gate.resolve()
    await made.left
    expect(at.server.open('streams')).toBe(0)
  })
})

describe('the log', () => {
  test('has one audit line and one line for the end, and no secret', async () => {
    const { logger, lines } = makeRecorder()
    at = await startStreamLab({ logger })
    const { client, command } = await at.join(`${CAT}&env=KEY%3Dhunter2`)
    client.send(0, 'abc')
    await sleep(50)
    command.stdout.write('four')
    await client.until(1, 'four')
    command.end()
    await client.closed
    while (at.server.open('streams') > 0) await sleep(5)
    await refusedStream(`${at.url}${CAT}&ticket=s3cret`, { token: null })
    expect(lines.map(({ message, fields }) => [message, fields['status'] ?? fields['close_code']])).toEqual([
      ['audit', 101],
      ['stream ended', 1000],
      ['audit', 401],
    ])
    expect(lines[0]?.fields).toMatchObject({ operation: 'streamExec', actor_name: 'test' })
    expect(lines[1]?.fields).toMatchObject({ stream: command.stream.id, bytes_in: 4 })
    const text = JSON.stringify(lines)
    expect(text).not.toContain(at.token)
    expect(text).not.toContain('s3cret')
  })
})
