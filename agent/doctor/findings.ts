/** Codes of faults that doctor finds. docs/operations.md describes each. */
export const DOCTOR_CODES = [
  ...['setting_wrong', 'kernel_old', 'architecture_unknown', 'btrfs_missing', 'loop_missing'],
  ...[
    'cgroups_missing',
    'namespaces_missing',
    'namespace_limit',
    'terminals_few',
    'nft_unusable',
    'network',
    'dns_silent',
    'ids_lent',
  ],
  ...['program_missing', 'program_old', 'program_unfixed', 'clock_behind', 'clock_unsynchronized'],
  ...['disk_full', 'disk_small', 'disk_read_only', 'disk_volatile', 'disk_remote', 'inodes_used_up'],
  ...['port_taken', 'port_twice', 'port_unusable'],
  ...['mode_open', 'mode_closed', 'owner_wrong', 'parent_open', 'file_missing'],
  ...['schema_newer', 'schema_older', 'database_unreadable', 'pool_missing', 'version_differs'],
  ...['unit_failed', 'unit_inactive', 'unit_disabled', 'service_silent', 'service_stopped', 'health'],
] as const

export type DoctorCode = (typeof DOCTOR_CODES)[number]

/** `ok`. `note`: works, but could be better. `problem`: does not work, will not, or is unsafe. `unknown`: the check failed. */
export type FindingLevel = 'ok' | 'note' | 'problem' | 'unknown'

/** A change without any loss, which doctor makes on request. */
export type Fix = { kind: 'chmod'; path: string; mode: number } | { kind: 'modprobe'; module: string }

/** The outcome of one check. */
export interface Finding {
  /** Area of the check, such as `disk`. */
  check: string
  level: FindingLevel
  /** Null for an ok or unknown result. The service's own problems have `health`, and their code begins the evidence. */
  code: DoctorCode | null
  /** The result, as sentences. */
  evidence: string
  /** The remedy, as sentences. Null if there is nothing to do. */
  remedy: string | null
  fix: Fix | null
}

/** A problem or note without its area. */
export interface Fault {
  code: DoctorCode
  evidence: string
  remedy: string
  fix?: Fix
}

/** Functions that make the findings of one area. */
export interface Area {
  ok(evidence: string): Finding
  note(fault: Fault): Finding
  problem(fault: Fault): Finding
  /** `why`: the reason why the check failed. */
  unknown(what: string, why: string): Finding
}

/** Returns the functions that make findings of `check`. */
export function areaOf(check: string): Area {
  const of = (level: FindingLevel, { code, evidence, remedy, fix }: Fault): Finding => ({
    check,
    level,
    code,
    evidence,
    remedy,
    fix: fix ?? null,
  })
  const plain = (level: FindingLevel, evidence: string, remedy: string | null): Finding => ({
    ...{ check, level, code: null, evidence, remedy, fix: null },
  })
  return {
    ok: (evidence) => plain('ok', evidence, null),
    note: (fault) => of('note', fault),
    problem: (fault) => of('problem', fault),
    unknown: (what, why) =>
      plain('unknown', `${what}: ${why}`.replaceAll(/\s+/g, ' '), 'Run doctor as root, or fix the reason above.'),
  }
}
