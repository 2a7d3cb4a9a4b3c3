import { createListeners } from '../../../shared/listeners.ts'
import type { DetachedExec } from '../../ports/boxes/runtime.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import { endedRecord, type RecordedEnd, recordEnd } from './end.ts'
import { type LiveExec, type LiveExecDeps, withTotals } from './live-exec.ts'

/** Follows a command that does not belong to this process and records its end. Its record is stored already. */
export function followDetached({
  record: first,
  held,
  deps,
}: {
  record: ExecRecord
  held: DetachedExec
  deps: LiveExecDeps
}): LiveExec {
  const { outputs, clock } = deps
  const place = { boxId: first.boxId, execId: first.id }
  const output = outputs.follow(place)
  const changes = createListeners()
  const unfollow = held.onOutput(changes.notify)
  let last: RecordedEnd | null = null
  const follow = async (): Promise<ExecRecord> => {
    const end = await held.ended
    unfollow()
    const ended: ExecRecord =
      end === null ? { ...first, status: 'lost', endedAt: clock.now() } : endedRecord(first, end)
    last = await recordEnd(deps, ended, output)
    changes.notify()
    return last.record
  }
  return {
    id: first.id,
    boxId: first.boxId,
    record: () => last?.record ?? withTotals(first, output.totals()),
    read: output.read,
    onChange: changes.add,
    signal: held.signal,
    ended: follow(),
    dispose: async () => {
      // One whose end could not be written is told of again at the next start.
      if (last === null) return
      await held.forget()
      await outputs.remove(place, last.inRecord)
    },
    released: Promise.resolve(),
    release: () => undefined,
    leave: async () => undefined,
  }
}

/** Records that nobody knows how a held command ended; what it wrote until then is kept. */
export async function recordLost(record: ExecRecord, deps: LiveExecDeps): Promise<void> {
  const { outputs, clock } = deps
  const place = { boxId: record.boxId, execId: record.id }
  const ended: ExecRecord = { ...record, status: 'lost', endedAt: clock.now() }
  const { inRecord } = await recordEnd(deps, ended, outputs.follow(place))
  await outputs.remove(place, inRecord)
}

/** Ends a command that nobody recorded, and all that is kept of it. */
export async function discardDetached(
  held: DetachedExec,
  { outputs, logger }: Pick<LiveExecDeps, 'outputs' | 'logger'>,
): Promise<void> {
  try {
    await held.signal('SIGKILL')
    await held.ended
    await held.forget()
    await outputs.remove(held)
  } catch (error) {
    logger.error('a command without a record could not be ended', { exec: held.execId, error })
  }
}
