import { CRUN_FIXED_UPSTREAM } from '../../drivers/host/crun-fixes.ts'
import { isOlderVersion } from '../../drivers/host/crun-version.ts'
import type { CrunPackageFacts, Facts, ToolFacts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks the programs that the agent starts. Pure. */
export function checkTools({ tools }: Pick<Facts, 'tools'>): Finding[] {
  const missing = tools.filter(({ path }) => path === null)
  const old = tools.filter(
    ({ version, minVersion }) => version !== null && minVersion !== null && isOlderVersion(version, minVersion),
  )
  const packages = [...new Set(missing.map((tool) => tool.package))]
  const findings = old.map(({ name, version, minVersion, ...tool }) =>
    PROGRAMS.problem({
      code: 'program_old',
      evidence: `${name} is ${version}, but ${minVersion} or newer is required.`,
      remedy: `Upgrade the package ${tool.package}: apt-get install ${tool.package}`,
    }),
  )
  if (missing.length > 0) {
    findings.push(
      PROGRAMS.problem({
        code: 'program_missing',
        evidence: `Not found in PATH: ${missing.map(({ name }) => name).join(', ')}.`,
        remedy: `Install them: apt-get install ${packages.join(' ')} (npm run up does this automatically).`,
      }),
    )
  }
  const sound = tools.filter((tool) => tool.path !== null && !old.includes(tool))
  return sound.length === 0 ? findings : [PROGRAMS.ok(`${sound.map(described).join(', ')}.`), ...findings]
}

function described({ name, version }: ToolFacts): string {
  return version === null ? name : `${name} ${version}`
}

/** Checks that crun, which isolates boxes from root of the host, has its security fixes. Pure. */
export function checkCrunFixes({ crunPackage, tools }: Pick<Facts, 'crunPackage' | 'tools'>): Finding[] {
  const crun = tools.find(({ name }) => name === 'crun')
  if (crun === undefined || crun.path === null) return []
  if ('hidden' in crunPackage) return [PROGRAMS.unknown('Package of crun', crunPackage.hidden)]
  return crunPackage.value === null ? checkOwnCrun(crun) : checkCrunPackage(crunPackage.value)
}

function checkCrunPackage({ name, installed, lacks, offered }: CrunPackageFacts): Finding[] {
  const remedy = `Run apt-get update, then apt-get install --only-upgrade ${name}. Running boxes need no restart.`
  if (lacks !== null) {
    const evidence = `The package ${name} is ${installed}, but ${lacks} is the first with all security fixes.`
    return [PROGRAMS.problem({ code: 'program_unfixed', evidence, remedy })]
  }
  if (offered === null) return []
  const evidence = `The package ${name} is ${installed}, but the distribution has ${offered}.`
  return [PROGRAMS.note({ code: 'program_unfixed', evidence, remedy })]
}

function checkOwnCrun({ path, version }: ToolFacts): Finding[] {
  const { version: fixed, advisory } = CRUN_FIXED_UPSTREAM
  if (version === null || !isOlderVersion(version, fixed)) return []
  return [
    PROGRAMS.problem({
      code: 'program_unfixed',
      evidence: `${path} is crun ${version}, not from a Debian package. Version ${fixed} is the first with all security fixes (${advisory}).`,
      remedy: `Replace it with crun ${fixed} or newer, or install the Debian package: apt-get install crun`,
    }),
  ]
}

/** Checks the clock. Pure. */
export function checkClock({ clock, now }: Pick<Facts, 'clock' | 'now'>): Finding[] {
  const { isSynchronized, newestFile } = clock
  const time = new Date(now).toISOString()
  if (newestFile !== null && newestFile.at > now + SLACK_MS) {
    return [
      CLOCK.problem({
        code: 'clock_behind',
        evidence: `The clock shows ${time}, but ${newestFile.path} was written at ${new Date(newestFile.at).toISOString()}.`,
        remedy:
          'Set the clock (timedatectl set-ntp true, or date -s). Tokens, schedules and certificates depend on it.',
      }),
    ]
  }
  if ('hidden' in isSynchronized) return [CLOCK.unknown('Clock synchronization', isSynchronized.hidden)]
  if (isSynchronized.value) return [CLOCK.ok(`The clock shows ${time}, and is synchronized.`)]
  return [
    CLOCK.note({
      code: 'clock_unsynchronized',
      evidence: `The clock shows ${time}, and no time source synchronizes it.`,
      remedy:
        'Run one: apt-get install systemd-timesyncd (or chrony). Tokens expire by this clock, and clocks of fronts on other machines may differ by at most 30 s.',
    }),
  ]
}

const PROGRAMS = areaOf('programs')
const CLOCK = areaOf('clock')
const SLACK_MS = 60_000
