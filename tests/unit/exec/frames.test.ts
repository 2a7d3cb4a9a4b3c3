import { randomBytes, randomInt } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import {
  CHANNELS,
  chooseProtocol,
  decodeFrame,
  encodeAgentData,
  encodeFrame,
  FRAME_PROTOCOLS,
  type FrameFault,
  type FrameProtocol,
  statusOf,
} from '../../../shared/http/exec-frames.ts'

const [V5, V4, BASE64] = FRAME_PROTOCOLS
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
const decode = (protocol: FrameProtocol, message: Buffer | string) =>
  decodeFrame(protocol, Buffer.from(message as string), typeof message === 'string')

/** Returns the code that closes the connection of a client that sends this message, or null. */
function closeCodeOf(protocol: FrameProtocol, message: Buffer | string): number | null {
  try {
    decode(protocol, message)
    return null
  } catch (error) {
    return (error as FrameFault).closeCode
  }
}

describe('the choice of a protocol', () => {
  test.each([
    ['v4.base64.channel.k8s.io, v4.channel.k8s.io , v5.channel.k8s.io', V5],
    ['v4.base64.channel.k8s.io,v4.channel.k8s.io', V4],
    ['channel.k8s.io, v4.base64.channel.k8s.io', BASE64],
  ])('of %s is %s', (offered, chosen) => {
    expect(chooseProtocol(offered)).toBe(chosen)
  })

  test.each([undefined, '', 'v3.channel.k8s.io', 'V5.CHANNEL.K8S.IO', 'xv5.channel.k8s.io'])(
    '%p is refused',
    (offered) => {
      expect(() => chooseProtocol(offered)).toThrow(
        expect.objectContaining({
          code: 'invalid_request',
          errors: [expect.objectContaining({ pointer: '/headers/sec-websocket-protocol' })],
        }),
      )
    },
  )
})

describe('server frames', () => {
  test('are the channel and the bytes', () => {
    for (const protocol of [V5, V4]) {
      expect(encodeFrame(protocol, CHANNELS.stdout, hex('00 ff 68'))).toEqual(hex('01 00 ff 68'))
      expect(encodeFrame(protocol, CHANNELS.stderr, hex(''))).toEqual(hex('02'))
    }
  })

  test('are a digit and base64 in text', () => {
    expect(encodeFrame(BASE64, CHANNELS.stdout, Buffer.from('hi'))).toBe('1aGk=')
    expect(encodeFrame(BASE64, CHANNELS.status, hex('fb ff'))).toBe('3+/8=')
  })

  test('do not share memory with their input', () => {
    const source = Buffer.from('abc')
    const frame = encodeFrame(V5, CHANNELS.stdout, source.subarray(1))
    source.fill(0)
    expect(frame).toEqual(hex('01 62 63'))
  })
})

describe('client frames', () => {
  test('are input, end of input, and sizes', () => {
    expect(decode(V5, hex('00 6c 73 0a'))).toEqual({ kind: 'input', bytes: hex('6c 73 0a') })
    expect(decode(V4, hex('00'))).toEqual({ kind: 'input', bytes: hex('') })
    expect(decode(V5, hex('ff 00'))).toEqual({ kind: 'inputEnd' })
    expect(decode(BASE64, '0aGk=')).toEqual({ kind: 'input', bytes: Buffer.from('hi') })
    const size = '{"Width":132,"Height":43}'
    expect(decode(V5, Buffer.from(`\x04${size}`))).toEqual({ kind: 'resize', cols: 132, rows: 43 })
    expect(decode(BASE64, `4${Buffer.from(size).toString('base64')}`)).toEqual({ kind: 'resize', cols: 132, rows: 43 })
  })

  test.each([V5, V4])('of text on %s are their bytes', (protocol) => {
    expect(decode(protocol, '\0ls ä\n')).toEqual({ kind: 'input', bytes: hex('00 6c 73 20 c3 a4 0a').subarray(1) })
    expect(decode(protocol, '\x04{"Width":80,"Height":24}')).toEqual({ kind: 'resize', cols: 80, rows: 24 })
    expect(decode(protocol, '')).toEqual({ kind: 'nothing' })
  })

  test('of size are read as Go writes them, and JavaScript', () => {
    expect(decode(V4, Buffer.from('\x04{"height":1,"width":65535}\n'))).toEqual({
      kind: 'resize',
      cols: 65_535,
      rows: 1,
    })
  })

  test('of a connection to an SSH agent carry its number in both directions', () => {
    expect(decode(V5, hex('05 00 00 01 02 61'))).toEqual({ kind: 'agent', connection: 258, bytes: hex('61') })
    expect(decode(BASE64, '5AAAAAQ==')).toEqual({ kind: 'agent', connection: 1, bytes: hex('') })
    expect(encodeAgentData(258, hex('61'))).toEqual(hex('00 00 01 02 61'))
    expect(closeCodeOf(V5, hex('05 00 00 01'))).toBe(1008)
  })

  test('that are empty are ignored', () => {
    expect(decode(V5, hex(''))).toEqual({ kind: 'nothing' })
    expect(decode(BASE64, '')).toEqual({ kind: 'nothing' })
  })

  test.each([1, 2, 3, 4])('that close channel %i are ignored', (channel) => {
    expect(decode(V5, Buffer.from([255, channel]))).toEqual({ kind: 'nothing' })
  })

  test.each<[string, FrameProtocol, Buffer | string, number]>([
    ['a digit for a channel on a binary protocol', V5, '0ls', 1008],
    ['bytes on a text protocol', BASE64, hex('00'), 1003],
    ['what only the server sends', V5, hex('01 61'), 1008],
    ['the status', V4, hex('03'), 1008],
    ['an unknown channel', V5, hex('05'), 1008],
    ['half-close before v5', V4, hex('ff 00'), 1008],
    ['half-close of no channel', V5, hex('ff'), 1008],
    ['half-close of an unknown channel', V5, hex('ff 05'), 1008],
    ['half-close of two channels', V5, hex('ff 00 01'), 1008],
    ['a letter for a channel', BASE64, 'aaGk=', 1008],
    ['half-close in text', BASE64, '255', 1008],
    ['no base64', BASE64, '0a*==', 1007],
    ['base64 for URLs', BASE64, '0_-8=', 1007],
    ['base64 without its end', BASE64, '0aGk', 1007],
    ['base64 that ends twice', BASE64, '0aA==aA==', 1007],
    ['base64 in lines', BASE64, '0aG\nk', 1007],
    ['a size that is no JSON', V5, hex('04 7b'), 1007],
    ['a size that is empty', V5, hex('04'), 1007],
    ['a size that is null', V5, Buffer.from('\x04null'), 1007],
    ['half a size', V5, Buffer.from('\x04{"Width":80}'), 1007],
    ['a size of nothing', V5, Buffer.from('\x04{"Width":0,"Height":24}'), 1007],
    ['a size beyond any', V5, Buffer.from('\x04{"Width":80,"Height":65536}'), 1007],
    ['a size in pieces', V5, Buffer.from('\x04{"Width":80.5,"Height":24}'), 1007],
    ['a size in words', V5, Buffer.from('\x04{"Width":"80","Height":24}'), 1007],
  ])('of %s are refused', (_what, protocol, message, code) => {
    expect(closeCodeOf(protocol, message)).toBe(code)
  })
})

describe('any frame', () => {
  test('is decoded as it was encoded, with any bytes', () => {
    for (let round = 0; round < 500; round++) {
      const bytes = randomBytes(randomInt(0, 300))
      for (const protocol of FRAME_PROTOCOLS) {
        const frame = encodeFrame(protocol, CHANNELS.stdin, bytes)
        const read = decodeFrame(protocol, Buffer.from(frame as string), typeof frame === 'string')
        expect(read).toEqual({ kind: 'input', bytes })
      }
    }
  })

  test('of random bytes is read, or refused with one of four codes', () => {
    const codes = new Set<number | null>([null, 1003, 1007, 1008])
    for (let round = 0; round < 5000; round++) {
      const noise = randomBytes(randomInt(0, 12))
      if (round % 2 === 0 && noise.length > 0) noise[0] = [0, 4, 255, 0x30, 0x34][randomInt(0, 5)] as number
      for (const protocol of FRAME_PROTOCOLS) {
        for (const message of [noise, noise.toString('latin1')]) expect(codes).toContain(closeCodeOf(protocol, message))
      }
    }
  })

  test('of a mebibyte of base64 is read quickly', () => {
    const text = `0${'A'.repeat(1024 ** 2)}`
    expect(decode(BASE64, text)).toMatchObject({ kind: 'input' })
    expect(closeCodeOf(BASE64, `${text.slice(0, -1)}*`)).toBe(1007)
  })
})

describe('the status', () => {
  const KIND = { kind: 'Status', apiVersion: 'v1', metadata: {} }

  test('of success is Success, with its message', () => {
    expect(statusOf({ exitCode: 0, signal: null, note: null })).toEqual({ ...KIND, status: 'Success' })
    expect(statusOf({ exitCode: 0, signal: null, note: 'n' })).toEqual({ ...KIND, status: 'Success', message: 'n' })
  })

  test('of another exit code has the form of Kubernetes', () => {
    expect(statusOf({ exitCode: 3, signal: null, note: null })).toEqual({
      ...KIND,
      status: 'Failure',
      message: 'The command ended with exit code 3.',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    })
  })

  test.each([
    ['SIGHUP', '129'],
    ['SIGKILL', '137'],
    ['SIGTERM', '143'],
  ])('of %s is %s', (signal, code) => {
    expect(statusOf({ exitCode: null, signal, note: null })).toMatchObject({
      message: `The command was killed by ${signal}.`,
      details: { causes: [{ reason: 'ExitCode', message: code }] },
    })
  })

  test.each([
    [{ exitCode: null, signal: null, note: null }, 'The exit code of the command is unknown.'],
    [{ exitCode: null, signal: 'SIGNEW', note: null }, 'The command was killed by SIGNEW.'],
    [{ exitCode: null, signal: null, note: 'It was lost.' }, 'It was lost.'],
  ])('of an unknown end has no code', (end, message) => {
    expect(statusOf(end)).toEqual({ ...KIND, status: 'Failure', message, reason: 'InternalError', code: 500 })
  })
})
