import type { CandidateSlot, InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import { instancesOf, lastRun } from '../common/service-instances.ts'

/** A version of a service that is started. */
export type StartSlot = 'active' | CandidateSlot

/**
 * The port for a start: that of the spec, unless something has it, else the lowest free one from 49152 on. Null for a service
 * that listens nowhere. `others`: the other services of the box. A pure function.
 */
export function choosePort(record: ServiceRecord, others: readonly ServiceRecord[], slot: StartSlot): number | null {
  const { port: wished } = slot === 'active' ? record.spec : (record[slot] ?? record).spec
  // In a copy of the box there is nothing else.
  if (wished === null || (slot !== 'active' && record[slot]?.fork)) return wished
  const own = portsOf(record, slot)
  // The active version of a service has the port that was given to it, whatever other services were given.
  if (slot === 'active' && !own.includes(wished)) return wished
  const taken = new Set([...own, ...others.flatMap((each) => portsOf(each, null))])
  const candidates = [wished, ...Array.from({ length: taken.size + 1 }, (_, place) => FIRST_PORT + place)]
  return candidates.find((port) => !taken.has(port)) ?? null
}

/** Ports that a service has, or will have; but for those of the version that is being started. */
function portsOf(record: ServiceRecord, starting: StartSlot | null): (number | null)[] {
  const { active, previous, spec } = record
  const but = starting === null ? null : record[starting]
  const inBox = instancesOf(record).filter((each) => each !== but && each.fork === null)
  const holding = inBox.filter((each) => !(each === previous && isOver(each)))
  const ports = holding.map(({ port }) => port)
  return starting !== 'active' && active === null ? [...ports, spec.port] : ports
}

function isOver(instance: InstanceRecord): boolean {
  return lastRun(instance)?.end !== null
}

const FIRST_PORT = 49_152
