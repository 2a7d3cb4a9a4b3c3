import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { linksOf } from '../../infra/cluster/node-space.ts'
import { listClusters, readRecord } from '../../infra/cluster/record.ts'
import { directoriesOf, readText } from './leftovers.ts'

/**
 * Lists everything that a cluster can change on a host, one line each. This includes mounts, cgroups, links, tables, kernel settings, files
 * outside its directories, and processes that carry its name. Leaves out traces of boxes and of other clusters, and everything shared.
 */
export function findHostTraces(name: string): string[] {
  const others = listClusters().filter((other) => other !== name)
  // Includes traces of clusters that come and go while this runs.
  const isOfOthers = (text: string): boolean => /boxyard-cluster[-/]\w/.test(text) && !text.includes(name)
  return [...mounts(), ...cgroups(), ...links(others), ...tables(), ...settings(), ...files(), ...processes(name)]
    .filter((trace) => !isOfOthers(trace) && !SHARED.includes(trace))
    .sort()
}

function mounts(): string[] {
  const targets = lines(readFileSync('/proc/self/mountinfo', 'utf8')).map((line) => line.split(' ')[4] ?? '')
  // Leaves out mounts of tests that run at the same time.
  const isOfTests = (target: string): boolean => target.startsWith(join(tmpdir(), 'boxyard-'))
  return targets.filter((target) => !isOfTests(target)).map((target) => `mount ${target}`)
}

function cgroups(): string[] {
  const found = directoriesOf('/sys/fs/cgroup').filter((path) => path.includes('boxyard-cluster'))
  return found.map((path) => `cgroup ${path}`)
}

/** Lists the host ends of pod and node links. Leaves out links with the gateway address or a name of another cluster. */
function links(others: readonly string[]): string[] {
  const records = others.map(readRecord).filter((record) => record !== null)
  const gateways = records.map(({ subnet }) => subnet.replace(/\.0\/\d+$/, '.1'))
  const foreign = records.flatMap(linksOf)
  const interfaces = networkInterfaces()
  return readdirSync('/sys/class/net')
    .filter((link) => /^(veth|byc-)/.test(link) && !foreign.includes(link))
    .filter((link) => !interfaces[link]?.some(({ address }) => gateways.includes(address)))
    .map((link) => `link ${link}`)
}

function tables(): string[] {
  const listed = lines(execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' }))
  return listed.map((line) => line.replaceAll('_', '-')).filter((line) => !/ boxyard-(?!cluster-)/.test(line))
}

function settings(): string[] {
  return SETTINGS.map((name) => `setting ${name}=${readFileSync(join('/proc/sys', name), 'utf8').trim()}`)
}

function files(): string[] {
  // Other programs on the host create and delete files in these shared directories.
  const common = COMMON_DIRECTORIES.flatMap(pathsIn).filter((path) => NAMES.test(basename(path)))
  const paths = [...common, ...OWN_DIRECTORIES.flatMap(pathsIn)]
  // The target of a log link identifies its cluster. Skips links that vanish while this reads them.
  return paths.flatMap((path) => {
    const target = linkOf(path)
    return target === null ? [] : [`file ${path}/ ${target}`]
  })
}

function pathsIn(directory: string): string[] {
  return list(directory).map((name) => join(directory, name))
}

/** Lists processes of a cluster, except zombies, which have no command line. */
function processes(name: string): string[] {
  const isOurs = (text: string): boolean => /boxyard-cluster[-/]/.test(text) && text.includes(name)
  const pids = list('/proc').filter((entry) => /^\d+$/.test(entry))
  return pids.flatMap((pid) => {
    const command = readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
    const isHere = command !== '' && (isOurs(command) || isOurs(readText(`/proc/${pid}/cgroup`)))
    return isHere ? [`process ${pid} ${command.slice(0, 200)}`] : []
  })
}

/** Returns the target of a link, or '' for any other file. Returns null if the path does not exist. */
function linkOf(path: string): string | null {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return null
  try {
    return stat.isSymbolicLink() ? readlinkSync(path) : ''
  } catch {
    return null
  }
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

function list(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

const SETTINGS = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'net/ipv4/ip_forward',
]
const COMMON_DIRECTORIES = ['/var/lib', '/run', '/var/log', '/opt', '/etc']
/** Names of files that components of a cluster and their configuration create. */
const NAMES = /boxyard|kube|containerd|cni|runc|etcd|pods|containers/
const OWN_DIRECTORIES = [
  ...['/var/lib/boxyard-cluster', '/run/boxyard-cluster', '/run/containerd', '/var/lib/cni', '/var/lib/cni/results'],
  ...['/var/lib/kubelet', '/var/log/containers'],
]
/** Created with the first pod of any cluster and removed with the last cluster. */
const SHARED = ['file /var/lib/cni/ ', 'file /var/lib/cni/results/ ']
