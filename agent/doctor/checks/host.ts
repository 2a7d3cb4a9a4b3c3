import { findCgroupLayout } from '../../drivers/host/cgroup/layout.ts'
import { wantedTerminals } from '../../drivers/host/terminals.ts'
import type { Facts, KernelFacts, SettingsFacts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks the kernel: version, architecture, btrfs, loop devices. Pure. */
export function checkKernel({ kernel }: Pick<Facts, 'kernel'>): Finding[] {
  const { release, machine } = kernel
  const findings: Finding[] = []
  const [major = 0, minor = 0] = release.split('.').map((part) => Number.parseInt(part, 10))
  const isNew = major > MIN_KERNEL[0] || (major === MIN_KERNEL[0] && minor >= MIN_KERNEL[1])
  findings.push(
    isNew
      ? KERNEL.ok(`Linux ${release} (${MIN_KERNEL.join('.')} or newer is required).`)
      : KERNEL.problem({
          code: 'kernel_old',
          evidence: `Linux ${release} is older than ${MIN_KERNEL.join('.')}.`,
          remedy: 'Use Debian 13, or install the kernel of bookworm-backports on Debian 12 (linux-image-amd64).',
        }),
  )
  if (machine !== 'x64' && machine !== 'arm64') {
    findings.push(
      KERNEL.problem({
        code: 'architecture_unknown',
        evidence: `The architecture is ${machine}.`,
        remedy: 'Use an x86-64 or arm64 machine. Boxyard has no release for others.',
      }),
    )
  }
  findings.push(checkModule(kernel, 'btrfs'), checkModule(kernel, 'loop'))
  return findings
}

function checkModule({ filesystems, modules, hasLoopControl }: KernelFacts, name: 'btrfs' | 'loop'): Finding {
  const what = name === 'btrfs' ? 'btrfs' : 'loop devices'
  const isReady = name === 'btrfs' ? 'value' in filesystems && filesystems.value.includes(name) : hasLoopControl
  if (isReady) return KERNEL.ok(`The kernel has ${what}.`)
  const module = modules[name]
  if ('hidden' in module) return KERNEL.unknown(what, module.hidden)
  const code = name === 'btrfs' ? 'btrfs_missing' : 'loop_missing'
  const remedy = module.value
    ? `Load the module: modprobe ${name}. To load it at each boot, add it to /etc/modules-load.d.`
    : 'Use a kernel that has it, such as the Debian kernel. In a container, the host must provide it.'
  const evidence = `The kernel has no ${what}${module.value ? ', because its module is not loaded' : ', and no module for it'}.`
  return KERNEL.problem({
    code,
    evidence,
    remedy,
    ...(module.value ? { fix: { kind: 'modprobe', module: name } } : {}),
  })
}

/** Checks that boxes can be limited. Pure. */
export function checkCgroups({ kernel }: Pick<Facts, 'kernel'>): Finding[] {
  const { mountInfo, controllers } = kernel
  if ('hidden' in mountInfo) return [CGROUPS.unknown('Mounts', mountInfo.hidden)]
  const remedy = 'Mount cgroup version 2 at /sys/fs/cgroup, as systemd does, with the controllers cpu, memory and pids.'
  try {
    const { version } = findCgroupLayout(mountInfo.value)
    if (version === 1) return [CGROUPS.ok('cgroup version 1, with cpu, memory, pids and freezer.')]
    if ('hidden' in controllers) return [CGROUPS.unknown('Controllers', controllers.hidden)]
    const missing = CONTROLLERS.filter((name) => !controllers.value?.includes(name))
    if (missing.length === 0) return [CGROUPS.ok(`cgroup version 2, with ${CONTROLLERS.join(', ')}.`)]
    const evidence = `cgroup version 2 lacks the controllers ${missing.join(', ')}.`
    return [CGROUPS.problem({ code: 'cgroups_missing', evidence, remedy })]
  } catch (error) {
    const evidence = error instanceof Error ? error.message : String(error)
    return [CGROUPS.problem({ code: 'cgroups_missing', evidence, remedy })]
  }
}

/** Checks that boxes can have namespaces of their own. Pure. */
export function checkNamespaces({ kernel, settings }: Pick<Facts, 'kernel' | 'settings'>): Finding[] {
  const { namespaces, namespaceLimits } = kernel
  if ('hidden' in namespaces) return [NAMESPACES.unknown('Namespaces', namespaces.hidden)]
  const missing = NEEDED_NAMESPACES.filter((name) => !namespaces.value.includes(name))
  if (missing.length > 0) {
    const evidence = `The kernel lacks namespaces of these types: ${missing.join(', ')}.`
    const remedy = 'Use a kernel that has them, such as the Debian kernel.'
    return [NAMESPACES.problem({ code: 'namespaces_missing', evidence, remedy })]
  }
  if ('hidden' in namespaceLimits) return [NAMESPACES.unknown('Limits of namespaces', namespaceLimits.hidden)]
  const wanted = boxesAtOnce(settings)
  const low = Object.entries(namespaceLimits.value).filter(([, limit]) => limit < wanted)
  if (low.length === 0) return [NAMESPACES.ok(`The kernel has all types of namespaces, at least ${wanted} of each.`)]
  const fault = {
    code: 'namespace_limit',
    evidence: low
      .map(([kind, limit]) => `user.max_${kind}_namespaces is ${limit}`)
      .join(', ')
      .concat('.'),
    remedy: `Each box takes one of each type, for up to ${wanted} boxes. Raise the limits with sysctl and save them in /etc/sysctl.d, or lower BOXYARD_BOXES_MAX.`,
  } as const
  return [low.some(([, limit]) => limit < FEW) ? NAMESPACES.problem(fault) : NAMESPACES.note(fault)]
}

/** Checks that each box can have its terminals, once an agent has had the chance to raise their number. Pure. */
export function checkTerminals({
  kernel,
  settings,
  service,
}: Pick<Facts, 'kernel' | 'settings' | 'service'>): Finding[] {
  const { terminals } = kernel
  const { boxesMax, allowsNesting } = settings.agent.limits
  if ('hidden' in terminals) return [TERMINALS.unknown('Number of terminals', terminals.hidden)]
  if (terminals.value === null || allowsNesting) return []
  const { max } = terminals.value
  const wanted = wantedTerminals(boxesMax, terminals.value)
  const isRunning = 'value' in service.holder && service.holder.value !== null
  if (max >= wanted || !isRunning)
    return [TERMINALS.ok(`kernel.pty.max is ${max}. The agent raises it to ${wanted} if needed.`)]
  return [
    TERMINALS.note({
      code: 'terminals_few',
      evidence: `kernel.pty.max is ${max}, but ${boxesMax} boxes can open ${wanted} terminals. Some boxes may get none.`,
      remedy: `Run sysctl -w kernel.pty.max=${wanted} and save it in /etc/sysctl.d, or lower BOXYARD_BOXES_MAX.`,
    }),
  ]
}

function boxesAtOnce({ agent }: SettingsFacts): number {
  return agent.limits.boxesMax + agent.network.spareSlots
}

const KERNEL = areaOf('kernel')
const CGROUPS = areaOf('cgroups')
const NAMESPACES = areaOf('namespaces')
const TERMINALS = areaOf('terminals')
const MIN_KERNEL = [6, 7] as const
const CONTROLLERS = ['cpu', 'memory', 'pids']
const NEEDED_NAMESPACES = ['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup']
/** With fewer, not even a small deployment works. */
const FEW = 32
