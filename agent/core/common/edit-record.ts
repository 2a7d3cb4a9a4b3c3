import type { Clock } from '../../ports/host/clock.ts'

/** A record that is written only if its version is still the one that was read. */
interface Versioned {
  version: number
  updatedAt: number
}

export interface RecordEdit<R> {
  /** @throws ServiceError if the record is gone, or may not be changed */
  read(): Promise<R>
  /** Returns the same object if there is nothing to write. */
  edit(record: R): R
  /** False: the version has changed since the read. */
  write(next: R, before: R): Promise<boolean>
}

/** Edits a record by compare-and-set. Retries on the newest for as long as other writes come between. Resolves to the result. */
export async function editRecord<R extends Versioned>(clock: Clock, { read, edit, write }: RecordEdit<R>): Promise<R> {
  for (;;) {
    const record = await read()
    const edited = edit(record)
    if (edited === record) return record
    const next = bumped(edited, clock.now())
    if (await write(next, record)) return next
  }
}

/** Returns the record with its version raised by one. */
export function bumped<R extends Versioned>(record: R, now: number): R {
  return { ...record, version: record.version + 1, updatedAt: now }
}
