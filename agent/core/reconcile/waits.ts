import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import { bumped } from '../common/edit-record.ts'
import type { Waiters } from '../common/waiters.ts'

export interface WaitNotesDeps {
  store: Pick<Store, 'boxes'>
  clock: Pick<Clock, 'now'>
  logger: Logger
  /** Notified of a box whose record has changed. */
  changes: Pick<Waiters, 'notify'>
}

/** The messages of one start. */
export interface WaitNotes {
  /** Writes what the start waits for into the record, after the messages before it. */
  note(message: string): void
  /** Resolves to the record as it was written last. */
  latest(): Promise<BoxRecord>
}

/** Writes what the start of a `pending` box waits for into `state.message`. Does nothing once the record has another version. */
export function noteWaits({ store, clock, logger, changes }: WaitNotesDeps, record: BoxRecord): WaitNotes {
  const write = async (current: BoxRecord, message: string): Promise<BoxRecord> => {
    if (current.observed.message === message) return current
    const next = bumped({ ...current, observed: { ...current.observed, message } }, clock.now())
    if (!(await store.boxes.replace(next))) return current
    changes.notify(record.id)
    return next
  }
  let latest = Promise.resolve(record)
  const note = (message: string): void => {
    latest = latest.then((current) =>
      write(current, message).catch((error: unknown) => {
        logger.warn('failed to record what a start waits for', { box: record.id, error })
        return current
      }),
    )
  }
  return { note, latest: () => latest }
}
