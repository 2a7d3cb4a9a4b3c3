import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeAll, expect, test } from '@jest/globals'
import { type Ran, useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const lab = useSshLab(useSharedService())
const { client } = lab
let proxy: ReturnType<typeof lab.start>
let port = 0
let errors = ''

beforeAll(async () => {
  const serve = `mkdir -p /srv/pages; echo hello from $(hostname) > /srv/pages/index.html; exec httpd -f -p 8000 -h /srv/pages`
  await client.put('/v1/projects/demo/boxes/web/services/pages', { command: ['/bin/sh', '-c', serve] })
  proxy = lab.start(process.execPath, [lab.path('boxyard.cjs'), 'proxy', '--port', '0'])
  let shown = ''
  proxy.stdout.on('data', (piece: Buffer) => (shown += piece.toString()))
  proxy.stderr.on('data', (piece: Buffer) => (errors += piece.toString()))
  await eventually(() => shown.includes('\n'))
  port = Number(/^SOCKS5 proxy at 127\.0\.0\.1:(\d+)\n/.exec(shown)?.[1])
  await eventually(async () => (await curl('http://web.boxyard:8000/')).code === 0)
})
function curl(url: string, ...more: string[]): Promise<Ran> {
  return lab.run('curl', ['-sS', '--noproxy', '', '--socks5-hostname', `127.0.0.1:${port}`, ...more, url])
}

/** Sends bytes at once and returns the whole reply in hexadecimal. */
async function converse(bytes: readonly number[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => undefined)
  socket.write(Uint8Array.from(bytes))
  // The proxy resets a connection that does not speak SOCKS5.
  await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(pieces).toString('hex')
}

test('names of boxes lead to their ports', async () => {
  for (const name of ['web.boxyard', 'web.demo.boxyard', 'WEB.Demo.BOXYARD'])
    expect((await curl(`http://${name}:8000/`)).stdout.toString()).toBe('hello from web\n')
})

test('several connections are open at once, and a client that leaves disturbs none', async () => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.resetAndDestroy()
  const answers = await Promise.all(Array.from({ length: 8 }, () => curl('http://web.boxyard:8000/')))
  expect(new Set(answers.map(({ stdout }) => stdout.toString()))).toEqual(new Set(['hello from web\n']))
})

test('all else is refused, each with the reply that says why', async () => {
  const cases = [
    ['none.boxyard:8000', 4, 'No box named "none"'],
    ['web.boxyard:8001', 5, '8001'],
    ['example.com:80', 2, 'example.com'],
  ] as const
  for (const [target, reply, told] of cases) {
    const [host = '', to = ''] = target.split(':')
    const name = [...Buffer.from(host)]
    const request = [5, 1, 0, 5, 1, 0, 3, name.length, ...name, Number(to) >> 8, Number(to) & 255]
    expect([target, await converse(request)]).toEqual([target, `0500050${reply}000100000000${'0000'}`])
    await eventually(() => errors.includes(told))
  }
  expect((await curl('http://127.0.0.1:8000/')).code).toBe(97)
  expect(await converse([5, 1, 2])).toBe('05ff')
  expect(await converse([4, 1, 0, 80, 127, 0, 0, 1, 0])).toBe('')
})

test('Ctrl-C ends it', async () => {
  const ended = once(proxy, 'exit')
  proxy.kill('SIGINT')
  expect(await ended).toEqual([0, null])
})
