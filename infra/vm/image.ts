import { createHash, randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { hostArchive, hostProxyOptions, STABLE_SUITE, sourcesFor } from '../../agent/drivers/bases/host-archive.ts'
import { hostCache } from '../cluster/host-cache.ts'
import { withLock } from '../cluster/host-lock.ts'
import { runBuild } from '../made-once/build.ts'
import { debianDependencies } from '../release/packages.ts'
import type { Architecture } from '../release/tree.ts'
import { architectureOf } from '../release.ts'

/** Files of a Debian that QEMU starts without a boot loader. */
export interface MachineImage {
  directory: string
  /** Raw disk with the root filesystem. Use it below an overlay, and never write to it. */
  disk: string
  kernel: string
  initrd: string
  /** Private key that root of the machine accepts over SSH. */
  key: string
}

/**
 * Architecture of the test machines. It is this host's, unless `TEST_VM_ARCH` (amd64, arm64) names another, which needs its `qemu-system`
 * and `qemu-user-static` with its entry in binfmt_misc.
 */
export const MACHINE_ARCHITECTURE: Architecture = architectureOf(process.env['TEST_VM_ARCH'])

/**
 * Returns the image of a Debian 13 machine with the packages that Boxyard depends on, and without Boxyard. Builds it on first use (about
 * two minutes) and keeps it outside the checkout, in `$XDG_CACHE_HOME/boxyard-vm`.
 * @throws Error if packages cannot be fetched
 */
export async function findMachineImage(say: (text: string) => void): Promise<MachineImage> {
  const directory = join(imagesRoot(), imageHash())
  if (!existsSync(directory)) {
    const make = async (): Promise<void> => {
      // Another process may have built it while this one waited.
      if (!existsSync(directory)) await makeImage(directory, say)
    }
    await withLock('vm-image', make, { what: 'the image of the test machines', say })
  }
  // Images are removed in the order of their use.
  utimesSync(directory, new Date(), new Date())
  const file = (name: string): string => join(directory, name)
  return { directory, disk: file('disk.raw'), kernel: file('vmlinuz'), initrd: file('initrd.img'), key: file('key') }
}

/** Returns the directory outside the checkout for machines and their releases. */
export function vmCache(): string {
  return hostCache('vm')
}

function imagesRoot(): string {
  return join(vmCache(), 'images')
}

/** Hashes all inputs of the image, except the archive's content at that time. */
function imageHash(): string {
  const hash = createHash('sha256').update(MACHINE_ARCHITECTURE).update(packages().join(' '))
  hash.update(readFileSync(join(import.meta.dirname, 'image.ts')))
  return hash.digest('hex').slice(0, 16)
}

function packages(): string[] {
  return [...new Set([...SYSTEM_PACKAGES, ...debianDependencies(), 'init-system-helpers'])]
}

async function makeImage(directory: string, say: Say): Promise<void> {
  say('Making a Debian machine for the tests (only this once, some two minutes)')
  mkdirSync(imagesRoot(), { recursive: true, mode: 0o700 })
  removeOldImages()
  const unfinished = `${directory}${UNFINISHED}`
  const root = join(unfinished, 'root')
  mkdirSync(root, { recursive: true })
  const run = (what: string, command: readonly string[]): Promise<string> =>
    runBuild({ what, command, env: ENVIRONMENT, target: unfinished, say })
  await bootstrap(root, say)
  const keygen = ['ssh-keygen', ...['-q', '-t', 'ed25519'], ...['-N', ''], ...['-C', 'boxyard-vm']]
  await run('Making the key of the test machine', [...keygen, '-f', join(unfinished, 'key')])
  configure(root, readFileSync(join(unfinished, 'key.pub'), 'utf8'))
  for (const name of readdirSync(join(root, 'boot'))) {
    const kind = /^(vmlinuz|initrd\.img)-/.exec(name)?.[1]
    if (kind !== undefined) copyFileSync(join(root, 'boot', name), join(unfinished, kind))
  }
  // The file is new, so its blocks read as zeros and the guest need not write them in its first minutes.
  const format = ['mke2fs', '-q', '-F', ...['-t', 'ext4'], ...['-E', 'assume_storage_prezeroed=1'], ...['-d', root]]
  await run('Writing the disk of the test machine', [...format, join(unfinished, 'disk.raw'), DISK_SIZE])
  rmSync(root, { recursive: true })
  await run('Syncing the disk of the test machine', ['sync', '--file-system', unfinished])
  renameSync(unfinished, directory)
}

async function bootstrap(root: string, say: Say): Promise<void> {
  const host = await hostArchive()
  // A small initrd, because the machine's disk and network are always these. Unpacking the default one takes 20 s of emulation.
  const modules = String.raw`printf 'MODULES=list\nCOMPRESS=lz4\n' >"$1/etc/initramfs-tools/conf.d/machine"; printf 'virtio_pci\nvirtio_blk\next4\n' >>"$1/etc/initramfs-tools/modules"`
  const hook = `mkdir -p "$1/etc/initramfs-tools/conf.d"; ${modules}`
  const options = [
    ...['--quiet', '--mode=root', '--variant=apt', `--include=${packages().join(',')}`],
    `--architectures=${MACHINE_ARCHITECTURE}`,
    ...['--dpkgopt=force-unsafe-io', '--dpkgopt=force-confdef', '--dpkgopt=force-confold'],
    ...['--aptopt=Acquire::Languages "none"', '--aptopt=Acquire::Retries "3"', ...(await hostProxyOptions())],
    `--essential-hook=${hook}`,
    `--customize-hook=chroot "$1" systemctl --quiet enable ${ENABLED.join(' ')}`,
  ]
  const separate = ['unshare', '--mount', '--propagation', 'private', '--']
  await runBuild({
    what: 'Installing a Debian for the test machine',
    command: [...separate, 'mmdebstrap', ...options, STABLE_SUITE, root, ...sourcesFor(STABLE_SUITE, host)],
    env: ENVIRONMENT,
    target: root,
    network: "Debian's archive, by the mirror of this host",
    say,
  })
}

function configure(root: string, publicKey: string): void {
  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text, { mode })
  }
  mkdirSync(join(root, 'root/.ssh'), { recursive: true, mode: 0o700 })
  write('root/.ssh/authorized_keys', publicKey, 0o600)
  write('etc/hostname', 'vm\n')
  write('etc/hosts', '127.0.0.1 localhost\n127.0.1.1 vm\n')
  write('etc/fstab', '/dev/vda / ext4 errors=remount-ro 0 1\n')
  write('etc/systemd/network/10-all.network', '[Match]\nName=e*\n[Network]\nDHCP=ipv4\n')
  // The name server of QEMU's own network.
  rmSync(join(root, 'etc/resolv.conf'), { force: true })
  write('etc/resolv.conf', 'nameserver 10.0.2.3\n')
  write('etc/machine-id', `${randomBytes(16).toString('hex')}\n`)
  // Logs of a boot that ended with a power cut can be read in the next.
  mkdirSync(join(root, 'var/log/journal'), { recursive: true })
  for (const unit of PERIODIC) symlinkSync('/dev/null', join(root, 'etc/systemd/system', unit))
}

/** Removes unfinished images, and all but the recently used ones, because other checkouts may use them. */
function removeOldImages(): void {
  const paths = readdirSync(imagesRoot()).map((name) => join(imagesRoot(), name))
  const finished = paths.filter((path) => !path.endsWith(UNFINISHED))
  finished.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  const superfluous = [...finished.slice(KEPT_IMAGES), ...paths.filter((path) => path.endsWith(UNFINISHED))]
  for (const path of superfluous) rmSync(path, { recursive: true })
}

type Say = (text: string) => void

const UNFINISHED = '.unfinished'
const KEPT_IMAGES = 2
const DISK_SIZE = '30G'
const ENVIRONMENT = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' }
const SYSTEM_PACKAGES = [
  `linux-image-${MACHINE_ARCHITECTURE}`,
  ...['systemd', 'systemd-sysv', 'udev', 'dbus', 'libpam-systemd', 'kmod', 'openssh-server', 'iproute2', 'procps'],
  ...['curl', 'ca-certificates', 'initramfs-tools', 'lz4'],
]
const ENABLED = ['systemd-networkd.service', 'ssh.service']
/** Timers whose work would use the emulated CPU at any time. */
const PERIODIC = [
  ...['apt-daily.timer', 'apt-daily-upgrade.timer', 'dpkg-db-backup.timer', 'e2scrub_all.timer', 'fstrim.timer'],
  'systemd-tmpfiles-clean.timer',
]
