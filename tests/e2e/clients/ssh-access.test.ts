import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { runToEnd, useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { freePort } from '../../helpers/service.ts'

const lab = useSshLab(useSharedService())
const { client } = lab
const HOST = 'web.demo.boxyard'
const OURS = '.config/boxyard/ssh'

/** Returns the name of the host key file of the only deployment reached so far. */
function hostKeyName(): string {
  return readdirSync(lab.path(OURS, 'hosts'))[0] ?? ''
}

beforeAll(async () => {
  const command = ['/bin/sh', '-c', 'exec nc -ll -p 7001 -e /bin/cat']
  await client.put('/v1/projects/demo/boxes/web/services/echo', { command })
  await eventually(async () => {
    const { stdout = '' } = (await client.shell('demo', 'web', 'cat /proc/net/tcp /proc/net/tcp6')).body
    return /:1B59 [0-9A-F]+:0000 0A/.test(stdout)
  })
})

describe('the configuration', () => {
  test('is for its owner alone, and installed once', async () => {
    expect((await lab.ssh([HOST, 'true'])).code).toBe(0)
    for (const name of ['config', 'known_hosts', 'names', 'client_ed25519', `hosts/${hostKeyName()}`])
      expect([name, (statSync(lab.path(OURS, name)).mode & 0o777).toString(8)]).toEqual([name, '600'])
    const before = ['.ssh/config', `${OURS}/config`, `${OURS}/client_ed25519`].map(
      (name) => statSync(lab.path(name)).mtimeMs,
    )
    expect((await lab.boxyard('ssh-config', '--install')).stdout.toString()).toContain('includes')
    const after = ['.ssh/config', `${OURS}/config`, `${OURS}/client_ed25519`].map(
      (name) => statSync(lab.path(name)).mtimeMs,
    )
    expect(after).toEqual(before)
    expect(readFileSync(lab.path('.ssh/config'), 'utf8')).toBe(`Include "${lab.path(OURS, 'config')}"\n\n`)
  })

  test('is printed without a flag, and leaves what else is in ~/.ssh/config', async () => {
    const { stdout } = await lab.boxyard('ssh-config')
    expect(stdout.toString()).toBe(readFileSync(lab.path(OURS, 'config'), 'utf8'))
    writeFileSync(lab.path('.ssh/config'), 'Host other\n  User me\n')
    await lab.boxyard('ssh-config', '--install')
    expect(readFileSync(lab.path('.ssh/config'), 'utf8')).toMatch(/^Include ".*"\n\nHost other\n {2}User me\n$/)
  })

  test('is not needed by the verb that runs ssh itself', async () => {
    const { code, stdout } = await lab.boxyard('ssh', 'web', 'hostname; exit 4')
    expect([code, stdout.toString()]).toEqual([4, 'web\n'])
  })
})

test('connections at the same time work with keys that cannot be read, which are made again and reported', async () => {
  expect((await lab.ssh([HOST, 'true'])).code).toBe(0)
  const files = ['client_ed25519', `hosts/${hostKeyName()}`].map((name) => lab.path(OURS, name))
  for (const path of files) writeFileSync(path, readFileSync(path, 'utf8').slice(0, 120))
  const ran = await Promise.all(Array.from({ length: 4 }, () => lab.ssh([HOST, 'echo in'])))
  expect(ran.map(({ code, stdout }) => [code, stdout.toString()])).toEqual(ran.map(() => [0, 'in\n']))
  const said = ran.map(({ stderr }) => stderr).join('')
  for (const path of files) expect(said).toContain(`boxyard: Created a new key, because ${path} is not readable`)
  const { code, stderr } = await lab.ssh([HOST, 'true'])
  expect([code, stderr]).toEqual([0, ''])
})

describe('refused are', () => {
  test('another key than the client’s of this login', async () => {
    await lab.run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', lab.path('other')])
    const config = readFileSync(lab.path(OURS, 'config'), 'utf8')
    writeFileSync(lab.path('config-of-other'), config.replace(/IdentityFile .*/, `IdentityFile ${lab.path('other')}`))
    const { code, stderr } = await lab.run('ssh', ['-F', lab.path('config-of-other'), HOST, 'true'])
    expect([code, stderr]).toEqual([255, expect.stringContaining('Permission denied (publickey)')])
  })

  test('another key than the host’s that is known', async () => {
    expect((await lab.ssh([HOST, 'true'])).code).toBe(0)
    const path = lab.path(OURS, 'hosts', hostKeyName())
    const key = readFileSync(path)
    rmSync(path)
    await lab.run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path])
    const { code, stderr } = await lab.ssh([HOST, 'true'])
    writeFileSync(path, key)
    expect([code, stderr]).toEqual([255, expect.stringContaining('Host key verification failed')])
    expect((await lab.ssh([HOST, 'true'])).code).toBe(0)
  })

  test('ports of this machine for the box, agents, and other hosts than the box', async () => {
    const remote = await lab.ssh(['-o', 'ExitOnForwardFailure=yes', '-R', '7009:localhost:22', HOST, 'true'])
    expect([remote.code, remote.stderr]).toEqual([255, expect.stringContaining('remote port forwarding failed')])
    expect((await lab.ssh(['-A', HOST, 'echo ${SSH_AUTH_SOCK:-none}'])).stdout.toString()).toBe('none\n')
    const other = await lab.ssh(['-W', 'example.com:80', HOST])
    expect([other.code, other.stderr]).toEqual([255, expect.stringContaining('example.com:80 is not the box')])
    const closed = await lab.ssh(['-W', 'localhost:7010', HOST])
    expect([closed.code, closed.stderr]).toEqual([255, expect.stringMatching(/boxyard: port 7010: .*7010/)])
  })
})

describe('ports of the box', () => {
  test('are reached by ssh -L, each direction to its end', async () => {
    const port = await freePort()
    const child = lab.start('ssh', [...lab.config(), '-N', '-L', `127.0.0.1:${port}:localhost:7001`, HOST])
    const end = runToEnd(child)
    const echo = async (text: string): Promise<string> => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      let answer = ''
      socket.on('data', (piece: Buffer) => (answer += piece.toString()))
      return new Promise((resolve) => {
        socket.once('error', () => resolve('')).once('end', () => resolve(answer))
        socket.end(text)
      })
    }
    await eventually(async () => (await echo('first')) === 'first')
    const text = 'x'.repeat(4 * 1024 ** 2)
    expect((await Promise.all([echo(text), echo('second')])).map(({ length }) => length)).toEqual([text.length, 6])
    child.kill()
    await end
  })

  test('are reached through ssh -D by a client of SOCKS5, and nothing else is', async () => {
    const serve = 'mkdir -p /srv/pages; echo hello > /srv/pages/index.html; exec httpd -f -p 8000 -h /srv/pages'
    await client.put('/v1/projects/demo/boxes/web/services/pages', { command: ['/bin/sh', '-c', serve] })
    const port = await freePort()
    const child = lab.start('ssh', [...lab.config(), '-N', '-D', `127.0.0.1:${port}`, HOST])
    const end = runToEnd(child)
    const curl = async (url: string, proxy = '--socks5-hostname'): Promise<unknown[]> => {
      const { code, stdout } = await lab.run('curl', ['-s', '--noproxy', '', proxy, `127.0.0.1:${port}`, url])
      return [code, stdout.toString()]
    }
    await eventually(async () => (await curl('http://localhost:8000/'))[0] === 0)
    for (const name of ['127.0.0.1', '[::1]', 'web', 'web.demo', HOST])
      expect([name, ...(await curl(`http://${name}:8000/`))]).toEqual([name, 0, 'hello\n'])
    expect(await curl('http://localhost:8000/', '--socks5')).toEqual([0, 'hello\n'])
    // The front of this service listens at 127.0.0.1 of this machine, not of the box.
    for (const target of ['example.com:8000', '192.0.2.1:8000', `127.0.0.1:${new URL(lab.service().url).port}`])
      expect([target, ...(await curl(`http://${target}/`))]).toEqual([target, 97, ''])
    child.kill()
    const { stderr } = await end
    expect(stderr).toContain('example.com:8000 is not the box')
    expect(stderr).toContain('192.0.2.1:8000 is not the box')
  })

  test('are reached by ssh -W, whatever name of the box is used', async () => {
    for (const name of ['localhost', '127.0.0.1', '[::1]', 'web', HOST]) {
      const { stdout } = await lab.ssh(['-W', `${name}:7001`, HOST], { input: 'hello' })
      expect([name, stdout.toString()]).toEqual([name, 'hello'])
    }
  })
})
