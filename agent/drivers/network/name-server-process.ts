import fs from 'node:fs'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { namespaceOf } from '../../lib/mounts/namespace.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { startProgram } from '../../lib/syscalls/spawn.ts'
import { inBoxesUnit } from '../host/boxes-unit.ts'
import { mountNamespace } from '../host/host-namespace.ts'
import { processIdBases } from './host.ts'
import { isMappedTo, serverOfIdBase } from './slots.ts'

/** Files of the name servers of an instance, below a directory that only root can list. */
export interface NameServerFiles {
  directory: string
  /** A resolv.conf with the resolvers that servers query, in a directory that they can read. Null if they query none. */
  upstreamFile: string | null
  /** Hosts file of a project. */
  hostsFile(project: string): string
}

/** Returns the directory of the hosts files of projects. */
export function hostsDirectory(runDir: string): string {
  return `${runDir}/hosts`
}

/** Returns the path of the resolvers that servers query. It has a directory of its own, since dnsmasq must be able to read that. */
export function upstreamFile(runDir: string): string {
  return `${runDir}/resolvers/resolv.conf`
}

/** Returns the files of the name servers below `runDir`. Without `egress` they query no resolvers. */
export function nameServerFiles(runDir: string, egress: boolean): NameServerFiles {
  return {
    directory: `${runDir}/names`,
    upstreamFile: egress ? upstreamFile(runDir) : null,
    hostsFile: (project) => `${hostsDirectory(runDir)}/${project}`,
  }
}

/** Identifies a server. After all boxes of a project have stopped, the project gets another server. */
export interface ServerIdentity {
  project: string
  /** Number of the slot among the slots of servers. */
  number: number
}

/** Options for starting the name server of a project. */
export interface NameServerStart extends ServerIdentity {
  /** The slot's namespaces. */
  userNamespace: string
  networkNamespace: string
  /** The /16 of boxes. */
  subnet: string
}

/** A server that an earlier agent left. */
export interface FoundNameServer extends ServerIdentity {
  pid: number
}

/** Starts dnsmasq in a slot, in which it has no rights, and resolves with its pid. It outlives this process. */
export async function startDnsmasq(files: NameServerFiles, start: NameServerStart): Promise<number> {
  const { directory } = files
  const { number, userNamespace, networkNamespace } = start
  const enter = ['nsenter', `--user=${userNamespace}`, `--net=${networkNamespace}`, '--', ...WITHOUT_RIGHTS]
  const program = [...mountNamespace(directory), ...enter, ...dnsmasqCommand(files, start)]
  const script = ['sh', '-c', START, 'names', String(number), recordPath(directory, start), ...program]
  const stdin = fs.openSync('/dev/null', 'r')
  const output = fs.openSync(lastWordsPath(directory, start), 'w', 0o600)
  try {
    const args = ['env', ...inBoxesUnit('names', script)]
    return await startProgram({
      path: '/usr/bin/env',
      args,
      env: { PATH: PROGRAM_PATH },
      stdio: [stdin, output, output],
    })
  } finally {
    closeFd(stdin)
    closeFd(output)
  }
}

/** Finds the servers of instance `k` that an earlier agent recorded and that still run. */
export function findNameServers(directory: string, k: number): FoundNameServer[] {
  if (!fs.existsSync(directory)) return []
  return fs.readdirSync(directory).flatMap((name) => {
    const project = name.endsWith(RECORD) ? (name.split('.')[0] ?? '') : ''
    const [pid = 0, number = -1] = tryReadText(`${directory}/${name}`).split(' ').map(Number)
    const base = project === '' || !(pid > 0) ? null : idBaseOf(pid)
    return base !== null && serverOfIdBase(k, base) === number ? [{ project, number, pid }] : []
  })
}

/**
 * Removes the files of all servers that are not in `kept`, including servers that ended while no agent ran. Kills a server that an earlier
 * agent was just starting. Before it enters its slot, only its record shows that it exists.
 */
export function removeStaleFiles(files: NameServerFiles, kept: readonly ServerIdentity[]): void {
  const { directory } = files
  const own = new Set(kept.flatMap((server) => [recordPath(directory, server), lastWordsPath(directory, server)]))
  for (const name of fs.readdirSync(directory)) {
    const path = `${directory}/${name}`
    if (own.has(path)) continue
    const [pid = 0] = name.endsWith(RECORD) ? tryReadText(path).split(' ').map(Number) : []
    if (pid > 0 && isServerOf(pid, files.hostsFile(name.split('.')[0] ?? ''))) signal(pid, 'SIGKILL')
    fs.rmSync(path, { force: true, recursive: true })
  }
}

/**
 * Returns true if a server listens at its address. Compares the address as well. Until the process enters its slot, it is in the
 * network of the host, where a resolver may listen at the same port. dnsmasq listens by TCP last.
 */
export function isListening(pid: number, address: string): boolean {
  // The table of the host may be long.
  if (namespaceOf(String(pid), 'net') === namespaceOf('self', 'net')) return false
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'))
  const local = `${octets.toReversed().join('').toUpperCase()}:0035`
  return tryReadText(`/proc/${pid}/net/tcp`).includes(` ${local} 00000000:0000 0A `)
}

/** Kills all processes of the servers of instance `k` whose number `isDoomed` accepts. */
export function killServers(k: number, isDoomed: (number: number) => boolean): void {
  const isMeant = (base: number): boolean => {
    const number = serverOfIdBase(k, base)
    return number !== null && isDoomed(number)
  }
  if (!processIdBases().some(isMeant)) return
  for (const pid of fs.readdirSync('/proc').map(Number).filter(Boolean)) {
    const base = idBaseOf(pid)
    if (base !== null && isMeant(base)) signal(pid, 'SIGKILL')
  }
}

/** Makes a server read its files again and clear its cache. */
export function reloadNameServer(pid: number): void {
  signal(pid, 'SIGHUP')
}

/** Kills a server, which leads a session of its own, with the processes that it made for TCP. */
export function killNameServer(pid: number): void {
  signal(-pid, 'SIGKILL')
}

/** Returns the last line that a server wrote before it ended. */
export function lastWordsOf(directory: string, server: ServerIdentity): string {
  return tryReadText(lastWordsPath(directory, server)).trim().split('\n').at(-1)?.slice(0, 300) ?? ''
}

/** Removes the files of a server. */
export function forgetNameServer(directory: string, server: ServerIdentity): void {
  for (const path of [recordPath(directory, server), lastWordsPath(directory, server)]) fs.rmSync(path, { force: true })
}

/** Returns the command line of dnsmasq, which runs until it is killed. */
function dnsmasqCommand(
  { upstreamFile, hostsFile }: NameServerFiles,
  { project, subnet }: Pick<NameServerStart, 'project' | 'subnet'>,
): string[] {
  const [first, second] = subnet.split('.')
  // Without resolvers no query leaves the host, and names that are not in the hosts file do not exist.
  const upstream =
    upstreamFile === null ? ['--no-resolv', '--local=/#/'] : [`--resolv-file=${upstreamFile}`, '--no-poll']
  return [
    ...[
      'dnsmasq',
      '--keep-in-foreground',
      '--conf-file=/dev/null',
      '--pid-file=',
      '--user=',
      '--log-facility=/dev/null',
    ],
    ...['--interface=eth0', '--except-interface=lo', '--bind-interfaces', '--no-hosts'],
    ...[
      `--addn-hosts=${hostsFile(project)}`,
      ...upstream,
      // Keeps names without a dot here, for every type of record. `--domain-needed` forwards queries for MX, HTTPS and others.
      '--local=//',
      `--local=/${second}.${first}.in-addr.arpa/`,
    ],
    // An answer from outside cannot name a box.
    `--bogus-nxdomain=${subnet}`,
    ...[`--cache-size=${CACHE_ENTRIES}`, `--dns-forward-max=${QUERIES_AT_ONCE}`],
    ...[`--min-port=${PORT_MIN}`, `--max-port=${PORT_MAX}`],
  ]
}

/** Returns true if a process is the server of a hosts file, or one of the programs that start it. */
function isServerOf(pid: number, hostsFile: string): boolean {
  return tryReadText(`/proc/${pid}/cmdline`).split('\0').includes(`--addn-hosts=${hostsFile}`)
}

/** Returns the first host id of a process of a slot, or null if it has ended or is of another kind. */
function idBaseOf(pid: number): number | null {
  const map = tryReadText(`/proc/${pid}/uid_map`)
  const idBase = Number(map.trim().split(/\s+/)[1] ?? 0)
  return isMappedTo(map, { idBase, ids: 2 }) ? idBase : null
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

const recordPath = (directory: string, server: ServerIdentity): string => `${pathOf(directory, server)}${RECORD}`
const lastWordsPath = (directory: string, server: ServerIdentity): string => `${pathOf(directory, server)}.log`
// No name of a project has a dot.
const pathOf = (directory: string, { project, number }: ServerIdentity): string => `${directory}/${project}.${number}`

const RECORD = '.pid'
// The process records itself before it is the server, so that no crash of the agent leaves one that the next does not know. Until dnsmasq
// handles SIGHUP, after which it reads its files, it must not die of one.
const START = `
number=$1 record=$2
shift 2
trap '' HUP
ulimit -c 0; ulimit -n 128; ulimit -v 65536
echo "$$ $number" >"$record" && exec "$@"`
const WITHOUT_RIGHTS = [
  ...[
    'setpriv',
    '--reuid=1',
    '--regid=1',
    '--clear-groups',
    '--no-new-privs',
    '--inh-caps=-all',
    '--bounding-set=-all',
  ],
  '--',
]
const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const CACHE_ENTRIES = 1_000
/** More than one box can have open with resolvers that do not answer, which dnsmasq gives ten seconds. */
const QUERIES_AT_ONCE = 6_000
/** First source port of queries. Each resolver needs as many entries of connection tracking as there are ports. */
const PORT_MIN = 49_152
const PORT_MAX = 51_199
