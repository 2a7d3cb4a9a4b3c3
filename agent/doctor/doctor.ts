import { parseArgs } from 'node:util'
import type { GivenSettings } from '../config/given.ts'
import { checkAll } from './checks/all.ts'
import { applyFixes } from './fix.ts'
import { probeAll } from './probes/probe.ts'
import { type DoctorReport, formatJson, formatText, isSound } from './report.ts'

export interface DoctorDeps {
  settings: GivenSettings
  version: { version: string; commit: string | null }
  /** `PATH` of this process. */
  path: string
  now(): number
}

/** `doctor [--fix] [--json]`: returns 0 if nothing is wrong, 1 if something is, 2 for wrong options. */
export async function runDoctorCommand(
  deps: DoctorDeps,
  args: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const flags = parseFlags(args)
  if (typeof flags === 'string') {
    print(`${flags}\n\n${DOCTOR_HELP}`)
    return 2
  }
  if (flags.help) {
    print(DOCTOR_HELP)
    return 0
  }
  const report = await examine(deps, flags.fix)
  print(flags.json ? formatJson(report) : formatText(report))
  return isSound(report) ? 0 : 1
}

/** Looks at the host and makes all checks. With `fix`, repeats them after it has made the safe changes. */
export async function examine({ settings, version, path, now }: DoctorDeps, fix: boolean): Promise<DoctorReport> {
  const look = async (): Promise<DoctorReport['findings']> =>
    checkAll(await probeAll({ settings, version, path, now: now() }))
  const findings = await look()
  const fixes = fix ? await applyFixes(findings) : []
  return { program: version, findings: fixes.length > 0 ? await look() : findings, fixes }
}

function parseFlags(args: readonly string[]): { fix: boolean; json: boolean; help: boolean } | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        fix: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    return values
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const DOCTOR_HELP = `Usage: boxyard doctor [--fix] [--json]

Checks this host and its deployment, before and after the installation. Prints each finding with its remedy, and changes
nothing without --fix. It checks settings, versions, kernel, cgroups, namespaces, programs, packet filter, nameservers,
disk, file modes, ports, clock, units and service health.

  --fix    apply safe fixes: correct modes of Boxyard's files, and load missing kernel modules
  --json   print JSON

Without root, doctor lists the checks that it had to skip. Exit code: 0 no problems, 1 problems, 2 wrong options.`
