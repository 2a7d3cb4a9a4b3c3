import type { Facts, PortFacts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks that the service can listen at its addresses. Pure. */
export function checkPorts({ ports, isRoot }: Pick<Facts, 'ports' | 'isRoot'>): Finding[] {
  const findings = [...checkTwice(ports), ...ports.flatMap((port) => checkPort(port, isRoot))]
  if (findings.length > 0) return findings
  const held = ports.filter(({ holders }) => 'value' in holders && holders.value.length > 0)
  const what = held.length === 0 ? 'are free' : `are free or belong to this service (${held.length})`
  return [PORTS.ok(`The ports ${ports.map(({ port }) => port).join(', ')} ${what}.`)]
}

function checkTwice(ports: readonly PortFacts[]): Finding[] {
  const byAddress = Map.groupBy(ports, ({ host, port }) => `${host}:${port}`)
  return [...byAddress]
    .filter(([, { length }]) => length > 1)
    .map(([address, same]) => {
      const names = same.map(({ variable }) => variable).join(' and ')
      const evidence = `${names} are both ${address}.`
      return PORTS.problem({ code: 'port_twice', evidence, remedy: 'Set a different port for each.' })
    })
}

function checkPort({ variable, host, port, holders, refusal }: PortFacts, isRoot: boolean): Finding[] {
  const where = `Port ${port} of ${host} (${variable})`
  if ('hidden' in holders) return [PORTS.unknown(`${where} is in use`, holders.hidden)]
  const foreign = holders.value.filter(({ isOurs }) => !isOurs)
  if (foreign.length > 0) {
    const units = [...new Set(foreign.flatMap(({ unit }) => unit ?? []))]
    const stop =
      units.length > 0
        ? `Stop the program that listens there (systemctl stop ${units.join(' ')})`
        : 'Stop the program that listens there'
    return [
      PORTS.problem({
        code: 'port_taken',
        evidence: `${where} is in use by ${foreign.map(holderText).join(', ')}.`,
        remedy: `${stop}, or set ${variable} to another port.`,
      }),
    ]
  }
  if (refusal === null) return []
  if (refusal === 'EACCES' && !isRoot) return [PORTS.unknown(where, 'only root can listen there')]
  const isForeignAddress = refusal === 'EADDRNOTAVAIL' || refusal === 'ENOTFOUND'
  return [
    PORTS.problem({
      code: 'port_unusable',
      evidence: `The service cannot listen on ${where}: ${isForeignAddress ? 'the machine has no such address' : refusal}.`,
      remedy: isForeignAddress
        ? `Set the host that belongs to ${variable} to an address of this machine.`
        : `Set ${variable} to another port.`,
    }),
  ]
}

function holderText({ pid, command, unit }: { pid: number; command: string; unit: string | null }): string {
  return `${command || 'a process'} (process ${pid}${unit === null ? '' : `, ${unit}`})`
}

const PORTS = areaOf('ports')
