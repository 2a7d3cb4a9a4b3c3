import { callsOf, describeCall, type HistoryCall, type Kind, type NamedCall, type SeenResource } from './history.ts'

// Of a call it is known only that its effect, if any, came between its begin and its end. So each check compares what must have been
// for the whole time of a call, or cannot have been at any point of it, with what it answers.

/** A resource that a create has acknowledged. */
interface Life {
  kind: Kind
  name: string
  id: string
  key: string
  /** Begin of the first call that may have made it. */
  wanted: number
  /** End of the first call that acknowledged it. */
  acknowledged: number
  /** From when on it may be gone; Infinity if nobody wanted that. */
  endangered: number
  /** The first call after whose end it is gone. */
  gone: HistoryCall | null
}

type Create = NamedCall<'create'>

/** Creates and deletes of each name, and what was made. */
interface Lives {
  creates: Map<string, Create[]>
  byId: Map<string, Life>
}

/** Checks who there is, and who has which name. Returns faults in words. */
export function checkLives(calls: readonly HistoryCall[]): string[] {
  const lives = findLives(calls)
  return [
    ...checkKeys(calls),
    ...checkOwners(lives),
    ...calls.filter(isLook).flatMap((look) => [...checkTold(look, lives), ...checkMissing(look, lives)]),
    ...checkRepeats(lives),
    ...checkCounts(calls, lives),
    ...checkEnd(calls),
  ]
}

function findLives(calls: readonly HistoryCall[]): Lives {
  const creates = callsOf(calls, 'create')
  const deletes = callsOf(calls, 'delete')
  const byId = new Map<string, Life>()
  for (const [place, ofName] of creates) {
    for (const { request, outcome, ended } of ofName) {
      if (outcome.is !== 'done') continue
      const { kind, name, key } = request
      const id = outcome.seen?.[0]?.id ?? ''
      const known = byId.get(id)
      if (known !== undefined) {
        known.acknowledged = Math.min(known.acknowledged, ended)
        continue
      }
      const sameKey = ofName.filter((call) => call.request.key === key)
      const wanted = Math.min(...sameKey.map(({ begun }) => begun))
      byId.set(id, { kind, name, id, key, wanted, acknowledged: ended, ...endOf(deletes.get(place) ?? [], wanted) })
    }
  }
  for (const life of byId.values())
    life.gone = firstToEnd((deletes.get(`${life.kind} ${life.name}`) ?? []).filter((call) => surelyDeletes(call, life)))
  return { creates, byId }
}

/** A delete that finds nothing may be the repeat of one that found it. */
function endOf(deletes: readonly HistoryCall[], wanted: number): Pick<Life, 'endangered' | 'gone'> {
  const dangers = deletes.filter(({ outcome, ended }) => outcome.is !== 'refused' && ended > wanted)
  return { endangered: Math.min(Number.POSITIVE_INFINITY, ...dangers.map(({ begun }) => begun)), gone: null }
}

/** After a delete that succeeded, nothing is there that was acknowledged before it began. */
function surelyDeletes({ outcome, begun }: HistoryCall, { acknowledged }: Life): boolean {
  return outcome.is === 'done' && acknowledged < begun
}

function firstToEnd(calls: readonly HistoryCall[]): HistoryCall | null {
  return calls.toSorted((one, other) => one.ended - other.ended)[0] ?? null
}

/** One id for a key, one key and one name for an id. */
function checkKeys(calls: readonly HistoryCall[]): string[] {
  const faults = new Set<string>()
  const [ids, keys, names] = [new Map<string, string>(), new Map<string, string>(), new Map<string, string>()]
  const bind = (map: Map<string, string>, { from, to, what }: { from: string; to: string; what: string }): void => {
    const known = map.get(from) ?? to
    map.set(from, known)
    if (known !== to) faults.add(`${what} ${from}: ${known} and ${to}`)
  }
  for (const call of calls) {
    for (const { id, key, name } of seenIn(call)) {
      bind(names, { from: id, to: name, what: 'two names of' })
      const told = [key, call.request.op === 'create' ? call.request.key : null].filter((each) => each !== null)
      for (const each of told) {
        bind(ids, { from: each, to: id, what: 'one key made two:' })
        bind(keys, { from: id, to: each, what: 'two keys made' })
      }
    }
  }
  return [...faults]
}

/** No two that must have been at the same time have one name. */
function checkOwners({ byId }: Lives): string[] {
  const places = Map.groupBy(byId.values(), ({ kind, name }) => `${kind} ${name}`)
  return [...places].flatMap(([place, lives]) =>
    lives.flatMap((one, index) =>
      lives.slice(index + 1).flatMap((other) => {
        const from = Math.max(one.acknowledged, other.acknowledged)
        const isTogether = from < Math.min(one.endangered, other.endangered)
        return isTogether ? [`two owners of ${place} at ${from.toFixed(0)}: ${one.id} and ${other.id}`] : []
      }),
    ),
  )
}

/** Whoever an answer tells of was made by a create of that name that had begun, and was not surely deleted before. */
function checkTold(look: Look, { creates, byId }: Lives): string[] {
  return seenIn(look).flatMap((seen) => {
    const life = byId.get(seen.id)
    if (life === undefined) {
      const ofName = creates.get(`${look.request.kind} ${seen.name}`) ?? []
      const isPossible = ofName.some((call) => mayHaveMade(call, seen, look))
      return isPossible ? [] : [`${seen.id}, which nobody has created: ${describeCall(look)}`]
    }
    if (life.wanted > look.ended) return [`${seen.id}, before it was created: ${describeCall(look)}`]
    if (life.gone === null || life.gone.ended >= look.begun) return []
    return [`${seen.id}, deleted by ${describeCall(life.gone)}: ${describeCall(look)}`]
  })
}

function mayHaveMade({ request, outcome, begun }: Create, seen: SeenResource, look: Look): boolean {
  return outcome.is === 'unknown' && begun <= look.ended && (seen.key === null || seen.key === request.key)
}

/** What must be there is told by every answer that looks for it. */
function checkMissing(look: Look, { byId }: Lives): string[] {
  if (look.outcome.is !== 'done' && look.outcome.is !== 'absent') return []
  const { request } = look
  const wanted = [...byId.values()].filter(
    ({ kind, name, acknowledged, endangered }) =>
      kind === request.kind &&
      (request.op === 'list' || request.name === name) &&
      acknowledged <= look.begun &&
      look.ended <= endangered,
  )
  const found = new Set(seenIn(look).map(({ id }) => id))
  return wanted.filter(({ id }) => !found.has(id)).map(({ id }) => `${id} is lost: ${describeCall(look)}`)
}

/** A repeat of a create that was acknowledged is not refused. */
function checkRepeats({ creates, byId }: Lives): string[] {
  const made = new Map([...byId.values()].map(({ key, acknowledged }) => [key, acknowledged]))
  return [...creates.values()]
    .flat()
    .filter(({ request, outcome, begun }) => {
      const acknowledged = made.get(request.key)
      return outcome.is === 'refused' && acknowledged !== undefined && acknowledged < begun
    })
    .map((call) => `a repeat is refused: ${describeCall(call)}`)
}

/** A count is no less than what must be there all the time, and no more than what may be. */
function checkCounts(calls: readonly HistoryCall[], { creates, byId }: Lives): string[] {
  const made = [...creates.values()].flat().filter(({ outcome }) => outcome.is !== 'refused')
  return calls.flatMap((call) => {
    const { request, outcome, begun, ended } = call
    if ((request.op !== 'count' && request.op !== 'list') || outcome.is !== 'done') return []
    const count = outcome.count ?? outcome.seen?.length ?? 0
    const own = [...byId.values()].filter(({ kind }) => kind === request.kind)
    const least = own.filter(({ acknowledged, endangered }) => acknowledged <= begun && ended <= endangered).length
    const begunBefore = made.filter((each) => each.request.kind === request.kind && each.begun <= ended)
    const keys = new Set(begunBefore.map((each) => each.request.key))
    for (const { key, gone } of own) if (gone !== null && gone.ended < begun) keys.delete(key)
    if (least <= count && count <= keys.size) return []
    return [`a count of ${count}, where ${least} to ${keys.size} may be: ${describeCall(call)}`]
  })
}

/** At the end every door knows of each name, and all say the same. */
function checkEnd(calls: readonly HistoryCall[]): string[] {
  const told = new Map<string, string>()
  return calls.flatMap((call) => {
    const { request, outcome, isFinal } = call
    if (isFinal !== true || request.op !== 'get') return []
    if (outcome.is !== 'done' && outcome.is !== 'absent') return [`no answer at the end: ${describeCall(call)}`]
    const place = `${request.kind} ${request.name}`
    const answer = seenIn(call)[0]?.id ?? 'absent'
    const known = told.get(place) ?? answer
    told.set(place, known)
    return known === answer ? [] : [`doors disagree about ${place}: ${known} and ${answer}`]
  })
}

type Look = HistoryCall & { request: { op: 'get'; kind: Kind; name: string } | { op: 'list'; kind: Kind } }

function isLook(call: HistoryCall): call is Look {
  return call.request.op === 'get' || call.request.op === 'list'
}

function seenIn({ outcome }: HistoryCall): SeenResource[] {
  return outcome.is === 'done' ? (outcome.seen ?? []) : []
}
