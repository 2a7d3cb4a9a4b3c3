import { encodeCursor } from '../../../agent/core/common/paging.ts'
import type { HttpResponse } from '../../../shared/http/messages.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'

/** An item of a list that a test serves. Lists sort items by project and name. */
export interface ListedItem {
  id: string
  project: string | null
  name: string
  [more: string]: unknown
}

/** Answers a list request as a cell with these items does. */
export function answerList(target: string, field: string, items: readonly ListedItem[]): HttpResponse {
  const { pathname, searchParams } = new URL(target, 'http://cell')
  const token = searchParams.get('continuation_token')
  const after = token === null ? null : (JSON.parse(Buffer.from(token, 'base64url').toString()) as string[])
  const limit = Number(searchParams.get('max_results') ?? 100)
  const project = /projects\/([^/]+)/.exec(pathname)?.[1] ?? '-'
  const rest = items
    .filter((item) => project === '-' || item.project === null || item.project === project)
    .filter((item) => item.name.startsWith(searchParams.get('prefix') ?? ''))
    .filter((item) => after === null || isAfter(keyOf(item), after))
    .sort((one, other) => (isAfter(keyOf(one), keyOf(other)) ? 1 : -1))
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  const next = last !== undefined && rest.length > page.length ? encodeCursor(keyOf(last)) : null
  return jsonResponse(200, { [field]: page, has_more: next !== null, next_continuation_token: next })
}

/** Returns an item whose tags contain text that can confuse a JSON scanner. */
export function listedItem(name: string, project: string | null = 'demo', more: object = {}): ListedItem {
  return {
    id: `box_${project ?? ''}${name}`,
    name,
    project,
    tags: { a: '}],"{["\\', b: 'ü€\n"' },
    deep: [[{}], { n: [1] }],
    ...more,
  }
}

function keyOf({ project, name }: ListedItem): string[] {
  return [project ?? '', name]
}

function isAfter([project = '', name = '']: readonly string[], [base = '', than = '']: readonly string[]): boolean {
  return project === base ? name > than : project > base
}
