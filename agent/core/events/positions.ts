import { invalidRequest } from '../../../shared/validate.ts'
import { cursorExpired } from './scans.ts'

/** Position of a reader in the histories of all cells. */
export interface EventPosition {
  /** Number of the last event that was read, by cell. */
  cells: ReadonlyMap<string, number>
  /** Start for other cells, in ms since the epoch. Null for the oldest kept event. */
  since: number | null
}

/** Content of a cursor: a position, or the number of an event from before the fleet. */
export type DecodedCursor = EventPosition | { alone: number }

/** The form of cursors. */
export interface EventCursors {
  encode(position: EventPosition): string
  /** @throws ServiceError `invalid_request` for a malformed cursor, `cursor_expired` for a cursor of another kind of deployment */
  decode(cursor: string): DecodedCursor
}

/** Creates cursors of a host without a fleet. A cursor is the number of an event of its only cell. */
export function createSingleCursors(cell: string): EventCursors {
  return {
    encode: ({ cells }) => encodeText(`e1:${cells.get(cell) ?? 0}`),
    decode: (cursor) => {
      const text = decodeText(cursor)
      const alone = aloneOf(text)
      if (alone !== null) return { cells: new Map([[cell, alone]]), since: null }
      // A cursor of a fleet that this host has left.
      if (VECTOR.test(text)) throw cursorExpired()
      throw noCursor()
    },
  }
}

/** Creates cursors of a fleet. A cursor has a number for each cell, and the start for cells that it does not name. */
export function createVectorCursors(): EventCursors {
  return {
    encode: ({ cells, since }) => {
      const begin = since === null ? '' : `@${since.toString(36)}`
      const parts = [...cells].map(([cell, number]) => `,${cell}.${number.toString(36)}`)
      return encodeText(`e2:${begin}${parts.join('')}`)
    },
    decode: (cursor) => {
      const text = decodeText(cursor)
      const alone = aloneOf(text)
      if (alone !== null) return { alone }
      const found = VECTOR.exec(text)
      if (found === null) throw noCursor()
      const [, begin, parts = ''] = found
      const cells = [...parts.matchAll(PART)].map(([, cell = '', number = '']): [string, number] => [
        cell,
        Number.parseInt(number, 36),
      ])
      return { cells: new Map(cells), since: begin === undefined ? null : Number.parseInt(begin, 36) }
    },
  }
}

function aloneOf(text: string): number | null {
  const number = SINGLE.exec(text)?.[1]
  return number === undefined ? null : Number(number)
}

function encodeText(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function decodeText(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString('latin1')
}

function noCursor() {
  return invalidRequest([
    { pointer: '/query/since', detail: 'must be a cursor of events, a timestamp such as 2026-01-31T12:00:00Z, or now' },
  ])
}

const SINGLE = /^e1:(\d{1,15})$/
// Numbers in base 36. Nine digits are below 2^53.
const VECTOR = /^e2:(?:@([0-9a-z]{1,9}))?((?:,[0-9a-z]{2,4}\.[0-9a-z]{1,9})*)$/
const PART = /,([0-9a-z]{2,4})\.([0-9a-z]{1,9})/g
