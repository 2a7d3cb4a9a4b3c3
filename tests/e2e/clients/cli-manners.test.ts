import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useOwnService())

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

/** Returns what a command prints to stderr when it also prints a result to stdout. */
async function toldBy(...args: string[]): Promise<string> {
  return (await cli.run(args)).stderr
}

describe('what an answer means beyond its fields is said on stderr', () => {
  test('that anybody may use a box: where it is published, unpublished, and published again', async () => {
    const { url } = (await cli.client.get('/v1/projects/demo/boxes/web')).body
    const remark = `boxyard: anyone can open ${url}. To make it private: boxyard publish web --auth token\n`
    expect(await toldBy('publish', 'web', '--auth', 'public')).toBe(remark)
    expect(await toldBy('unpublish', 'web')).toBe(remark)
    expect(await toldBy('publish', 'web', '--port', '80')).toBe(remark)
    expect(await toldBy('publish', 'web', '--auth', 'token')).toBe('')
    expect(await toldBy('unpublish', 'web')).toBe('')
  })

  test('that a volume hides a directory of the system', async () => {
    await cli.run(['volume', 'create', 'late'])
    expect(await toldBy('volume', 'attach', 'late', 'web', '/etc')).toContain('the volume now hides /etc of the box')
    await cli.run(['volume', 'detach', 'late', 'web'])
    expect(await toldBy('volume', 'attach', 'late', 'web', '/srv/late')).toBe('')
    await cli.run(['volume', 'create', 'early'])
    const made = await cli.run(['create', 'hidden', '--mount', 'early:/usr/bin', '-o', 'name'])
    expect(made).toEqual({
      code: 0,
      stdout: 'hidden\n',
      stderr: expect.stringContaining('the volume now hides /usr/bin of the box'),
    })
  })

  test('which snapshot a restore keeps, unless a program reads the answer', async () => {
    await cli.run(['snapshot', 'web', 'good'])
    const told = await toldBy('restore', 'web', 'good')
    const [, kept = ''] = /is snapshot (\S+)\. To undo: boxyard snapshot restore web \1\n$/.exec(told) ?? []
    expect((await cli.run(['snapshots', 'ls', 'web', '-o', 'name'])).stdout.split('\n')).toContain(kept)
    expect(await toldBy('restore', 'web', 'good', '-o', 'json')).toBe('')
    await cli.run(['volume', 'create', 'kept'])
    await cli.run(['volume', 'snapshot', 'kept', 'first'])
    expect(await toldBy('volume', 'restore', 'kept', 'first')).toMatch(
      /To undo: boxyard volume snapshot restore kept \S+\n$/,
    )
    expect((await cli.run(['volume', 'snapshots', 'ls', 'kept', '-o', 'name'])).stdout).toContain('first\n')
    expect(await cli.run(['volume', 'snapshots', 'rm', 'kept', 'first'])).toMatchObject({ code: 0 })
  })
})

describe('a refusal names what was typed', () => {
  const token = ['token', 'create', 'ci']
  test.each<[string[], string]>([
    [
      ['create', 'x', '--ram-mb', '5', '--cpus', '0.001'],
      '--cpus: must be at least 0.05\n  --ram-mb: must be at least 16m (16 MiB)\n',
    ],
    [['create', 'x', '--cpus', '1000'], `--cpus: must be at most ${cpus().length}, the CPUs of this host\n`],
    [['create', 'X'], '<box>: must be 1–63 characters of a–z'],
    [['create', 'x', '--env', '1=2'], '--env 1: names match'],
    [['create', 'x', '--mount', 'cache:srv'], '--mount: must be VOLUME:PATH or VOLUME:PATH:ro'],
    [['fork', 'We b', 'x'], '<source>: must be a box, or box@snapshot\n'],
    [['update', 'web', '--port', '70000'], '--port: must be at most 65535\n'],
    [
      ['update', 'web', '-d', '{"url_settings":{"auth":"all"}}'],
      'url_settings.auth of --data: must be token or public\n',
    ],
    [['publish', 'web', '--auth', 'all'], '--auth: must be token or public\n'],
    [['publish', 'web', '--domains', 'a'], '--domains: must be a host name'],
    [['volume', 'create', 'V'], '<volume>: must be 1–63'],
    [['volume', 'create', 'v', '--size-gb', '0'], '--size-gb: must be greater than 0\n'],
    [['volume', 'create', 'v', '--size-gb', 'x'], '--size-gb: must be a size such as 512m or 20g, '],
    [['create', 'x', '--ram-mb', '1q'], '--ram-mb: must be a size such as 512m or 2g, or a number of MiB, not "1q".\n'],
    [['update', 'web', '--idle-stop', '0'], '--idle-stop: must be at least 1s\n'],
    [['update', 'web', '--auth', 'all'], '--auth: must be token or public\n'],
    [['volume', 'create', 'v', '--tag', 'a b=c'], '--tag a b: keys are'],
    [['signal', 'web', 'exe_01m7yv0c5h8t2n4q6s8v0x2z4b', 'NO'], '<signal>: must be SIGHUP, '],
    [['exec', '--timeout', '0', '--detach', 'web', 'true'], '--timeout: must be at least 1ms (0.001 seconds)\n'],
    [['exec', '--timeout', 'x', 'web', 'true'], '--timeout: must be a time such as 90s, '],
    [token, '--projects: is required\n  --permissions: is required\n'],
    [
      [...token, '--projects', 'demo', '--permissions', 'run'],
      '--permissions: must be read, write, exec, ports or admin\n',
    ],
    [['cp', 'nosuch', 'web:/'], 'nosuch: no such file or directory\n'],
    [['cp', 'web:/etc/hostname', 'nosuch/file'], 'There is no directory /'],
    [['set-quota', '--boxes', '-1'], '--boxes: must be at least 0\n'],
    [['create', 'x', '--nosuch'], "unknown option '--nosuch'\n(see boxyard create --help)\n"],
  ])('%j', async (args, told) => {
    const { code, stdout, stderr } = await cli.run(args)
    expect([code === 1 || code === 2, stdout]).toEqual([true, ''])
    expect(stderr.slice(0, `boxyard: ${told}`.length)).toBe(`boxyard: ${told}`)
  })
})

describe('words that are none here', () => {
  test.each<[string[], string]>([
    [['run', 'web'], 'boxyard: There is no command "run". Did you mean create, then exec?\n'],
    [['crate', 'web'], "boxyard: unknown command 'crate'\n(Did you mean create?)\n"],
    [['help', 'nosuch'], "boxyard: unknown command 'nosuch'\n"],
    [['nosuch', '--help'], "boxyard: unknown command 'nosuch'\n"],
    [['volume', 'lss'], "boxyard: unknown command 'lss'\n(Did you mean ls?)\n"],
    [['volume', 'remove', 'db'], 'boxyard: There is no command "volume remove". Did you mean volume rm?\n'],
  ])('%j', async (args, told) => {
    const { code, stdout, stderr } = await cli.run(args)
    expect([code, stdout, stderr.slice(0, told.length)]).toEqual([2, '', told])
  })

  test('no words at all get the help, by group, on stdout', async () => {
    const { code, stdout, stderr } = await cli.run([])
    expect([code, stderr]).toEqual([0, ''])
    const groups = ['Boxes:', 'Files:', 'Data volumes and backups:', 'This command line:']
    expect(groups.map((group) => stdout.indexOf(`\n${group}\n`)).map((at, i, all) => at > (all[i - 1] ?? 0))).toEqual([
      ...[true, true, true, true],
    ])
    expect(stdout.split(/\nFiles:\n/)[1]?.split('\n\n')[0]).toContain('  cp ')
    expect(await cli.run(['volume'])).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('attach') })
    expect((await cli.run(['help', 'volume', 'snapshots', 'ls'])).stdout).toContain('boxyard volume snapshot ls')
  })
})

describe('what users of docker type', () => {
  test('-e, -u, -w and -d of exec', async () => {
    const ran = await cli.run([
      'exec',
      '-e',
      'A=b',
      '-u',
      '65534',
      '-w',
      '/tmp',
      'web',
      'sh',
      '-c',
      'echo $A $(id -u) $PWD',
    ])
    expect(ran).toMatchObject({ code: 0, stdout: 'b 65534 /tmp\n' })
    expect((await cli.run(['exec', '-d', 'web', 'true'])).stdout).toMatch(/^exe_/)
  })

  test('rm -f of what is not there, and ls -q', async () => {
    expect(await cli.run(['rm', '-f', 'nobody'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect((await cli.run(['ls', '-q'])).stdout.split('\n')).toContain('web')
  })

  test('a signal without SIG', async () => {
    const id = (await cli.run(['exec', '--detach', 'web', 'sleep', '600'])).stdout.trim()
    expect(await cli.run(['signal', 'web', id, 'kill'])).toMatchObject({ code: 0 })
  })

  test('the id of a box in the place of its name', async () => {
    const { id } = (await cli.client.get('/v1/projects/demo/boxes/web')).body
    expect((await cli.run(['info', id, '-o', 'name'])).stdout).toBe('web\n')
    await cli.run(['cp', '-', `${id}:/root/by-id`], { input: 'x' })
    expect((await cli.run(['exec', 'web', 'cat', '/root/by-id'])).stdout).toBe('x')
    const none = `box_${'0'.repeat(26)}`
    expect(await cli.run(['info', none])).toMatchObject({ code: 2, stderr: expect.stringContaining(none) })
  })
})

test('the history of a box that has none yet is an empty list, and other steps are refused', async () => {
  const history = JSON.parse((await cli.run(['metrics', 'web', '--step', '600', '-o', 'json'])).stdout)
  expect(history).toEqual({ box: 'web', step_seconds: 600, points: [] })
  expect(await cli.run(['metrics', 'web', '--history'])).toMatchObject({ code: 0 })
  expect(await cli.run(['metrics', 'web', '--step', '5'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('1m or 10m'),
  })
})

test('a quota is set by flags', async () => {
  expect(await cli.run(['set-quota', '--boxes', '9', '--ram-mb', '4096', '-p', 'bounded'])).toMatchObject({ code: 0 })
  const { allowed } = JSON.parse((await cli.run(['quota', '-p', 'bounded', '-o', 'json'])).stdout)
  expect(allowed).toEqual({ boxes: 9, cpus: null, ram_mb: 4096, storage_gb: null })
})

test('a copy makes no directories but for a path that ends with a slash', async () => {
  mkdirSync(join(cli.directory(), 'made'))
  writeFileSync(join(cli.directory(), 'made/a'), 'one')
  const copy = (from: string, to: string) => cli.run(['cp', '-r', from, to], { input: 'x' })
  const stderr = 'boxyard: There is no /root/typo in web. To create it: boxyard files mkdir --parents web /root/typo\n'
  for (const from of ['made/a', 'made', '-'])
    expect(await copy(from, 'web:/root/typo/a')).toEqual({ code: 1, stdout: '', stderr })
  expect(await copy('made', 'web:/root/meant/')).toMatchObject({ code: 0, stderr: '' })
  const { stdout } = await cli.run(['exec', 'web', 'sh', '-c', 'ls /root; cat /root/meant/a'])
  expect([stdout.includes('typo'), stdout.endsWith('one')]).toEqual([false, true])
})

test('a command that took too long says so, and ends as of timeout(1)', async () => {
  expect(await cli.run(['exec', '--timeout', '0.2', 'web', 'sleep', '600'])).toEqual({
    ...{ code: 124, stdout: '', stderr: 'boxyard: timed out after 0.2 s\n' },
  })
  expect(await cli.run(['exec', '--timeout', '0.2', '--json', 'web', 'sleep', '600'])).toMatchObject({ code: 124 })
  expect(await cli.run(['exec', '--timeout', '600', 'web', 'sh', '-c', 'kill -9 $$'])).toMatchObject({
    code: 137,
    stderr: '',
  })
})

describe('tables', () => {
  const linesOf = async (...args: string[]): Promise<string[]> => (await cli.run(args)).stdout.trimEnd().split('\n')

  test('of commands say what they run', async () => {
    await cli.run(['exec', 'web', 'sh', '-c', 'echo listed'])
    const [head, ...rows] = await linesOf('ps', 'web')
    expect(head).toMatch(/^ID +STATUS +EXIT CODE +STARTED AT +COMMAND$/)
    expect(rows.some((row) => row.endsWith('sh -c echo listed'))).toBe(true)
  })

  test('of tokens say what they are for, and one is deleted by its name', async () => {
    const flags = ['--projects', 'demo,other', '--permissions', 'read,exec']
    for (const name of ['ci', 'twice', 'twice']) await cli.run(['token', 'create', name, ...flags])
    const rows = await linesOf('token', 'ls')
    expect(rows[0]).toMatch(/^NAME +ID +PROJECTS +PERMISSIONS +EXPIRES AT +REVOKED AT$/)
    expect(rows.find((row) => row.startsWith('ci '))).toMatch(/ demo, other +read, exec /)
    expect(await cli.run(['token', 'rm', 'ci'])).toMatchObject({ code: 0, stderr: '' })
    expect(await cli.run(['token', 'rm', 'ci'])).toMatchObject({
      code: 2,
      stderr: 'boxyard: There is no token "ci". boxyard token ls lists them.\n',
    })
    expect(await cli.run(['token', 'rm', 'twice'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/tok_\w+, tok_/),
    })
  })

  test('of bases have those that all projects share, and JSON has what the API answers', async () => {
    expect((await linesOf('base', 'ls'))[0]).toMatch(/^NAME +SHARED +SIZE /)
    const shared = await linesOf('base', 'shared', '-o', 'name')
    expect(await linesOf('base', 'ls', '-o', 'name')).toEqual(shared)
    const { bases } = JSON.parse((await cli.run(['base', 'ls', '-o', 'json'])).stdout)
    expect(bases).toEqual([])
  })

  test('of projects and contexts have the columns of those', async () => {
    await cli.run(['volume', 'create', 'far', '--project', 'elsewhere'])
    await cli.run(['set-quota', '--boxes', '9', '--project', 'elsewhere'])
    const rows = (await linesOf('projects')).filter((line) => /^(NAME|demo|elsewhere) /.test(line))
    expect(rows.map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
      'NAME BOXES RUNNING VOLUMES CPUS RAM MB STORAGE GB STATUS',
      ...[expect.stringMatching(/^demo \d \d \d \d \d+ \d+ current$/), 'elsewhere 0/9 0 1 0 0 10'],
    ])
    expect((await cli.run(['projects', '--prefix', 'else', '-o', 'name'])).stdout).toBe('elsewhere\n')
    await cli.run(['login', cli.service().url, '--name', 'here'], { input: cli.service().adminToken })
    expect((await linesOf('context', 'ls'))[0]).toMatch(/^NAME +URL +PROJECT +STATUS$/)
  })
})

test('a login to what speaks no TLS says so, in words that are not of OpenSSL', async () => {
  const { host, port } = new URL(cli.service().url)
  const login = (url: string) => cli.run(['login', url, '--name', 'plain'], { input: cli.service().adminToken })
  const { code, stderr } = await login(`https://${host}`)
  expect([code, stderr]).toEqual([
    1,
    `boxyard: https://${host} does not speak HTTPS. If it uses plain HTTP: boxyard login http://${host}\n`,
  ])
  // No network lies between the client and this machine.
  expect(await login(`127.0.0.1:${port}`)).toMatchObject({ code: 0 })
  expect(await login('ftp://boxes.example')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must begin with http:// or https://'),
  })
})

describe('on a terminal', () => {
  test('a list that is empty says how to make one', async () => {
    const listing = cli.startInTerminal(['ls', '--project', 'nobodys'])
    expect((await listing.ended).code).toBe(0)
    expect(listing.shown()).toContain('No boxes yet. To create one: boxyard create NAME')
    expect(await cli.run(['ls', '--project', 'nobodys'])).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('a console says how it is left', async () => {
    const console = cli.startInTerminal(['console', 'web', '--session', 'hint'])
    await console.until(/Attached to web\. Press Ctrl-\] to detach/)
    console.type('\x1d')
    expect((await console.ended).code).toBe(0)
  })

  test('a wait that lasts says what for', async () => {
    process.kill(cli.service().agentPid, 'SIGSTOP')
    try {
      const stopping = cli.startInTerminal(['stop', 'web'])
      await stopping.until(/Waiting: stop a box$/m)
      stopping.type('\x03')
      await stopping.ended
    } finally {
      process.kill(cli.service().agentPid, 'SIGCONT')
    }
  })
})
