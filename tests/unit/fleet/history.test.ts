import { describe, expect, test } from '@jest/globals'
import type { CallOutcome, CallRequest, HistoryCall, SeenResource } from '../../helpers/fleet/history.ts'
import { checkHistory } from '../../helpers/fleet/history-check.ts'

/** A call from `begun` to `ended`. */
function call([begun, ended]: readonly [number, number], request: CallRequest, outcome: CallOutcome): HistoryCall {
  return { door: 0, begun, ended, request, outcome }
}

type Span = readonly [number, number]
const UNKNOWN: CallOutcome = { is: 'unknown' }
const ABSENT: CallOutcome = { is: 'absent' }
const TAKEN: CallOutcome = { is: 'refused', code: 'name_taken' }
const seen = (id: string, key: string | null = `k-${id}`, writers: string[] = []): SeenResource => ({
  name: 'web',
  id,
  key,
  writers,
})
const done = (...all: SeenResource[]): CallOutcome => ({ is: 'done', seen: all })
const box = { kind: 'box', name: 'web' } as const
const create = (span: Span, key: string, outcome: CallOutcome): HistoryCall =>
  call(span, { op: 'create', key, ...box }, outcome)
const remove = (span: Span, outcome: CallOutcome = done()): HistoryCall => call(span, { op: 'delete', ...box }, outcome)
const get = (span: Span, outcome: CallOutcome): HistoryCall => call(span, { op: 'get', ...box }, outcome)
const list = (span: Span, ...all: SeenResource[]): HistoryCall => call(span, { op: 'list', kind: 'box' }, done(...all))
const count = (span: Span, value: number): HistoryCall =>
  call(span, { op: 'count', kind: 'box' }, { is: 'done', count: value })
const write = (span: Span, value: string, outcome: CallOutcome = { is: 'done' }): HistoryCall =>
  call(span, { op: 'write', value, by: 'web', ...box }, outcome)
const read = (span: Span, value: string | null): HistoryCall =>
  call(span, { op: 'read', by: 'web', ...box }, value === null ? ABSENT : { is: 'done', value })
const attach = (span: Span, to: string, outcome: CallOutcome = { is: 'done' }): HistoryCall =>
  call(span, { op: 'attach', volume: 'disk', box: to }, outcome)
const detach = (span: Span, from: string, outcome: CallOutcome = { is: 'done' }): HistoryCall =>
  call(span, { op: 'detach', volume: 'disk', box: from }, outcome)
const end = (door: number, outcome: CallOutcome): HistoryCall => ({ ...get([900, 910], outcome), door, isFinal: true })
const FOREVER = Number.POSITIVE_INFINITY

/** A create of the box `a`, from 10 to 20. */
const MADE = create([10, 20], 'k-a', done(seen('a')))

describe('a history that may be', () => {
  test.each<[string, HistoryCall[]]>([
    ['is an empty one', []],
    ['has one winner of a race', [MADE, create([5, 25], 'k-b', TAKEN), get([30, 31], done(seen('a')))]],
    ['has a repeat with the same answer', [MADE, create([30, 40], 'k-a', done(seen('a')))]],
    ['has a repeat after a delete', [MADE, remove([30, 40]), create([50, 60], 'k-a', done(seen('a')))]],
    ['takes a name again after a delete', [MADE, remove([30, 40]), create([35, 50], 'k-b', done(seen('b')))]],
    [
      'shows what an unanswered create has made',
      [create([10, FOREVER], 'k-a', UNKNOWN), get([20, 30], done(seen('a')))],
    ],
    ['shows it by a card', [create([10, FOREVER], 'k-a', UNKNOWN), get([20, 30], done(seen('a', null)))]],
    ['does not show it', [create([10, FOREVER], 'k-a', UNKNOWN), get([20, 30], ABSENT), list([20, 30])]],
    ['has either answer while it is made', [MADE, get([5, 12], ABSENT), get([11, 15], done(seen('a')))]],
    [
      'has either answer while it is deleted',
      [MADE, remove([30, 40]), get([32, 50], ABSENT), list([35, 38], seen('a'))],
    ],
    ['has either after an unanswered delete', [MADE, remove([30, FOREVER], UNKNOWN), get([40, 50], done(seen('a')))]],
    ['has a delete that found nothing', [MADE, remove([30, 40], ABSENT), get([50, 60], ABSENT)]],
    ['has a refused delete', [MADE, remove([30, 40], { is: 'refused', code: 'box_busy' }), list([50, 60], seen('a'))]],
    ['counts what may be', [MADE, create([10, FOREVER], 'k-b', UNKNOWN), count([30, 31], 1), count([30, 31], 2)]],
    ['reads what was written last', [write([1, 2], 'x'), write([3, 4], 'y'), read([5, 6], 'y')]],
    [
      'reads what is written',
      [write([1, 2], 'x'), write([3, FOREVER], 'y', UNKNOWN), read([5, 6], 'x'), read([7, 8], 'y')],
    ],
    ['reads nothing after a delete', [MADE, write([21, 22], 'x'), remove([23, 24]), read([25, 26], null)]],
    ['gives a volume away', [attach([1, 2], 'a'), detach([3, 4], 'a'), attach([3, 5], 'b')]],
    ['refuses a second writer', [attach([1, 2], 'a'), attach([3, 4], 'b', { is: 'refused', code: 'volume_in_use' })]],
    ['ends with doors that agree', [MADE, end(0, done(seen('a'))), end(1, done(seen('a')))]],
  ])('%s', (_, calls) => {
    expect(checkHistory(calls)).toEqual([])
  })
})

describe('a history that cannot be', () => {
  test.each<[string, string, HistoryCall[]]>([
    ['two owners at once', 'two owners of box web', [MADE, create([30, 40], 'k-b', done(seen('b')))]],
    ['two winners of a race', 'two owners of box web', [MADE, create([8, 22], 'k-b', done(seen('b')))]],
    [
      'a second owner after a delete that was refused',
      'two owners of box web',
      [MADE, remove([22, 24], { is: 'refused', code: 'box_busy' }), create([30, 40], 'k-b', done(seen('b')))],
    ],
    [
      'a repeat that made another',
      'one key made two: k-a',
      [MADE, remove([22, 24]), create([30, 40], 'k-a', done(seen('b')))],
    ],
    [
      'a repeat that made another, as a list tells',
      'one key made two: k-a',
      [MADE, remove([22, FOREVER], UNKNOWN), create([30, FOREVER], 'k-a', UNKNOWN), list([50, 60], seen('b', 'k-a'))],
    ],
    ['one box of two keys', 'two keys made a', [MADE, create([30, 40], 'k-b', done(seen('a', null)))]],
    ['a repeat that is refused', 'a repeat is refused', [MADE, create([30, 40], 'k-a', TAKEN)]],
    ['a box that is lost', 'a is lost: get', [MADE, get([30, 40], ABSENT)]],
    [
      'a box that is lost while its name is asked for',
      'a is lost: get',
      [MADE, remove([50, 60]), get([30, 40], ABSENT)],
    ],
    ['a box that is missing in a list', 'a is lost: list', [MADE, list([30, 40])]],
    [
      'a box in the place of another',
      'a is lost: get',
      [MADE, create([25, FOREVER], 'k-b', UNKNOWN), get([30, 40], done(seen('b')))],
    ],
    ['a box that has risen', 'a, deleted by delete', [MADE, remove([30, 40]), get([50, 60], done(seen('a')))]],
    ['a list with a deleted box', 'a, deleted by delete', [MADE, remove([30, 40]), list([50, 60], seen('a'))]],
    [
      'a box that nobody made',
      'x, which nobody has created',
      [MADE, remove([21, FOREVER], UNKNOWN), get([30, 40], done(seen('x')))],
    ],
    [
      'a box whose create was refused',
      'a, which nobody has created',
      [create([10, 20], 'k-a', TAKEN), get([30, 40], done(seen('a')))],
    ],
    [
      'a box with a tag that nobody gave',
      'a, which nobody has created',
      [create([10, FOREVER], 'k-a', UNKNOWN), get([30, 40], done(seen('a', 'k-c')))],
    ],
    ['a box before its create', 'a, before it was created', [MADE, get([1, 2], done(seen('a')))]],
    ['a box of two names', 'two names of a', [MADE, list([30, 40], { ...seen('a'), name: 'other' })]],
    ['a count that is too small', 'a count of 0, where 1 to 1 may be', [MADE, count([30, 40], 0)]],
    ['a count that is too large', 'a count of 2, where 1 to 1 may be', [MADE, count([30, 40], 2)]],
    ['a count with a deleted box', 'a count of 1, where 0 to 0 may be', [MADE, remove([30, 40]), count([50, 60], 1)]],
    ['a list that tells one twice', 'a count of 2', [MADE, list([30, 40], seen('a'), seen('a'))]],
    ['content that is lost', 'lost is write', [write([1, 2], 'x'), read([3, 4], null)]],
    [
      'content that was overwritten',
      'content from before write',
      [write([1, 2], 'x'), write([3, 4], 'y'), read([5, 6], 'x')],
    ],
    ['content of a deleted box', 'content from before delete', [write([1, 2], 'x'), remove([3, 4]), read([5, 6], 'x')]],
    ['content that nobody wrote', 'content that was not written', [write([1, 2], 'x'), read([3, 4], 'z')]],
    ['content before it was written', 'content that was not written', [write([5, 6], 'x'), read([3, 4], 'x')]],
    ['two writers', 'two writers of disk at 4: a and b', [attach([1, 2], 'a'), attach([3, 4], 'b')]],
    [
      'two writers, of whom the first was given up by none',
      'two writers of disk',
      [attach([1, 2], 'a'), detach([3, 4], 'a', { is: 'refused', code: 'volume_busy' }), attach([5, 6], 'b')],
    ],
    [
      'a volume that tells of two writers',
      'several writers',
      [
        call([1, 2], { op: 'create', kind: 'volume', name: 'web', key: 'k-a' }, done(seen('a'))),
        call([3, 4], { op: 'get', kind: 'volume', name: 'web' }, done(seen('a', 'k-a', ['one', 'two']))),
      ],
    ],
    [
      'doors that disagree',
      'doors disagree about box web: a and absent',
      [MADE, remove([30, FOREVER], UNKNOWN), end(0, done(seen('a'))), end(1, ABSENT)],
    ],
    ['a door that does not answer at the end', 'no answer at the end', [MADE, end(0, UNKNOWN)]],
  ])('has %s', (_, fault, calls) => {
    expect(checkHistory(calls)).toEqual(expect.arrayContaining([expect.stringContaining(fault)]))
  })
})
