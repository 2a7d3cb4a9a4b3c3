import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { SECRET_SETTINGS } from '../../config/given.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { run } from '../../lib/run.ts'
import { type DoctorDeps, examine } from '../doctor.ts'
import { askService, SERVICE_UNITS } from '../probes/service.ts'
import { formatJson, formatText } from '../report.ts'

/** A file of a support archive. Its text may still hold secrets. */
export interface SupportFile {
  name: string
  text: string
}

/** Collects files that help to find a fault. A file that cannot be read has the reason in its place. Never rejects. */
export async function gatherFiles(deps: DoctorDeps): Promise<SupportFile[]> {
  const { agent, front } = deps.settings
  const report = await examine(deps, false)
  const asked = ['healthz', 'version', 'v1/config', 'v1/storage'].map(async (path) => ({
    name: `service/${path.split('/').at(-1)}.json`,
    text: await orWhy(async () => JSON.stringify(await askService(front, `/${path}`, agent.dataDir), null, 2)),
  }))
  const told = COMMANDS.map(async ([name, ...command]) => ({ name, text: await outputOf(command) }))
  return [
    { name: 'doctor.txt', text: formatText(report) },
    { name: 'doctor.json', text: formatJson(report) },
    { name: 'settings.txt', text: settingsText(deps) },
    { name: 'host/os-release', text: tryReadText('/etc/os-release') },
    { name: 'host/mountinfo', text: tryReadText('/proc/self/mountinfo') },
    { name: 'host/meminfo', text: tryReadText('/proc/meminfo') },
    { name: 'data-directory.txt', text: await orWhy(async () => listingOf(agent.dataDir)) },
    {
      name: 'pool.txt',
      text: await outputOf(['btrfs', 'inspect-internal', 'dump-super', join(agent.dataDir, 'pool.img')]),
    },
    ...['agent.log', 'front.log'].map((name) => ({
      name: `log/${name}`,
      text: tailOf(join(agent.dataDir, 'log', name)),
    })),
    ...(await Promise.all([...asked, ...told])),
    { name: 'host/dmesg.txt', text: dmesgExcerpt(await outputOf(['dmesg', '--ctime'])) },
  ].map(({ name, text }) => ({ name, text: text.endsWith('\n') ? text : `${text}\n` }))
}

function settingsText({ settings, version }: DoctorDeps): string {
  const { given, agent, front, faults } = settings
  const lines = Object.entries(given)
    .sort()
    .map(([name, value]) => `${name}=${SECRET_SETTINGS.includes(name) ? '[redacted]' : value}`)
  const inForce = JSON.stringify({ agent, front }, null, 2)
  return [
    `# Boxyard ${version.version}: settings that were set`,
    ...lines,
    ...faults.map((fault) => `# Wrong: ${fault}`),
    `# In force`,
    inForce,
  ].join('\n')
}

function listingOf(directory: string, depth = 2, indent = ''): string {
  return readdirSync(directory)
    .sort()
    .slice(0, LISTED)
    .map((name) => {
      const path = join(directory, name)
      const { mode, uid, size, mtimeMs, blocks } = lstatSync(path)
      const isDirectory = (mode & 0o170000) === 0o040000
      const facts = [(mode & 0o7777).toString(8).padStart(4, '0'), `uid ${uid}`, `${size} bytes`, `${blocks} blocks`]
      const line = `${indent}${name}${isDirectory ? '/' : ''}  ${facts.join(', ')}, ${new Date(mtimeMs).toISOString()}`
      return isDirectory && depth > 1 ? `${line}\n${listingOf(path, depth - 1, `${indent}  `)}` : line
    })
    .join('\n')
}

/** Returns the last lines of a file, at most 1 MiB of whole ones. */
function tailOf(path: string): string {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    return reasonOf(error)
  }
  try {
    const { size } = fstatSync(fd)
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES))
    const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length)
    const text = bytes.toString('utf8', 0, read)
    return size > bytes.length ? text.slice(text.indexOf('\n') + 1) : text
  } finally {
    closeSync(fd)
  }
}

/** Returns the lines of the kernel's log about devices and limits of boxes and their pool. Pure. */
export function dmesgExcerpt(log: string): string {
  return log
    .split('\n')
    .filter((line) => OF_INTEREST.test(line))
    .slice(-DMESG_LINES)
    .join('\n')
}

async function outputOf([program = '', ...args]: readonly string[]): Promise<string> {
  return orWhy(async () => {
    const { stdout, stderr, exitCode } = await run(program, args, {
      timeoutMs: TIMEOUT_MS,
      maxOutputBytes: 4 * TAIL_BYTES,
    })
    return exitCode === 0 ? stdout : `${program} exited with ${exitCode}: ${stderr}\n${stdout}`
  })
}

async function orWhy(read: () => Promise<string>): Promise<string> {
  try {
    return await read()
  } catch (error) {
    return reasonOf(error)
  }
}

function reasonOf(error: unknown): string {
  return `not readable: ${error instanceof Error ? error.message : String(error)}`
}

/** Programs whose output is kept, each after the name of its file. */
const COMMANDS: readonly (readonly [name: string, ...command: string[]])[] = [
  ['host/uname.txt', 'uname', '-a'],
  ['host/df.txt', 'df', '-hT'],
  ['host/addresses.txt', 'ip', '-brief', 'address'],
  ['host/routes.txt', 'ip', 'route'],
  ['host/nft-tables.txt', 'nft', 'list', 'tables'],
  ['host/loop-devices.txt', 'losetup', '--list'],
  [
    'host/journal.txt',
    'journalctl',
    ...SERVICE_UNITS.flatMap((unit) => ['-u', unit]),
    '-n',
    '5000',
    '--no-pager',
    '-o',
    'short-iso',
  ],
  ['host/units.txt', 'systemctl', 'cat', ...SERVICE_UNITS],
  ['host/unit-states.txt', 'systemctl', 'status', '--no-pager', '--lines=0', ...SERVICE_UNITS],
]
const OF_INTEREST =
  /btrfs|loop\d|I\/O error|oom|out of memory|killed process|cgroup|crun|haproxy|nf_|conntrack|\bbx\d|EXT4|XFS|nvme|\bsd[a-z]\b|\bvd[a-z]\b|hung|blocked for/i
const DMESG_LINES = 500
const LISTED = 500
const TAIL_BYTES = 1024 ** 2
const TIMEOUT_MS = 20_000
