import fs from 'node:fs/promises'
import path from 'node:path'
import { run, runOk } from '../../lib/run.ts'
import { ensureDirectory, makeMountPoints, replaceFile } from './root.ts'

/** Fills the empty directory `root` with a small system made of the host's static busybox, in well under a second. */
export async function buildBusyboxBase(root: string, progress: (message: string) => void): Promise<void> {
  progress('Building the busybox base')
  const program = await findBusybox()
  const { stdout } = await runOk(program, ['--list-full'], { timeoutMs: PROGRAM_MS })
  await ensureDirectory(root, '.')
  for (const directory of DIRECTORIES) await ensureDirectory(root, directory)
  await ensureDirectory(root, 'root', 0o700)
  await makeMountPoints(root)
  await fs.copyFile(program, path.join(root, 'bin/busybox'))
  await fs.chmod(path.join(root, 'bin/busybox'), 0o755)
  await linkApplets(root, stdout.split('\n'))
  for (const [name, text] of Object.entries(FILES)) await replaceFile(root, { path: name, text })
  await replaceFile(root, { path: 'etc/shadow', text: 'root:*:1::::::\nnobody:*:1::::::\n', mode: 0o600 })
  await fs.symlink('/run', path.join(root, 'var/run'))
  await fs.symlink('/proc/mounts', path.join(root, 'etc/mtab'))
}

async function findBusybox(): Promise<string> {
  for (const program of ['/bin/busybox', '/usr/bin/busybox']) {
    const result = await run(program, ['true'], { timeoutMs: PROGRAM_MS }).catch(() => null)
    if (result?.exitCode === 0 && (await isStatic(program))) return program
  }
  throw new Error('The busybox base needs a static busybox on this host. Install the package busybox-static.')
}

/** Returns true if the ELF program headers name no interpreter, so that the program runs in an empty root. */
async function isStatic(program: string): Promise<boolean> {
  const file = await fs.open(program)
  try {
    const { buffer } = await file.read({ buffer: Buffer.alloc(4096), position: 0 })
    if (buffer.toString('latin1', 0, 4) !== '\x7fELF') return false
    const [offset, size, count] = [Number(buffer.readBigUInt64LE(32)), buffer.readUInt16LE(54), buffer.readUInt16LE(56)]
    const kinds = Array.from({ length: count }, (_, index) => buffer.readUInt32LE(offset + index * size))
    return !kinds.includes(ELF_INTERPRETER)
  } finally {
    await file.close()
  }
}

/** Makes hard links, which take an eighth of the metadata of symbolic ones. That metadata adds to the cost of every snapshot. */
async function linkApplets(root: string, applets: readonly string[]): Promise<void> {
  const busybox = path.join(root, 'bin/busybox')
  for (const applet of applets) {
    const target = path.join(root, applet)
    // The one applet outside a directory, linuxrc, is for an initial ramdisk.
    if (!applet.includes('/') || target === busybox || !target.startsWith(`${root}/`)) continue
    await fs.link(busybox, target)
  }
}

const ELF_INTERPRETER = 3

const DIRECTORIES = [
  'bin',
  'sbin',
  'usr',
  'usr/bin',
  'usr/sbin',
  'usr/lib',
  'usr/share',
  'usr/local',
  'usr/local/bin',
  'usr/local/sbin',
  'lib',
  'etc',
  'etc/profile.d',
  'home',
  'media',
  'mnt',
  'opt',
  'srv',
  'var',
  'var/cache',
  'var/lib',
  'var/log',
  'var/spool',
]

const FILES: Record<string, string> = {
  'etc/passwd': [
    'root:x:0:0:root:/root:/bin/sh',
    'daemon:x:1:1:daemon:/usr/sbin:/bin/false',
    'bin:x:2:2:bin:/bin:/bin/false',
    'www-data:x:33:33:www-data:/var/www:/bin/false',
    'nobody:x:65534:65534:nobody:/nonexistent:/bin/false',
    '',
  ].join('\n'),
  'etc/group': [
    'root:x:0:',
    'daemon:x:1:',
    'bin:x:2:',
    'sys:x:3:',
    'adm:x:4:',
    'tty:x:5:',
    'disk:x:6:',
    'mail:x:8:',
    'www-data:x:33:',
    'utmp:x:43:',
    'staff:x:50:',
    'users:x:100:',
    'nogroup:x:65534:',
    '',
  ].join('\n'),
  'etc/profile': 'export PATH="${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"\n',
  'etc/shells': '/bin/sh\n/bin/ash\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n',
  'etc/protocols': 'ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\n',
  'etc/services': 'ssh 22/tcp\ndomain 53/tcp\ndomain 53/udp\nhttp 80/tcp\nhttps 443/tcp\n',
  'etc/os-release': 'NAME="BusyBox"\nID=busybox\nPRETTY_NAME="BusyBox"\n',
}

/** Far longer than it takes. On an emulated host starved of its CPU, five seconds were too short. */
const PROGRAM_MS = 60_000
