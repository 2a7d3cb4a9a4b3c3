import { describe, expect, test } from '@jest/globals'
import { createSendReader, SEND, type SendCommand } from '../../../agent/drivers/pool/send-stream.ts'
import { createTreeModel, type FoundChange } from '../../../agent/drivers/pool/tree-changes.ts'
import { createDice } from '../../helpers/files/random-tree.ts'

const HEAD = Buffer.from('btrfs-stream\0\u0001\0\0\0', 'latin1')
const PATH = 15
const PATH_TO = 16
const PATH_LINK = 17
const MTIME = 10
const DATA = 19

function attribute(kind: number, value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'latin1') : value
  const head = Buffer.alloc(4)
  head.writeUInt16LE(kind, 0)
  head.writeUInt16LE(bytes.length, 2)
  return Buffer.concat([head, bytes])
}

function encode(code: number, ...attributes: Buffer[]): Buffer {
  const payload = Buffer.concat(attributes)
  const head = Buffer.alloc(10)
  head.writeUInt32LE(payload.length, 0)
  head.writeUInt16LE(code, 4)
  return Buffer.concat([head, payload])
}

const END = encode(SEND.END)

/** Reads a stream in pieces of these lengths, repeated. */
function read(stream: Buffer, sizes: readonly number[] = [stream.length]): SendCommand[] {
  const commands: SendCommand[] = []
  const reader = createSendReader((command) => commands.push(command))
  for (let at = 0, turn = 0; at < stream.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    reader.push(Buffer.from(stream.subarray(at, at + size)))
    at += size
  }
  reader.end()
  return commands
}

const command = (code: number, rest: Partial<SendCommand> = {}): SendCommand => ({
  code,
  path: null,
  pathTo: null,
  pathLink: null,
  modified: null,
  ...rest,
})

describe('a stream of btrfs send', () => {
  test('each command is read with its paths, byte for byte', () => {
    const time = Buffer.alloc(12)
    time.writeBigInt64LE(-5n, 0)
    time.writeUInt32LE(7, 8)
    const stream = Buffer.concat([
      HEAD,
      encode(SEND.RENAME, attribute(PATH, 'a\xff'), attribute(PATH_TO, 'b')),
      encode(SEND.LINK, attribute(PATH, ''), attribute(PATH_LINK, 'c\n')),
      encode(SEND.UTIMES, attribute(PATH, 'd'), attribute(MTIME, time)),
      END,
    ])
    expect(read(stream)).toEqual([
      command(SEND.RENAME, { path: 'a\xff', pathTo: 'b' }),
      command(SEND.LINK, { path: '', pathLink: 'c\n' }),
      command(SEND.UTIMES, { path: 'd', modified: { seconds: -5n, nanoseconds: 7 } }),
      command(SEND.END),
    ])
  })

  test('unknown commands, attributes and data are skipped', () => {
    const dataOfVersion2 = Buffer.concat([Buffer.from([DATA, 0]), Buffer.alloc(70_000, 0xff)])
    const stream = Buffer.concat([
      HEAD,
      encode(99, attribute(77, 'x'), attribute(PATH, 'p')),
      encode(SEND.WRITE, attribute(PATH, 'q'), dataOfVersion2),
      END,
    ])
    expect(read(stream)).toEqual([command(99, { path: 'p' }), command(SEND.WRITE, { path: 'q' }), command(SEND.END)])
  })

  test.each(Array.from({ length: 20 }, (_, index) => index))(
    'a stream is read alike in pieces of any size: seed %i',
    (seed) => {
      const random = createDice(seed)
      const commands = Array.from({ length: 50 }, () =>
        encode(3 + random(15), attribute(PATH, 'p'.repeat(random(300))), attribute(PATH_TO, 'q'.repeat(random(5)))),
      )
      const stream = Buffer.concat([HEAD, ...commands, END, Buffer.from('what comes after')])
      const sizes = Array.from({ length: 10 }, () => 1 + random(200))
      expect(read(stream, sizes)).toEqual(read(stream))
      expect(read(stream)).toHaveLength(51)
    },
  )

  test.each(Array.from({ length: 30 }, (_, index) => index))(
    'an altered stream is refused or read: seed %i',
    (seed) => {
      const random = createDice(seed)
      const whole = Buffer.concat([HEAD, ...Array.from({ length: 20 }, () => encode(9, attribute(PATH, 'abc'))), END])
      for (let flips = 0; flips < 3; flips++) whole[random(whole.length)] = random(256)
      try {
        expect(read(whole, [1 + random(40)]).length).toBeLessThanOrEqual(100)
      } catch (error) {
        expect(error).toMatchObject({ name: 'SendStreamError' })
      }
    },
  )

  test.each([
    ['another magic', Buffer.from('btrfs-strean\0\u0001\0\0\0')],
    ['a cut head', HEAD.subarray(0, 10)],
    ['no end', Buffer.concat([HEAD, encode(SEND.UNLINK, attribute(PATH, 'a'))])],
    ['a command of 2 MiB', Buffer.concat([HEAD, Buffer.from([0, 0, 32, 0, 1, 0, 0, 0, 0, 0])])],
    ['an attribute that ends outside', Buffer.concat([HEAD, encode(3, Buffer.from([15, 0, 9, 0])), END])],
    ['an attribute without a length', Buffer.concat([HEAD, encode(3, Buffer.from([15, 0])), END])],
  ])('%s is refused', (_, stream) => {
    expect(() => read(stream)).toThrow(expect.objectContaining({ name: 'SendStreamError' }))
  })
})

describe('the changes of a stream', () => {
  const told = (...commands: SendCommand[]): string[] => {
    const model = createTreeModel(100)
    for (const one of commands) model.apply(one)
    return [...model.changes()].map(({ kind, path, from }: FoundChange) => `${kind} ${from ?? ''}>${path}`).sort()
  }
  const make = (path: string): SendCommand => command(SEND.MKFILE, { path })
  const rename = (path: string, pathTo: string): SendCommand => command(SEND.RENAME, { path, pathTo })
  const unlink = (path: string): SendCommand => command(SEND.UNLINK, { path })

  test('temporary names are not reported', () => {
    expect(told(make('o9-1-0'), rename('o9-1-0', 'd/new'))).toEqual(['added >/d/new'])
    expect(told(rename('a', 'o5-1-0'), make('o9-1-0'), rename('o9-1-0', 'a'), rename('o5-1-0', 'b'))).toEqual([
      'added >/a',
      'renamed /a>/b',
    ])
    expect(told(rename('a', 'o5-1-0'), rename('o5-1-0', 'a'))).toEqual([])
    expect(told(make('o9-1-0'), unlink('o9-1-0'))).toEqual([])
  })

  test('a path below a deleted directory and its successor is reported as modified', () => {
    const mkdir = (path: string): SendCommand => command(SEND.MKDIR, { path })
    const rmdir = (path: string): SendCommand => command(SEND.RMDIR, { path })
    const replaced = [rename('d', 'o5-1-0'), mkdir('d'), make('d/f'), unlink('o5-1-0/f'), unlink('o5-1-0/g')]
    expect(told(...replaced, rmdir('o5-1-0'))).toEqual(['deleted >/d/g', 'modified >/d', 'modified >/d/f'])
  })

  test('an unknown command changes nothing', () => {
    expect(told(command(99, { path: 'a' }), command(SEND.SNAPSHOT, { path: 'name' }))).toEqual([])
  })

  test('more names than the bound are refused', () => {
    const model = createTreeModel(100)
    const fill = (): void => {
      for (let index = 0; index <= 100; index++) model.apply(make(`n${index}`))
    }
    expect(fill).toThrow(RangeError)
  })

  test.each([
    ['a name that is gone', [unlink('a'), unlink('a')]],
    ['a name in a directory that is new', [command(SEND.MKDIR, { path: 'd' }), unlink('d/a')]],
    ['a name twice', [make('a'), make('a')]],
  ])('a stream with %s is refused', (_, commands) => {
    expect(() => told(...commands)).toThrow(expect.objectContaining({ name: 'SendStreamError' }))
  })
})
