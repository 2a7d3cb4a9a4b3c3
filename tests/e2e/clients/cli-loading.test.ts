import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

describe('what is loaded', () => {
  const loadedBy = async (...args: string[]): Promise<string[]> => {
    const list = join(cli.directory(), 'list-modules.cjs')
    const loaded = join(cli.directory(), 'loaded')
    writeFileSync(
      list,
      `process.on('exit', () => require('fs').writeFileSync(${JSON.stringify(loaded)}, process.moduleLoadList.join('\\n')))`,
    )
    expect(await cli.run(args, { env: { NODE_OPTIONS: `--require ${list}` } })).toMatchObject({ code: 0 })
    return readFileSync(loaded, 'utf8').split('\n')
  }

  test('is no network for the version, and neither TLS nor fetch for a command over plain HTTP', async () => {
    const network = ['NativeModule http', 'NativeModule crypto']
    const unneeded = ['tls', 'https', 'zlib', 'child_process', 'internal/deps/undici/undici']
    expect((await loadedBy('--version')).filter((name) => network.includes(name))).toEqual([])
    const byExec = await loadedBy('exec', 'web', 'true')
    expect(byExec).toContain('NativeModule http')
    expect(byExec.filter((name) => unneeded.includes(name.replace('NativeModule ', '')))).toEqual([])
  })

  test('is kept compiled in the user’s cache, unless others can write there', async () => {
    const keptWith = async (mode: number): Promise<string[]> => {
      const cache = mkdtempSync(join(cli.directory(), 'cache-'))
      mkdirSync(join(cache, 'boxyard'))
      chmodSync(join(cache, 'boxyard'), mode)
      expect(await cli.run(['ls'], { env: { XDG_CACHE_HOME: cache } })).toMatchObject({ code: 0 })
      return readdirSync(join(cache, 'boxyard')).map((name) => name.split('-')[0] ?? '')
    }
    expect(await keptWith(0o755)).toContain('program.cjs')
    expect(await keptWith(0o777)).toEqual([])
    const fresh = mkdtempSync(join(cli.directory(), 'cache-'))
    const mask = process.umask(0)
    await cli.run(['ls'], { env: { XDG_CACHE_HOME: fresh } }).finally(() => process.umask(mask))
    expect(statSync(join(fresh, 'boxyard')).mode & 0o777).toBe(0o700)
    expect(await cli.run(['ls'], { env: { XDG_CACHE_HOME: '/dev/null' } })).toMatchObject({ code: 0, stderr: '' })
  })

  test('is kept with the functions of each verb that did its work, and anew where what was kept is of no use', async () => {
    const env = { XDG_CACHE_HOME: mkdtempSync(join(cli.directory(), 'cache-')) }
    const kept = (): { path: string; verbs: string; bytes: Buffer } => {
      const name = readdirSync(join(env.XDG_CACHE_HOME, 'boxyard')).find((each) => each.startsWith('program.cjs-'))
      const path = join(env.XDG_CACHE_HOME, 'boxyard', name ?? '')
      const bytes = readFileSync(path)
      return { path, bytes, verbs: bytes.toString('latin1', 0, bytes.indexOf('\n')) }
    }
    await cli.run(['ls'], { env })
    const first = kept()
    expect(first.verbs).toBe('["ls"]')
    expect(await cli.run(['exec', 'web', 'false'], { env })).toMatchObject({ code: 1 })
    expect(kept().bytes.equals(first.bytes)).toBe(true)
    await cli.run(['-p', 'demo', 'exec', 'web', 'true'], { env })
    expect(kept().verbs).toBe('["ls","exec"]')
    expect(kept().bytes.length).toBeGreaterThan(first.bytes.length)
    // These copies are broken. They hold another program of the same length, a flipped bit, a part as on a full disk, zeros, or no code.
    const { path, bytes } = kept()
    const another = Buffer.from(bytes)
    another.write('#', bytes.indexOf('\n') + 1)
    const noCode = Buffer.from(bytes).fill(0, bytes.length - 1000)
    const wrongBit = Buffer.from(bytes)
    wrongBit.writeUInt8(wrongBit.readUInt8(bytes.length - 50_000) ^ 4, bytes.length - 50_000)
    for (const broken of [
      another,
      wrongBit,
      bytes.subarray(0, 1000),
      Buffer.alloc(bytes.length),
      noCode.subarray(0, -1),
      Buffer.alloc(0),
    ]) {
      writeFileSync(path, broken)
      expect(await cli.run(['ls', '-o', 'name'], { env })).toMatchObject({ code: 0, stdout: 'web\n', stderr: '' })
      expect(kept().verbs).toBe('["ls"]')
    }
    // A whole copy is read and stays unchanged.
    const whole = kept().bytes
    await cli.run(['ls'], { env })
    expect(kept().bytes.equals(whole)).toBe(true)
    expect(
      readdirSync(join(env.XDG_CACHE_HOME, 'boxyard')).filter((name) => name.startsWith('program.cjs-')),
    ).toHaveLength(1)
  })
})
