import { describe, expect, test } from '@jest/globals'
import WebSocket from 'ws'
import { type BoxHandle, createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import type { TerminalStream } from '../../../sdk/typescript/src/terminal-stream.ts'
import { useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const lab = useSshLab(useSharedService())
const { client } = lab
const HOST = 'web.demo.boxyard'
/** Two arguments of 128,000 bytes: with the program, nearly 256 KiB. */
const HALVES = ['a'.repeat(128_000), 'ü'.repeat(64_000)]
const COUNT = ['/bin/sh', '-c', 'printf %s%s "$1" "$2" | wc -c', 'sh', ...HALVES]
/** 200,000 bytes of variables. */
const ENV = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`LONG_${index}`, 'v'.repeat(20_000)]))
const COUNT_ENV = ['/bin/sh', '-c', 'env | grep -c ^LONG_; env | grep ^LONG_ | wc -c']
const ENV_ANSWER = '10\n200080\n'
const TOO_LONG = [...COUNT, 'x'.repeat(8_000)]

function box(tickets: 'auto' | 'always' = 'auto'): BoxHandle {
  const { url, adminToken } = lab.service()
  return createBoxyard({ url, token: () => adminToken, tickets }).box('demo', 'web')
}

async function outputOf(stream: TerminalStream): Promise<string> {
  let text = ''
  for await (const { bytes } of stream) text += Buffer.from(bytes).toString()
  expect((await stream.ended()).exitCode).toBe(0)
  return text.replace(/ /g, '')
}

describe('commands and environments of some 200 KB', () => {
  test('run by POST', async () => {
    const ran = await client.post('/v1/projects/demo/boxes/web/exec', { command: COUNT })
    expect(ran.body.stdout).toBe('256000\n')
    const env = await client.post('/v1/projects/demo/boxes/web/exec', { command: COUNT_ENV, env: ENV })
    expect(env.body.stdout).toBe(ENV_ANSWER)
  })

  test.each(['auto', 'always'] as const)('run by streams of the SDK, with tickets: %s', async (tickets) => {
    expect(await outputOf(await box(tickets).stream(COUNT))).toBe('256000\n')
    expect(await outputOf(await box(tickets).stream(COUNT_ENV, { env: ENV }))).toBe(ENV_ANSWER)
    const detached = await box(tickets).stream(['/bin/cat'], { stdin: true, noHup: true, env: ENV })
    await detached.write(Buffer.from('input'))
    await detached.endInput()
    expect(await outputOf(detached)).toBe('input')
    expect(detached.id).toMatch(/^exe_/)
  })

  test('run by the command line, and by SSH', async () => {
    const ran = await lab.boxyard('exec', 'web', '--', ...COUNT)
    expect([ran.code, ran.stdout.toString().trim(), ran.stderr]).toEqual([0, '256000', ''])
    for (const bytes of [36_000, 130_000]) {
      const line = `printf %s ${'x'.repeat(bytes)} | wc -c`
      const { code, stdout, stderr } = await lab.ssh([HOST, line])
      expect([code, stdout.toString().trim(), stderr]).toEqual([0, String(bytes), ''])
    }
  })
})

describe('what is too long is refused in words', () => {
  const words = /at most 262144 bytes in all/
  test('by POST, and by streams of the SDK', async () => {
    const ran = await client.post('/v1/projects/demo/boxes/web/exec', { command: TOO_LONG })
    expect([ran.status, ran.body.detail]).toEqual([400, expect.stringMatching(words)])
    const env = { ...ENV, ...Object.fromEntries(Object.entries(ENV).map(([name, value]) => [`MORE_${name}`, value])) }
    await expect(box().stream(TOO_LONG)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(words),
    })
    await expect(box().stream(['/bin/true'], { env })).rejects.toThrow(words)
    await expect(box().stream(['/bin/echo', 'ü'.repeat(70_000)])).rejects.toThrow(/at most 131071 bytes in UTF-8/)
    await expect(box().stream(['/bin/true', 'x'.repeat(2_000_000)])).rejects.toThrow(/A command can have 262,144 bytes/)
  })

  test('by the command line, and by SSH, which do not hang', async () => {
    const ran = await lab.boxyard('exec', 'web', '--', ...TOO_LONG)
    expect([ran.code, ran.stderr]).toEqual([expect.any(Number), expect.stringMatching(words)])
    expect(ran.code).not.toBe(0)
    const single = await lab.ssh([HOST, `true ${'x'.repeat(100_000)}`, 'y'.repeat(100_000)])
    expect([single.code, single.stderr]).toEqual([255, expect.stringMatching(/at most 131071/)])
    const packet = await lab.ssh([HOST, ...Array.from({ length: 3 }, () => 'x'.repeat(100_000))])
    expect([packet.code, packet.stderr]).toEqual([255, expect.stringMatching(/The limit is 262144/)])
  })
})

test('a message that is no start is answered with a problem, and closed', async () => {
  const { url, adminToken } = lab.service()
  const address = `${url.replace(/^http/, 'ws')}/v1/projects/demo/boxes/web/exec/ws?start=message`
  const socket = new WebSocket(address, ['v5.channel.k8s.io'], { headers: { authorization: `Bearer ${adminToken}` } })
  const said: string[] = []
  socket.on('message', (data: Buffer) => said.push(data.toString()))
  socket.on('open', () => socket.send('{"command":[]}'))
  const code = await new Promise((resolve) => socket.once('close', resolve))
  expect([code, JSON.parse(said[0] ?? '{}')]).toEqual([
    1008,
    expect.objectContaining({ code: 'invalid_request', status: 400 }),
  ])
})
