import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { freePort } from '../../helpers/service.ts'

const cli = useCommandLine(useOwnService(async () => ({ settings: { BOXYARD_EDGE_PORT: String(await freePort()) } })))
const json = async (...args: string[]) => JSON.parse((await cli.run([...args, '-o', 'json'])).stdout) as object

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

describe('services', () => {
  beforeAll(async () => {
    const line = 'for i in 1 2 3; do echo line-$i; done; exec sleep 600'
    expect((await cli.run(['service', 'put', 'web', 'site', 'sh', '-c', line])).code).toBe(0)
  })

  test('what one has written is printed, from the end, and as it comes', async () => {
    const following = cli.start(['logs', 'web', 'site', '--follow'])
    await following.until(/line-1\nline-2\nline-3\n/)
    expect((await cli.run(['logs', 'web', 'site'])).stdout).toBe('line-1\nline-2\nline-3\n')
    expect((await cli.run(['logs', 'web', 'site', '--tail', '1'])).stdout).toBe('line-3\n')
    expect(await json('logs', 'web', 'site')).toEqual({ stream: 'stdout', data: 'line-1\nline-2\nline-3\n' })
    await cli.service().killAgent()
    await cli.service().startAgent()
    await cli.run(['service', 'stop', 'web', 'site'])
    await cli.run(['service', 'start', 'web', 'site'])
    await following.until(/line-3\nline-1\nline-2\nline-3\n/)
  })

  test('a version is deployed, promoted and rolled back, and one that fails is told', async () => {
    const deployed = await cli.run([
      'deploy',
      '--env',
      'A=b',
      '--env',
      'C=d',
      'web',
      'site',
      'sh',
      '-c',
      'exec sleep 700',
    ])
    expect([deployed.code, deployed.stdout]).toEqual([
      0,
      expect.stringMatching(/^preview +running: sh -c exec sleep 700$/m),
    ])
    expect(await json('service', 'info', 'web', 'site')).toMatchObject({
      preview: { spec: { env: { A: 'b', C: 'd' } } },
    })
    const promoted = await cli.run(['promote', 'web', 'site'])
    expect(promoted.stdout).toMatch(/^active +sh -c exec sleep 700$/m)
    expect(await json('rollback', 'web', 'site')).toMatchObject({
      name: 'site',
      previous: { spec: { command: ['sh', '-c', 'exec sleep 700'] } },
    })
  })

  test('a version that fails is told with what it wrote', async () => {
    const listen = 'exec nc -ll -p $PORT -e /bin/cat'
    expect((await cli.run(['service', 'put', '--port', '8099', 'web', 'ported', 'sh', '-c', listen])).code).toBe(0)
    const failed = await cli.run(['deploy', 'web', 'ported', 'sh', '-c', 'echo broken; exit 9'])
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('broken')])
    expect((await cli.run(['discard', 'web', 'ported'])).code).toBe(0)
    expect((await cli.run(['promote', 'web', 'ported'])).code).toBe(1)
  })

  test('the URL is printed, and opened where there is a display', async () => {
    expect((await cli.run(['update', 'web', '--port', '8000'])).code).toBe(0)
    const { stdout } = await cli.run(['url', 'web'])
    expect(stdout).toMatch(/^http:\/\/\S+\n$/)
    expect(await json('url', 'web')).toEqual({ url: stdout.trim() })
    const ticket = (await cli.run(['url', '--ticket', 'web'])).stdout
    expect(ticket).toMatch(/^http:\/\/sign-in\.localhost:\d+\/\?host=[\w.-]+&ticket=[\w-]{43}&target=%2F\n$/)
    const bin = join(cli.directory(), 'bin')
    mkdirSync(bin)
    writeFileSync(
      join(bin, 'xdg-open'),
      `#!/bin/sh\necho "$1" >${cli.directory()}/opened.part\nmv ${cli.directory()}/opened.part ${cli.directory()}/opened\n`,
    )
    chmodSync(join(bin, 'xdg-open'), 0o755)
    const PATH = `${bin}:${process.env['PATH']}`
    expect((await cli.run(['open', 'web'], { env: { PATH } })).stdout).toBe(stdout)
    expect((await cli.run(['open', 'web'], { env: { PATH, DISPLAY: ':9' } })).stdout).toBe(stdout)
    const opened = 'until [ -e opened ]; do sleep 0.05; done; cat opened'
    expect(execFileSync('timeout', ['60', 'sh', '-c', opened], { cwd: cli.directory(), encoding: 'utf8' })).toBe(stdout)
  })
})

describe('commands', () => {
  test('the output of one is printed after its end, and while it runs', async () => {
    const ended = (await cli.run(['exec', '--detach', 'web', 'sh', '-c', 'echo out; echo err >&2'])).stdout.trim()
    expect(await cli.run(['logs', 'web', ended, '-f'])).toEqual({ code: 0, stdout: 'out\n', stderr: 'err\n' })
    expect(await cli.run(['logs', 'web', ended])).toEqual({ code: 0, stdout: 'out\n', stderr: 'err\n' })
    const line = 'echo begun; until [ -e /tmp/go ]; do sleep 0.1; done; echo done'
    const running = (await cli.run(['exec', '--detach', 'web', 'sh', '-c', line])).stdout.trim()
    const following = cli.start(['logs', 'web', running, '-f'])
    await following.until(/begun/)
    await cli.run(['exec', 'web', 'touch', '/tmp/go'])
    expect(await following.ended).toEqual({ code: 0, stdout: 'begun\ndone\n', stderr: '' })
  })

  test('usage of all boxes is a table', async () => {
    const { code, stdout } = await cli.run(['top'])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^NAME +CPU +CORES +MEMORY .*\nweb +(?:[\d.]+ %|-) /)])
    expect(await json('top', 'web')).toMatchObject([{ box: 'web', pids: { current: expect.any(Number) } }])
    expect((await cli.run(['top', '--every', 'x'])).code).toBe(2)
  })
})

describe('bases', () => {
  test('one is made of a box, and of a tar in a file or on stdin', async () => {
    expect(await json('base', 'create', 'of-box', '--box', 'web')).toMatchObject({ name: 'of-box', source: 'box:web' })
    const root = join(cli.directory(), 'root')
    mkdirSync(join(root, 'bin'), { recursive: true })
    execFileSync('sh', ['-c', 'cp /bin/busybox bin/ && ln -s busybox bin/sh && ln -s /etc/none bin/out'], { cwd: root })
    const tar = execFileSync('tar', ['-c', '-C', root, '.'], { maxBuffer: 64 * 1024 ** 2 })
    writeFileSync(join(cli.directory(), 'root.tar'), tar)
    expect(await json('base', 'create', 'of-file', '--tar', 'root.tar')).toMatchObject({
      name: 'of-file',
      source: 'tar',
    })
    const typed = await cli.run(['base', 'create', 'of-stdin', '--tar', '-', '-o', 'name'], { input: tar })
    expect([typed.code, typed.stdout]).toEqual([0, 'of-stdin\n'])
    expect((await cli.run(['base', 'create', 'none'])).code).toBe(2)
    const broken = await cli.run(['base', 'create', 'broken', '--tar', '-'], { input: 'no tar at all' })
    expect(broken.code).toBe(1)
  })
})

describe('tickets', () => {
  test('one is good for one request', async () => {
    await cli.run(['exec', 'web', 'sh', '-c', 'echo told >/root/told'])
    const query = ['--query', 'path=/root/told']
    const { stdout } = await cli.run(['ticket', 'box', 'web', 'readFile', '-o', 'name', ...query])
    expect(await (await fetch(stdout.trim())).text()).toBe('told\n')
    expect((await fetch(stdout.trim())).ok).toBe(false)
  })

  test('that of a port, a service and a project are asked for by flags', async () => {
    expect(await json('ticket', 'box', 'web', 'openPort', '--port', '5432')).toMatchObject({ method: 'GET' })
    expect(await json('ticket', 'box', 'web', 'getServiceLogs', '--service', 'site')).toMatchObject({ method: 'GET' })
    expect(await json('ticket', 'project', 'createBase', '--query', 'name=x')).toMatchObject({ method: 'POST' })
    expect((await cli.run(['ticket', 'box', 'web', 'openPort', '--port', 'x'])).code).toBe(2)
  })
})

test('answers have every form', async () => {
  const raw = await cli.run(['api', 'GET', '/v1/me', '-o', 'yaml'])
  expect(raw.stdout).toMatch(/^name: admin$/m)
  expect((await cli.run(['events', '-o', 'name'])).stdout).toMatch(/^\S+\n/)
  expect((await cli.run(['url', 'web', '-o', 'yaml'])).stdout).toMatch(/^url: http/)
})
