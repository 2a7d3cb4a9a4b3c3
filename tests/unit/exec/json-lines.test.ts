import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type JsonLines, readJsonLines, writeJsonLine } from '../../../agent/lib/output/json-lines.ts'

describe('lines of JSON', () => {
  let server: Server
  let near: Socket
  let far: Socket

  beforeEach(async () => {
    server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    near = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
    near.on('error', () => undefined)
    far = (await once(server, 'connection'))[0] as Socket
    far.on('error', () => undefined)
  })

  afterEach(() => {
    near.destroy()
    far.destroy()
    server.close()
  })

  test('arrive one by one, from pieces or together', async () => {
    const values: unknown[] = []
    const two = new Promise<void>((resolve) => {
      readJsonLines(far, 100, (value) => {
        values.push(value)
        if (values.length === 3) resolve()
      })
    })
    near.write('{"a":1}\n{"b":')
    await new Promise((resolve) => setTimeout(resolve, 20))
    near.write('2}\n')
    writeJsonLine(near, 'é')
    await two
    expect(values).toEqual([{ a: 1 }, { b: 2 }, 'é'])
  })

  test.each([
    ['one that is none', 'no json\n'],
    ['one that does not end', `"${'x'.repeat(100)}`],
  ])('%s ends the connection', async (_, text) => {
    readJsonLines(far, 100, () => undefined)
    near.write(text)
    await new Promise((resolve) => far.once('close', resolve))
    expect(far.destroyed).toBe(true)
  })

  test('hand over the bytes after the line at which they are released', async () => {
    const values: unknown[] = []
    const rest = await new Promise<Buffer>((resolve) => {
      const lines: JsonLines = readJsonLines(far, 100, (value) => {
        values.push(value)
        if (value === 'go') resolve(lines.release())
      })
      near.write('"first"\n"go"\n"not a line"\nrest')
    })
    expect(values).toEqual(['first', 'go'])
    const later = new Promise<string>((resolve) => far.once('data', (chunk: Buffer) => resolve(chunk.toString())))
    near.write('\nmore')
    expect(far.isPaused()).toBe(true)
    far.resume()
    expect(`${rest.toString()}${await later}`).toBe('"not a line"\nrest\nmore')
    expect(values).toHaveLength(2)
  })

  test('hand over the beginning of the next line if released between two', async () => {
    const values: unknown[] = []
    const lines = readJsonLines(far, 100, (value) => values.push(value))
    near.write('1\n"be')
    while (values.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(lines.release().toString()).toBe('"be')
  })
})
