import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { COPY_TABLE, type CopySide, expectedOf, tryCopies } from '../../helpers/clients/copy-table.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())
/** Temporary directory of each test. */
let here: string

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})
beforeEach(() => {
  here = mkdtempSync(join(cli.directory(), 'copies-'))
})

const inBox = async (line: string): Promise<string> => (await cli.client.shell('demo', 'web', line)).body.stdout

function write(path: string, content: string): void {
  mkdirSync(join(here, path, '..'), { recursive: true })
  writeFileSync(join(here, path), content)
}

describe('cp as docker cp', () => {
  test.each(['up', 'down'] as const)('makes each copy of the table, %s', async (direction) => {
    const side: CopySide = {
      shell: inBox,
      copy: async (from, to) => {
        const args = direction === 'up' ? [from, `web:${to}`] : [`web:${from}`, to]
        return (await cli.run(['cp', ...args], { cwd: join(here, 'copies') })).code === 0
      },
    }
    const seen = await tryCopies(COPY_TABLE, { direction, here: join(here, 'copies'), side })
    expect(seen).toEqual(expectedOf(COPY_TABLE, direction))
  })

  test('takes a file, and several, into a directory that a link of the box leads to', async () => {
    write('tool', 'one')
    write('other', 'two')
    await inBox('mkdir -p /srv/usr/bin && ln -s usr/bin /srv/bin && ln -s /srv/usr/bin/old /srv/usr/bin/other')
    const run = (...args: string[]) => cli.run(['cp', ...args], { cwd: here })
    expect(await run('tool', 'web:/srv/bin')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('tool', 'other', 'web:/srv/bin')).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('cd /srv && readlink bin && cat usr/bin/tool usr/bin/other && ls usr/bin')).toBe(
      'usr/bin\nonetwoother\ntool\n',
    )
  })

  test('follows a link at the source only with -L', async () => {
    write('tree/a', 'a')
    symlinkSync('tree', join(here, 'link'))
    const run = (...args: string[]) => cli.run(['cp', ...args], { cwd: here })
    await inBox('mkdir -p /srv/linked')
    expect(await run('-L', 'link', 'web:/srv/linked/tree')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('link', 'web:/srv/linked/link')).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('cd /srv/linked && cat tree/a && readlink link')).toBe('atree\n')
    expect(await run('--follow-link', 'web:/srv/linked/link', 'back')).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(join(here, 'back/a'), 'utf8')).toBe('a')
  })

  test('copies no parent and no root in the place of a name', async () => {
    write('tree/a', 'a')
    mkdirSync(join(here, 'tree/sub'))
    await inBox('mkdir -p /srv/named')
    const copied = await cli.run(['cp', '..', 'web:/srv/named'], { cwd: join(here, 'tree/sub') })
    expect([copied.code, await inBox('ls /srv/named; cat /srv/named/tree/a')]).toEqual([0, 'tree\na'])
  })
})

describe('what is copied', () => {
  const run = (...args: string[]) => cli.run(args, { cwd: here })
  /** Returns the bytes of a path whose names are not UTF-8. */
  const place = (...names: string[]): Buffer =>
    Buffer.concat([Buffer.from(`${here}/`), Buffer.from(names.join('/'), 'latin1')])
  const namesIn = (path: string): string[] => readdirSync(join(here, path), { encoding: 'latin1' }).sort()
  const namesInBox = (path: string): Promise<string> =>
    inBox(`cd ${path} && for name in *; do printf '%s ' "$name"; done | tr '\\350\\351' 'XY'`)

  test('has its links as they are, wherever they lead', async () => {
    const links = { absolute: '/usr/bin/env', up: '../../../etc', gone: '/no/such', bin: '/bin' }
    mkdirSync(join(here, 'venv'))
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(here, 'venv', name))
    expect(await run('cp', 'venv', 'web:/srv/venv')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('sync', 'venv', 'web:/srv/venv-synced')).toMatchObject({ code: 0 })
    const read = 'for i in absolute up gone bin; do readlink $i; done'
    for (const path of ['/srv/venv', '/srv/venv-synced'])
      expect(await inBox(`cd ${path} && ${read}`)).toBe('/usr/bin/env\n../../../etc\n/no/such\n/bin\n')
    expect(await run('cp', 'web:/srv/venv', 'back')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('cp', 'back/.', 'web:/srv/venv')).toMatchObject({ code: 0, stderr: '' })
    expect(readlinkSync(join(here, 'back/bin'))).toBe('/bin')
  })

  test('is named where it is left out: FIFOs and sockets, both ways and by sync', async () => {
    write('tree/sub/file', 'x')
    execFileSync('mkfifo', [join(here, 'tree/sub/pipe')])
    const listening = createServer().listen(join(here, 'tree/socket'))
    await once(listening, 'listening')
    const named = /^boxyard: left out tree\/(sub\/pipe|socket) \((FIFO|socket)\)\.\n.* \((FIFO|socket)\)\.\n$/
    expect(await run('cp', 'tree', 'web:/srv/special')).toMatchObject({ code: 0, stderr: expect.stringMatching(named) })
    const synced = await run('sync', 'tree', 'web:/srv/special')
    expect([synced.code, synced.stderr.match(/left out (sub\/pipe|socket) \((FIFO|socket)\)/g)?.length]).toEqual([0, 2])
    listening.close()
    await inBox('mkdir -p /srv/special/in && mkfifo /srv/special/in/pipe')
    const { code, stderr } = await run('cp', 'web:/srv/special', 'back')
    expect([code, stderr]).toEqual([0, expect.stringContaining('left out web:/srv/special/in/pipe (FIFO).')])
    expect(existsSync(join(here, 'back/in/pipe'))).toBe(false)
  })

  test('is reported and never read if a source itself is a FIFO, a socket or a device', async () => {
    write('a', 'a')
    execFileSync('mkfifo', [join(here, 'pipe')])
    symlinkSync('/dev/zero', join(here, 'zero'))
    const listening = createServer().listen(join(here, 'socket'))
    await once(listening, 'listening')
    await inBox('mkdir -p /srv/alone')
    const leftOut = (name: string, kind: string) => ({
      code: 1,
      stdout: '',
      stderr: `boxyard: left out ${name} (${kind}).\n`,
    })
    expect(await run('cp', 'pipe', 'web:/srv/alone/')).toEqual(leftOut('pipe', 'FIFO'))
    expect(await run('cp', './pipe', 'web:/srv/alone/name')).toEqual(leftOut('./pipe', 'FIFO'))
    expect(await run('cp', 'socket', 'web:/srv/alone/')).toEqual(leftOut('socket', 'socket'))
    expect(await run('cp', '/dev/zero', 'web:/srv/alone/dz')).toEqual(leftOut('/dev/zero', 'device'))
    expect(await run('cp', '-L', 'zero', 'web:/srv/alone/dz')).toEqual(leftOut('zero', 'device'))
    expect(await cli.runLine('boxyard cp /dev/fd/3 web:/srv/alone/dz 3</dev/zero', { cwd: here })).toEqual(
      leftOut('/dev/fd/3', 'device'),
    )
    listening.close()
    expect(await inBox('ls /srv/alone')).toBe('')
    expect(await run('cp', 'pipe', 'a', 'web:/srv/alone/')).toEqual(leftOut('pipe', 'FIFO'))
    expect(await run('cp', 'a', 'pipe', 'none', 'web:/srv/alone/')).toEqual({
      ...leftOut('pipe', 'FIFO'),
      stderr: 'boxyard: left out pipe (FIFO).\nboxyard: none: no such file or directory\n',
    })
    expect(await inBox('ls /srv/alone')).toBe('a\n')
    await inBox('mkfifo /srv/alone/pipe && ln -s pipe /srv/alone/link')
    for (const target of ['back', '-'])
      expect(await run('cp', 'web:/srv/alone/pipe', target)).toEqual(leftOut('web:/srv/alone/pipe', 'FIFO'))
    expect(await run('cp', '-L', 'web:/srv/alone/link', 'back')).toEqual(leftOut('web:/srv/alone/link', 'FIFO'))
    mkdirSync(join(here, 'back'))
    expect(await run('cp', 'web:/dev/null', 'web:/srv/alone/a', 'back')).toEqual(leftOut('web:/dev/null', 'device'))
    expect(readFileSync(join(here, 'back/a'), 'utf8')).toBe('a')
  })

  test('is read to its end if it is a pipe of the shell', async () => {
    await inBox('mkdir -p /srv/piped')
    const copies = 'boxyard cp <(echo one) web:/srv/piped/one && echo two | boxyard cp /dev/stdin web:/srv/piped/two'
    expect(await cli.runLine(copies, { cwd: here })).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await inBox('cat /srv/piped/*')).toBe('one\ntwo\n')
    write('root/bin/sh', 'x')
    const base = await cli.runLine('boxyard base create piped --tar <(tar -c -C root .) -o name', { cwd: here })
    expect(base).toMatchObject({ code: 0, stdout: 'piped\n' })
  })

  test('is named with the error if it cannot be read, and not the service', async () => {
    execFileSync('mkfifo', [join(here, 'pipe')])
    mkdirSync(join(here, 'tree'))
    // Files that can only be written. Not even root can read them.
    const closed = '/proc/sys/vm/compact_memory: permission denied\n'
    const failed = (stderr: string, code = 1) => ({ code, stdout: '', stderr: `boxyard: ${stderr}` })
    expect(await run('cp', '/proc/sys/vm/compact_memory', 'web:/srv/closed')).toEqual(failed(closed))
    expect(await run('cp', '/proc/sys/vm', 'web:/srv/closed')).toEqual(failed(closed))
    expect(await run('sync', '/proc/sys/vm', 'web:/srv/closed')).toEqual(failed(closed))
    expect(await run('base', 'create', 'b', '--tar', '/proc/sys/vm/compact_memory')).toEqual(failed(closed))
    expect(await run('cp', '/proc/self/mem', 'web:/srv/closed')).toEqual(failed('/proc/self/mem: i/o error\n'))
    const noFile = (what: string): object => failed(`${what}, not a file. To read a pipe, use - for stdin.\n`, 2)
    expect(await run('base', 'create', 'b', '--tar', 'tree')).toEqual(noFile('tree is a directory'))
    expect(await run('base', 'create', 'b', '--image-tar', 'pipe')).toEqual(noFile('pipe is a FIFO'))
    expect(await run('create', 'b', '-d', '@pipe')).toEqual(noFile('pipe is a FIFO'))
    expect(await run('api', 'POST', '/v1/x', '-d', '@/dev/zero')).toEqual(noFile('/dev/zero is a device'))
    const input = await cli.runLine('boxyard cp - web:/srv/closed/file < tree', { cwd: here })
    expect(input).toEqual(failed('stdin is a directory, not a file.\n', 2))
  })

  test('keeps names that are not UTF-8, by cp and sync', async () => {
    mkdirSync(place('tree/d\xe9'), { recursive: true })
    writeFileSync(place('tree/a\xe9'), 'one')
    writeFileSync(place('tree/a\xe8'), 'two')
    writeFileSync(place('tree/d\xe9/\xff\xfe'), 'three')
    writeFileSync(place('tree', `${'l'.repeat(120)}\xe9`), 'long')
    symlinkSync(Buffer.from('a\xe9', 'latin1'), place('tree/k\xe9'))
    expect(await run('cp', 'tree', 'web:/srv/bytes')).toMatchObject({ code: 0, stderr: '' })
    expect((await run('sync', 'tree', 'web:/srv/bytes-synced')).stderr).toMatch(/^sent 6 entries/)
    for (const path of ['/srv/bytes', '/srv/bytes-synced'])
      expect(await namesInBox(path)).toBe(`aX aY dY kY ${'l'.repeat(120)}Y `)
    const nothing = { code: 0, stdout: '', stderr: 'Nothing to sync.\n' }
    expect(await run('sync', 'tree', 'web:/srv/bytes-synced')).toEqual(nothing)
    expect(await run('sync', 'tree', 'web:/srv/bytes-synced', '--checksum')).toEqual(nothing)
    expect(await run('cp', 'web:/srv/bytes', 'back')).toMatchObject({ code: 0, stderr: '' })
    expect(namesIn('back')).toEqual(namesIn('tree'))
    expect(readFileSync(place('back/d\xe9/\xff\xfe'), 'utf8')).toBe('three')
    expect(await run('cp', 'web:/srv/bytes/.', 'back')).toMatchObject({ code: 0, stderr: '' })
    rmSync(place('tree/a\xe8'))
    const deleted = await run('sync', 'tree', 'web:/srv/bytes-synced', '--delete')
    expect([deleted.code, deleted.stderr]).toEqual([0, expect.stringContaining('deleted a\\xe8')])
    expect(await inBox('ls /srv/bytes-synced | wc -l')).toBe('4\n')
  })

  test('keeps the holes of its files, there and back', async () => {
    mkdirSync(join(here, 'tree'))
    const size = 100_000_001
    const file = openSync(join(here, 'tree/disk'), 'w')
    for (const at of [5_000_000, 60_000_000]) writeSync(file, 'data', at)
    ftruncateSync(file, size)
    closeSync(file)
    write('tree/hole', '')
    truncateSync(join(here, 'tree/hole'), size)
    expect(await run('cp', 'tree', 'web:/srv/sparse')).toMatchObject({ code: 0, stderr: '' })
    const [used = '', ...sums] = (await inBox('cd /srv/sparse && du -sk . && sha256sum disk hole')).split('\n')
    expect(Number.parseInt(used, 10)).toBeLessThan(1000)
    const here256 = (name: string): string =>
      execFileSync('sha256sum', [join(here, name)], { encoding: 'utf8' }).slice(0, 64)
    expect(sums.slice(0, 2).map((line) => line.slice(0, 64))).toEqual([here256('tree/disk'), here256('tree/hole')])
    expect(await run('cp', 'web:/srv/sparse', 'back')).toMatchObject({ code: 0, stderr: '' })
    expect(here256('back/disk')).toBe(here256('tree/disk'))
    expect(statSync(join(here, 'back/disk')).blocks).toBeLessThan(2000)
  })
})
