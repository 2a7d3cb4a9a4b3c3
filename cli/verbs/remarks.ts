import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { UsageError } from '../output/failures.ts'
import type { PlainVerb } from './plain.ts'
import type { VerbContext } from './verb.ts'

type Remark = NonNullable<PlainVerb['remark']>

/** Warns that anyone can use the URLs of a public box. */
export const remarkPublic: Remark = (answer) => {
  const { name, url, url_settings: settings } = answer as Partial<AnswerOf<'publishBox'>>
  if (settings?.auth !== 'public') return null
  return `anyone can open ${url ?? `the URLs of ${name}`}. To make it private: boxyard publish ${name} --auth token`
}

/** Describes what a volume hides if it is mounted over a path that a system needs. Returns null for another path. A pure function. */
export function hidingRemark(path: string): string | null {
  const normal = `/${path.split('/').filter(Boolean).join('/')}`
  return SYSTEM.test(normal) ? `the volume now hides ${normal} of the box, so programs in it may fail` : null
}

/** Creates the remark of a restore, only for people. It names the snapshot that holds the replaced state. */
export function remarkKept(list: 'listBoxSnapshots' | 'listVolumeSnapshots', restore: string): Remark {
  return async (_answer, [name = ''], { boxyard, project, format }) => {
    if (format !== 'table') return null
    let kept: string | null = null
    // Oldest first.
    for await (const each of boxyard.list(list, { path: { project: project(), name } }))
      if (each.automatic) kept = each.name
    return kept === null ? null : `the previous state is snapshot ${kept}. To undo: ${restore} ${name} ${kept}`
  }
}

/** Puts a new token before its other fields. A pure function. */
export function tokenFirst(answer: unknown): unknown {
  const { token, ...record } = answer as AnswerOf<'createToken'>
  return { token, ...record }
}

/** Returns the id of the token with this id, or with this name and not revoked. @throws UsageError unless exactly one matches */
export async function tokenId({ boxyard }: Pick<VerbContext, 'boxyard'>, token: string): Promise<string> {
  if (TOKEN_ID.test(token)) return token
  const ids: string[] = []
  for await (const { id, name, revoked_at: revokedAt } of boxyard.list('listTokens', {}))
    if (name === token && revokedAt === null) ids.push(id)
  const [only, ...more] = ids
  if (only === undefined) throw new UsageError(`There is no token "${token}". boxyard token ls lists them.`)
  if (more.length > 0) throw new UsageError(`Several tokens have the name "${token}". Use an id: ${ids.join(', ')}`)
  return only
}

/** Directories without which most programs of a box do not work. */
const SYSTEM = /^\/(bin|boot|etc|lib(32|64|x32)?|sbin|usr|usr\/(bin|lib|lib64|local|sbin|share)|var)$/
const TOKEN_ID = /^tok_[0-9a-z]{26}$/
