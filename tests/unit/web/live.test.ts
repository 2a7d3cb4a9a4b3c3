import type { BoxyardEvent } from '@boxyard/sdk'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { LiveListener } from '../../../web/src/api/live.ts'
import { definePageGlobals } from '../../helpers/web/page-globals.ts'

// Imitates a front that cannot carry streams, such as a function. It redirects the event stream, and the browser does not follow.
const { fetch: fetchOfNode, Request: RequestOfNode } = globalThis
const ORIGIN = 'http://front.test'

/** A page's request, which accepts paths without an origin. */
class PageRequest extends RequestOfNode {
  constructor(target: string | URL | Request, init?: RequestInit) {
    super(typeof target === 'string' ? new URL(target, ORIGIN) : target, init)
  }
}
let followLive: (listener: LiveListener, signal: AbortSignal) => Promise<void>

beforeAll(async () => {
  definePageGlobals(ORIGIN)
  globalThis.Request = PageRequest
  ;({ followLive } = await import('../../../web/src/api/live.ts'))
})

afterAll(() => {
  Object.assign(globalThis, { fetch: fetchOfNode, Request: RequestOfNode })
})

const eventOf = (id: string): BoxyardEvent => ({ id, type: 'box.running', resource: `/v1/${id}` }) as BoxyardEvent

/** Serves a list of events for each cursor. Null means that the service no longer knows the cursor. */
function serveLists(lists: Record<string, { events: BoxyardEvent[]; has_more: boolean; next_cursor: string } | null>) {
  globalThis.fetch = (given) => {
    const { url, headers } = given as Request
    if (headers.get('accept') === 'text/event-stream')
      return Promise.resolve(Object.defineProperty(new Response(null), 'type', { value: 'opaqueredirect' }))
    const list = lists[new URL(url).searchParams.get('since') ?? ''] ?? null
    const problem = {
      type: 'about:blank',
      status: 410,
      code: 'cursor_expired',
      detail: 'It is too old.',
      retryable: false,
    }
    return Promise.resolve(
      list === null ? Response.json(problem, { status: 410 }) : Response.json(list, { headers: { etag: '"1"' } }),
    )
  }
}

/** Follows events until it reports the cursor `last`. Returns all reports in order. */
async function follow(since: string, last: string): Promise<unknown[]> {
  const told: unknown[] = []
  const stop = new AbortController()
  const listener = {
    since,
    isPolled: false,
    onCursor: (cursor: string) => {
      told.push(cursor)
      if (cursor === last) setTimeout(() => stop.abort())
    },
    onEvent: ({ id }: BoxyardEvent) => void told.push(id),
    onState: (state: unknown) => void told.push(state),
  }
  await followLive(listener, stop.signal)
  return told
}

test('events are asked for, at once while there are more, and told to come once they have been answered', async () => {
  serveLists({
    c0: { events: [eventOf('one')], has_more: true, next_cursor: 'c1' },
    c1: { events: [eventOf('two')], has_more: false, next_cursor: 'c2' },
  })
  const open = { isOpen: true, isComplete: true, isPolled: true }
  expect(await follow('c0', 'c2')).toEqual(['one', 'c1', open, 'two', 'c2'])
})

test('from a cursor that is no longer known they go on from now, as incomplete', async () => {
  serveLists({ old: null, now: { events: [], has_more: false, next_cursor: 'n1' } })
  const state = { isComplete: false, isPolled: true }
  expect(await follow('old', 'n1')).toEqual([{ ...state, isOpen: false }, 'n1', { ...state, isOpen: true }])
})
