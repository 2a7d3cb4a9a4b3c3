import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ROOT } from '../commands.ts'
import { type ReleaseSource, settle } from './tree.ts'

/** Packs the laid-out files below `root` as a Debian package in `directory`, and returns its path. Adds `DEBIAN/` to `root`. */
export function packDeb(root: string, source: ReleaseSource, directory: string): string {
  const control = join(root, 'DEBIAN')
  mkdirSync(control)
  writeFileSync(join(control, 'control'), controlText(root, source))
  writeFileSync(join(control, 'conffiles'), '/etc/boxyard/boxyard.conf\n')
  writeFileSync(join(control, 'md5sums'), checksumsOf(root))
  settle(control, source.epoch)
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm']) {
    cpSync(join(ROOT, 'infra/release', script), join(control, script))
    chmodSync(join(control, script), 0o755)
  }
  const path = join(directory, `boxyard_${source.version}_${source.architecture}.deb`)
  execFileSync('dpkg-deb', ['--build', '--root-owner-group', '-Zzstd', root, path], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(source.epoch) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return path
}

/** Returns the directory in `directory` with the files of a release's archive: an installer, and the laid-out files in `root`. */
export function archiveTop(source: ReleaseSource, directory: string): string {
  return join(directory, `boxyard-${source.version}-linux-${source.architecture}`)
}

/** Packs `archiveTop` of a directory, after adding the installer for hosts without Debian's packages, and returns the path. */
export function packArchive(source: ReleaseSource, directory: string): string {
  const top = archiveTop(source, directory)
  const installer = readFileSync(join(ROOT, 'infra/release/install.sh'), 'utf8')
  writeFileSync(join(top, 'install.sh'), installer.replace('@PROGRAMS@', PROGRAMS.join(' ')))
  for (const path of [top, join(top, 'install.sh')]) chmodSync(path, 0o755)
  const path = `${top}.tar.zst`
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', '--format=gnu']
  execFileSync('tar', ['--zstd', ...owner, `--mtime=@${source.epoch}`, '-C', directory, '-cf', path, basename(top)])
  return path
}

/** Writes the parts of the release with their licences in CycloneDX form, and returns the path. */
export function writeBillOfMaterials(source: ReleaseSource, directory: string): string {
  const text = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  })
  const bill = JSON.parse(text) as { serialNumber: string; metadata: { timestamp: string; component: object } }
  // npm derives these from chance, the clock and the directory.
  const digest = createHash('sha256').update(source.commit).digest('hex')
  bill.serialNumber = `urn:uuid:${digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')}`
  bill.metadata.timestamp = new Date(source.epoch * 1000).toISOString()
  Object.assign(bill.metadata.component, { name: 'boxyard', version: source.version })
  const path = join(directory, `boxyard-${source.version}.cdx.json`)
  writeFileSync(path, `${JSON.stringify(bill, null, 1)}\n`)
  return path
}

/** Writes `SHA256SUMS` of files in one directory, in the format of sha256sum. */
export function writeChecksums(paths: readonly string[], directory: string): void {
  const lines = paths.map((path) => `${sha256Of(path)}  ${basename(path)}\n`)
  writeFileSync(join(directory, 'SHA256SUMS'), lines.join(''))
}

function sha256Of(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function controlText(root: string, { version, architecture }: ReleaseSource): string {
  return `Package: boxyard
Version: ${version}
Architecture: ${architecture}
Maintainer: Boxyard <boxyard@localhost>
Installed-Size: ${kibibytesOf(root)}
Depends: ${debianDependencies().join(', ')}, libc6, init-system-helpers
Suggests: caddy
Section: admin
Priority: optional
Description: self-hosted Linux boxes over one HTTP API
 Boxes are isolated Linux environments with a copy-on-write root: created
 from a base or forked in milliseconds, snapshotted, published at a URL.
 This package holds the agent, the front, and the Node.js that runs them.
`
}

/** Sums sizes as dpkg-gencontrol(1) does, whatever the file system: each file in whole KiB, and one for every other entry. */
function kibibytesOf(root: string): number {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true })
  const sizes = entries.map((entry) => (entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 1))
  return sizes.reduce((sum, size) => sum + Math.ceil(size / 1024), 0)
}

/** Returns the packages that infra/setup.sh installs for a host. */
export function debianDependencies(): string[] {
  const script = readFileSync(join(ROOT, 'infra/setup.sh'), 'utf8')
  const list = /^host_packages=\(([^)]*)\)/m.exec(script)?.[1]
  if (list === undefined) throw new Error('infra/setup.sh names no host_packages.')
  return list.trim().split(/\s+/)
}

function checksumsOf(root: string): string {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(root, 'DEBIAN')))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((name) => !name.startsWith('etc/'))
    .sort()
    .map(
      (name) =>
        `${createHash('md5')
          .update(readFileSync(join(root, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('')
}

/** Programs that the agent starts, whose packages have other names in other distributions. */
const PROGRAMS = [
  'btrfs',
  'busybox',
  'catatonit',
  'crun',
  'dnsmasq',
  'haproxy',
  'ip',
  'lxcfs',
  'mmdebstrap',
  'nft',
  'unshare',
  'zstd',
]
