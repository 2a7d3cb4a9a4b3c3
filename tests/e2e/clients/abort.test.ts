import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { type BoxHandle, createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { openPlainFront } from '../../helpers/clients/plain-front.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const { client, service } = useOwnService()
const WHY = new Error('enough')
let box: BoxHandle

beforeAll(async () => {
  const boxyard = createBoxyard({ url: service().url, token: service().adminToken })
  box = await boxyard.createBox('aborts', { name: 'web' })
})

const isRunning = async (text: string): Promise<boolean> =>
  (await client.shell('aborts', 'web', `ps -o args | grep -v grep | grep -q '${text}'`)).body.exit_code === 0

/** Waits until the command runs, then aborts. */
async function abortOnce(text: string, leaving: AbortController): Promise<void> {
  await eventually(() => isRunning(text))
  leaving.abort(WHY)
}

describe('an abort', () => {
  test.each([
    ['a stream', {}],
    ['a stream in a terminal', { tty: true }],
    ['a stream that survives its client', { noHup: true }],
    ['a stream by a long command', { noHup: true, env: { LONG: 'x'.repeat(20_000) } }],
  ])('ends the command of %s', async (_, options) => {
    const leaving = new AbortController()
    const stream = await box.stream(['sleep', '773'], { ...options, signal: leaving.signal })
    const aborted = abortOnce('sleep 773', leaving)
    await expect(stream.ended()).rejects.toBe(WHY)
    await aborted
    await eventually(async () => !(await isRunning('sleep 773')))
  })

  test('ends the command of a stream that is being opened', async () => {
    for (const noHup of [false, true]) {
      const leaving = new AbortController()
      const opening = box.stream(['sleep', '774'], { noHup, signal: leaving.signal })
      setTimeout(() => leaving.abort(WHY), 5)
      await expect(opening).rejects.toBe(WHY)
      // The command may run for a moment, or never.
      await new Promise((resolve) => setTimeout(resolve, 500))
      await eventually(async () => !(await isRunning('sleep 774')))
    }
  })

  test('ends the command of a run, by its id', async () => {
    const leaving = new AbortController()
    let id = ''
    const running = box.run(['sleep', '775'], { signal: leaving.signal, onStarted: (started) => (id = started) })
    running.catch(() => undefined)
    // The command starts before its client knows the id.
    await eventually(() => Promise.resolve(id !== ''))
    await abortOnce('sleep 775', leaving)
    await expect(running).rejects.toBe(WHY)
    expect(await isRunning('sleep 775')).toBe(false)
    const { body } = await client.get(`/v1/projects/aborts/boxes/web/exec/${id}`)
    expect(body).toMatchObject({ status: 'killed', signal: 'SIGTERM' })
  })

  test('ends the command of a run that is not answered yet, and one that ignores SIGTERM', async () => {
    const leaving = new AbortController()
    const running = box.run("trap '' TERM; sleep 776; sleep 776", { signal: leaving.signal })
    leaving.abort(WHY)
    await expect(running).rejects.toBe(WHY)
    await eventually(async () => !(await isRunning('sleep 776')))
  })

  test('leaves the command where it is asked to', async () => {
    const leaving = new AbortController()
    const { signal } = leaving
    const stream = await box.stream(['sleep', '777'], { signal, noHup: true, onAbort: 'detach' })
    const ended = expect(stream.ended()).rejects.toBe(WHY)
    const running = expect(box.run('sleep 778', { signal, onAbort: 'detach' })).rejects.toBe(WHY)
    await eventually(async () => (await isRunning('sleep 777')) && (await isRunning('sleep 778')))
    leaving.abort(WHY)
    await Promise.all([ended, running])
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect([await isRunning('sleep 777'), await isRunning('sleep 778')]).toEqual([true, true])
  })

  test('leaves a console, and ends one that watches events', async () => {
    const leaving = new AbortController()
    const { signal } = leaving
    const console = await box.console({ session: 'kept', signal })
    const ended = expect(console.ended()).rejects.toBe(WHY)
    const boxyard = createBoxyard({ url: service().url, token: service().adminToken })
    const events = boxyard.events('aborts', { since: 'now', signal })
    const next = expect(events.next()).rejects.toBe(WHY)
    await new Promise((resolve) => setTimeout(resolve, 200))
    leaving.abort(WHY)
    await Promise.all([ended, next])
    const { body } = await client.get('/v1/projects/aborts/boxes/web/sessions')
    expect(body.sessions).toMatchObject([{ name: 'kept' }])
  })

  test('ends a stream by ticket, and its command', async () => {
    const plain = await openPlainFront(service().url)
    try {
      const leaving = new AbortController()
      const behind = createBoxyard({ url: plain.url, token: service().adminToken }).box('aborts', 'web')
      const stream = await behind.stream(['sleep', '779'], { signal: leaving.signal, noHup: true })
      const aborted = abortOnce('sleep 779', leaving)
      await expect(stream.ended()).rejects.toBe(WHY)
      await aborted
      await eventually(async () => !(await isRunning('sleep 779')))
    } finally {
      plain.close()
    }
  })

  test('lets the program end', async () => {
    const program = `
      import { createBoxyard } from '${join(ROOT, 'sdk/typescript/src/index.ts')}'
      const box = createBoxyard({ url: '${service().url}', token: '${service().adminToken}' }).box('aborts', 'web')
      const signal = AbortSignal.timeout(500)
      const stream = await box.stream(['sleep', '780'], { signal })
      await stream.ended().catch((error) => console.log(error.name))`
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program])
    let said = ''
    child.stdout.on('data', (piece: Buffer) => (said += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (said += piece.toString()))
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
    const code = await new Promise((resolve) => child.once('close', resolve))
    clearTimeout(late)
    expect([code, said]).toEqual([0, 'TimeoutError\n'])
    await eventually(async () => !(await isRunning('sleep 780')))
  })
})
