import type { Facts, UnitFacts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks that the settings are valid. Pure. */
export function checkSettings({ settings }: Pick<Facts, 'settings'>): Finding[] {
  if (settings.hiddenFile !== null)
    return [SETTINGS.unknown(settings.hiddenFile, 'this user may not read it, so defaults are taken for what it sets')]
  if (settings.faults.length === 0) return [SETTINGS.ok('The settings are valid.')]
  return settings.faults.map((evidence) =>
    SETTINGS.problem({
      code: 'setting_wrong',
      evidence,
      remedy:
        'Correct it where it is set (/etc/boxyard/boxyard.conf, or the environment): the service does not start with it. Doctor went on with the default.',
    }),
  )
}

/** Checks the versions of program, Node.js and database, and that the pool is there. Pure. */
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
        evidence: `The agent that runs is ${named(runningVersion)}, this program ${named(program)}.`,
        remedy:
          'After an upgrade, start it again (systemctl restart boxyard-agent boxyard-front): boxes go on running.',
      }),
    )
  }
  findings.push(...checkSchema(schema, program.schema, settings.agent.dataDir))
  if ('value' in expectsPool && expectsPool.value && !hasPoolImage) {
    findings.push(
      VERSIONS.problem({
        code: 'pool_missing',
        evidence: `The database knows of a pool, and ${settings.agent.dataDir}/pool.img is not there.`,
        remedy:
          'Mount the disk that it is on, or bring the file back; docs/operations.md tells of moving and restoring.',
      }),
    )
  }
  if (findings.some(({ level }) => level !== 'ok')) return findings
  return [VERSIONS.ok(`Boxyard ${named(program)} on Node.js ${node}.`), ...findings]
}

function checkSchema(schema: Facts['service']['schema'], known: number, dataDir: string): Finding[] {
  if ('hidden' in schema) {
    if (/EACCES|permission|unable to open/i.test(schema.hidden))
      return [VERSIONS.unknown('The database', schema.hidden)]
    return [
      VERSIONS.problem({
        code: 'database_unreadable',
        evidence: `${dataDir}/boxyard.db cannot be read: ${schema.hidden}.`,
        remedy: 'Stop the service, keep a copy of the file, and bring it back from a backup (boxyard admin restore).',
      }),
    ]
  }
  if (schema.value === null || schema.value === known) return []
  const isNewer = schema.value > known
  const evidence = `The database has schema version ${schema.value}, this program knows ${known}.`
  return isNewer
    ? [
        VERSIONS.problem({
          code: 'schema_newer',
          evidence,
          remedy: 'Use the newer Boxyard that wrote it, or restore a backup of before.',
        }),
      ]
    : [
        VERSIONS.note({
          code: 'schema_older',
          evidence,
          remedy: 'The next start migrates it, and keeps a copy beside it.',
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
  if (units.value === null) return [UNITS.ok('No systemd runs here; the service is started by other means.')]
  const installed = units.value.filter(({ load }) => load !== 'not-found')
  if (installed.length === 0) return [UNITS.ok('The units are not installed.')]
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
    const remedy = `Read why (journalctl -u ${name} -n 50), then: systemctl restart ${name}`
    return [UNITS.problem({ code: 'unit_failed', evidence, remedy })]
  }
  // Whoever ends at each start is "activating" all the time.
  if (sub.startsWith('auto-restart')) {
    const evidence = `${name} ends, and is started again and again (${result})${status === '' ? '' : `: ${status}`}.`
    return [UNITS.problem({ code: 'unit_failed', evidence, remedy: `Read why: journalctl -u ${name} -n 50` })]
  }
  if (file === 'enabled' && active === 'inactive') {
    const evidence = `${name} is enabled, and does not run.`
    return [UNITS.problem({ code: 'unit_inactive', evidence, remedy: `systemctl start ${name}` })]
  }
  // A static unit is started by another.
  if (file === 'disabled' && active !== 'inactive') {
    const evidence = `${name} runs, and is ${file}: it does not start with the machine.`
    return [UNITS.note({ code: 'unit_disabled', evidence, remedy: `systemctl enable ${name}` })]
  }
  return []
}

/** Checks that the service answers, and passes on what it says is wrong. Pure. */
export function checkService({ service, settings }: Pick<Facts, 'service' | 'settings'>): Finding[] {
  const { health, holder, url, schema, lastFailure } = service
  if ('value' in health) return checkHealth(health.value, url)
  if ('value' in holder && holder.value !== null) {
    const { pid, unit } = holder.value
    const who = `The agent runs (process ${pid}${unit === null ? '' : `, ${unit}`})`
    return [
      SERVICE.problem({
        code: 'service_silent',
        evidence: `${who}, and ${url}/healthz gives ${health.hidden}.`,
        remedy:
          'See whether the front runs (systemctl status boxyard-front), and whether the agent still starts: the first start builds a base.',
      }),
    ]
  }
  if ('value' in schema && schema.value === null && lastFailure === null)
    return [SERVICE.ok(`There is no deployment in ${settings.agent.dataDir} yet.`)]
  const failure = lastFailure === null ? '' : ` It ended last with: ${lastFailure}`
  return [
    SERVICE.note({
      code: 'service_stopped',
      evidence: `The service does not run: ${url}/healthz gives ${health.hidden}.${failure}`,
      remedy:
        'Start it: systemctl start boxyard-agent boxyard-front, or npm run up. Boxes that were running still do, unless it was taken down.',
    }),
  ]
}

function checkHealth({ status, problems }: Health, url: string): Finding[] {
  if (status === 'ok') return [SERVICE.ok(`${url}/healthz says ok.`)]
  if (problems !== null && problems.length > 0) {
    return problems.map(({ code, evidence, remedy }) =>
      SERVICE.problem({ code: 'health', evidence: `${code}: ${evidence}`, remedy }),
    )
  }
  const remedy = 'Run this as root, or ask with a token: what is wrong is told to those alone.'
  return [SERVICE.problem({ code: 'health', evidence: `${url}/healthz says ${status}.`, remedy })]
}

type Health = Extract<Facts['service']['health'], { value: unknown }>['value']

const SETTINGS = areaOf('settings')
const VERSIONS = areaOf('versions')
const UNITS = areaOf('units')
const SERVICE = areaOf('service')
