import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())
const run = (line: string) => cli.run(line.split(' '))
const json = async (line: string): Promise<any> => JSON.parse((await run(`${line} -o json`)).stdout)

beforeAll(async () => {
  expect(await run('create web')).toMatchObject({ code: 0 })
})

/** Returns the fields of a human-readable output, by name. */
async function fieldsOf(line: string): Promise<Record<string, string>> {
  const { code, stdout } = await run(line)
  expect(code).toBe(0)
  return Object.fromEntries(
    stdout
      .trimEnd()
      .split('\n')
      .map((each) => each.split(/ {2,}/, 2)),
  )
}

describe('a short answer', () => {
  test.each([
    ['create short', 'running'],
    ['fork short shorter', 'running'],
    ['update short --cpus 1', 'running'],
    ['stop short', 'stopped'],
    ['resume short', 'running'],
    ['restart short', 'running'],
    ['start short', 'running'],
    ['wait short', 'running'],
    ['snapshot create shorter kept', null],
    ['snapshot restore shorter kept', 'running'],
  ])('of %s is name, status and URL', async (line, status) => {
    const fields = await fieldsOf(line)
    if (status === null) return
    const name = line.includes('shorter') ? 'shorter' : 'short'
    expect(fields).toEqual({ name, status, url: expect.stringMatching(/^https?:\/\//) })
  })

  test('has what the command was for', async () => {
    expect(await fieldsOf('publish short --auth public')).toMatchObject({ name: 'short', auth: 'public' })
    expect(await fieldsOf('lease short --seconds 2h')).toMatchObject({ lease_until: expect.stringMatching(/^20/) })
    expect(await fieldsOf('volume create few --size-gb 1g')).toEqual({ name: 'few', size_gb: '1' })
    expect((await run('volume attach few short /srv/few')).stdout).toMatch(
      /^name +short\nstatus +running\ndata_mounts\n/,
    )
    expect(await fieldsOf('volume detach few short')).toEqual({ name: 'short', status: 'running' })
  })

  test('leaves all to info and JSON', async () => {
    expect(Object.keys(await fieldsOf('info short')).length).toBeGreaterThan(10)
    expect(await json('update short --cpus 1')).toHaveProperty('url_settings.idle_stop_seconds')
    expect((await run('stop short -o name')).stdout).toBe('short\n')
  })
})

test('words of other command lines work', async () => {
  expect((await run('list -o name')).stdout).toContain('web\n')
  expect((await run('inspect web -o name')).stdout).toBe('web\n')
  expect((await run('whoami -o name')).stdout).toBe((await run('me -o name')).stdout)
  expect((await cli.run(['shell', 'web'], { input: 'exit 5\n' })).code).toBe(5)
  expect(await run('create gone')).toMatchObject({ code: 0 })
  expect(await run('delete gone')).toEqual({ code: 0, stdout: '', stderr: '' })
  expect((await run('start --help')).stdout).toContain('boxyard resume')
})

describe('snapshots are one group of verbs', () => {
  test('of boxes', async () => {
    expect((await run('snapshot create web one --comment first -o name')).stdout).toBe('one\n')
    expect((await run('snapshot ls web -o name')).stdout).toBe('one\n')
    await run('exec web touch /root/later')
    expect((await run('snapshot diff web one live -o name')).stdout).toContain('/root/later')
    expect((await run('snapshot restore web one -o name')).stdout).toBe('web\n')
    expect(await run('snapshot rm web one')).toMatchObject({ code: 0 })
    expect((await run('snapshot')).stdout).toMatch(/ create [^]* ls [^]* info [^]* rm [^]* restore [^]* diff /)
  })

  test('and the words of before work', async () => {
    expect((await run('snapshot web two --comment second -o name')).stdout).toBe('two\n')
    expect((await run('snapshots ls web -o name')).stdout).toContain('two\n')
    expect(await run('diff web two live')).toMatchObject({ code: 0 })
    expect((await run('restore web two -o name')).stdout).toBe('web\n')
    expect(await run('snapshots rm web two')).toMatchObject({ code: 0 })
  })

  test('of volumes, likewise', async () => {
    await run('volume create kept')
    expect((await run('volume snapshot create kept a -o name')).stdout).toBe('a\n')
    expect((await run('volume snapshot kept b -o name')).stdout).toBe('b\n')
    expect((await run('volume snapshots ls kept -o name')).stdout).toBe('a\nb\n')
    expect(await run('volume restore kept a')).toMatchObject({ code: 0 })
    expect(await run('volume snapshot rm kept b')).toMatchObject({ code: 0 })
  })
})

describe('create and fork have flags for all that a box has', () => {
  const flags =
    '--cpus 1 --ram-mb 1g --storage-gb 2g --network-mbps 50 --disk-mbps 40 --disk-iops 900 --shm-mb 256m --core-dumps --port 3000 --auth public --wake --idle-stop 30m --grace 5s --env A=1 --tag t=1'
  const disk = { storage_gb: 2, disk_mbps: 40, disk_iops: 900 }
  const config = { ...disk, cpus: 1, ram_mb: 1024, network_mbps: 50, shm_mb: 256, core_dumps: true }
  const all = {
    ...{ config, port: 3000, termination_grace_period_seconds: 5, environment: { A: '1' }, tags: { t: '1' } },
    url_settings: { auth: 'public', wake: true, idle_stop_seconds: 1800 },
  }

  test('which update has too', async () => {
    expect(await json(`create whole ${flags}`)).toMatchObject(all)
    expect(await json(`fork web forked ${flags}`)).toMatchObject(all)
    expect(await json(`update web ${flags}`)).toMatchObject(all)
    expect(await json('update web --no-wake --idle-stop never --port 0')).toMatchObject({
      ...{ port: null, url_settings: { auth: 'public', wake: false, idle_stop_seconds: null } },
    })
    await run('volume create disk')
    expect(await json('fork web mounted --mount disk:/srv/disk:ro')).toMatchObject({
      data_mounts: [{ name: 'disk', path: '/srv/disk', read_only: true }],
    })
  })

  test('and --data for fields that have none', async () => {
    const data = '{"config":{"cpus":1},"port":81,"tags":{"from":"data"}}'
    const made = await cli.run(['create', 'data', '--ram-mb', '300m', '-d', data, '-o', 'json'])
    expect(JSON.parse(made.stdout)).toMatchObject({
      port: 81,
      config: { cpus: 1, ram_mb: 300 },
      tags: { from: 'data' },
    })
    const refused = await cli.run(['create', 'refused', '-d', '{"color":"red"}'])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('color of --data')])
  })

  test('a refused flag leaves no box', async () => {
    expect(await run('create half --port 70000')).toMatchObject({
      ...{ code: 1, stderr: 'boxyard: --port: must be at most 65535\n' },
    })
    for (const line of ['create half --auth nobody', 'fork web half --auth nobody'])
      expect([line, (await run(line)).stderr]).toEqual([line, 'boxyard: --auth: must be token or public\n'])
    expect((await run('info half')).code).toBe(1)
  })
})

test('times and sizes are taken as people write them', async () => {
  expect(await run('exec --timeout 200ms web sleep 60')).toMatchObject({
    code: 124,
    stderr: 'boxyard: timed out after 0.2 s\n',
  })
  const token = await json('token create short-lived --projects demo --permissions read --expires-in-seconds 12h')
  const seconds = (Date.parse(token.expires_at) - Date.parse(token.created_at)) / 1000
  expect(Math.round(seconds / 60)).toBe(12 * 60)
  await run('set-quota --ram-mb 16g --storage-gb 200g -p sized')
  expect((await json('quota -p sized')).allowed).toMatchObject({ ram_mb: 16_384, storage_gb: 200 })
  expect(await run('wait web stopped --timeout 200ms')).toMatchObject({ code: 1 })
  expect((await json('metrics web --step 10m')).step_seconds).toBe(600)
  expect((await json('events --since 1h')).events.length).toBeGreaterThan(1)
  expect((await json('events --since 1ms')).events).toEqual([])
  expect(await run('events --since 5q')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--since: must be a time'),
  })
})

test('limits are sizes and times with units, and numbers in JSON', async () => {
  const { stdout } = await run('limits')
  expect(stdout).toMatch(/ ram_mb +\d+(\.\d)? [MG]iB$/m)
  expect(stdout).toMatch(/ unread_input_bytes_at_once +64\.0 MiB$/m)
  expect(stdout).toMatch(/ audit_keep_seconds +90d$/m)
  expect(stdout.split('\n').filter((line) => /bytes|_[mg]b |_seconds /.test(line) && / \d+$/.test(line))).toEqual([])
  const { limits, defaults } = await json('limits')
  expect([limits.audit_keep_seconds, typeof defaults.config.ram_mb]).toEqual([7_776_000, 'number'])
})

test('a refusal for want of a right or a quota says where to look', async () => {
  await run('set-quota --boxes 0 -p none')
  expect(await run('create any -p none')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^boxyard: .*boxes.*\nTo see limits and usage: boxyard quota/),
  })
  const { token } = await json('token create reader --projects demo --permissions read')
  expect(await cli.run(['create', 'any'], { env: { BOXYARD_TOKEN: token } })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^boxyard: .*write.*\nTo see what your token allows: boxyard me\n$/),
  })
})

describe('services', () => {
  const put = (...words: string[]) => cli.run(['service', 'put', ...words])

  test('a put says what is not in force yet, and a restart puts it in force', async () => {
    expect(await put('web', 'site', 'sleep', '600')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^name +site\nstate +running\n$/),
      stderr: '',
    })
    expect(await put('--env', 'A=1', 'web', 'site', 'sleep', '700')).toMatchObject({
      code: 0,
      stderr:
        'boxyard: these changes wait for the next start: command, env. To apply them now: boxyard service restart web site\n',
    })
    expect(await run('service restart web site')).toMatchObject({ code: 0, stderr: '' })
    expect((await json('service info web site')).active.spec.command).toEqual(['sleep', '700'])
  })

  test('one that is not ready ends with 1, and says why', async () => {
    const broken = await put('--restart', 'never', 'web', 'broken', '-d', '{"readiness":{"tcp":true}}', '--port', '81')
    expect(broken.code).toBe(2)
    const ended = await put(
      '--restart',
      'never',
      '--port',
      '81',
      '-d',
      '{"readiness":{"tcp":true}}',
      'web',
      'bad',
      'false',
    )
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('boxyard: bad is not ready: ')])
    expect(ended.stderr).toContain('boxyard logs web bad')
    expect(await run('service restart web bad')).toMatchObject({ code: 1 })
    for (const [name, command] of [
      ['fails', 'false'],
      ['absent', '/nosuch'],
    ] as const)
      expect(await put('web', name, command)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`boxyard: ${name} is not ready: `),
      })
  })
})

describe('rm', () => {
  beforeAll(async () => {
    for (const name of ['plain', 'saved']) expect(await run(`create ${name}`)).toMatchObject({ code: 0 })
    await run('snapshot create saved one')
    for (const name of ['plain', 'saved']) await run(`stop ${name}`)
  })

  const answer = async (line: string, typed: string): Promise<[number | null, string]> => {
    const removing = cli.startInTerminal(line.split(' '))
    await removing.until(/\[y\/N\] /)
    removing.type(typed)
    const { code } = await removing.ended
    // Drops the control sequences that readline sends to the terminal.
    return [code, stripVTControlCharacters(removing.shown()).replaceAll('\r', '')]
  }

  test('asks on a terminal for a box that runs or has snapshots', async () => {
    expect(await answer('rm saved', 'n\r')).toEqual([
      1,
      expect.stringMatching(/^saved has 1 snapshot\.\nDelete saved\? \[y\/N\] n\nCanceled\. Nothing was deleted\.\n$/),
    ])
    const [code, shown] = await answer('rm plain saved web', '\r')
    expect([code, shown]).toEqual([1, expect.stringMatching(/^saved has 1 snapshot\.\nweb is running and has/)])
    expect(shown).toContain('Delete 3 boxes?')
    const [interrupted] = await answer('rm saved', '\x03')
    expect(interrupted).toBe(130)
    const [ended] = await answer('rm saved', '\x04')
    expect(ended).toBe(1)
    expect((await run('ls -o name')).stdout).toMatch(/plain\n[^]*saved\n/)
    expect((await answer('rm saved', 'yes\r'))[0]).toBe(0)
    expect(await run('info saved')).toMatchObject({ code: 1 })
  })

  test('asks for no other, with -y or -f, or without a terminal', async () => {
    const plain = cli.startInTerminal(['rm', 'plain'])
    expect([(await plain.ended).code, plain.shown()]).toEqual([0, ''])
    for (const flag of ['-y', '--yes', '-f']) {
      await run('create running')
      const removing = cli.startInTerminal(['rm', flag, 'running'])
      expect([(await removing.ended).code, removing.shown()]).toEqual([0, ''])
    }
    await run('create running')
    expect(await run('rm running')).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('by tags deletes those that have all of them, and asks on a terminal', async () => {
    for (const name of ['job-a', 'job-b']) await run(`create ${name} --tag job=1 --tag kind=${name}`)
    await run('stop job-a')
    const [code, shown] = await answer('rm --tag job=1', 'n\r')
    expect([code, shown]).toEqual([1, expect.stringContaining('job-a is stopped.\njob-b is running.\nDelete 2 boxes?')])
    expect(await run('rm --tag job=1 --tag kind=job-a')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect((await run('ls --tag job -o name')).stdout).toBe('job-b\n')
    expect(await run('rm --tag job')).toMatchObject({ code: 0 })
    expect(await run('rm --tag job')).toEqual({ code: 0, stdout: '', stderr: '' })
    for (const line of ['rm', 'rm web --tag a=b'])
      expect(await run(line)).toMatchObject({
        code: 2,
        stderr: 'boxyard: Give either names of boxes or --tag KEY=VALUE.\n',
      })
    expect((await run('ls -o name')).stdout).toContain('web\n')
  })
})
