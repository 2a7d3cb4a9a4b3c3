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

/** Looks at the host and makes all checks; with `fix` once more after the safe changes were made. */
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

Looks at the host and at the deployment on it, before and after installing: settings, versions, kernel, cgroups,
namespaces, programs, packet filter, nameservers, disk, modes of files, ports, clock, units, and what the running
service says is wrong. Each line tells what was found, and what to do. It changes nothing without --fix.

  --fix    makes what is safe: corrects modes of files that are Boxyard's, and loads missing kernel modules
  --json   prints JSON

Without root it says what it could not look at. Exit code: 0 nothing is wrong, 1 something is, 2 wrong options.`
