import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

test('boxes that are there are deleted, though another is not, and each that is not is told', async () => {
  await cli.run(['create', 'one'])
  await cli.run(['create', 'two'])
  const { code, stderr } = await cli.run(['rm', 'none', 'one', 'nobody', 'two'])
  expect([code, stderr.match(/"(none|nobody)"/g)]).toEqual([1, ['"none"', '"nobody"']])
  expect((await cli.run(['ls', '-o', 'name'])).stdout).toBe('web\n')
})

describe('a command', () => {
  test('may be told apart by --, which is not a part of it', async () => {
    expect(await cli.run(['exec', 'web', '--', 'echo', '--', 'a'])).toMatchObject({ code: 0, stdout: '-- a\n' })
    expect(await cli.run(['service', 'put', 'web', 'kept', '--', 'sleep', '600'])).toMatchObject({ code: 0 })
    expect((await cli.run(['service', 'info', 'web', 'kept', '-o', 'json'])).stdout).toContain('"sleep"')
  })

  test('is no flag that stands behind the box', async () => {
    const { code, stderr } = await cli.run(['exec', 'web', '--cwd', '/', 'pwd'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--cwd: put flags before the box')])
  })

  test('in a terminal needs one, and a console ends with its input where that is none', async () => {
    const refused = 'boxyard: -t: needs a terminal as stdin. Without a terminal, use only -i, which forwards stdin.\n'
    for (const flags of [['-t'], ['-it']])
      expect(await cli.run(['exec', ...flags, 'web', 'sh'])).toEqual({ code: 2, stdout: '', stderr: refused })
    expect((await cli.run(['console', 'web', '--session', 'short'])).code).toBe(0)
  })
})

describe('without a project', () => {
  const NONE = { BOXYARD_PROJECT: '' }
  const withToken = async (projects: readonly string[]): Promise<{ env: Record<string, string> }> => {
    const body = { name: `of-${projects.join('-')}`, projects, permissions: ['read'] }
    const { token } = (await cli.client.post('/v1/tokens', body)).body
    return { env: { ...NONE, BOXYARD_TOKEN: token } }
  }

  test('the only one of the token is used', async () => {
    expect(await cli.run(['ls', '-o', 'name'], await withToken(['demo']))).toMatchObject({ code: 0, stdout: 'web\n' })
  })

  test('the error names the projects of the token, unless it allows all', async () => {
    const several = await cli.run(['ls'], await withToken(['demo', 'other']))
    const words =
      'No project is selected. Your token allows demo, other. Run boxyard use PROJECT, or add --project PROJECT.'
    expect(several).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(words) })
    const all = await cli.run(['ls'], { env: NONE })
    expect(all).toMatchObject({ code: 2, stderr: expect.stringContaining('No project is selected. Run boxyard use') })
  })

  test('commands that need none work', async () => {
    expect(await cli.run(['ls', '--all', '-o', 'name'], { env: NONE })).toMatchObject({ code: 0 })
  })
})

test('what has happened is told to the end, in several pages', async () => {
  for (let i = 0; i < 120; i++) await cli.client.put('/v1/projects/demo/boxes/web', { tags: { round: String(i) } })
  const { events, has_more: hasMore } = JSON.parse((await cli.run(['events', '-o', 'json'])).stdout)
  expect([events.length > 100, hasMore]).toEqual([true, false])
  expect(events.at(-1)).toMatchObject({ type: 'box.updated' })
})

test.each([
  ['use', 'no such', /such as my-app/],
  ['use', 'a--b', /such as my-app/],
  ['wait', 'bogus', /must be one of pending, running, stopped, unknown, not "bogus"/],
] as const)('%s %s is refused at once', async (command, word, words) => {
  const { code, stderr } = await cli.run(command === 'wait' ? [command, 'web', word] : [command, word])
  expect([code, stderr]).toEqual([2, expect.stringMatching(words)])
})

test('a wait is given up after its time', async () => {
  const { code, stderr } = await cli.run(['wait', 'web', 'stopped', '--timeout', '0.2'])
  expect([code, stderr]).toEqual([1, 'boxyard: web was not stopped within 0.2 s.\n'])
})

describe('an error says what to type instead', () => {
  const refused = (stderr: string, code = 2) => ({ code, stdout: '', stderr: `boxyard: ${stderr}\n` })

  test.each([
    [['cp', '', 'web:/t'], '<path>'],
    [['cp', 'web:/t', ''], '<path...>'],
    [['exec', 'web', ''], '<command...>'],
    [['exec', '-d', 'web', '', 'a'], '<command...>'],
    [['service', 'put', 'web', 'site', ''], '[command...]'],
    [['sync', '', 'web:/t'], '<dir>'],
    [['files', 'stat', 'web', ''], '<path>'],
    [['wait', 'web', ''], '[status]'],
    [['rm', 'web', ''], '[box...]'],
  ] as const)('of an empty argument: %j', async (args, place) => {
    expect(await cli.run(args)).toEqual(refused(`${place.replace('...', '')}: must not be empty.`))
  })

  test('arguments of a program may be empty', async () => {
    const shown = await cli.run(['exec', 'web', 'printf', '[%s]', '', 'a', ''])
    expect(shown).toEqual({ code: 0, stdout: '[][a][]', stderr: '' })
  })

  test('of a time of events', async () => {
    for (const since of ['yesterday', '']) {
      const accepted = 'a time such as 10m, a timestamp such as 2026-01-31T12:00:00Z, now, or a cursor of events'
      const words = refused(`--since: must be ${accepted}, not "${since}".`)
      expect(await cli.run(['events', '--since', since])).toEqual(words)
      expect(await cli.run(['events', '-f', '--since', since])).toEqual(words)
    }
  })

  test.each([
    [['backup', 'restore', 'bk', 'bak_nope'], '<backup>', 'bak'],
    [['volume', 'create', 'c', '--from-backup', 'x'], '--from-backup', 'bak'],
    [['signal', 'web', 'nope', 'TERM'], '<exec>', 'exe'],
    [['commands', 'info', 'web', 'nope'], '<exec>', 'exe'],
    [['operation', 'nope'], '<operation>', 'opr'],
  ] as const)('of an id: %j', async (args, place, prefix) => {
    const { code, stderr } = await cli.run(args)
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      `boxyard: ${place}: must be an identifier such as ${prefix}_01jd…`,
    ])
  })

  test('of a pair and a mount', async () => {
    expect(await cli.run(['exec', '-e', '=x', 'web', 'true'])).toEqual(refused('--env: must be KEY=VALUE, not "=x".'))
    expect(await cli.run(['update', 'web', '--tag', 'x'])).toEqual(refused('--tag: must be KEY=VALUE, not "x".'))
    expect(await cli.run(['audit', '--query', 'x'])).toEqual(refused('--query: must be KEY=VALUE, not "x".'))
    const words = 'VOLUME:PATH or VOLUME:PATH:ro with an absolute path, such as cache:/var/cache'
    expect(await cli.run(['create', 'b', '--mount', 'c'])).toEqual(refused(`--mount: must be ${words}, not "c".`))
  })

  test('of input for a command that gets none', async () => {
    for (const [flag, name] of [
      ['-d', 'detach'],
      ['--json', 'json'],
    ] as const) {
      const input = await cli.run(['exec', '-i', flag, 'web', 'cat'], { input: 'x' })
      expect(input).toMatchObject({ code: 2, stderr: expect.stringContaining(`-i: not with --${name}, which`) })
      expect((await cli.run(['exec', '-t', flag, 'web', 'cat'])).stderr).toContain(`-t: not with --${name}, which`)
    }
  })

  test('of backups of a volume that does not exist', async () => {
    const way =
      'To list the backups of deleted volumes: boxyard backup stored. To restore one: boxyard volume create NAME --from-backup BACKUP\n'
    const gone = 'boxyard: No data volume named "gone" in project "demo".\n'
    expect(await cli.run(['backup', 'ls', 'gone'])).toEqual({ code: 1, stdout: '', stderr: gone + way })
    expect(await cli.run(['volume', 'info', 'gone'])).toEqual({ code: 1, stdout: '', stderr: gone })
  })

  test('of a local port that is in use', async () => {
    const { port } = new URL(cli.service().url)
    const reason = `Port ${port} of 127.0.0.1: address already in use. To listen on a free port:`
    const forward = await cli.run(['port-forward', 'web', port])
    expect(forward).toEqual(refused(`${reason} boxyard port-forward web 0:${port}`, 1))
    expect(await cli.run(['proxy', '--port', port])).toEqual(refused(`${reason} boxyard proxy --port 0`, 1))
    expect(await cli.run(['proxy', '--address', ''])).toMatchObject({ code: 2, stdout: '' })
  })

  test('of a logout without a login, which keeps the project of this host', async () => {
    const place = { env: { XDG_CONFIG_HOME: `${cli.directory()}/logged-out`, BOXYARD_URL: '' } }
    expect(await cli.run(['logout'], place)).toEqual(refused('You are not logged in.'))
    await cli.run(['use', 'demo'], place)
    const { code, stderr } = await cli.run(['logout'], place)
    expect([code, stderr]).toEqual([2, expect.stringMatching(/You are not logged in\..* boxyard logout local\n$/)])
    expect((await cli.run(['context', 'ls', '-o', 'json'], place)).stdout).toContain('"project": "demo"')
    expect(await cli.run(['logout', 'local'], place)).toMatchObject({ code: 0 })
    expect((await cli.run(['context', 'ls', '-o', 'name'], place)).stdout).toBe('')
  })
})

describe('a life of a token', () => {
  const token = (...flags: string[]) =>
    cli.run(['token', 'create', 'ci', '--projects', 'demo', '--permissions', 'read', ...flags])

  test('may be set as in the examples, by either name of its flag', async () => {
    const { stdout } = await cli.run(['token', 'create', '--help'])
    const [, example = ''] = /Examples:\n +boxyard (.*)/.exec(stdout) ?? []
    expect(await cli.run(example.split(' '))).toMatchObject({ code: 0 })
    for (const flag of ['--expires', '--expires-in-seconds']) expect(await token(flag, '7d')).toMatchObject({ code: 0 })
  })

  test('comes with a token that is shown first, and only once', async () => {
    const { stdout, stderr } = await token('--expires', '1h')
    expect([stdout, stderr]).toEqual([
      expect.stringMatching(/^token +eyJ/),
      'boxyard: keep the token now. It is shown only once\n',
    ])
    expect(await token('-o', 'json')).toMatchObject({ code: 0, stderr: '' })
  })

  test('that is too long names the flag, the limit as people type it, and the way to a longer one', async () => {
    const { code, stderr } = await token('--expires', '90d')
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^boxyard: --expires-in-seconds: at most (29d 23h|30d) \(\d+ seconds\), because the token that you use expires on /,
      ),
    ])
    expect(stderr).toMatch(/run boxyard admin token .* on the host, or npm run token/)
  })
})

test.each([
  ['create x -m 2g', "unknown option '-m'\n(Did you mean --ram-mb?)\n"],
  ['create x --memory=2g', "unknown option '--memory=2g'\n(Did you mean --ram-mb?)\n"],
  ['create -e A=1 x', "unknown option '-e'\n(Did you mean --env?)\n"],
  ['create --rm x', "unknown option '--rm'\n(A box stays until boxyard rm BOX."],
  ['create -p 8080:80 x', '-p selects the project, and "8080:80" is none. For a port: --port PORT'],
  ['ps', "missing required argument 'box'\n(ps lists the commands of one box. To list boxes: boxyard ls)\n"],
  ['pull debian', 'There is no command "pull". Did you mean base create'],
  ['rename web other', 'There is no command "rename". Did you mean fork'],
  ['service discard web site', 'There is no command "service discard". Did you mean discard?\n'],
  ['resumme', "unknown command 'resumme'\n(Did you mean resume?)\n"],
  ['xyz', "unknown command 'xyz'\n(boxyard --help lists all commands)\n"],
  ['logs web', 'Name a service or a command. Services of web: kept. To list its commands: boxyard ps web\n'],
  ['lease web --seconds 30d', '--seconds: must be at most 7d (604800 seconds)\n'],
  [
    'exec --timeout -1 web true',
    '--timeout: must be a time such as 90s, 12h or 30d, or a number of seconds, not "-1".\n',
  ],
  ['exec --timeout 30d web true', '--timeout: must be from 1ms (0.001 seconds) to 24d 20h (2147483 seconds)\n'],
  ['create x --ram-mb 1m', '--ram-mb: must be at least 16m (16 MiB)\n'],
  ...['create x', 'fork web x', 'update web', 'service put DATA web x true', 'stop web', 'volume create x'].flatMap(
    (line) =>
      ['[]', '5', '"x"', 'null'].map(
        (data) =>
          [
            line.includes('DATA') ? line.replace('DATA', `-d ${data}`) : `${line} -d ${data}`,
            '--data: must be a JSON object.\n',
          ] as const,
      ),
  ),
] as const)('%s is refused with the way out', async (line, words) => {
  // Flags stand before the box, for commands that take all that follows.
  const { code, stdout, stderr } = await cli.run(line.split(' '))
  expect([[1, 2].includes(code ?? 0), stdout, stderr.slice(0, `boxyard: ${words}`.length)]).toEqual([
    ...[true, '', `boxyard: ${words}`],
  ])
})

test('api sends any JSON, and openapi prints JSON unless YAML is asked for', async () => {
  const sent = await cli.run(['api', 'POST', '/v1/projects/{project}/boxes', '-d', '[]'])
  expect([sent.code, sent.stderr]).toEqual([1, expect.not.stringContaining('--data')])
  expect(JSON.parse((await cli.run(['openapi'])).stdout)).toHaveProperty('openapi')
  expect((await cli.run(['openapi', '-o', 'yaml'])).stdout).toMatch(/^openapi: /)
})

test('tables name where a volume is attached, and the port and URL of a service', async () => {
  const rows = async (line: string): Promise<string> => (await cli.run(line.split(' '))).stdout
  await rows('create shown')
  await rows('volume create disk')
  await rows('volume attach disk shown /srv/disk --read-only')
  expect(await rows('volume ls')).toMatch(/ATTACHED .*\ndisk .* shown:\/srv\/disk:ro /)
  await rows('service put --port 3000 shown site sleep 600')
  const [head, row] = (await rows('service ls shown')).split('\n')
  expect([head, row]).toEqual([
    expect.stringMatching(/^NAME +STATE +PORT +URL +PREVIEW$/),
    expect.stringMatching(/^site +\w+ +3000 +http\S+ +-$/),
  ])
  await rows('deploy shown site sleep 700')
  expect(await rows('discard shown site')).toMatch(/^name +site\nstate +\w+\n/)
  expect(await rows('health')).not.toMatch(/kubernetes|namespace/)
})
