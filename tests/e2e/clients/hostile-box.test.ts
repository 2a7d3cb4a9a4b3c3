import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())
/** Home directory of the user who copies, with files that no copy may touch. */
let home = ''

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

beforeEach(() => {
  home = mkdtempSync(join(cli.directory(), 'home-'))
  mkdirSync(join(home, '.ssh'))
  writeFileSync(join(home, '.bashrc'), 'mine\n')
})

async function inBox(line: string): Promise<void> {
  expect(await cli.run(['exec', 'web', 'sh', '-c', line])).toMatchObject({ code: 0, stderr: '' })
}

async function copy(...args: string[]): Promise<void> {
  expect(await cli.run(['cp', ...args], { cwd: home })).toMatchObject({ code: 0, stderr: '' })
}

function expectUntouched(): void {
  expect(readFileSync(join(home, '.bashrc'), 'utf8')).toBe('mine\n')
  expect(readdirSync(join(home, '.ssh'))).toEqual([])
}

describe('a box does not choose what a copy is called', () => {
  test.each(['/x/..', '/x/.', '/x/.ssh', '/x', '/', '/x/../x/..', '/x//', '/x/a\\b'])(
    'by making %j the home of root',
    async (rootHome) => {
      await inBox(
        'mkdir -p /x/.ssh "/x/a\\b"; echo evil > /x/.bashrc; echo evil > /x/.ssh/authorized_keys; echo hi > /x/hi',
      )
      await inBox(`sed -i 's,^root:.*,root:x:0:0:root:${rootHome.replaceAll('\\', '\\\\')}:/bin/sh,' /etc/passwd`)
      try {
        for (const source of ['web:', 'web:~', 'web:.', 'web:./']) {
          // Copying the whole root of a box would take too long.
          if (rootHome === '/' || rootHome.endsWith('..')) break
          await copy(source, '.')
        }
        await copy('web:hi', '.').catch(() => undefined)
      } finally {
        await inBox("sed -i 's,^root:.*,root:x:0:0:root:/root:/bin/sh,' /etc/passwd")
      }
      expectUntouched()
      expect(readdirSync(home).filter((name) => !['.bashrc', '.ssh', 'web', 'hi'].includes(name))).toEqual([])
    },
  )

  test('and what the user typed is the name, or the box where that is none', async () => {
    await inBox('mkdir -p /srv/tree/deep; echo a > /srv/tree/deep/a')
    await copy('web:/srv/tree/deep/..', '.')
    await copy('web:/srv/tree/deep/../../tree/', 'named')
    await copy('web:/srv/tree/deep/.', '.')
    // Copies write nothing beside the target directory, where the user may lack permission.
    expect(readdirSync(home).sort()).toEqual(['.bashrc', '.ssh', 'a', 'named', 'tree'])
    expect(readFileSync(join(home, 'tree/deep/a'), 'utf8')).toBe('a\n')
    expect(readFileSync(join(home, 'named/deep/a'), 'utf8')).toBe('a\n')
    expect(readFileSync(join(home, 'a'), 'utf8')).toBe('a\n')
  })
})

describe('a link that a copy brought', () => {
  test('is replaced by the next, and not written through', async () => {
    await inBox(
      `mkdir -p /srv/t1; ln -s ${home}/.bashrc /srv/t1/file; ln -s ${home}/.ssh /srv/t1/dir; ln -s ../.ssh /srv/t1/up`,
    )
    await copy('web:/srv/t1', 'tree')
    expect(readlinkSync(join(home, 'tree/dir'))).toBe(`${home}/.ssh`)
    await inBox(
      'mkdir -p /srv/t2/dir /srv/t2/up; echo evil > /srv/t2/file; for d in dir up; do echo evil > /srv/t2/$d/authorized_keys; done',
    )
    await copy('web:/srv/t2/.', 'tree')
    expectUntouched()
    expect(lstatSync(join(home, 'tree/dir')).isDirectory()).toBe(true)
    expect(readFileSync(join(home, 'tree/file'), 'utf8')).toBe('evil\n')
  })

  test.each([
    ['a file into a directory', ['web:/srv/u2/file', 'tree']],
    ['a file to its path', ['web:/srv/u2/file', 'tree/file']],
    ['a directory into one', ['web:/srv/u2/dir', 'tree']],
    ['several into one', ['web:/srv/u2/dir', 'web:/srv/u2/file', 'tree']],
  ])('nor by a copy of %s', async (_, args) => {
    await inBox(
      'rm -rf /srv/u2; mkdir -p /srv/u2/dir; echo evil > /srv/u2/file; echo evil > /srv/u2/dir/authorized_keys',
    )
    mkdirSync(join(home, 'tree'))
    symlinkSync(join(home, '.bashrc'), join(home, 'tree/file'))
    symlinkSync(join(home, '.ssh'), join(home, 'tree/dir'))
    await copy(...args)
    expectUntouched()
  })

  test('leaves a device of this machine what it is', async () => {
    await inBox('echo text > /srv/text')
    await copy('web:/srv/text', '/dev/null')
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
  })
})

describe('modes', () => {
  const modes = (at: string): string[] =>
    ['', 'suid', 'sgid', 'open', 'sticky'].map((name) => (statSync(join(home, at, name)).mode & 0o7777).toString(8))

  test('beyond the umask and of other identities come only when they are asked for', async () => {
    await inBox(
      'mkdir -p /srv/m/sticky; cd /srv/m; touch suid sgid open; chmod 4777 suid; chmod 2755 sgid; chmod 666 open; chmod 1777 sticky; chmod 2775 .',
    )
    await copy('web:/srv/m', 'plain')
    expect(modes('plain')).toEqual(['755', '755', '755', '644', '755'])
    await copy('--preserve', 'web:/srv/m', 'kept')
    expect(modes('kept')).toEqual(['2775', '4777', '2755', '666', '1777'])
    await copy('web:/srv/m/suid', 'one')
    expect((statSync(join(home, 'one')).mode & 0o7777).toString(8)).toBe('755')
    await copy('--preserve', 'web:/srv/m/suid', 'kept-one')
    expect((statSync(join(home, 'kept-one')).mode & 0o7777).toString(8)).toBe('4777')
  })
})

describe('what a box is called, holds or says does not command the terminal', () => {
  const name = 'a\x1b]0;pwned\x07\x7f\u009b2J\u202eb\nc'
  // Only tabs, newlines and printable characters remain.
  const safe = /^[^\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/

  test('in each form of output', async () => {
    const place = '/v1/projects/demo/boxes/web/files'
    await cli.client.post(`${place}/mkdir`, { path: `/srv/names/${name}`, parents: true })
    const list = (format: string): Promise<{ stdout: string }> =>
      cli.run(['files', 'ls', 'web', '/srv/names', '-o', format])
    for (const format of ['table', 'json', 'yaml', 'name']) expect((await list(format)).stdout).toMatch(safe)
    expect(JSON.parse((await list('json')).stdout).files[0].path).toBe(name)
    expect(parse((await list('yaml')).stdout).files[0].path).toBe(name)
    expect((await list('name')).stdout.split('\n')).toHaveLength(2)
    const api = await cli.run(['api', 'GET', `${place}/list?path=/srv/names`])
    expect([api.code, api.stdout]).toEqual([0, expect.stringMatching(safe)])
  })

  test('in errors, and of what is synced', async () => {
    const { code, stderr } = await cli.run(['cat', `web:/srv/${name}`])
    expect([code, stderr]).toEqual([1, expect.stringMatching(safe)])
    mkdirSync(join(home, 'sync'))
    writeFileSync(join(home, 'sync', name), 'text')
    for (const format of ['table', 'json', 'yaml', 'name']) {
      const synced = await cli.run(['sync', 'sync', `web:/srv/sync-${format}`, '-o', format], { cwd: home })
      expect(synced).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(safe),
        stderr: expect.stringMatching(safe),
      })
    }
  })
})

test('an editor works on a file of the name that was typed, in a directory of its own', async () => {
  await inBox('mkdir -p /srv/e; echo text > /srv/e/notes')
  const { code } = await cli.run(['edit', 'web:/srv/e/../e/notes'], {
    cwd: home,
    env: { EDITOR: `sh -c 'echo "$1" > ${home}/edited; echo more >> "$1"' sh` },
  })
  expect([code, readFileSync(join(home, 'edited'), 'utf8')]).toEqual([
    0,
    expect.stringMatching(/^\/tmp\/boxyard-edit-\w+\/notes\n$/),
  ])
  expect(existsSync(join(home, 'notes'))).toBe(false)
})
