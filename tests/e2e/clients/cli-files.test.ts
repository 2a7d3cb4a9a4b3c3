import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { openPlainFront, type PlainFront } from '../../helpers/clients/plain-front.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useOwnService())
/** Temporary directory of each test. */
let here: string

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})
beforeEach(() => {
  here = mkdtempSync(join(cli.directory(), 'files-'))
})

const inBox = async (line: string): Promise<string> => (await cli.client.shell('demo', 'web', line)).body.stdout

function write(path: string, content: string): void {
  mkdirSync(join(here, path, '..'), { recursive: true })
  writeFileSync(join(here, path), content)
}

describe('cp', () => {
  test('takes several sources into one directory, and tells what is none', async () => {
    write('a', 'one')
    write('b', 'two')
    const run = (...args: string[]) => cli.run(['cp', ...args], { cwd: here })
    expect(await run('a', 'b', 'web:/srv/several/')).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('cat /srv/several/a /srv/several/b')).toBe('onetwo')
    mkdirSync(join(here, 'back'))
    expect(await run('web:/srv/several/a', 'web:/srv/several/b', 'back')).toMatchObject({ code: 0 })
    expect(readdirSync(join(here, 'back')).sort()).toEqual(['a', 'b'])
    expect(await run('a', 'b', 'web:/srv/several/a')).toMatchObject({ code: 2 })
    expect(await run('web:/srv/several/a', 'web:/srv/several/b', 'none')).toMatchObject({ code: 2 })
    expect(await run('a', 'b')).toMatchObject({ code: 2 })
    expect(await run('web:/none', 'here')).toMatchObject({ code: 1, stderr: 'boxyard: web has no file /none.\n' })
  })

  test('takes a path without a slash as one below the home of root', async () => {
    write('note', 'noted')
    await inBox('mkdir -p ~/notes')
    await cli.run(['cp', 'note', 'web:notes/first'], { cwd: here })
    expect(await inBox('cat ~/notes/first')).toBe('noted')
    expect((await cli.run(['cat', 'web:notes/first'])).stdout).toBe('noted')
    await cli.run(['cp', 'note', 'web:'], { cwd: here })
    expect(await inBox('cat ~/note')).toBe('noted')
  })

  test('takes files that tell no length, and empty ones', async () => {
    write('empty', '')
    expect(await cli.run(['cp', '/proc/self/status', 'web:/srv/status'])).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('grep -c ^Pid: /srv/status')).toBe('1\n')
    expect(await cli.run(['cp', 'empty', 'web:/srv/empty'], { cwd: here })).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('wc -c < /srv/empty')).toBe('0\n')
  })

  test('keeps modes of files and directories both ways', async () => {
    write('tree/run', 'x')
    write('tree/closed/secret', 'y')
    chmodSync(join(here, 'tree/run'), 0o750)
    chmodSync(join(here, 'tree/closed'), 0o700)
    chmodSync(join(here, 'tree'), 0o711)
    symlinkSync('run', join(here, 'tree/link'))
    await inBox('mkdir -p /srv/new')
    expect(await cli.run(['cp', '-r', 'tree', 'web:/srv/new/tree'], { cwd: here })).toMatchObject({
      code: 0,
      stderr: '',
    })
    const modes = 'cd /srv/new/tree && stat -c "%a %U %n" . run closed closed/secret && readlink link'
    expect(await inBox(modes)).toBe('711 root .\n750 root run\n700 root closed\n644 root closed/secret\nrun\n')
    await inBox('chmod 600 /srv/new/tree/closed/secret')
    expect(await cli.run(['cp', 'web:/srv/new/tree', 'copy'], { cwd: here })).toMatchObject({ code: 0, stderr: '' })
    const modeOf = (path: string): string => (statSync(join(here, path)).mode & 0o7777).toString(8)
    const paths = ['copy', 'copy/run', 'copy/closed', 'copy/closed/secret']
    expect(paths.map(modeOf)).toEqual(['711', '750', '700', '600'])
    await cli.run(['cp', 'web:/srv/new/tree/run', 'one'], { cwd: here })
    expect(modeOf('one')).toBe('750')
  })

  test('passes long files by the front, on the host of the service', async () => {
    const front = await openPlainFront(cli.service().url)
    const env = { BOXYARD_URL: front.url }
    const bytes = randomBytes(20_000_000)
    writeFileSync(join(here, 'long'), bytes)
    expect(await cli.run(['cp', 'long', 'web:/srv/long'], { cwd: here, env })).toMatchObject({ code: 0, stderr: '' })
    expect(await cli.run(['cp', 'web:/srv/long', 'back'], { cwd: here, env })).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(join(here, 'back')).equals(bytes)).toBe(true)
    expect(front.passedBytes()).toBeLessThan(100_000)
    const refused = await cli.run(['cp', 'long', 'web:/proc/none/long'], { cwd: here, env })
    expect([refused.code, front.passedBytes() < 100_000]).toEqual([1, true])
    front.close()
  })

  test('merges a directory into one that is there', async () => {
    await inBox('mkdir -p /srv/merge/sub && echo new >/srv/merge/sub/a')
    write('merge/sub/b', 'old')
    expect(await cli.run(['cp', 'web:/srv/merge', '.'], { cwd: here })).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(join(here, 'merge/sub/a'), 'utf8')).toBe('new\n')
    expect(readFileSync(join(here, 'merge/sub/b'), 'utf8')).toBe('old')
  })

  test('leaves no half file here when it is interrupted', async () => {
    await inBox('truncate -s 3G /srv/large')
    write('large', 'before')
    const copying = cli.start(['cp', 'web:/srv/large', 'large'], { cwd: here })
    await eventually(() => readdirSync(here).some((name) => name.startsWith('.large.boxyard-')), 1)
    copying.child.kill('SIGINT')
    expect((await copying.ended).code).toBe(130)
    expect(readdirSync(here)).toEqual(['large'])
    expect(readFileSync(join(here, 'large'), 'utf8')).toBe('before')
    await inBox('rm /srv/large')
  })
})

describe('sync', () => {
  const sync = (...args: string[]) => cli.run(['sync', '.', 'web:/srv/site', ...args], { cwd: here })

  beforeEach(() => inBox('rm -rf /srv/site'))

  test('sends what differs, and nothing a second time', async () => {
    write('index.html', 'hello')
    write('sub/deep/a', 'a')
    const first = await sync('-o', 'name')
    expect([first.code, first.stdout]).toEqual([0, 'index.html\nsub\nsub/deep\nsub/deep/a\n'])
    expect(first.stderr).toMatch(/^sent 4 entries, 6 B \(\d+ ms\)\n$/)
    expect(await sync()).toEqual({ code: 0, stdout: '', stderr: 'Nothing to sync.\n' })
    write('sub/deep/a', 'b')
    expect((await sync('-o', 'json')).stdout).toBe(
      `${JSON.stringify({ sent: ['sub/deep/a'], deleted: [], bytes: 1 }, null, 2)}\n`,
    )
    expect(await inBox('cat /srv/site/index.html /srv/site/sub/deep/a')).toBe('hellob')
  })

  test('deletes only with --delete, never what is left out, and tells with --dry-run alone', async () => {
    write('kept', '1')
    write('.boxyardignore', 'cache/\n.boxyardignore\n')
    await sync()
    await inBox('cd /srv/site && mkdir -p cache gone/deep && touch cache/x gone/deep/y')
    expect((await sync()).stderr).toBe('Nothing to sync.\n')
    expect(await sync('--delete', '--dry-run', '-o', 'name')).toMatchObject({ code: 0, stdout: 'gone\n' })
    expect((await sync('--delete')).stderr).toMatch(/^deleted gone /)
    expect(await inBox('cd /srv/site && find . -type f | sort')).toBe('./cache/x\n./kept\n')
  })

  test('gives new files to the owner of the directory, and leaves that of others', async () => {
    await inBox('mkdir -p /srv/site && chown 33:33 /srv/site && echo x >/srv/site/mine && chown 44:44 /srv/site/mine')
    write('mine', 'y')
    write('new/a', 'z')
    await sync()
    expect(await inBox('cd /srv/site && stat -c "%u:%g %n" mine new new/a')).toBe(
      '44:44 mine\n33:33 new\n33:33 new/a\n',
    )
  })

  test('replaces a directory by a file only with --delete', async () => {
    await inBox('mkdir -p /srv/site/thing && touch /srv/site/thing/inside')
    write('thing', 'file')
    const refused = await sync()
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('thing')])
    expect(await inBox('ls /srv/site/thing')).toBe('inside\n')
    expect(await sync('--delete')).toMatchObject({ code: 0 })
    expect(await inBox('cat /srv/site/thing')).toBe('file')
  })

  test('finds by --checksum what size and time do not tell', async () => {
    write('a', 'one')
    write('b', 'two')
    utimesSync(join(here, 'a'), 1000, 1000)
    await sync()
    await inBox('cd /srv/site && printf eno >a && touch -d @1000 a')
    expect((await sync('-o', 'name')).stdout).toBe('')
    expect((await sync('--checksum', '-o', 'name')).stdout).toBe('a\n')
    expect(await inBox('cat /srv/site/a')).toBe('one')
  })

  test('watches, sends each change, and outlives a restart of the agent', async () => {
    write('a', '1')
    const watching = cli.start(['sync', here, 'web:/srv/site', '--watch', '--delete', '--exclude', 'left'])
    await watching.until(/sent a, 1 B .*\n.*Watching/)
    write('b', 'two')
    await watching.until(/sent b, 3 B/)
    expect(await inBox('cat /srv/site/b')).toBe('two')
    write('left', 'x')
    rmSync(join(here, 'a'))
    await watching.until(/deleted a/)
    expect(await inBox('ls /srv/site')).toBe('b\n')
    await cli.service().killAgent()
    write('c', 'three')
    await cli.service().startAgent()
    await watching.until(/sent c, 5 B/)
    expect(await inBox('cat /srv/site/c')).toBe('three')
    watching.child.kill('SIGINT')
    await watching.ended
    expect(existsSync(join(here, 'left'))).toBe(true)
  })
})

describe('edit', () => {
  const edit = (editor: string, path = 'web:/srv/edited') => cli.run(['edit', path], { env: { EDITOR: editor } })

  test('writes what was changed, keeping the mode, and makes a new file', async () => {
    await inBox('echo old >/srv/edited && chmod 640 /srv/edited')
    expect(await edit("sed -i 's/old/new/'")).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('cat /srv/edited; stat -c %a /srv/edited')).toBe('new\n640\n')
    expect(await edit('echo fresh >', 'web:made')).toMatchObject({ code: 0 })
    expect(await inBox('cat ~/made')).toBe('fresh\n')
  })

  test('writes nothing where nothing was changed, or the editor failed', async () => {
    await inBox('echo same >/srv/edited && touch -d @1000 /srv/edited')
    expect(await edit('true')).toMatchObject({ code: 0 })
    expect(await edit('false')).toMatchObject({ code: 1 })
    expect(await inBox('stat -c %Y /srv/edited')).toBe('1000\n')
  })

  test('refuses to write over another’s change, and keeps the copy', async () => {
    await inBox('echo mine >/srv/edited')
    const editing = cli.start(['edit', 'web:/srv/edited'], {
      env: { VISUAL: 'echo ours >"$1"; echo ready; read _; :' },
    })
    await editing.until(/ready/)
    await inBox('echo theirs >/srv/edited')
    editing.type('\n')
    const { code, stderr } = await editing.ended
    expect([code, stderr]).toEqual([1, expect.stringContaining('the file has changed')])
    const copy = /Your edited copy is (\S+)/.exec(stderr)?.[1] ?? ''
    expect(readFileSync(copy, 'utf8')).toBe('ours\n')
    rmSync(join(copy, '..'), { recursive: true })
    expect(await inBox('cat /srv/edited')).toBe('theirs\n')
  })
})

describe('behind a front that takes no long body', () => {
  let plain: PlainFront

  beforeAll(async () => {
    plain = await openPlainFront(cli.service().url)
  })
  afterAll(() => plain.close())

  test('files and directories are sent again by a ticket; stdin is refused in words', async () => {
    const long = 'a'.repeat(2_000_000)
    write('tree/long', long)
    const run = (args: string[], input = '') =>
      cli.run(args, { cwd: here, env: { BOXYARD_URL: plain.url }, ...(input === '' ? {} : { input }) })
    expect(await run(['cp', 'tree/long', 'web:/srv/long'])).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['cp', 'tree', 'web:/srv/tree'])).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['sync', 'tree', 'web:/srv/synced'])).toMatchObject({ code: 0 })
    expect(await inBox('cat /srv/long /srv/tree/long /srv/synced/long | wc -c')).toBe('6000000\n')
    write('root/bin/sh', long)
    execFileSync('tar', ['-C', join(here, 'root'), '-cf', join(here, 'base.tar'), '.'])
    expect(await run(['base', 'create', 'long', '--tar', 'base.tar'])).toMatchObject({ code: 0 })

    expect(await run(['cp', '-', 'web:/srv/short'], 'short')).toMatchObject({ code: 0 })
    for (const args of [
      ['cp', '-', 'web:/srv/once'],
      ['base', 'create', 'once', '--tar', '-'],
    ]) {
      const { code, stderr } = await run(args, long)
      expect([code, stderr]).toEqual([1, expect.stringContaining('Save it to a file')])
    }
    expect(await inBox('ls /srv')).not.toContain('once')
  })
})

test('a directory has a box of its own, that a point stands for', async () => {
  expect(await cli.run(['use', 'demo', '--here', '--box', 'web'], { cwd: here })).toMatchObject({ code: 0 })
  expect(readFileSync(join(here, '.boxyard'), 'utf8')).toBe('project = "demo"\nbox = "web"\n')
  write('a', 'dotted')
  const env = { BOXYARD_PROJECT: '' }
  expect(await cli.run(['cp', 'a', '.:/srv/dotted'], { cwd: here })).toMatchObject({ code: 0 })
  expect((await cli.run(['exec', '.', 'cat', '/srv/dotted'], { cwd: here })).stdout).toBe('dotted')
  expect((await cli.run(['info', '.', '-o', 'name'], { cwd: here, env })).code).toBe(0)
  const other = await cli.run(['info', '.'], { cwd: here, env: { BOXYARD_BOX: 'none' } })
  expect(other.stderr).toContain('"none"')
  const lost = await cli.run(['info', '.'])
  expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('.boxyard')])
})
