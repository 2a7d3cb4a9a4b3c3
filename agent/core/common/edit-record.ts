import type { Clock } from '../../ports/host/clock.ts'

/** A record that is written only where it is still of the version that was read. */
interface Versioned {
  version: number
  updatedAt: number
}

export interface RecordEdit<R> {
  /** @throws ServiceError where there is none, or none that may be changed so */
  read(): Promise<R>
  /** The same object is nothing to write. */
  edit(record: R): R
  /** False: the record was another by then. */
  write(next: R, before: R): Promise<boolean>
}

/** Compare-and-set: edits the newest record, again for as long as another write comes between; the record as it is then. */
export async function editRecord<R extends Versioned>(clock: Clock, { read, edit, write }: RecordEdit<R>): Promise<R> {
  for (;;) {
    const record = await read()
    const edited = edit(record)
    if (edited === record) return record
    const next = bumped(edited, clock.now())
    if (await write(next, record)) return next
  }
}

/** The record as it is written next. */
export function bumped<R extends Versioned>(record: R, now: number): R {
  return { ...record, version: record.version + 1, updatedAt: now }
}
