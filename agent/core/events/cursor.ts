import { ServiceError } from '../../../shared/errors.ts'
import { invalidRequest } from '../../../shared/validate.ts'

/** The opaque cursor of the event of that number. */
export function encodeEventCursor(number: number): string {
  return Buffer.from(`${PREFIX}${number}`).toString('base64url')
}

/**
 * The number of the last event that whoever has the cursor has read; none: the one before the oldest that is kept.
 * @throws ServiceError `invalid_request` for one we did not make, `cursor_expired` where events after it are not kept any more
 */
export function decodeEventCursor(
  cursor: string | undefined,
  { oldest, newest }: { oldest: number; newest: number },
): number {
  if (cursor === undefined) return oldest - 1
  if (cursor === 'now') return newest
  const number = Number(MADE.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1] ?? Number.NaN)
  if (Number.isNaN(number)) throw invalidRequest([{ pointer: '/query/since', detail: 'is no cursor of events' }])
  if (number < oldest - 1 || number > newest) throw cursorExpired()
  return number
}

/** The error that tells of events that are not kept any more. */
export function cursorExpired(): ServiceError {
  const detail = 'Events after this cursor are not kept any more: read the resources anew, and begin with `since=now`.'
  return new ServiceError('cursor_expired', detail)
}

const PREFIX = 'e1:'
const MADE = /^e1:(\d{1,15})$/
