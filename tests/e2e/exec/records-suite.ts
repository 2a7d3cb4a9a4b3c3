import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilSteady } from '../../helpers/eventually.ts'
import type { Client } from '../../helpers/front/client.ts'

/** Defines the tests of command records, for running, ended and detached commands. */
export function defineExecRecordsSuite(client: Client): void {
  const boxes = '/v1/projects/records/boxes'
  const box = `${boxes}/it`
  const exec = (shell: string, more: Record<string, unknown> = {}, query = '') =>
    client.post(`${box}/exec${query}`, { shell, ...more })
  const begin = async (shell: string, more: Record<string, unknown> = {}): Promise<string> =>
    `${box}/exec/${(await exec(shell, more, '?wait_seconds=0')).body.id}`
  const end = async (path: string) => (await client.get(`${path}?wait_seconds=25`)).body
  // `awaits` returns a line that waits for a file in the box, and `allow` creates it.
  const awaits = (name: string): string => `until [ -e /tmp/${name} ]; do sleep 0.02; done`
  const allow = (name: string) => exec(`touch /tmp/${name}`)
  const output = async (path: string, query: string) => (await client.get(`${path}/output?${query}`)).body

  describe('records of commands', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'it' })
    })
    afterAll(async () => {
      await client.delete(box)
    })

    test('lists have running and ended commands, oldest first, without output, by pages and status', async () => {
      await client.post(boxes, { name: 'listed' })
      const run = (shell: string, query = '') => client.post(`${boxes}/listed/exec${query}`, { shell })
      const ids: string[] = []
      for (const code of [0, 1, 2]) ids.push((await run(`echo x; exit ${code}`)).body.id)
      ids.push((await run('kill -9 $$')).body.id)
      const running = (await run('sleep 600', '?wait_seconds=0')).body
      ids.push(running.id)
      const list = async (query = '') => (await client.get(`${boxes}/listed/exec${query}`)).body
      const all = await list()
      expect(all.execs.map((each: { id: string }) => each.id)).toEqual(ids)
      expect(all).toMatchObject({ has_more: false, next_continuation_token: null })
      expect(all.execs.map((each: { exit_code: number | null }) => each.exit_code)).toEqual([0, 1, 2, null, null])
      expect(all.execs[0]).not.toHaveProperty('stdout')
      expect(all.execs[4]).toMatchObject({ status: 'running', detached: false, ended_at: null })
      expect(all.execs[4].process).toBeGreaterThan(1)
      const first = await list('?max_results=3')
      expect([first.execs.length, first.has_more]).toEqual([3, true])
      const second = await list(`?max_results=3&continuation_token=${first.next_continuation_token}`)
      expect(second.execs.map((each: { id: string }) => each.id)).toEqual(ids.slice(3))
      expect(second.has_more).toBe(false)
      const idsOf = async (status: string): Promise<string[]> =>
        (await list(`?status=${status}`)).execs.map((each: { id: string }) => each.id)
      expect(await idsOf('running')).toEqual([running.id])
      expect(await idsOf('killed')).toEqual([ids[3]])
      expect(await idsOf('lost')).toEqual([])
      expect((await client.get(`${boxes}/listed/exec?status=done`)).body.code).toBe('invalid_request')
      expect((await client.get(`${boxes}/listed/exec?continuation_token=no`)).body.code).toBe('invalid_request')
      await client.delete(`${boxes}/listed`)
      expect((await client.get(`${boxes}/listed/exec`)).body.code).toBe('box_not_found')
    })

    test('records outlive the stop of their box, and go with the box', async () => {
      const made = `${boxes}/gone`
      await client.post(boxes, { name: 'gone' })
      const { id } = (await client.post(`${made}/exec`, { shell: 'echo kept' })).body
      await client.post(`${made}/stop`)
      expect((await client.get(`${made}/exec/${id}`)).body.stdout).toBe('kept\n')
      expect((await client.get(`${made}/exec/${id}/output`)).body.data).toBe('kept\n')
      await client.delete(made)
      await client.post(boxes, { name: 'gone' })
      expect((await client.get(`${made}/exec`)).body.execs).toEqual([])
      expect((await client.get(`${made}/exec/${id}`)).body.code).toBe('exec_not_found')
      await client.delete(made)
    })

    test('output is read as it is written, from an offset', async () => {
      const path = await begin(`for i in 1 2 3; do echo line $i; ${awaits('read-$i')}; done; echo oops >&2`)
      let text = ''
      for (let offset = 0, reads = 0; ; reads++) {
        const piece = await output(path, `offset=${offset}&wait_seconds=20`)
        expect(piece).toMatchObject({ stream: 'stdout', offset, encoding: 'utf-8', truncated: false })
        text += piece.data
        offset = piece.next_offset
        if (piece.end) break
        expect(piece.status).toBe('running')
        const line = /line (\d)\n$/.exec(text)?.[1]
        if (line !== undefined) await allow(`read-${line}`)
        expect(reads).toBeLessThan(10)
      }
      expect(text).toBe('line 1\nline 2\nline 3\n')
      expect(await output(path, 'stream=stderr')).toMatchObject({ data: 'oops\n', end: true, status: 'exited' })
      expect(await output(path, 'offset=5&max_bytes=4')).toMatchObject({ data: '1\nli', next_offset: 9, end: false })
    })

    test('a waiting reader gets new output at once, or nothing at its timeout', async () => {
      const path = await begin('read line; echo got; sleep 600', { stdin: '' })
      const early = await output(path, 'offset=4&wait_seconds=1')
      expect(early).toMatchObject({ offset: 4, next_offset: 4, data: '', end: false, status: 'running' })
      await client.post(`${path}/signal`, { signal: 'SIGKILL' })
      const before = Date.now()
      expect(await output(path, 'offset=4&wait_seconds=20')).toMatchObject({ data: '', end: true, status: 'killed' })
      expect(Date.now() - before).toBeLessThan(15_000)
    })

    test('an offset beyond the output of a command is refused', async () => {
      const path = await begin('echo 12345')
      await end(path)
      expect(await output(path, 'offset=6')).toMatchObject({ data: '', end: true })
      const beyond = await client.get(`${path}/output?offset=7`)
      expect([beyond.status, beyond.body.code]).toEqual([416, 'range_not_satisfiable'])
      for (const query of ['offset=-1', 'offset=x', 'stream=stdin', 'max_bytes=0', 'wait_seconds=26'])
        expect((await client.get(`${path}/output?${query}`)).body.code).toBe('invalid_request')
    })

    test('no character is cut while more may come, and base64 returns the exact bytes', async () => {
      const path = await begin(`printf 'a\\342\\202'; ${awaits('rest')}; printf '\\254b\\377'`)
      expect(await output(path, 'wait_seconds=20')).toMatchObject({ data: 'a', next_offset: 1 })
      await allow('rest')
      expect(await output(path, 'offset=1&wait_seconds=20')).toMatchObject({ data: '€b\ufffd', next_offset: 6 })
      await end(path)
      expect(await output(path, 'offset=1&max_bytes=1')).toMatchObject({ data: '€b' })
      const raw = await output(path, 'offset=1&max_bytes=2&encoding=base64')
      expect([...Buffer.from(raw.data, 'base64')]).toEqual([0xe2, 0x82])
    })

    test('of long output the last 8 MiB are kept and the last 1 MiB is in the record', async () => {
      const path = await begin('head -c 20000000 /dev/zero | tr "\\0" x; echo end')
      const done = await end(path)
      expect(done).toMatchObject({ status: 'exited', truncated: true, next_offset: { stdout: 20_000_004 } })
      expect(done.stdout).toHaveLength(1024 * 1024)
      const oldest = 20_000_004 - 8 * 1024 ** 2
      const first = await output(path, 'offset=5')
      expect(first).toMatchObject({ offset: oldest, truncated: true, end: false })
      expect(first.data).toHaveLength(1024 * 1024)
      const last = await output(path, `offset=${20_000_004 - 10}`)
      expect(last).toMatchObject({ data: 'xxxxxxend\n', truncated: false, end: true })
    })

    test('a signal reaches all processes of a command, and a finished command shows its end', async () => {
      const path = await begin('trap "echo caught; exit 5" TERM; echo up; while :; do sleep 0.05; done')
      await output(path, 'wait_seconds=20')
      const sent = await client.post(`${path}/signal`, { signal: 'SIGTERM' })
      expect(sent.status).toBe(200)
      expect(sent.body).not.toHaveProperty('stdout')
      expect(await end(path)).toMatchObject({ status: 'exited', exit_code: 5, stdout: 'up\ncaught\n' })
      const late = await client.post(`${path}/signal`, { signal: 'SIGKILL' })
      expect([late.status, late.body.status, late.body.exit_code]).toEqual([200, 'exited', 5])
      expect((await client.post(`${path}/signal`, { signal: 'SIGNONE' })).body.code).toBe('invalid_request')
      const unknown = `${box}/exec/exe_00000000000000000000000000`
      for (const call of [client.get(unknown), client.get(`${unknown}/output`)])
        expect((await call).body.code).toBe('exec_not_found')
      expect((await client.post(`${unknown}/signal`, { signal: 'SIGHUP' })).body.code).toBe('exec_not_found')
    })

    test('SIGSTOP and SIGCONT pause and resume a command', async () => {
      const path = await begin('i=0; while :; do echo $((i+=1)); sleep 0.02; done')
      await output(path, 'wait_seconds=20')
      await client.post(`${path}/signal`, { signal: 'SIGSTOP' })
      const { process: pid } = (await client.get(path)).body
      await eventually(async () => (await exec(`grep State /proc/${pid}/status`)).body.stdout.includes('T (stopped)'))
      // Earlier output may still be in transit.
      const again = await untilSteady(async () => (await output(path, 'max_bytes=1000000')).next_offset, 1000)
      expect(await output(path, `offset=${again}&wait_seconds=1`)).toMatchObject({ data: '', next_offset: again })
      await client.post(`${path}/signal`, { signal: 'SIGCONT' })
      expect((await output(path, `offset=${again}&wait_seconds=20`)).data).not.toBe('')
      await client.post(`${path}/signal`, { signal: 'SIGINT' })
      await client.post(`${path}/signal`, { signal: 'SIGKILL' })
      expect((await end(path)).status).toBe('killed')
    })
  })

  describe('commands with no_hup', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'it' })
    })
    afterAll(async () => {
      await client.delete(box)
    })

    test('answer once they run, and can be listed, read and waited for', async () => {
      const begun = await exec(`echo begun; ${awaits('end')}; cat; exit 3`, { no_hup: true, stdin: 'in' })
      expect([begun.status, begun.body.status, begun.body.detached]).toEqual([202, 'running', true])
      expect(begun.body.process).toBeGreaterThan(1)
      const path = String(begun.headers['operation-location'])
      expect(await output(path, 'wait_seconds=20')).toMatchObject({ data: 'begun\n', end: false })
      const running = (await client.get(`${box}/exec?status=running`)).body.execs
      expect(running).toMatchObject([{ id: begun.body.id, detached: true }])
      await allow('end')
      expect(await end(path)).toMatchObject({ status: 'exited', exit_code: 3, stdout: 'begun\nin', detached: true })
      expect(await output(path, 'offset=6')).toMatchObject({ data: 'in', end: true })
    })

    test('are waited for if requested, and fail, time out and take signals like others', async () => {
      const waited = await exec('echo done; exit 4', { no_hup: true }, '?wait_seconds=20')
      expect([waited.status, waited.body.exit_code, waited.body.stdout]).toEqual([200, 4, 'done\n'])
      const missing = await client.post(`${box}/exec?wait_seconds=20`, { command: ['no-such'], no_hup: true })
      expect(missing.body).toMatchObject({ exit_code: 127, stderr: 'boxyard: no-such: not found\n' })
      const nobody = await exec('true', { no_hup: true, user: 'nobody-here' })
      expect([nobody.status, nobody.body.errors?.[0].pointer]).toEqual([400, '/user'])
      const late = await exec('sleep 600 & sleep 600', { no_hup: true, timeout_seconds: 0.3 }, '?wait_seconds=20')
      expect(late.body).toMatchObject({ status: 'timed_out', exit_code: null, signal: 'SIGKILL' })
      const path = await begin('sleep 600', { no_hup: true })
      await client.post(`${path}/signal`, { signal: 'SIGTERM' })
      expect(await end(path)).toMatchObject({ status: 'killed', signal: 'SIGTERM' })
    })

    test('that run out of memory are marked so, and those of a stopped box are killed', async () => {
      await client.post(boxes, { name: 'small', config: { ram_mb: 32 } })
      const small = `${boxes}/small`
      const hog = { command: ['tail', '-c', '100m', '/dev/zero'], no_hup: true }
      expect((await client.post(`${small}/exec?wait_seconds=20`, hog)).body.status).toBe('out_of_memory')
      const { id } = (await client.post(`${small}/exec`, { shell: 'sleep 600', no_hup: true })).body
      await client.post(`${small}/stop`)
      expect((await client.get(`${small}/exec/${id}?wait_seconds=20`)).body.status).toBe('killed')
      await client.delete(small)
    })

    test('are run once for an Idempotency-Key', async () => {
      const headers = { 'idempotency-key': `held-${Math.random()}` }
      const body = { shell: 'echo once >> /root/held; cat /root/held', no_hup: true }
      const first = await client.post(`${box}/exec`, body, { headers })
      await end(`${box}/exec/${first.body.id}`)
      const second = await client.post(`${box}/exec`, body, { headers })
      expect(second.headers['idempotent-replayed']).toBe('true')
      expect(second.body).toMatchObject({ id: first.body.id, stdout: 'once\n', status: 'exited' })
    })
  })

  test('the bounds of kept output and records are in the config', async () => {
    expect((await client.get('/v1/config')).body.limits).toMatchObject({
      exec_output_bytes: 1024 ** 2,
      exec_kept_bytes: 8 * 1024 ** 2,
      exec_records_per_box: 1000,
      exec_record_bytes_per_box: 64 * 1024 ** 2,
    })
  })
}
