import type { Facts, UnitFacts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks that the settings are valid. Pure. */
export function checkSettings({ settings }: Pick<Facts, 'settings'>): Finding[] {
  if (settings.hiddenFile !== null)
    return [SETTINGS.unknown(settings.hiddenFile, 'this user cannot read it, so doctor uses the defaults')]
  if (settings.faults.length === 0) return [SETTINGS.ok('The settings are valid.')]
  return settings.faults.map((evidence) =>
    SETTINGS.problem({
      code: 'setting_wrong',
      evidence,
      remedy:
        'Correct it in /etc/boxyard/boxyard.conf or the environment. The service does not start with it. Doctor used the default instead.',
    }),
  )
}

/** Checks the versions of program, Node.js and database, and that the pool exists. Pure. */
export function checkVersions({
  program,
  service,
  settings,
}: Pick<Facts, 'program' | 'service' | 'settings'>): Finding[] {
  const { version, commit, node } = program
  const findings: Finding[] = []
  const { runningVersion, schema, expectsPool, hasPoolImage } = service
  const differs =
    runningVersion !== null && (runningVersion.version !== version || isOther(runningVersion.commit, commit))
  if (differs) {
    findings.push(
      VERSIONS.note({
        code: 'version_differs',
        evidence: `The running agent is ${named(runningVersion)}, this program is ${named(program)}.`,
        remedy: 'After an upgrade, restart it: systemctl restart boxyard-agent boxyard-front. Boxes keep running.',
      }),
    )
  }
  findings.push(...checkSchema(schema, program.schema, settings.agent.dataDir))
  if ('value' in expectsPool && expectsPool.value && !hasPoolImage) {
    findings.push(
      VERSIONS.problem({
        code: 'pool_missing',
        evidence: `The database belongs to a storage pool, but ${settings.agent.dataDir}/pool.img does not exist.`,
        remedy:
          'Mount the disk of the file, or restore the file. docs/operations.md explains how to move and restore a deployment.',
      }),
    )
  }
  if (findings.some(({ level }) => level !== 'ok')) return findings
  return [VERSIONS.ok(`Boxyard ${named(program)} on Node.js ${node}.`), ...findings]
}

function checkSchema(schema: Facts['service']['schema'], known: number, dataDir: string): Finding[] {
  if ('hidden' in schema) {
    if (/EACCES|permission|unable to open/i.test(schema.hidden)) return [VERSIONS.unknown('Database', schema.hidden)]
    return [
      VERSIONS.problem({
        code: 'database_unreadable',
        evidence: `${dataDir}/boxyard.db is not readable: ${schema.hidden}.`,
        remedy: 'Stop the service, copy the file, and restore it from a backup (boxyard admin restore).',
      }),
    ]
  }
  if (schema.value === null || schema.value === known) return []
  const isNewer = schema.value > known
  const evidence = `The database has schema version ${schema.value}, and this program uses version ${known}.`
  return isNewer
    ? [
        VERSIONS.problem({
          code: 'schema_newer',
          evidence,
          remedy: 'Use the newer Boxyard that wrote it, or restore an older backup.',
        }),
      ]
    : [
        VERSIONS.note({
          code: 'schema_older',
          evidence,
          remedy: 'The next start migrates it and keeps a copy next to it.',
        }),
      ]
}

function named({ version, commit }: { version: string; commit: string | null }): string {
  return commit === null ? version : `${version} (${commit.slice(0, 9)})`
}

// A checkout with packed refs does not know its commit.
function isOther(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other
}

/** Checks the units of systemd. Pure. */
export function checkUnits({ service }: Pick<Facts, 'service'>): Finding[] {
  const { units } = service
  if ('hidden' in units) return [UNITS.unknown('systemd', units.hidden)]
  if (units.value === null) return [UNITS.ok('This host does not run systemd, so the service has no units.')]
  const installed = units.value.filter(({ load }) => load !== 'not-found')
  if (installed.length === 0) return [UNITS.ok('The systemd units are not installed.')]
  const findings = installed.flatMap(checkUnit)
  if (findings.length > 0) return findings
  return [
    UNITS.ok(
      installed
        .map(({ name, active, file }) => `${name} is ${active} and ${file}`)
        .join(', ')
        .concat('.'),
    ),
  ]
}

function checkUnit({ name, load, active, sub, file, result, status }: UnitFacts): Finding[] {
  if (active === 'failed' || load === 'error' || load === 'bad-setting') {
    const evidence = `${name} is ${active === 'failed' ? `failed (${result})` : load}${status === '' ? '' : `: ${status}`}.`
    const remedy = `Find the cause (journalctl -u ${name} -n 50), then: systemctl restart ${name}`
    return [UNITS.problem({ code: 'unit_failed', evidence, remedy })]
  }
  // A service that exits at each start is "activating" all the time.
  if (sub.startsWith('auto-restart')) {
    const evidence = `${name} keeps exiting and restarting (${result})${status === '' ? '' : `: ${status}`}.`
    return [UNITS.problem({ code: 'unit_failed', evidence, remedy: `Find the cause: journalctl -u ${name} -n 50` })]
  }
  if (file === 'enabled' && active === 'inactive') {
    const evidence = `${name} is enabled but does not run.`
    return [UNITS.problem({ code: 'unit_inactive', evidence, remedy: `systemctl start ${name}` })]
  }
  // Another unit starts a static unit.
  if (file === 'disabled' && active !== 'inactive') {
    const evidence = `${name} runs but is ${file}, so it does not start at boot.`
    return [UNITS.note({ code: 'unit_disabled', evidence, remedy: `systemctl enable ${name}` })]
  }
  return []
}

/** Checks that the service answers, and passes on the problems that it reports. Pure. */
export function checkService({ service, settings }: Pick<Facts, 'service' | 'settings'>): Finding[] {
  const { health, holder, url, schema, lastFailure } = service
  if ('value' in health) return checkHealth(health.value, url)
  if ('value' in holder && holder.value !== null) {
    const { pid, unit } = holder.value
    const who = `The agent runs (process ${pid}${unit === null ? '' : `, ${unit}`})`
    return [
      SERVICE.problem({
        code: 'service_silent',
        evidence: `${who}, but ${url}/healthz returns ${health.hidden}.`,
        remedy:
          'Check that the front runs (systemctl status boxyard-front). The first start of the agent takes longer, because it builds a base.',
      }),
    ]
  }
  if ('value' in schema && schema.value === null && lastFailure === null)
    return [SERVICE.ok(`${settings.agent.dataDir} has no deployment yet.`)]
  const failure = lastFailure === null ? '' : ` Its last error: ${lastFailure}`
  return [
    SERVICE.note({
      code: 'service_stopped',
      evidence: `The service does not run: ${url}/healthz returns ${health.hidden}.${failure}`,
      remedy:
        'Start it: systemctl start boxyard-agent boxyard-front, or npm run up. Boxes keep running unless you ran npm run down.',
    }),
  ]
}

function checkHealth({ status, problems }: Health, url: string): Finding[] {
  if (status === 'ok') return [SERVICE.ok(`${url}/healthz reports ok.`)]
  if (problems !== null && problems.length > 0) {
    return problems.map(({ code, evidence, remedy }) =>
      SERVICE.problem({ code: 'health', evidence: `${code}: ${evidence}`, remedy }),
    )
  }
  const remedy = 'Run doctor as root, or request the report with a token. Without either, the report has no details.'
  return [SERVICE.problem({ code: 'health', evidence: `${url}/healthz reports ${status}.`, remedy })]
}

type Health = Extract<Facts['service']['health'], { value: unknown }>['value']

const SETTINGS = areaOf('settings')
const VERSIONS = areaOf('versions')
const UNITS = areaOf('units')
const SERVICE = areaOf('service')
