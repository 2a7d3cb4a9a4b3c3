import { callsOf, describeCall, type HistoryCall, type Kind, type NamedCall, type SeenResource } from './history.ts'

// A call has its effect, if any, at an unknown time between its begin and its end. So each check considers only states that lasted for the
// whole call, or that existed at no time during it. It compares them with the answer.

/** A resource that a create has acknowledged. */
interface Life {
  kind: Kind
  name: string
  id: string
  key: string
  /** Begin of the first call that can have created it. */
  wanted: number
  /** End of the first call that acknowledged it. */
  acknowledged: number
  /** Earliest time of its removal. Infinity if no call could have deleted it. */
  endangered: number
  /** The first call that was certain to have deleted it when the call ended. */
  gone: HistoryCall | null
}

type Create = NamedCall<'create'>

/** Creates of each name, and the resources that they made. */
interface Lives {
  creates: Map<string, Create[]>
  byId: Map<string, Life>
}

/** Checks which resources exist, and which names they have. Returns a description of each fault. */
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

/** Returns when a resource can have been removed. A delete that finds nothing may repeat one that removed it. */
function endOf(deletes: readonly HistoryCall[], wanted: number): Pick<Life, 'endangered' | 'gone'> {
  const dangers = deletes.filter(({ outcome, ended }) => outcome.is !== 'refused' && ended > wanted)
  return { endangered: Math.min(Number.POSITIVE_INFINITY, ...dangers.map(({ begun }) => begun)), gone: null }
}

/** Returns true for a delete that certainly removed a resource. It succeeded, and began after the resource was acknowledged. */
function surelyDeletes({ outcome, begun }: HistoryCall, { acknowledged }: Life): boolean {
  return outcome.is === 'done' && acknowledged < begun
}

function firstToEnd(calls: readonly HistoryCall[]): HistoryCall | null {
  return calls.toSorted((one, other) => one.ended - other.ended)[0] ?? null
}

/** Checks that a key has one id, and that an id has one key and one name. */
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

/** Checks that no two resources had the same name at the same time. */
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

/** Checks each resource in an answer. A create of its name must have begun, and no delete can have certainly removed it before. */
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

/** Checks that an answer includes each resource that must exist. */
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

/** Checks that no repeat of an acknowledged create was refused. */
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

/** Checks that a count is at least the number of resources that must exist throughout, and at most the number that can exist. */
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

/** Checks that at the end every gateway answers for each name, and that all answers agree. */
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
