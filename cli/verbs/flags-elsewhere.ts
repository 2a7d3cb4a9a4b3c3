/** A command, as far as flags concern it. */
interface Flagged {
  args: string
  flags: readonly (readonly [flag: string, meaning: string])[]
}

/**
 * Returns advice for a flag that a command does not have, or null. Names the flag or argument of the command that has the meaning which
 * docker, podman, kubectl, fly or ssh give it. A pure function.
 */
export function flagAdvice(typed: string, command: Flagged | null): string | null {
  const name = typed.startsWith('--') ? typed.slice(2).replace(/=[^]*$/, '') : typed.slice(1, 2)
  const found = ELSEWHERE.get(name) ?? []
  const own = ownFlags(command)
  const flag = found.find((each) => own.has(each.split(' ', 1)[0] ?? ''))
  if (flag !== undefined) return `Did you mean ${flag}?`
  const argument = found.find((each) => command?.args.split(' ').includes(each) === true)
  if (argument !== undefined) return `Give it as the argument ${argument}, without a flag.`
  return found.find((each) => each.startsWith(': '))?.slice(2) ?? null
}

function ownFlags(command: Flagged | null): ReadonlySet<string> {
  const flags = command?.flags.flatMap(([flag]) => flag.match(/(?<![\w-])--?[a-z-]+/g) ?? []) ?? []
  return new Set([...flags, '--project', '--output', '--context'])
}

/** Advice for a limit on a command that has none. */
const OF_A_BOX = ': Limits are of a box: boxyard update BOX --cpus N --ram-mb SIZE --storage-gb SIZE'
/**
 * Names of flags of other command lines, without dashes, and the flags and arguments here. The first flag that the command has is meant,
 * otherwise its first argument. `: ` begins advice for commands with none of them.
 */
export const FOREIGN_FLAGS: readonly (readonly [names: string, ...here: string[]])[] = [
  // Limits.
  ['memory m mem ram ram-size memory-limit memory-reservation limit-memory vm-memory', '--ram-mb', OF_A_BOX],
  ['cpu cpu-count vcpus vcpu cores cpu-quota limit-cpu vm-cpus vm-size', '--cpus', OF_A_BOX],
  [
    'disk disk-size storage storage-size storage-opt size volume-size capacity s',
    '--storage-gb',
    '--size-gb',
    OF_A_BOX,
  ],
  ['ram-gb ram-mib ram-gib memory-mb', '--ram-mb'],
  ['size-mb size-gib disk-gb', '--size-gb', '--storage-gb'],
  ['shm-size shm', '--shm-mb'],
  ['network-limit bandwidth net-mbps', '--network-mbps'],
  ['device-read-bps device-write-bps disk-limit', '--disk-mbps'],
  ['device-read-iops device-write-iops iops', '--disk-iops'],
  ['privileged userns', '--nesting'],
  ['gpus', ': Boxes have no GPUs.'],
  // Volumes, environment and tags.
  [
    'volume v vol volumes mount volumes-from',
    '--mount VOLUME:PATH',
    ': To attach a volume: boxyard volume attach VOLUME BOX PATH',
  ],
  ['e environment env-var setenv set-env', '--env'],
  ['env-file', '--env KEY=VALUE'],
  ['unset', '--unset-env'],
  ['label l labels tags label-add metadata selector', '--tag'],
  // Sources.
  ['image from-image template os', '--base', '--image'],
  ['from source snapshot', '--box', ': To copy a box or its snapshot: boxyard fork BOX[@SNAPSHOT] NEW'],
  ['file f', '--tar', '--data @FILE'],
  ['share public', '--shared', '--auth public'],
  // Ports and URLs.
  ['publish expose ports internal-port container-port target-port publish-all P', '--port'],
  ['domain', '--domains'],
  ['hostname', '--domains', ': The name of a box is also its host name.'],
  ['access visibility who', '--auth'],
  ['local-port listen', '--port', '<ports...>'],
  ['bind-address bind', '--address'],
  // Names.
  ['name', '--session', '[snapshot]', '<service>', '<token>', '<volume>', '<base>', '<box>', '<project>'],
  ['container', '--box', '<box>'],
  ['node-name host-name', '--node'],
  ['zone location r', '--region'],
  // Commands.
  ['workdir w working-dir chdir directory dir C', '--cwd'],
  ['username u uid login l run-as', '--user'],
  ['interactive stdin i', '--stdin'],
  ['terminal pty tty t', '--tty', ': For a terminal: boxyard console BOX'],
  ['background detached d bg', '--detach'],
  ['entrypoint', '<command...>', ': Run it with: boxyard exec BOX COMMAND, or boxyard service put BOX SERVICE COMMAND'],
  ['command cmd c', '<command...>', '[command...]'],
  ['rm', ': A box stays until boxyard rm BOX. To stop it when it is idle: --idle-stop 30m'],
  ['restart restart-policy', '--restart', ': Only services have a restart policy: boxyard service put --restart'],
  ['depends-on requires needs after', '--needs'],
  ['health-cmd healthcheck', ': Services have a readiness probe: boxyard service put --data'],
  ['init', ': Every box has an init process.'],
  ['it ti', ': Give -i and -t to: boxyard exec -it BOX COMMAND'],
  // Times.
  ['expires expiry expires-in expire ttl valid-for lifetime', '--expires', '--seconds', '--idle-stop'],
  ['duration for lease', '--seconds', '--expires', '--timeout'],
  ['interval every period schedule frequency', '--interval', '--every', '--step'],
  ['keep retain retention keep-last', '--keep-count', '--tail'],
  ['keep-for max-age retain-for', '--keep-seconds'],
  ['time timeout stop-timeout grace-period termination-grace-period stop-grace-period', '--timeout', '--grace'],
  ['idle auto-stop autostop sleep idle-timeout', '--idle-stop'],
  ['auto-start autostart wake-up', '--wake'],
  // Access.
  ['scope scopes role roles permission perms', '--permissions'],
  ['token', ': Save a token with boxyard login, or set BOXYARD_TOKEN.'],
  ['url server host H api-url endpoint', ': Name the service with boxyard login URL, or set BOXYARD_URL.'],
  // Lists and output.
  ['all-namespaces A all-projects', '--all'],
  ['filter', '--tag', '--status', '--prefix'],
  ['match search', '--prefix'],
  ['format', '--output'],
  ['json', '--output json'],
  ['yaml', '--output yaml'],
  ['namespace n app a org ns', '--project'],
  ['profile config', '--context'],
  ['follow watch w F', '--follow'],
  ['lines n last', '--tail'],
  ['since-time after', '--since'],
  ['quiet q', '--quiet', '--output name'],
  // Deletion.
  ['yes y assume-yes non-interactive', '--yes'],
  ['force f now', '--force', '--yes', '--overwrite'],
  ['recursive r R', '--recursive'],
  // SSH.
  ['L', ': To forward a port: boxyard port-forward BOX LOCAL:PORT'],
  ['D', ': For a SOCKS proxy: boxyard proxy'],
]
/** Flags and advice here by name. A name can be in several rows. */
const ELSEWHERE: ReadonlyMap<string, readonly string[]> = namedRows()

function namedRows(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const [names, ...here] of FOREIGN_FLAGS)
    for (const name of names.split(' ')) found.set(name, [...(found.get(name) ?? []), ...here])
  return found
}
