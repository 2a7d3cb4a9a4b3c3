import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openStream, refusedStream, type StreamClient } from '../../helpers/exec/stream-client.ts'
import type { Client } from '../../helpers/front/client.ts'
import { createKubeExecClient, type KubeTerminal } from '../../helpers/pods/kube-exec-client.ts'

/** Defines the tests of commands over WebSockets, at a front that supports them. */
export function defineStreamsSuite(client: Client, front: { url(): string; token(): string }): void {
  const box = '/v1/projects/streams/boxes/it'
  const at = { project: 'streams', box: 'it' }
  const kube = () => createKubeExecClient(front.url(), front.token())
  const target = (command: readonly string[], more: Record<string, string> = {}): string => {
    const query = new URLSearchParams([
      ...command.map((one): [string, string] => ['command', one]),
      ...Object.entries(more),
    ])
    return `${front.url()}${box}/exec/ws?${query.toString()}`
  }
  const open = (command: readonly string[], more?: Record<string, string>): Promise<StreamClient> =>
    openStream(target(command, more), { token: front.token() })
  const sh = (line: string, more?: Record<string, string>): Promise<StreamClient> => open(['sh', '-c', line], more)
  const endOf = async (stream: StreamClient) => {
    const id = String(stream.headers['x-exec-id'])
    return (await client.get(`${box}/exec/${id}?wait_seconds=15`)).body
  }

  describe('a stock Kubernetes client', () => {
    beforeAll(async () => {
      await client.post('/v1/projects/streams/boxes', { name: 'it', environment: { FROM_BOX: 'b' } })
    })

    test('runs a command, and reads its output and status', async () => {
      const run = await kube().run(at, ['sh', '-c', 'echo out $FROM_BOX; echo err >&2; exit 3'])
      expect([run.stdout, run.stderr]).toEqual(['out b\n', 'err\n'])
      expect(run.status).toMatchObject({
        status: 'Failure',
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: '3' }] },
      })
      expect((await kube().run(at, ['true'])).status.status).toBe('Success')
    })

    test('sends variables whose names have points and hyphens', async () => {
      const stream = await open(['env'], { env: 'app.log-level=warn' })
      await stream.closed
      expect(stream.text(1).split('\n')).toContain('app.log-level=warn')
    })

    test('sends input and end of input', async () => {
      const run = await kube().run(at, ['sh', '-c', 'wc -c; echo over'], {
        stdin: Readable.from([Buffer.alloc(300_000)]),
      })
      expect([run.stdout, run.status.status]).toEqual(['300000\nover\n', 'Success'])
    })

    test('has a terminal, types, and resizes it', async () => {
      const stdin = new PassThrough()
      let screen = ''
      const see = async (text: string): Promise<void> => {
        while (!screen.includes(text)) await sleep(10)
      }
      const onTerminal = (terminal: KubeTerminal): void => {
        terminal.on('data', (piece: Buffer) => {
          screen += piece.toString()
        })
        const type = async (): Promise<void> => {
          stdin.write('test -t 0 && echo is-a-$((40+2))\n')
          await see('is-a-42')
          terminal.resize(132, 43)
          // The client sends a resize separately from the input, so it may arrive later.
          while (!screen.includes('43 132')) {
            stdin.write('stty size\n')
            await sleep(100)
          }
          stdin.write('exit 5\n')
        }
        void type()
      }
      const run = await kube().run(at, ['sh'], { stdin, tty: true, onTerminal })
      expect(run.status.details?.causes).toEqual([{ reason: 'ExitCode', message: '5' }])
    })
  })

  describe('a command over a WebSocket', () => {
    afterAll(async () => {
      await client.delete(box)
    })

    test('is started as requested, and has a record like any other', async () => {
      const more = { cwd: '/tmp', user: '1234:99', env: 'ONE=1' }
      const stream = await sh('echo "$FROM_BOX $ONE $(pwd) $(id -u):$(id -g)"; exit 4', more)
      expect(await stream.closed).toEqual({ code: 1000, reason: '' })
      expect(stream.text(1)).toBe('b 1 /tmp 1234:99\n')
      expect(await endOf(stream)).toMatchObject({ status: 'exited', exit_code: 4, stdout: 'b 1 /tmp 1234:99\n' })
    })

    test('that a signal ended has exit code 128 plus its number', async () => {
      const stream = await sh('kill -TERM $$')
      await stream.closed
      expect(stream.status()?.details?.causes).toEqual([{ reason: 'ExitCode', message: '143' }])
    })

    test('that times out is killed, with the reason in the status', async () => {
      const stream = await open(['sleep', '600'], { timeout_seconds: '0.3' })
      await stream.closed
      expect(stream.status()).toMatchObject({ status: 'Failure', message: expect.stringContaining('timeout_seconds') })
      expect(await endOf(stream)).toMatchObject({ status: 'timed_out' })
    })

    test('takes a string as a Python client of Kubernetes sends it, as text', async () => {
      const stream = await sh('read line; echo "got $line"; exit 2', { stdin: 'true' })
      stream.socket.send('\0hello ä\n')
      expect(await stream.closed).toEqual({ code: 1000, reason: '' })
      expect([stream.text(1), stream.status()?.details?.causes[0]?.message]).toEqual(['got hello ä\n', '2'])
    })

    test('sends only the requested streams', async () => {
      const stream = await sh('echo out; echo err >&2; cat', { stdout: 'false' })
      stream.send(0, 'dropped: it has no input')
      await stream.closed
      expect([stream.text(1), stream.text(2), stream.status()?.status]).toEqual(['', 'err\n', 'Success'])
    })

    test('ends when its client leaves, unless it has no_hup', async () => {
      const ends = await sh('echo on; sleep 600')
      await ends.until(1, 'on')
      ends.socket.close()
      expect(await endOf(ends)).toMatchObject({ status: 'killed', exit_code: null, signal: 'SIGHUP' })
      const goesOn = await sh('echo on; sleep 1; echo still; exit 6', { no_hup: 'true' })
      await goesOn.until(1, 'on')
      goesOn.socket.terminate()
      expect(await endOf(goesOn)).toMatchObject({ status: 'exited', exit_code: 6, stdout: 'on\nstill\n' })
    })

    test('leaves its background processes running when it ends', async () => {
      const stream = await sh('sleep 600 >/dev/null 2>&1 & echo $!')
      await stream.closed
      const pid = stream.text(1).trim()
      const alive = await client.shell('streams', 'it', `kill -0 ${pid} && kill ${pid}`)
      expect(alive.body.exit_code).toBe(0)
    })

    test('waits for a client that reads slowly, and loses nothing', async () => {
      const bytes = 40 * 1024 ** 2
      const stream = await sh(`head -c ${bytes} /dev/zero; echo done >&2`)
      stream.socket.pause()
      await sleep(700)
      expect(stream.text(2)).toBe('')
      stream.socket.resume()
      await stream.closed
      expect([stream.text(1).length, stream.text(2), stream.status()?.status]).toEqual([bytes, 'done\n', 'Success'])
    })

    test('is refused like any request before the upgrade', async () => {
      const refusal = async (...given: Parameters<typeof target>) =>
        (await refusedStream(target(...given), { token: front.token() })).problem
      expect(await refusal([])).toMatchObject({ status: 400, errors: [{ pointer: '/query/command' }] })
      expect(await refusal(['id'], { user: 'nobody-here' })).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(await refusal(['id'], { env: 'BOX_X=1' })).toMatchObject({ status: 400, code: 'environment_reserved' })
      await client.post(`${box}/stop`)
      expect(await refusal(['id'])).toMatchObject({ status: 409, code: 'box_not_running' })
      const none = target(['id']).replace('/it/', '/none/')
      expect((await refusedStream(none, { token: front.token() })).problem).toMatchObject({ code: 'box_not_found' })
    })
  })
}
