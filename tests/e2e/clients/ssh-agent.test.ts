import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { packPrograms, type Ran, runToEnd, useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const lab = useSshLab(useOwnService())
const { client, service } = lab
const HOST = 'web.demo.boxyard'
const SOCKETS = 'ls -d /tmp/ssh-* 2>/dev/null || echo none'
let agent: ChildProcess
let place = ''
let fingerprint = ''

const inBox = async (line: string): Promise<string> => (await client.shell('demo', 'web', line)).body.stdout.trim()
/** Runs ssh as a user with an agent that holds a key. */
const ssh = (...args: string[]): Promise<Ran> => lab.ssh(args, { env: { SSH_AUTH_SOCK: `${place}/agent` } })
const start = (...args: string[]) => lab.start('ssh', [...lab.config(), ...args], { SSH_AUTH_SOCK: `${place}/agent` })

beforeAll(async () => {
  place = mkdtempSync(`${tmpdir()}/boxyard-agent-`)
  agent = spawn('ssh-agent', ['-D', '-a', `${place}/agent`], { stdio: 'ignore' })
  await eventually(() => existsSync(`${place}/agent`))
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'the key of ann', '-f', `${place}/key`])
  execFileSync('ssh-add', ['-q', `${place}/key`], { env: { ...process.env, SSH_AUTH_SOCK: `${place}/agent` } })
  fingerprint = execFileSync('ssh-keygen', ['-lf', `${place}/key`], { encoding: 'utf8' }).split(' ')[1] ?? ''
  const modules = execFileSync('perl', ['-e', 'print((grep { m,/perl-base$, } @INC)[0])'], { encoding: 'utf8' })
  const raw = packPrograms(['/usr/bin/ssh-add', '/usr/bin/perl'], [modules, `${place}/key.pub`])
  const headers = { 'content-type': 'application/x-tar' }
  const { status } = await client.call('PUT', '/v1/projects/demo/boxes/web/files/archive?path=/', { raw, headers })
  expect(status).toBe(200)
  await inBox('echo ann:x:1000:1000::/home/ann:/bin/sh >> /etc/passwd; mkdir /home/ann; chown 1000:1000 /home/ann')
})

afterAll(async () => {
  const ended = once(agent, 'exit')
  agent.kill()
  // The agent removes its socket as it exits. A concurrent removal of the directory would fail.
  await ended
  rmSync(place, { recursive: true, force: true })
})

describe('with -A', () => {
  test('a program of the box lists the keys of the client, and signs with them', async () => {
    const { code, stdout, stderr } = await ssh('-A', HOST, 'ssh-add -l')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.toString()).toContain(fingerprint)
    expect(await ssh('-A', HOST, `ssh-add -T ${place}/key.pub`)).toMatchObject({ code: 0, stderr: '' })
  })

  test('so it is by boxyard ssh, before and behind the box', async () => {
    const run = (...args: string[]): Promise<Ran> =>
      lab.run(process.execPath, [lab.path('boxyard.cjs'), 'ssh', ...args], { env: { SSH_AUTH_SOCK: `${place}/agent` } })
    expect((await run('-A', 'web', 'ssh-add -l')).stdout.toString()).toContain(fingerprint)
    expect((await run('web', '-A', 'ssh-add -l')).stdout.toString()).toContain(fingerprint)
    expect((await run('web', 'echo ${SSH_AUTH_SOCK-none}')).stdout.toString()).toBe('none\n')
  })

  test('the socket is for the user of the session alone, in a directory of theirs', async () => {
    const child = start(
      '-A',
      `ann@${HOST}`,
      `stat -c '%a %u' $SSH_AUTH_SOCK $(dirname $SSH_AUTH_SOCK); ssh-add -l; cat`,
    )
    let shown = ''
    child.stdout.on('data', (bytes: Buffer) => (shown += bytes.toString()))
    await eventually(() => shown.includes(fingerprint))
    expect(shown).toMatch(/^600 1000\n700 1000\n/)
    const path = `${await inBox('ls -d /tmp/ssh-*')}/agent`
    const list = async (user: string): Promise<string> => {
      const body = { shell: `SSH_AUTH_SOCK=${path} ssh-add -l 2>&1`, user }
      return (await client.post('/v1/projects/demo/boxes/web/exec', body)).body.stdout
    }
    expect(await list('1001')).toMatch(/Permission denied/)
    expect(await list('ann')).toContain(fingerprint)
    child.stdin.end()
    expect((await runToEnd(child)).code).toBe(0)
    expect(await list('ann')).toMatch(/No such file/)
  })

  test('sessions at the same time have a socket each, which ends with its session', async () => {
    const [one, other] = [start('-A', HOST, 'ssh-add -l; cat'), start('-A', HOST, 'ssh-add -l; cat')]
    await Promise.all([one, other].map((child) => once(child.stdout, 'data')))
    expect((await inBox(SOCKETS)).split('\n')).toHaveLength(2)
    const ended = runToEnd(one)
    one.stdin.end()
    await ended
    expect((await inBox(SOCKETS)).split('\n')).toHaveLength(1)
    other.kill('SIGKILL')
    await eventually(async () => (await inBox(SOCKETS)) === 'none')
  })

  test('a program that outlives its session cannot use the keys', async () => {
    const line = `(sleep 1; ssh-add -l > /tmp/later 2>&1; echo done >> /tmp/later) > /dev/null 2>&1 < /dev/null & ssh-add -l`
    expect((await ssh('-A', HOST, line)).stdout.toString()).toContain(fingerprint)
    await eventually(async () => (await inBox('cat /tmp/later')).includes('done'))
    expect(await inBox('cat /tmp/later')).not.toContain(fingerprint)
    expect(await inBox(SOCKETS)).toBe('none')
  })

  test('a box that makes 1,000 connections keeps few open, and nobody else waits', async () => {
    const sockets = (): number =>
      readdirSync(`/proc/${service().agentPid}/fd`).filter((fd) => {
        try {
          return readlinkSync(`/proc/${service().agentPid}/fd/${fd}`).startsWith('socket:')
        } catch {
          return false
        }
      }).length
    const before = sockets()
    const program = `use Socket; use Fcntl; $| = 1; $SIG{PIPE} = "IGNORE"; my @held; for (1..1000) { socket(my $s, AF_UNIX, SOCK_STREAM, 0) or last;
      fcntl($s, F_SETFL, O_NONBLOCK); push @held, $s if connect($s, pack_sockaddr_un($ENV{SSH_AUTH_SOCK})); syswrite($s, "x"); select(undef, undef, undef, 0.001) }
      print scalar(@held), "\\n"; <STDIN>`
    const child = start('-A', HOST, `perl -e '${program}'`)
    const [held] = await once(child.stdout, 'data')
    expect(Number(held)).toBeGreaterThan(0)
    expect(Number(held)).toBeLessThanOrEqual(8 + 17)
    expect(sockets() - before).toBeLessThan(8 + 10)
    expect((await ssh('-A', HOST, 'ssh-add -l')).stdout.toString()).toContain(fingerprint)
    child.stdin.end()
    await runToEnd(child)
    expect(await inBox(SOCKETS)).toBe('none')
  })
})

test('without -A, and without an agent, there is no socket and no variable', async () => {
  const line = `echo \${SSH_AUTH_SOCK-none}; ${SOCKETS}`
  expect((await ssh(HOST, line)).stdout.toString()).toBe('none\nnone\n')
  expect((await lab.ssh(['-A', HOST, line])).stdout.toString()).toBe('none\nnone\n')
})

test('a box without a place for the socket is entered all the same, with a word about it', async () => {
  await inBox('mv /tmp /tmp.away')
  const { code, stdout, stderr } = await ssh('-A', HOST, 'echo ${SSH_AUTH_SOCK-none}; exit 3')
  await inBox('mv /tmp.away /tmp')
  expect([code, stdout.toString()]).toEqual([3, 'none\n'])
  expect(stderr).toMatch(
    /^boxyard: The SSH agent is not forwarded: The box cannot hold a socket in \/tmp \(ENOENT\)\. .*\n$/,
  )
})

test('a token that is revoked takes the socket with it', async () => {
  const permissions = ['read', 'exec']
  const { body } = await client.post('/v1/tokens', { name: 'ann', projects: ['demo'], permissions })
  const env = { SSH_AUTH_SOCK: `${place}/agent`, BOXYARD_TOKEN: body.token }
  const child = lab.start('ssh', [...lab.config(), '-A', HOST, 'ssh-add -l; cat'], env)
  const ended = runToEnd(child)
  await once(child.stdout, 'data')
  expect((await client.delete(`/v1/tokens/${body.id}`)).status).toBe(204)
  await eventually(async () => (await inBox(SOCKETS)) === 'none')
  expect((await ended).code).toBe(255)
})

test('an agent of the host that is killed leaves no socket in the box', async () => {
  const child = start('-A', HOST, 'ssh-add -l; cat')
  const ended = runToEnd(child)
  await once(child.stdout, 'data')
  await service().killAgent()
  expect((await ended).code).toBe(255)
  await service().startAgent()
  expect(await inBox(SOCKETS)).toBe('none')
  expect((await ssh('-A', HOST, 'ssh-add -l')).stdout.toString()).toContain(fingerprint)
})
