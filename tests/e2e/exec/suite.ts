import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Client } from '../../helpers/front/client.ts'

/** Defines the tests of commands for any front. */
export function defineExecSuite(client: Client): void {
  const box = '/v1/projects/run/boxes/it'
  const exec = (body: Record<string, unknown>, query = '') => client.post(`${box}/exec${query}`, body)

  describe('commands', () => {
    beforeAll(async () => {
      await client.post('/v1/projects/run/boxes', {
        name: 'it',
        environment: { FROM_BOX: 'b', BOTH: 'b', 'of.the-box': 'b' },
      })
    })
    afterAll(async () => {
      await client.delete(box)
    })

    test('an array is run as it is, a shell line by the shell', async () => {
      expect((await exec({ command: ['echo', '$HOME', 'a b'] })).body.stdout).toBe('$HOME a b\n')
      expect((await exec({ shell: 'echo $HOME; echo oops >&2; exit 3' })).body).toMatchObject({
        stdout: '/root\n',
        stderr: 'oops\n',
        exit_code: 3,
        status: 'exited',
        command: ['/bin/sh', '-c', 'echo $HOME; echo oops >&2; exit 3'],
      })
    })

    test('stdin, environment, directory and user are as requested', async () => {
      const run = await exec({
        shell: 'cat; echo "$FROM_BOX $BOTH $ONE $(pwd) $(id -u):$(id -g)"',
        stdin: 'in ä\n',
        env: { ONE: '1', BOTH: 'e' },
        cwd: '/tmp',
        user: '1234:99',
      })
      expect(run.body.stdout).toBe('in ä\nb e 1 /tmp 1234:99\n')
      expect(run.body).toMatchObject({ user: '1234:99', cwd: '/tmp' })
    })

    test('variables may have points and hyphens in their names', async () => {
      const { body } = await exec({ command: ['env'], env: { 'app.log-level': 'warn' } })
      expect(body.stdout.split('\n')).toEqual(
        expect.arrayContaining(['app.log-level=warn', 'of.the-box=b', 'LANG=C.UTF-8']),
      )
      for (const name of ['1.a', '-a', '.a', 'a=b', 'a b', ''])
        expect([name, (await exec({ command: ['env'], env: { [name]: 'x' } })).status]).toEqual([name, 400])
    })

    test('it has the umask 0022, whatever that of the service is', async () => {
      const { body } = await exec({ shell: 'umask; stat -c %a / /etc /root', user: '1234' })
      expect(body.stdout).toMatch(/^0022\n755\n755\n7\d\d\n$/)
    })

    test('an unknown user is refused with a pointer', async () => {
      const run = await exec({ command: ['id'], user: 'nobody-here' })
      expect([run.status, run.body.code]).toEqual([400, 'invalid_request'])
      expect(run.body.errors[0].pointer).toBe('/user')
    })

    test('base64 carries bytes both ways', async () => {
      const bytes = Buffer.from([0, 255, 254, 10, 128])
      const run = await exec({ command: ['cat'], stdin: bytes.toString('base64'), encoding: 'base64' })
      expect(Buffer.from(run.body.stdout, 'base64')).toEqual(bytes)
      const wrong = await exec({ command: ['cat'], stdin: 'no base64!', encoding: 'base64' })
      expect(wrong.body.errors[0].pointer).toBe('/stdin')
      const text = await exec({ shell: "printf 'a\\377b'" })
      expect(text.body.stdout).toBe('a\ufffdb')
    })

    test('a missing program exits with 127, one that may not run with 126, both with the reason', async () => {
      const missing = await exec({ command: ['no-such-program'] })
      expect([missing.status, missing.body.exit_code]).toEqual([200, 127])
      expect(missing.body.stderr).toContain('no-such-program')
      expect((await exec({ command: ['/etc/passwd'] })).body.exit_code).toBe(126)
      const lost = await exec({ command: ['true'], cwd: '/no/such/place' })
      expect(lost.body.exit_code).toBe(127)
      expect(lost.body.stderr).toContain('/no/such/place')
    })

    test('a signal is a signal, and an exit code that looks like one is not', async () => {
      expect((await exec({ shell: 'kill -TERM $$' })).body).toMatchObject({
        status: 'killed',
        signal: 'SIGTERM',
        exit_code: null,
      })
      expect((await exec({ shell: 'exit 137' })).body).toMatchObject({ status: 'exited', signal: null, exit_code: 137 })
    })

    test('a time-out kills everything the command started', async () => {
      const run = await exec({ shell: 'setsid sleep 611 & sleep 612 & sleep 613', timeout_seconds: 0.5 })
      expect(run.body).toMatchObject({ status: 'timed_out', exit_code: null, signal: 'SIGKILL' })
      const left = await exec({ shell: "ps | grep -c 'sleep 61[123]'" })
      expect(left.body.stdout.trim()).toBe('0')
    })

    test('the end of 100 MB of output is kept', async () => {
      const run = await exec({ shell: 'head -c 100000000 /dev/zero | tr "\\0" x; echo end' })
      expect(run.body).toMatchObject({
        status: 'exited',
        truncated: true,
        next_offset: { stdout: 100_000_004, stderr: 0 },
      })
      expect(run.body.stdout).toHaveLength(1024 * 1024)
      expect(run.body.stdout.endsWith('xend\n')).toBe(true)
    })

    test('a command that outlasts the wait can be polled at its own address', async () => {
      const run = await exec({ shell: 'until [ -e /tmp/late ]; do sleep 0.05; done; echo late' }, '?wait_seconds=0')
      expect([run.status, run.body.status]).toEqual([202, 'running'])
      await exec({ shell: 'touch /tmp/late' })
      const done = await client.get(`${String(run.headers['operation-location'])}?wait_seconds=20`)
      expect(done.body).toMatchObject({ status: 'exited', stdout: 'late\n', id: run.body.id })
    })

    test('background processes of a command do not delay its answer', async () => {
      const run = await exec({ shell: 'sleep 600 & echo started' })
      // The status would be 202 if the command still ran.
      expect([run.status, run.body.status, run.body.stdout]).toEqual([200, 'exited', 'started\n'])
    })

    test('an Idempotency-Key runs a command once, and its repeat returns the outcome', async () => {
      const headers = { 'idempotency-key': `exec-${Math.random()}` }
      const body = { shell: 'echo once >> /root/count; cat /root/count' }
      const first = await client.post(`${box}/exec`, body, { headers })
      const second = await client.post(`${box}/exec`, body, { headers })
      expect(second.headers['idempotent-replayed']).toBe('true')
      expect(second.body).toEqual(first.body)
      expect(second.body.stdout).toBe('once\n')
    })

    test('a repeat is 202 with Operation-Location while the command runs, and 200 once it has ended', async () => {
      const options = { headers: { 'idempotency-key': `exec-${Math.random()}` } }
      const run = () =>
        client.post(`${box}/exec?wait_seconds=2`, { shell: 'until [ -e /tmp/go ]; do sleep 0.05; done' }, options)
      const running = async () => (await client.get(`${box}/exec?status=running`)).body.execs as { id: string }[]
      const first = run()
      while ((await running()).length === 0);
      const answers = await Promise.all([first, run()])
      for (const { status, headers, body } of answers) {
        expect([status, body.status]).toEqual([202, 'running'])
        expect(headers['operation-location']).toBe(`${box}/exec/${body.id}`)
      }
      const [{ id }] = answers.map(({ body }) => body)
      await exec({ shell: 'touch /tmp/go' })
      expect((await client.get(`${box}/exec/${id}?wait_seconds=20`)).body.status).toBe('exited')
      const ended = await run()
      expect([ended.status, ended.body.id, ended.body.status]).toEqual([200, id, 'exited'])
      expect(ended.headers['operation-location']).toBeUndefined()
      expect(ended.headers['idempotent-replayed']).toBe('true')
    })

    test('a refusal that depends on the state of the box is not remembered', async () => {
      const headers = { 'idempotency-key': `state-${Math.random()}` }
      await client.post(`${box}/stop`)
      const refused = await client.post(`${box}/exec`, { command: ['true'] }, { headers })
      expect(refused.body.code).toBe('box_not_running')
      await client.post(`${box}/resume`)
      expect((await client.post(`${box}/exec`, { command: ['true'] }, { headers })).status).toBe(200)
    })

    test('exactly one of command and shell is required', async () => {
      for (const body of [{}, { command: ['true'], shell: 'true' }, { command: [] }]) {
        const run = await exec(body)
        expect([run.status, run.body.code]).toEqual([400, 'invalid_request'])
      }
    })

    test('reserved names are refused in a box and in a command', async () => {
      const inBox = await client.post('/v1/projects/run/boxes', { name: 'r', environment: { BOXYARD_X: '1' } })
      expect(inBox.body.code).toBe('environment_reserved')
      expect((await exec({ command: ['true'], env: { BOX_ID: 'x' } })).body.code).toBe('environment_reserved')
    })
  })
}
