import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { encodeNumber, encodeString } from '../../../cli/ssh/wire-types.ts'
import { packPrograms, type Ran, useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const lab = useSshLab(useSharedService())
const { client } = lab
const HOST = 'web.demo.boxyard'

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function inBox(line: string): Promise<string> {
  return (await client.shell('demo', 'web', line)).body.stdout
}

describe('scp', () => {
  test('brings a large file there and back, unchanged', async () => {
    const bytes = randomBytes(20 * 1024 ** 2 + 1)
    writeFileSync(lab.path('large'), bytes)
    expect(await lab.run('scp', [...lab.config(), lab.path('large'), `${HOST}:`])).toMatchObject({
      code: 0,
      stderr: '',
    })
    expect(await inBox('sha256sum /root/large')).toContain(hashOf(bytes))
    await lab.run('scp', [...lab.config(), `${HOST}:large`, lab.path('back')])
    expect(hashOf(readFileSync(lab.path('back')))).toBe(hashOf(bytes))
  })

  test('keeps modes and times, and goes into directories', async () => {
    mkdirSync(lab.path('tree/sub'), { recursive: true })
    writeFileSync(lab.path('tree/sub/run'), 'content')
    writeFileSync(lab.path('tree/empty'), '')
    chmodSync(lab.path('tree/sub/run'), 0o750)
    utimesSync(lab.path('tree/sub/run'), 1_700_000_000, 1_700_000_000)
    expect(await lab.run('scp', [...lab.config(), '-rp', lab.path('tree'), `${HOST}:/srv`])).toMatchObject({ code: 0 })
    expect(await inBox('stat -c "%a %Y %s" /srv/tree/sub/run /srv/tree/empty')).toMatch(
      /^750 1700000000 7\n644 \d+ 0\n$/,
    )
    await lab.run('scp', [...lab.config(), '-rp', `${HOST}:/srv/tree`, lab.path('tree-back')])
    const { mode, mtimeMs } = statSync(lab.path('tree-back/sub/run'))
    expect([(mode & 0o777).toString(8), mtimeMs]).toEqual(['750', 1_700_000_000_000])
  })

  test('keeps names that are not UTF-8 apart, there and back', async () => {
    const names = ['a\xe8', 'a\xe9', `${'l'.repeat(200)}\xff`]
    mkdirSync(lab.path('bytes'))
    for (const name of names) writeFileSync(Buffer.from(`${lab.path('bytes')}/${name}`, 'latin1'), name)
    expect(await lab.run('scp', [...lab.config(), '-rp', lab.path('bytes'), `${HOST}:/srv`])).toMatchObject({ code: 0 })
    expect(await inBox("cd /srv/bytes && ls | wc -l && cat $(printf 'a\\350') | tr '\\303\\250' 'XY'")).toBe('3\naXY')
    expect(await lab.run('scp', [...lab.config(), '-rp', `${HOST}:/srv/bytes`, lab.path('bytes-back')])).toMatchObject({
      code: 0,
    })
    expect(readdirSync(lab.path('bytes-back'), { encoding: 'latin1' }).sort()).toEqual(names)
    for (const name of names)
      expect(readFileSync(Buffer.from(`${lab.path('bytes-back')}/${name}`, 'latin1'), 'utf8')).toBe(name)
  })

  test('tells of a file that is not there, and of a directory that is not', async () => {
    const missing = await lab.run('scp', [...lab.config(), `${HOST}:/srv/none`, lab.path('none')])
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('No such file')])
    const nowhere = await lab.run('scp', [...lab.config(), lab.path('tree/empty'), `${HOST}:/no/such/file`])
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('No such file')])
  })
})

describe('sftp', () => {
  /** Runs an sftp batch from the home directory. A batch stops at its first error. */
  function sftp(...lines: string[]): Promise<Ran> {
    return lab.run('sftp', [...lab.config(), '-b', '-', HOST], { input: `${lines.join('\n')}\n` })
  }

  test('tells the space of the disk and of a volume, as they are bounded', async () => {
    const rowOf = async (path: string): Promise<number[]> => {
      const { code, stdout } = await sftp(`df ${path}`)
      const line =
        stdout
          .toString()
          .split('\n')
          .find((each) => /^\s*\d/.test(each)) ?? ''
      return [
        code ?? -1,
        ...line
          .trim()
          .split(/\s+/)
          .map((field) => Number.parseInt(field, 10)),
      ]
    }
    const [code, size = 0, used = 0, available = 0] = await rowOf('/srv')
    expect([code, size]).toEqual([0, 10 * 1024 ** 2])
    expect(used).toBeGreaterThan(0)
    expect(size - used - available).toBeLessThan(1024)
    const volumes = '/v1/projects/demo/data'
    expect((await client.post(volumes, { name: 'spacious', size_gb: 2 })).status).toBe(201)
    const attached = await client.post(`${volumes}/spacious/attach`, { box: 'web', path: '/srv/spacious' })
    expect([attached.status, attached.body]).toEqual([200, expect.anything()])
    expect(await sftp('df /srv/spacious')).toMatchObject({ code: 0, stderr: '' })
    expect((await rowOf('/srv/spacious')).slice(0, 2)).toEqual([0, 2 * 1024 ** 2])
    expect((await sftp('df /srv/none')).code).toBe(1)
  })

  test('makes, lists, renames and removes', async () => {
    writeFileSync(lab.path('notes'), 'notes\n')
    const { code, stdout, stderr } = await sftp(
      'pwd',
      'mkdir /srv/made',
      'cd /srv/made',
      'put notes first',
      'chmod 600 first',
      'rename first second',
      'ln -s second third',
      'ls -l',
      'get third fetched',
      'rm third',
      'rm second',
      'cd ..',
      'rmdir made',
    )
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.toString()).toContain('Remote working directory: /root\n')
    expect(stdout.toString()).toMatch(/^-rw------- .* 6 .* second$/m)
    expect(stdout.toString()).toMatch(/^l.* third$/m)
    expect(readFileSync(lab.path('fetched'), 'utf8')).toBe('notes\n')
    expect(await inBox('ls /srv')).not.toContain('made')
  })

  test('replaces a file by a rename that is said to, and by no other; links give a second name', async () => {
    await inBox('mkdir /srv/names; cd /srv/names; echo old > taken; echo new > draft; echo more > other')
    expect(await sftp('rename /srv/names/draft /srv/names/taken')).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('cat /srv/names/taken; ls /srv/names')).toBe('new\nother\ntaken\n')
    expect(await sftp('rename -l /srv/names/other /srv/names/taken')).toMatchObject({ code: 1 })
    expect(await sftp('ln /srv/names/taken /srv/names/same')).toMatchObject({ code: 0, stderr: '' })
    expect(await inBox('stat -c %h /srv/names/same; cat /srv/names/same')).toBe('2\nnew\n')
    expect(await sftp('ln /srv/names/other /srv/names/same')).toMatchObject({ code: 1 })
    expect(await inBox('cat /srv/names/same /srv/names/other')).toBe('new\nmore\n')
  })

  test('writes at the end of what is there, and changes its size', async () => {
    await inBox('printf 12345 > /srv/part')
    writeFileSync(lab.path('part'), '1234567890')
    expect(await sftp('reput part /srv/part')).toMatchObject({ code: 0 })
    expect(await inBox('cat /srv/part')).toBe('1234567890')
    writeFileSync(lab.path('rest'), '123')
    expect(await sftp('reget /srv/part rest')).toMatchObject({ code: 0 })
    expect(readFileSync(lab.path('rest'), 'utf8')).toBe('1234567890')
  })

  test('lists a thousand files and more', async () => {
    await inBox('mkdir /srv/many; cd /srv/many; i=0; while [ $i -lt 1234 ]; do : > file-$i; i=$((i+1)); done')
    const { stdout } = await sftp('ls -1 /srv/many')
    expect(stdout.toString().match(/file-\d+/g)?.length).toBe(1234)
  })

  test.each([
    ['mkdir /srv', 'a directory that is there'],
    ['rmdir /srv', 'a directory that is not empty'],
    ['rm /srv', 'a directory where a file is meant'],
    ['rmdir /etc/passwd', 'a file where a directory is meant'],
    ['rename -l /etc/passwd /etc/group', 'a name that is taken'],
    ['get /proc/self/environ', 'what is on no disk'],
    ['ln -s x /etc/passwd', 'a link where something is'],
  ])('refuses %s: %s', async (line) => {
    expect(await sftp(line)).toMatchObject({ code: 1 })
    expect(await inBox('ls -d /srv /etc/passwd /etc/group')).toBe('/etc/group\n/etc/passwd\n/srv\n')
  })

  test('a file that is being written is there for who asks for its path', async () => {
    const packet = (type: number, ...parts: Uint8Array[]): Buffer => {
      const body = Buffer.concat([Uint8Array.of(type), ...parts])
      return Buffer.concat([encodeNumber(body.length), body])
    }
    const path = encodeString(Buffer.from('/srv/begun'))
    const [INIT, OPEN, LSTAT] = [1, 3, 7]
    const WRITE_CREATE_TRUNCATE = 0x1a
    const input = Buffer.concat([
      packet(INIT, encodeNumber(3)),
      packet(OPEN, encodeNumber(1), path, encodeNumber(WRITE_CREATE_TRUNCATE), encodeNumber(0)),
      packet(LSTAT, encodeNumber(2), path),
    ])
    const { stdout } = await lab.run('ssh', [...lab.config(), '-s', HOST, 'sftp'], { input })
    const types: number[] = []
    for (let at = 0; at < stdout.length; at += 4 + stdout.readUInt32BE(at)) types.push(stdout[at + 4] ?? 0)
    const [VERSION, HANDLE, ATTRS] = [2, 102, 105]
    expect(types).toEqual([VERSION, HANDLE, ATTRS])
  })

  test('a file that is replaced keeps its mode, and a new one has that of the original', async () => {
    await inBox('umask 077; echo secret > /srv/kept')
    writeFileSync(lab.path('plain'), 'plain\n', { mode: 0o755 })
    for (const name of ['kept', 'made'])
      expect(await lab.run('scp', [...lab.config(), lab.path('plain'), `${HOST}:/srv/${name}`])).toMatchObject({
        code: 0,
      })
    expect(await inBox('stat -c "%a %n" /srv/kept /srv/made; cat /srv/kept')).toBe(
      '600 /srv/kept\n755 /srv/made\nplain\n',
    )
  })

  test('makes files for the user that is named', async () => {
    await inBox('echo ann:x:1000:1000::/home/ann:/bin/sh >> /etc/passwd; mkdir /home/ann')
    await lab.run('scp', [...lab.config(), lab.path('notes'), `ann@${HOST}:`])
    expect(await inBox('stat -c %u:%g /home/ann/notes')).toBe('1000:1000\n')
  })
})

describe('programs that bring their other end', () => {
  const env = (): Record<string, string> => {
    const ssh = ['ssh', ...lab.config()].join(' ')
    const git = { GIT_SSH_COMMAND: ssh, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }
    return { ...git, RSYNC_RSH: ssh, GIT_AUTHOR_NAME: 'A', GIT_COMMITTER_NAME: 'A', EMAIL: 'a@example.com' }
  }

  beforeAll(async () => {
    const raw = packPrograms(['/usr/bin/rsync', '/usr/bin/git'])
    const path = '/v1/projects/demo/boxes/web/files/archive?path=/'
    const { status } = await client.call('PUT', path, { raw, headers: { 'content-type': 'application/x-tar' } })
    expect(status).toBe(200)
    await inBox('for name in upload-pack receive-pack; do ln -s git /usr/bin/git-$name; done')
  })

  test('rsync brings a tree, and then what has changed', async () => {
    mkdirSync(lab.path('site/deep'), { recursive: true })
    for (const name of ['a', 'b', 'deep/c']) writeFileSync(lab.path('site', name), name.repeat(1000))
    const sync = (): Promise<Ran> =>
      lab.run('rsync', ['-ai', '--delete', `${lab.path('site')}/`, `${HOST}:/srv/site/`], { env: env() })
    expect(await sync()).toMatchObject({ code: 0, stderr: '' })
    writeFileSync(lab.path('site/a'), 'other')
    const { code, stdout } = await sync()
    expect([code, stdout.toString().match(/^<f/gm)?.length]).toEqual([0, 1])
    expect(await inBox('cat /srv/site/a; cat /srv/site/deep/c | wc -c')).toBe('other6000\n')
  })

  test('git pushes and clones', async () => {
    const git = (...args: string[]): Promise<Ran> => lab.run('git', args, { env: env() })
    await inBox('git init -q --bare -b main /srv/repository.git')
    await git('init', '-q', '-b', 'main', 'work')
    await git('-C', 'work', 'commit', '-q', '--allow-empty', '-m', 'First')
    expect(await git('-C', 'work', 'push', '-q', `ssh://${HOST}/srv/repository.git`, 'main')).toMatchObject({ code: 0 })
    expect(await git('clone', '-q', `${HOST}:/srv/repository.git`, 'clone')).toMatchObject({ code: 0 })
    expect((await git('-C', 'clone', 'log', '--format=%s')).stdout.toString()).toBe('First\n')
  })
})
