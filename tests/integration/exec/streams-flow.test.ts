import { createHash, randomBytes, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { makeScriptedStream, type ScriptedStream } from '../../helpers/exec/scripted-stream.ts'
import { openStream, refusedStream } from '../../helpers/exec/stream-client.ts'
import { CAT, PIECE, type StreamLab, startStreamLab, writePieces } from '../../helpers/exec/stream-lab.ts'

let at: StreamLab

afterEach(async () => {
  await at.close()
})

describe('output of a command', () => {
  test.each(['v5.channel.k8s.io', 'v4.base64.channel.k8s.io'])('comes whole and in order over %s', async (protocol) => {
    at = await startStreamLab({ heartbeatTimes: { pingMs: 3, silenceMs: 60_000 } })
    const { client, command } = await at.join(undefined, { protocols: [protocol] })
    const sent = createHash('sha256')
    for (let i = 0; i < 200; i++) {
      const piece = randomBytes(randomInt(1, i % 3 === 0 ? 200_000 : 9_000))
      sent.update(piece)
      command.stdout.write(piece)
      if (i % 20 === 0) await sleep(2)
    }
    command.end()
    await client.closed
    const received = createHash('sha256')
    for (const message of client.messages) {
      const bytes = typeof message === 'string' ? Buffer.from(message.slice(1), 'base64') : message.subarray(1)
      if (message[0] === 1 || message[0] === '1') received.update(bytes)
    }
    expect(received.digest('hex')).toBe(sent.digest('hex'))
    expect(client.status()?.status).toBe('Success')
  })
})

describe('a client that reads slowly', () => {
  test('makes the command wait, and loses nothing', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    client.socket.pause()
    const pieces = 1024
    const isWritten = writePieces(command.stdout, pieces)
    await sleep(700)
    const held = isWritten.soFar()
    // The rest is in the system's buffers. The next test covers the agent's own.
    expect(held).toBeLessThan(pieces / 2)
    client.socket.resume()
    await isWritten.done
    command.end()
    await client.closed
    expect(client.text(1)).toHaveLength(pieces * PIECE.length)
    expect(client.status()?.status).toBe('Success')
  })

  test('costs less than a mebibyte', async () => {
    at = await startStreamLab()
    at.respond = async () => makeScriptedStream(undefined, false)
    const { client, command } = await at.join()
    client.socket.pause()
    const isWritten = writePieces(command.stdout, 1024)
    await sleep(500)
    expect(at.wires()[0]?.writableLength).toBeLessThanOrEqual(512 * 1024)
    expect(at.wires()[0]?.writableLength).toBeGreaterThan(0)
    client.socket.terminate()
    await command.left
    await isWritten.done
  })

  test('of 200 one that is stuck harms no other', async () => {
    at = await startStreamLab()
    const all = []
    for (let i = 0; i < 200; i++) all.push(await at.join())
    const [stuck, ...others] = all as [(typeof all)[0], ...typeof all]
    stuck.client.socket.pause()
    const isWritten = writePieces(stuck.command.stdout, 512)
    expect(at.server.open('streams')).toBe(200)
    await Promise.all(
      others.map(async ({ client, command }, i) => {
        command.stdin.pipe(command.stdout, { end: false })
        client.send(0, `echo ${i}.`)
        await client.until(1, `echo ${i}.`)
        command.end({ exitCode: i % 7 })
        expect((await client.closed).code).toBe(1000)
      }),
    )
    expect(stuck.command.hasLeft()).toBe(false)
    stuck.client.socket.resume()
    await isWritten.done
    stuck.command.end()
    await stuck.client.closed
    expect(stuck.client.text(1)).toHaveLength(512 * PIECE.length)
    while (at.server.open('streams') > 0) await sleep(5)
  })

  test('is made to wait by a command that reads slowly', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    const bytes = 20 * 1024 ** 2
    for (let sent = 0; sent < bytes; sent += 64 * 1024) client.send(0, Buffer.alloc(64 * 1024))
    await sleep(500)
    expect(command.stdin.writableLength + command.stdin.readableLength).toBeLessThan(512 * 1024)
    let read = 0
    command.stdin.on('data', (piece: Buffer) => {
      read += piece.length
    })
    while (read < bytes) await sleep(5)
    expect(read).toBe(bytes)
  })

  test('reads the status and the close, though it never closes itself', async () => {
    at = await startStreamLab()
    const raw = await at.shakeHands()
    const command = await at.next()
    const said: Buffer[] = []
    raw.on('data', (piece: Buffer) => said.push(piece))
    command.end()
    await new Promise((resolve) => raw.once('end', resolve))
    const text = Buffer.concat(said).toString('latin1')
    expect(text).toContain('"status":"Success"')
    expect(text.endsWith('\x88\x02\x03\xe8')).toBe(true)
    raw.destroy()
  })
})

describe('output of a terminal', () => {
  /** More pieces than wait between a terminal and its client, including those in the test's own streams. */
  const FEW_PIECES = 12

  test('waits at the command, and not in buffers of the system, while its client does not read', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    client.socket.pause()
    const isWritten = writePieces(command.stdout, 512)
    at.respond = async () => makeScriptedStream(undefined, false)
    const plain = await at.join()
    plain.client.socket.pause()
    const isPlainWritten = writePieces(plain.command.stdout, 512)
    await eventually(() => isPlainWritten.soFar() > FEW_PIECES + 4)
    await eventually(() => isWritten.soFar() >= 4)
    expect(isWritten.soFar()).toBeLessThan(FEW_PIECES)
    for (const each of [client, plain.client]) each.socket.resume()
    await Promise.all([isWritten.done, isPlainWritten.done])
    command.end()
    await client.closed
    expect(client.text(1)).toHaveLength(512 * PIECE.length)
    expect(client.status()?.status).toBe('Success')
    plain.client.socket.terminate()
  })

  test('flows on while its client is not read, whose answers to pings wait then', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    const [bytes, pieces] = [4 * 1024 ** 2, 32]
    for (let sent = 0; sent < bytes; sent += 64 * 1024) client.send(0, Buffer.alloc(64 * 1024))
    const isWritten = writePieces(command.stdout, pieces)
    await isWritten.done
    await eventually(() => client.text(1).length === pieces * PIECE.length)
    let read = 0
    command.stdin.on('data', (piece: Buffer) => {
      read += piece.length
    })
    await eventually(() => read === bytes)
    command.end()
    expect((await client.closed).code).toBe(1000)
  })

  test('is not let on by answers to pings that were never sent', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    client.socket.pause()
    const isWritten = writePieces(command.stdout, 512)
    const forged = [1e9, Number.MAX_VALUE, Number.NaN, -1].map((value) => {
      const mark = Buffer.alloc(8)
      mark.writeDoubleBE(value)
      return mark
    })
    for (const mark of [...forged, Buffer.alloc(0), Buffer.alloc(125)]) client.socket.pong(mark)
    client.send(0, 'x')
    await new Promise((resolve) => command.stdin.once('data', resolve))
    await eventually(() => isWritten.soFar() >= 4)
    expect(isWritten.soFar()).toBeLessThan(FEW_PIECES)
    client.socket.terminate()
    await command.left
    await isWritten.done
  })
})

describe('a peer', () => {
  test('is pinged, and dropped if it sends no pong', async () => {
    at = await startStreamLab({ heartbeatTimes: { pingMs: 60, silenceMs: 400 } })
    const { client, command } = await at.join()
    let pings = 0
    client.socket.on('ping', () => pings++)
    const silent = await at.join(undefined, { autoPong: false })
    await silent.command.left
    expect((await silent.client.closed).code).toBe(1006)
    // The client answers pings, so it stays connected although it is idle.
    expect([client.socket.readyState, command.hasLeft()]).toEqual([client.socket.OPEN, false])
    expect(pings).toBeGreaterThanOrEqual(2)
  })

  test('is not dropped while it reads pending output, however slowly', async () => {
    at = await startStreamLab({ heartbeatTimes: { pingMs: 90, silenceMs: 900 } })
    at.respond = async () => makeScriptedStream(undefined, false)
    const raw = await at.shakeHands()
    const command = await at.next()
    const written = writePieces(command.stdout, 100_000)
    // Answers no ping, like a client whose pings are queued behind the data.
    let allowed = 0
    raw.on('data', (piece: Buffer) => {
      allowed -= piece.length
      if (allowed <= 0) raw.pause()
    })
    for (let i = 0; i < 40; i++) {
      allowed = 512 * 1024
      raw.resume()
      await sleep(60)
    }
    expect(command.hasLeft()).toBe(false)
    raw.pause()
    await command.left
    raw.destroy()
    await written.done
  })

  test('is not dropped while the command does not read its input', async () => {
    at = await startStreamLab({ heartbeatTimes: { pingMs: 60, silenceMs: 240 } })
    const { client, command } = await at.join()
    for (let i = 0; i < 100; i++) client.send(0, Buffer.alloc(64 * 1024))
    await sleep(900)
    expect(command.hasLeft()).toBe(false)
    let bytes = 0
    for await (const piece of command.stdin) {
      bytes += (piece as Buffer).length
      if (bytes === 100 * 64 * 1024) break
    }
    expect(bytes).toBe(100 * 64 * 1024)
  })
})

describe('an agent that stops', () => {
  test('closes open streams with code 1012', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    await at.server.drain(AbortSignal.timeout(30))
    expect(await client.closed).toEqual({ code: 1012, reason: 'The agent is shutting down. Boxes keep running.' })
    expect(command.hasLeft()).toBe(true)
  })

  test('waits for streams that end by themselves', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    const isDrained = at.server.drain(new AbortController().signal)
    command.end()
    await isDrained
    expect((await client.closed).code).toBe(1000)
  })

  test.each([
    ['at once', AbortSignal.abort()],
    ['when nothing is left', new AbortController().signal],
  ])('leaves no command that was about to begin, if it stops %s', async (_when, signal) => {
    at = await startStreamLab()
    const begun = Promise.withResolvers<ScriptedStream>()
    at.respond = () => begun.promise
    const opening = openStream(`${at.url}${CAT}`, { token: at.token })
    while (at.calls.length === 0) await sleep(5)
    const isDrained = at.server.drain(signal)
    await sleep(50)
    const made = makeScriptedStream()
    begun.resolve({ ...made, stream: { ...made.stream, outlivesClient: true } })
    await isDrained
    expect([at.server.open('streams'), made.hasLeft()]).toEqual([0, true])
    expect((await (await opening).closed).code).toBe(1012)
  })

  test('starts no command of a request admitted just before', async () => {
    at = await startStreamLab()
    await at.server.drain(AbortSignal.abort())
    const refusal = await refusedStream(`${at.url}${CAT}`, { token: at.token })
    expect([refusal.problem['code'], at.calls]).toEqual(['draining', []])
  })

  test('does not wait for a client that does not read', async () => {
    at = await startStreamLab()
    const { client, command } = await at.join()
    client.socket.pause()
    const isWritten = writePieces(command.stdout, 512)
    await at.server.drain(AbortSignal.timeout(30))
    expect(at.server.open('streams')).toBe(0)
    await isWritten.done
  })
})
