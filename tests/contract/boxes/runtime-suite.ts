import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { BoxSpec, DetachedExec, Runtime } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'

/** A runtime under test. */
export interface RuntimeLab {
  runtime(): Runtime
  /** Returns the specification of a box, and creates the box's root. */
  spec(id: string, changes?: Partial<BoxSpec>): Promise<BoxSpec>
  /** Creates a tree that boxes can mount, and returns its host path. */
  makeVolume(name: string): Promise<string>
  /** Closes the runtime without stopping boxes, and opens another in its place, as a restarted agent would. */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** Defines the contract tests of every runtime, including runtimes whose boxes run nothing. */
export function defineRuntimeSuite(kind: string, open: () => Promise<RuntimeLab>): void {
  let lab: RuntimeLab
  const listed = async (id: string) => (await lab.runtime().list()).find((each) => each.id === id)
  const hold = async (id: string): Promise<DetachedExec> => {
    const request = { command: ['sleep', '500'], cwd: '/', environment: {}, user: null }
    const given = { ...request, stdin: new Uint8Array(0), timeoutMs: null }
    return (await lab.runtime().execDetached(id, newId('exe', Date.now()), given)).detached
  }
  const held = async (): Promise<string[]> => (await lab.runtime().listDetached()).map(({ execId }) => execId)

  describe(`a ${kind} runtime`, () => {
    beforeAll(async () => {
      lab = await open()
    })
    afterAll(() => lab?.close())

    test('lists a started box, which another start leaves as it is', async () => {
      const spec = await lab.spec('box_twice')
      const box = await lab.runtime().start(spec)
      expect(await listed(spec.id)).toEqual({ id: spec.id, isRunning: true, pid: box.pid })
      expect(await lab.runtime().start(spec)).toEqual(box)
      await lab.runtime().stop(spec.id, { graceMs: 0 })
      await lab.runtime().stop(spec.id, { graceMs: 0 })
      expect(await listed(spec.id)).toBeUndefined()
    })

    test('leaves nothing of a start that fails', async () => {
      const spec = { ...(await lab.spec('box_broken')), rootPath: '/none' }
      await expect(lab.runtime().start(spec)).rejects.toThrow()
      expect(await listed(spec.id)).toBeUndefined()
    })

    test('mounts and unmounts a tree, and succeeds when it does so again', async () => {
      const source = await lab.makeVolume('vol_again')
      const { id } = await lab.runtime().start(await lab.spec('box_mounts'))
      const mount = { source, path: '/mnt/data', readOnly: false }
      for (let round = 0; round < 2; round++) await lab.runtime().attach(id, mount)
      expect(await lab.runtime().mounts(id)).toEqual([mount])
      for (let round = 0; round < 2; round++) await lab.runtime().detach(id, source)
      expect(await lab.runtime().mounts(id)).toEqual([])
      await lab.runtime().stop(id, { graceMs: 0 })
    })

    test('keeps boxes and their mounts while it is opened anew', async () => {
      const mount = { source: await lab.makeVolume('vol_kept'), path: '/mnt/data', readOnly: true }
      const spec = await lab.spec('box_kept', { mounts: [mount] })
      const box = await lab.runtime().start(spec)
      await lab.reopen()
      expect(await listed(spec.id)).toEqual(box)
      expect(await lab.runtime().mounts(spec.id)).toEqual([mount])
      await lab.runtime().stop(spec.id, { graceMs: 0 })
    })

    test('refuses to change or to enter a box that does not run', async () => {
      const source = await lab.makeVolume('vol_refused')
      const { cpus, ramMb, shmMb, networkMbps, diskMbps, diskIops } = await lab.spec('box_never')
      const refused = { code: 'box_not_running' }
      const runtime = lab.runtime()
      await expect(runtime.attach('box_never', { source, path: '/mnt', readOnly: false })).rejects.toMatchObject(
        refused,
      )
      await expect(runtime.detach('box_never', source)).rejects.toMatchObject(refused)
      const limits = { cpus, ramMb, shmMb, networkMbps, diskMbps, diskIops }
      await expect(runtime.resize('box_never', limits)).rejects.toMatchObject(refused)
      await expect(hold('box_never')).rejects.toMatchObject(refused)
      expect(await runtime.usage('box_never')).toBeNull()
    })

    test('does work while a box is frozen, and thaws it even if the work fails', async () => {
      const { id } = await lab.runtime().start(await lab.spec('box_cold'))
      expect(await lab.runtime().frozen(id, async () => 7)).toBe(7)
      await expect(lab.runtime().frozen(id, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
      expect(await lab.runtime().frozen('box_never', async () => 8)).toBe(8)
      expect(await lab.runtime().usage(id)).not.toBeNull()
      await lab.runtime().stop(id, { graceMs: 0 })
    })

    test('holds a detached command until it has ended and is forgotten, while it is opened anew as well', async () => {
      const { id } = await lab.runtime().start(await lab.spec('box_holds'))
      const [first, second] = [await hold(id), await hold(id)]
      await lab.reopen()
      expect((await held()).toSorted()).toEqual([first.execId, second.execId].toSorted())
      const [again] = (await lab.runtime().listDetached()).filter(({ execId }) => execId === first.execId)
      await again?.signal('SIGTERM')
      expect(await again?.ended).toMatchObject({ exitCode: null, signal: 'SIGTERM', timedOut: false })
      await again?.forget()
      expect(await held()).toEqual([second.execId])
      const [left] = await lab.runtime().listDetached()
      await lab.runtime().stop(id, { graceMs: 0 })
      // Without a grace period, either signal can end it first.
      expect(await left?.ended).toMatchObject({ signal: expect.stringMatching(/^SIG(TERM|KILL)$/) })
      await left?.forget()
      expect(await held()).toEqual([])
    })
  })
}
