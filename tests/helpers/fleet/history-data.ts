import { callsOf, describeCall, type HistoryCall, type NamedCall } from './history.ts'

/** Checks the contents of boxes and volumes, and which boxes can write to volumes. Returns a description of each fault. */
export function checkData(calls: readonly HistoryCall[]): string[] {
  const [writes, deletes] = [callsOf(calls, 'write'), callsOf(calls, 'delete')]
  const reads = [...callsOf(calls, 'read')].flatMap(([place, ofPlace]) => {
    const history = { writes: writes.get(place) ?? [], deletes: (deletes.get(place) ?? []).filter(mayChange) }
    return ofPlace.flatMap((read) => checkRead(read, history))
  })
  return [...reads, ...checkWriters(calls)]
}

/** Checks that a file has the content of its last write, or of a write concurrent with the read. */
function checkRead(
  read: HistoryCall,
  { writes, deletes }: { writes: NamedCall<'write'>[]; deletes: NamedCall<'delete'>[] },
): string[] {
  const { outcome, begun, ended } = read
  if (outcome.is === 'absent') {
    const lost = writes.find((write) => {
      if (write.outcome.is !== 'done' || write.ended >= begun) return false
      return !deletes.some((each) => each.ended > write.begun && each.begun < ended)
    })
    return lost === undefined ? [] : [`lost is ${describeCall(lost)}: ${describeCall(read)}`]
  }
  if (outcome.is !== 'done') return []
  const source = writes.find(({ request }) => request.value === outcome.value)
  if (source === undefined || !mayChange(source) || source.begun > ended)
    return [`content that was not written: ${describeCall(read)}`]
  const later = [...writes, ...deletes].find(
    (each) => each.outcome.is === 'done' && each.begun > source.ended && each.ended < begun,
  )
  return later === undefined ? [] : [`content from before ${describeCall(later)}: ${describeCall(read)}`]
}

/** An acknowledged writable attachment, for as long as it must have existed. */
interface Attachment {
  volume: string
  box: string
  from: number
  until: number
}

/** Checks that no two boxes could write to a volume at the same time. Uses acknowledged attachments and the writers in answers. */
function checkWriters(calls: readonly HistoryCall[]): string[] {
  const told = calls.flatMap((call) => {
    const seen = call.outcome.is === 'done' ? (call.outcome.seen ?? []) : []
    return seen.filter(({ writers }) => writers.length > 1).map(() => `several writers: ${describeCall(call)}`)
  })
  const held = calls.flatMap((call) => attachmentOf(call, calls))
  const together = held.flatMap((one, index) =>
    held.slice(index + 1).flatMap((other) => {
      if (one.volume !== other.volume || one.box === other.box) return []
      const from = Math.max(one.from, other.from)
      const isTogether = from < Math.min(one.until, other.until)
      return isTogether ? [`two writers of ${one.volume} at ${from.toFixed(0)}: ${one.box} and ${other.box}`] : []
    }),
  )
  return [...told, ...together]
}

function attachmentOf({ request, outcome, begun, ended }: HistoryCall, calls: readonly HistoryCall[]): Attachment[] {
  if (request.op !== 'attach' || outcome.is !== 'done') return []
  const { volume, box } = request
  const ends = calls.filter((each) => each.ended > begun && mayDetach(each, { volume, box }))
  const until = Math.min(Number.POSITIVE_INFINITY, ...ends.map((each) => each.begun))
  return [{ volume, box, from: ended, until }]
}

function mayDetach(call: HistoryCall, { volume, box }: { volume: string; box: string }): boolean {
  const { request } = call
  if (!mayChange(call)) return false
  if (request.op === 'detach') return request.volume === volume && request.box === box
  if (request.op !== 'delete') return false
  return request.kind === 'box' ? request.name === box : request.name === volume
}

function mayChange({ outcome }: HistoryCall): boolean {
  return outcome.is !== 'refused'
}
